"""Some URLs with an outcome: those that engines noted, and the newest of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lycosa.frontier.filters import Filter
from lycosa.frontier.survey import PAGES_LOOKED_AT
from lycosa.reading.names import check_outcome
from lycosa.reading.values import Listed, Page, page_of

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader
    from lycosa.reading.history import History

STEPS = 10  # statements that look for examples, each through PAGES_LOOKED_AT pages
MOST = 100  # examples


def examples(reader: Reader, history: History, outcome: str, limit: int) -> Listed[Page]:
    """Pages with an outcome, the newest first; raises UserError for a word that is none."""
    check_outcome(reader, outcome)
    limit = max(0, min(limit, MOST))
    where, found = Filter(outcomes=(outcome,)), list[Page]()
    newest = end = reader.newest_page()
    for _ in range(STEPS):
        if len(found) >= limit or end <= 0:
            break
        low = max(0, end - PAGES_LOOKED_AT)
        rows = reader.page_chunk(where, low, end, limit - len(found), newest=True)
        found += [page_of(*row) for row in rows]
        end = low
    if len(found) < limit and end > 0:
        found += _noted(reader, history, outcome, limit - len(found), {p.url for p in found})
    of = f"the {newest - end:,} last URLs" if end > 0 else "all URLs that are done"
    return Listed(found, f"{of}: those with the outcome {outcome}")


def _noted(
    reader: Reader, history: History, outcome: str, limit: int, known: set[str]
) -> list[Page]:
    """What engines noted of a rare outcome, as the store has it."""
    noted = [each["url"] for each in history.notes()["examples"].get(outcome, ())]
    urls = [url for url in noted if isinstance(url, str) and url not in known]
    rows = [reader.find(url) for url in urls[:limit]]
    return [
        page_of(row["page_id"], row["page"])
        for row in rows
        if row["page"] is not None and row["page"].outcome == outcome
    ]
