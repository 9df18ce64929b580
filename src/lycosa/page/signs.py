"""Small counts of a page's markup and text, from which labels are made. No rules, no text.

Owns what is counted. Both readers count while they read (`_scan.c`, `html_scan`), in the order of
`COUNTED`; `html` adds what meta tags say.
"""

from __future__ import annotations

from typing import NamedTuple

# Elements whose start tags are counted.
COUNTED = ("form", "script", "iframe", "p", "img", "article", "input", "li", "a", "h1", "h2", "h3")


class Signs(NamedTuple):
    """What a page is made of. Sizes are in letters; an ideograph counts as three."""

    forms: int = 0
    scripts: int = 0
    iframes: int = 0
    paragraphs: int = 0
    images: int = 0
    articles: int = 0
    inputs: int = 0
    list_items: int = 0
    anchors: int = 0
    h1: int = 0
    h2: int = 0
    h3: int = 0
    passwords: int = 0  # <input type=password>
    script_bytes: int = 0  # of scripts in the page
    noscript_chars: int = 0  # visible characters in <noscript>
    lines: int = 0  # of text
    size: int = 0  # of text
    link_size: int = 0  # of text in links
    sentences: int = 0  # size of lines that are long and not mostly links
    list_links: int = 0  # lines in list items that are nearly all link
    refresh: bool = False  # <meta http-equiv=refresh>
    generator: str = ""  # <meta name=generator>, cut
