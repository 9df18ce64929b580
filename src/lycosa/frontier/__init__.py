"""The frontier: the durable store of domains, queued URLs, seen fingerprints and pages.

`protocol` has what every store can do and what other rooms import, `states` the states of a domain
and of a URL. There are two stores, `sqlite` and `postgres`, with one conformance suite and one
`reader`.
"""
