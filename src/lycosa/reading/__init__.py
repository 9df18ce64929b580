"""A crawl as programs read it: what `lycosa.open` gives, and what commands print.

`crawl` has the class and its methods, `values` what they return; users import both from `lycosa`.
Reads what is committed, while engines work or afterwards, and never makes them wait.
"""
