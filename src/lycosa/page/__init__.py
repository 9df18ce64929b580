"""From the bytes of a response to text, links and wishes: unpacking, encodings, HTML, sitemaps.

Pure: bytes in, values out. Nothing here raises for what a site sent. Knows neither the network
nor the store.
"""
