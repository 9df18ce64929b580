"""One machine's part of a crawl: its directory, its supervisor and engines, what happens after a
death, and whether what was kept is still there.
"""
