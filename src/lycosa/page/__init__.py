"""From the bytes of a response to text, links and wishes: unpacking, encodings, HTML, sitemaps.

Pure: bytes in, values out, whatever a stranger wrote. Knows nothing of the network or the store.
"""
