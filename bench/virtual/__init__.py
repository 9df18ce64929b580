"""A crawl of many engines in virtual time, with the real stores: see `bench/hundred.py`."""
