"""The network: names to addresses, requests over libcurl, what comes in, and within which limits.

One `Request` in, exactly one `Response` out. Knows nothing of delays, robots.txt or the frontier.
"""
