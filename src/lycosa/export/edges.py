"""The table `edges`: the host graph, with the links of all commits added up, sorted by host.

Pages are not known any more: of the filters only a domain can choose edges, by their source.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Any

from lycosa.archive.edges import HostEdge
from lycosa.errors import UserError
from lycosa.export.sorting import Runs, SortedRow
from lycosa.export.target import Target
from lycosa.urls.domains import domain_once
from lycosa.urls.exclusions import Exclusions

PHASE = "edges"
CHOSEN_BY = frozenset({"domain"})


def check_filters(filters: Collection[str]) -> None:
    """Raise UserError for a filter that edges can't be chosen by."""
    for name in filters:
        if name not in CHOSEN_BY:
            raise UserError(
                f"The table edges knows no pages, so that --{name.replace('_', '-')} can't choose"
                " from it: export it without, or other tables with --table."
            )


def chosen_edges(
    edges: Iterable[HostEdge], excluded: Exclusions, domains: Collection[str]
) -> Iterator[HostEdge]:
    """Those between hosts that are not excluded, from these domains or all."""
    for edge in edges:
        if domains and domain_once(edge.source) not in domains:
            continue
        if not (_hit(excluded, edge.source) or _hit(excluded, edge.target)):
            yield edge


def _hit(excluded: Exclusions, host: str) -> bool:
    return excluded.excludes(f"https://{host}/", host)


def summed_edges(target: Target, edges: Iterable[HostEdge]) -> Iterator[HostEdge]:
    """Each pair once, sorted. Memory: a run's."""
    runs = Runs(target.work, PHASE)
    for edge in edges:
        runs.add(((edge.source, edge.target), edge.links))
    for (source, to), rows in groupby(runs.merged(), key=_pair):
        yield HostEdge(source, to, sum(row[1] for row in rows))
    for name in runs.names:
        (target.work / name).unlink()


def _pair(row: SortedRow) -> Any:
    return row[0]
