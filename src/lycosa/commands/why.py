"""`lycosa why URL`: what became of a URL, and why."""

from __future__ import annotations

from lycosa.commands.printing import page_json, print_json
from lycosa.commands.which_crawl import opened_crawl
from lycosa.settings.collect import Values
from lycosa.terminal import one_line


def why(values: Values, words: list[str]) -> int:
    """Explain one URL."""
    with opened_crawl(values) as crawl:
        told = crawl.why(words[0])
    if values["json"]:
        page = page_json(told.page) if told.page else None
        print_json({"url": told.url, "domain": told.domain, "page": page, "why": told.lines})
    else:
        print("\n".join(map(one_line, told.lines)))
    return 0
