"""Parts of bench/frontier.py: a frontier as large as wanted, filled by SQL, and what to compare."""
