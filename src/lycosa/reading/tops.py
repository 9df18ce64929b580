"""Lists of domains, sorted: the most pages, the longest queue, the most failures and so on.

No list looks through a large crawl. Up to a bound a list is of everything; beyond it, of what
engines noted in their run, or of a part. Each list says which (`Listed.of`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.errors import UserError
from lycosa.frontier.survey import DOMAINS_LOOKED_AT, OF_DOMAINS, PAGES_LOOKED_AT, SORTS
from lycosa.reading.domains import state_of
from lycosa.reading.names import did_you_mean
from lycosa.reading.values import DomainLine, Listed
from lycosa.urls.domains import domain_id

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader
    from lycosa.reading.history import History

MOST_LINES = 1_000  # of one list
_IN_MS = ("delay", "slowest")  # the store has milliseconds, people want seconds
_GROWING = ("pages", "queued")  # counted in the store when an engine gives a domain back, and noted
_HELD = "; the largest of those held by an engine as it noted them"
_AS_TAKEN = "; those held by an engine as they were before"


def domain_lines(reader: Reader, history: History, sort: str, limit: int) -> Listed[DomainLine]:
    """The first domains of all by `sort`."""
    if sort not in SORTS:
        near = did_you_mean(sort, SORTS) or f"; there are {', '.join(SORTS)}."
        raise UserError(f"Domains can't be sorted by '{sort}'{near}")
    limit = max(0, min(limit, MOST_LINES))
    top = history.notes()["top"]
    values, of = _first(reader, top, sort, limit)
    noted = {name: {domain_id(each): n for each, n in top[name]} for name in _GROWING}
    found = reader.survey.domains_of([*values, *noted.get(sort, {})])
    held = {ident: row for ident, row in found.items() if row["engine_id"] > 0}
    for ident, row in held.items():
        row["pages"] = max(row["pages"], noted["pages"].get(ident, 0))
        row["queued"] = noted["queued"].get(ident, row["queued"])
        if sort in _GROWING and (ident in values or ident in noted[sort]):
            values[ident] = row[sort]
    if sort in _GROWING and held:
        of += _HELD if noted[sort] else _AS_TAKEN
    now_ms = reader.now_ms()
    order = sorted(
        (ident for ident in values if ident in found),
        key=lambda ident: (-values[ident], found[ident]["name"]),
    )
    return Listed([_line(found[each], values[each], now_ms) for each in order[:limit]], of)


def _line(row: dict[str, Any], value: float, now_ms: int) -> DomainLine:
    return DomainLine(
        name=row["name"],
        value=value,
        state=state_of(row, now_ms),
        seeded=bool(row["seeded"]),
        pages=row["pages"],
        queued=row["queued"],
        delay=row["delay_ms"] / 1000,
        failures=row["failures"],
        ready_ms=row["ready_at"],
        behind=row["behind"],
    )


def _first(
    reader: Reader, top: dict[str, list[Any]], sort: str, limit: int
) -> tuple[dict[int, float], str]:
    """Ids of domains with their values, in order, and what they were taken from."""
    survey, of_domains = reader.survey, sort in OF_DOMAINS
    everything = survey.known_domains() if of_domains else reader.newest_page()
    bound = DOMAINS_LOOKED_AT if of_domains else PAGES_LOOKED_AT
    if everything > bound and top[sort]:
        return (
            {domain_id(name): value for name, value in top[sort]},
            "what the engines of the last run noted, about",
        )
    unit = 1000 if sort in _IN_MS else 1
    if of_domains:
        found = {domain_id(name): n / unit for name, n in survey.top_domains(sort, limit)}
    else:
        found = {ident: value / unit for ident, value in survey.top_lately(sort, everything, limit)}
    if of_domains:
        whole = everything <= bound
        told = f"{everything:,} domains" if whole else f"{bound:,} of {everything:,} domains"
        return found, f"all {told}" if whole else f"{told}, taken as the store has them"
    return found, "all URLs that are done" if everything <= bound else f"the {bound:,} last URLs"
