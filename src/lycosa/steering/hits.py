"""How many domains and queued URLs exclusions would take out, counted before they do.

Domains are counted exactly. A crawl may have queued hundreds of millions of URLs, so these are
counted for a limited time; after it there are "at least" so many. `Counter` reads only what a line
can hit: the queue of one domain for a host, the names of all domains for a suffix, all URLs only
for a pattern over hosts.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lycosa.clock import engine_now
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_id, domain_of, registrable
from lycosa.urls.scope import Scope, ScopeRules

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

SECONDS = 10.0  # in which URLs are counted
_AT_ONCE = 500  # domains whose queues are counted in one query


@dataclass(slots=True)
class Hits:
    """What one line hits, or all of them together."""

    domains: int = 0
    urls: int = 0
    at_least: bool = False  # time was up before all URLs were counted
    whole: int = 0  # of the domains, those that are hit as a whole

    @property
    def none(self) -> bool:
        return not self.domains and not self.urls

    def text(self) -> str:
        """'3 domains and at least 120 queued URLs', or '120 queued URLs of 3 domains' where no more
        of these is hit."""
        urls = ("at least " if self.at_least else "") + _count(self.urls, "queued URL")
        domains = _count(self.domains, "domain")
        return f"{urls} of {domains}" if self.urls and not self.whole else f"{domains} and {urls}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(slots=True)
class Plan:
    """The domains, suffixes or URLs that have to be read to count what lines hit."""

    whole: dict[str, str] = field(default_factory=dict)  # domain -> the line that is its name
    partly: set[str] = field(default_factory=set)  # domains of which some URLs may be hit
    suffixes: bool = False  # a line hits whole domains below a public suffix
    anywhere: bool = False  # a pattern's host has a '*'


def plan(lines: Iterable[str]) -> Plan:
    """Where these lines can hit something; pure."""
    made = Plan()
    for line in lines:
        host = line.split("/")[0].split("?")[0]
        if "*" in host:
            made.anywhere = True
        elif "*" in line or not line.startswith("."):
            whole = "*" not in line and domain_of(host) == host
            made.whole.update({host: line} if whole else {})
            made.partly.update(() if whole else {domain_of(host)})
        elif registrable(f"x{line}") == f"x{line}":
            made.suffixes = True
        else:
            made.partly.add(domain_of(host[1:]))
    return made


class Counter:
    """Counts what lines hit in one crawl. `left` says whether there is time left."""

    def __init__(
        self, reader: Reader, lines: Sequence[str], left: Callable[[], bool] | None = None
    ) -> None:
        end = engine_now() + SECONDS
        self.by_line = {line: Hits() for line in lines}
        self.total = Hits()
        self._reader = reader
        self._left = left or (lambda: engine_now() < end)
        self._scope = Scope(ScopeRules(exclude=tuple(lines)))
        self._touched: set[str] = set()  # domains of which single URLs were hit
        self._wholly: frozenset[str] = frozenset()  # lines that are the names of domains

    def run(self) -> None:
        made = plan(self.by_line)
        self._wholly = frozenset(made.whole.values())
        self._count_domains(made)
        if made.anywhere:
            self._count_urls(self._reader.queued_urls())
        else:
            for name in sorted(made.partly):
                self._count_urls(self._reader.queued_urls(domain_id(name)))

    def _count_domains(self, made: Plan) -> None:
        """Domains that are hit as a whole, with all that is queued of them."""
        names = self._reader.domains_among(made.whole)
        found: Iterable[tuple[int, str]] = ((domain_id(name), name) for name in names)
        if made.suffixes:
            found = self._reader.domains()
        by_lines: dict[tuple[str, ...], array[int]] = {}
        for ident, name in found:
            if lines := tuple(self._scope.host_lines(name)):
                by_lines.setdefault(lines, array("q")).append(ident)
        for lines, ids in by_lines.items():
            self._add_domains(lines, ids)

    def _add_domains(self, lines: tuple[str, ...], ids: array[int]) -> None:
        hits = [self.total, *(self.by_line[line] for line in lines)]
        for each in hits:
            each.domains += len(ids)
            each.whole += len(ids)
        for at in range(0, len(ids), _AT_ONCE):
            if not self._left():
                for each in hits:
                    each.at_least = True
                return
            urls = self._reader.queued_count(ids[at : at + _AT_ONCE].tolist())
            for each in hits:
                each.urls += urls

    def _count_urls(self, urls: Iterator[str]) -> None:
        """URLs that are hit one by one, of one domain or of all."""
        for number, url in enumerate(urls):
            if number % 1000 == 0 and not self._left():
                self._stop_counting()
                return
            host = host_of(url)
            if lines := self._scope.excluded_by(url, host):
                self._add_url(lines, domain_of(host))

    def _stop_counting(self) -> None:
        self.total.at_least = True
        for line, each in self.by_line.items():
            each.at_least |= line not in self._wholly

    def _add_url(self, lines: list[str], domain: str) -> None:
        whole = self._scope.host_lines(domain)  # counted with their domains already
        hits = [("", self.total)] if not whole else []
        hits += [(line, self.by_line[line]) for line in lines if line not in whole]
        for key, each in hits:
            each.urls += 1
            if (mark := f"{domain} {key}") not in self._touched:
                self._touched.add(mark)
                each.domains += 1
