"""Parts of bench/frontier.py: frontiers of any size, filled by SQL, and what to compare."""
