"""One machine's part of a crawl.

A command calls `supervisor.run_crawl`. The supervisor opens the crawl (`start`, `join`), starts
engine processes (`engines`), takes over what dead ones held (`deaths`, `rescue`) and shows how the
crawl stands (`progress`, `display`). `datadir` and `original` guard the data directory, `seed_*`
bring the seeds into the store, and `losses`, `verify` and `mending` look after what was kept.
"""
