"""Which pages a question is about, said once for both stores. Pure.

A `Filter` is checked and complete: whoever makes one knows that its domains exist and its words are
spelt right (`reading/filters` does that for users). `conditions` turns it into conditions over the
columns of `pages`, each with its values.
"""

from __future__ import annotations

from dataclasses import dataclass

from lycosa.urls.canonical import canonical, host_of
from lycosa.urls.domains import domain_id, domain_of

AFTER_ALL = "\U0010ffff"  # sorts behind every character of a URL
Value = int | str
Condition = tuple[str, tuple[Value, ...]]  # a column and an operator, and what it is compared with


@dataclass(frozen=True, slots=True)
class Filter:
    """Pages that fit everything that is given; of a list, any one of its values."""

    domains: tuple[str, ...] = ()
    since_ms: int = 0  # fetched then or later
    until_ms: int = 0  # fetched before
    languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    min_depth: int = 0
    max_depth: int | None = None
    min_chars: int = 0  # of the visible text
    max_chars: int | None = None
    url_prefix: str = ""
    with_text: bool = False  # only pages whose text is kept
    with_response: bool = False  # only pages whose response is in a WARC segment

    @property
    def domain_ids(self) -> tuple[int, ...]:
        """The only domains whose pages can fit; empty: any."""
        names = self.domains or _domain_of_prefix(self.url_prefix)
        return tuple(sorted({domain_id(domain_of(name)) for name in names}))


EVERY_PAGE = Filter()


def conditions(where: Filter) -> list[Condition]:
    """What a row must fulfil, all of it, beside being of the filter's domains: how those are found
    is a store's own business."""
    found: list[Condition] = [
        ("language", where.languages),
        ("label", where.labels),
        ("outcome", where.outcomes),
        ("status", where.statuses),
    ]
    kept = [(f"{column} IN", values) for column, values in found if values]
    kept += [
        (f"{column} {operator}", (value,))
        for column, operator, value in (
            ("fetched_ms", ">=", where.since_ms or None),
            ("fetched_ms", "<", where.until_ms or None),
            ("depth", ">=", where.min_depth or None),
            ("depth", "<=", where.max_depth),
            ("text_chars", ">=", where.min_chars or None),
            ("text_chars", "<=", where.max_chars),
            ("url", ">=", where.url_prefix or None),
            ("url", "<", where.url_prefix + AFTER_ALL if where.url_prefix else None),
            ("text_segment", "<>", 0 if where.with_text else None),
            ("warc_segment", "<>", 0 if where.with_response else None),
        )
        if value is not None
    ]
    return kept


def _domain_of_prefix(prefix: str) -> tuple[str, ...]:
    """The domain of all URLs that begin so; none if the host may go on behind the prefix."""
    if prefix.count("/") < 3:
        return ()
    url = canonical(prefix)
    return (domain_of(host_of(url)),) if url is not None and url.startswith(prefix) else ()
