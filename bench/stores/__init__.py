"""Parts of bench/frontier.py: frontiers of any size, filled through their verbs, and engines."""
