"""The dashboard: a crawl as a page in a browser, served by a process of its own.

It reads what a crawl writes (`reading`) and changes it only by `steering`: no fault or load of it
reaches the crawl. `beside` starts it from a crawl and imports nothing heavy; what needs the extra
`dashboard` is in `routes`, `guard`, `connections` and `serving`.
"""
