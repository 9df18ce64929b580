"""lycosa: a broad, polite and fast web crawler.

    import lycosa

    with lycosa.open("lycosa-data") as crawl:
        for page in crawl.texts(label="content", language="en"):
            print(page.url, page.main)

What is named here is stable; everything else inside may change. See docs/data.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.errors import LycosaError, UserError
    from lycosa.frontier.filters import Filter
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.opening import open_crawl as open  # noqa: A004
    from lycosa.reading.values import (
        Domain,
        DomainLine,
        DomainVisit,
        Explanation,
        Page,
        PageResponse,
        QueuedPage,
        Status,
        TextPage,
    )

__version__ = "0.1.0"
__all__ = [
    "Crawl",
    "Domain",
    "DomainLine",
    "DomainVisit",
    "Explanation",
    "Filter",
    "LycosaError",
    "Page",
    "PageResponse",
    "QueuedPage",
    "Status",
    "TextPage",
    "UserError",
    "__version__",
    "open",
]

# Loaded when they are first asked for: every process of every crawl imports this module.
_HOMES = {
    "open": "lycosa.reading.opening:open_crawl",
    "Crawl": "lycosa.reading.crawl:Crawl",
    "Filter": "lycosa.frontier.filters:Filter",
    "LycosaError": "lycosa.errors:LycosaError",
    "UserError": "lycosa.errors:UserError",
    **{
        name: f"lycosa.reading.values:{name}"
        for name in (
            *("Domain", "DomainLine", "DomainVisit", "Explanation", "Page", "PageResponse"),
            *("QueuedPage", "Status", "TextPage"),
        )
    },
}


if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'lycosa' has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        value = globals()[name] = getattr(import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
