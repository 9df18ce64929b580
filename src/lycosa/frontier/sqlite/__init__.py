"""The frontier in one SQLite file: for one node, with nothing to install."""
