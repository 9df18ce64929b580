"""The log of a domain: all that is known of its URLs, in packed chunks. Pure.

`domain_log` is the door: `DomainLog`, what a holder commits, and `delivery`. The layout of a chunk
is in `format`, the rule by which chunks tell the state of a URL in `rule`.
"""
