"""Computations of large crawls from measured figures: `bench/thousand.py`, `bench/billion.py`."""
