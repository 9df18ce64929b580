"""From what a visit brought to what is kept: pages, text rows, WARC records and links. Pure.

Owns the outcome of a page and which of its links go to the frontier. It knows nothing of sockets,
files or time; what it makes is put into a `Batch`, which the store thread writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

from lycosa.archive.text import text_row
from lycosa.archive.warc import response_records
from lycosa.engine.notes import EngineNotes
from lycosa.engine.one_page_sites import OnePageSites, mark_of
from lycosa.engine.page_rows import (
    count_type,
    note_records,
    note_referrers,
    note_response,
    own_address,
    page_row,
)
from lycosa.engine.repeats import Repeats
from lycosa.engine.scheduler import Held
from lycosa.engine.sent_links import SentLinks
from lycosa.engine.visit_result import Result
from lycosa.frontier.protocol import Batch, LinkBlock, Purge
from lycosa.metrics import Stats
from lycosa.outcomes import Drop, Outcome, of_status
from lycosa.page import sitemaps
from lycosa.page.decode import decode
from lycosa.page.html import PARSE_BYTES, Parsed, parse
from lycosa.page.label_rules import STATUS_IS
from lycosa.page.labels import LabelFacts, label
from lycosa.page.language import Shares, code_of, languages
from lycosa.page.media import OTHER, kind_of
from lycosa.page.simhash import simhash
from lycosa.politeness import robots_tag
from lycosa.politeness.robots import AGENT_TOKEN
from lycosa.records import Flag, PageRow, QueuedUrl, Request, Response, Truncated, Url
from lycosa.urls.canonical import canonical, host_of
from lycosa.urls.domains import domain_id, domain_of, place_of_origin
from lycosa.urls.fingerprint import SUSPECTS, content_hash, fingerprint
from lycosa.urls.linked_hosts import linked_hosts
from lycosa.urls.links import LinkResolver, ResolvedLink, bases, resolved
from lycosa.urls.ports import blocked_port
from lycosa.urls.scope import NOT_TEXT, Scope

Join = Callable[..., tuple[list[str], list[tuple[str, int]], int, bytes]]
join: Join | None
try:
    from lycosa.urls._links import join
except ImportError:  # there was no C compiler when lycosa was installed
    join = None

TITLE_CHARS = 300  # of a title in the pages table; the text row has all of it
GZIP_MAGIC = b"\x1f\x8b"
SITEMAP_URLS = 5_000  # taken from one sitemap: more would hold the loop (S3)
LOOKED_AT = max(PARSE_BYTES, sitemaps.MAX_BYTES)  # what follows need not even be unpacked
REFUSAL_BYTES = 64 * 1024  # of a page with an error status: it has no text row, only a label
MADE_CHARS = 2_000_000  # of the URLs made of a page's links: a long base makes long ones
MOST_EDGES = 20_000  # of one batch: more than its pages have, unless they are made to fill memory
LINKS = 40_000  # hrefs whose URLs are remembered, 450 bytes each: those of the sites in flight
_UNKEPT = (Outcome.NOINDEX, Outcome.OTHER_LANGUAGE)


@dataclass(frozen=True, slots=True)
class HarvestRules:
    """What harvesting must know of the settings."""

    max_decoded: int = 10 << 20  # bytes
    obey_nofollow: bool = True
    max_pages_per_domain: int = 0
    max_queued_per_domain: int = 10_000
    keep_warc: bool = False
    languages: frozenset[str] = frozenset()  # pages in others are not kept; empty: all are
    keep_repeats: bool = False  # sites with one page for all URLs are crawled like others
    agent: str = AGENT_TOKEN  # the name by which X-Robots-Tag is read


class Harvest:
    """Turns visit results into batches."""

    def __init__(
        self,
        rules: HarvestRules,
        scope: Scope,
        request_head: Callable[[Request], bytes],
        record_ids: Iterator[str],
    ) -> None:
        self.rules = rules
        self.scope = scope
        self.sent = SentLinks()
        self._repeats = Repeats()
        self._one_page = OnePageSites()
        self._resolver = LinkResolver(LINKS)
        self._request_head = request_head
        self._ids = record_ids
        self.notes = EngineNotes()

    def take(self, result: Result, batch: Batch, stats: Stats) -> None:
        """Everything that came of one visit."""
        now_ms, held, before = result.ended_ms, result.held, len(batch.pages)
        stats.requests += result.requests
        stats.robots_fetched += result.robots_fetched
        for url, target, response in result.moved:
            self._moved(held, url, target, response, batch, stats, now_ms)
        for url, reason, status in result.failed:
            self._count_page(held, status, stats, reason)
            row = page_row(held, url, now_ms, status, reason)
            if status >= 400:
                row.label, row.label_reason = label(LabelFacts(url.url, status))
            _count(stats.labels, row.label)
            batch.pages.append(row)
        for target, depth, flags in result.found:
            self._found(held, target, depth, flags, batch, stats)
        if result.page is not None:
            self._page(held, *result.page, batch, stats, now_ms)
        if result.moved:
            note_referrers(batch.pages[before:], result.moved)
        self._cap(held, batch)
        self.notes.rows(batch.pages[before:])
        if result.dropped:
            self.notes.dropped({reason: url.url for url, reason in result.dropped if reason})

    def _moved(
        self,
        held: Held,
        url: QueuedUrl,
        target: str,
        response: Response | None,
        batch: Batch,
        stats: Stats,
        now_ms: int,
    ) -> None:
        """A redirect, or a bare domain that does not speak https."""
        outcome, status = (Outcome.REDIRECT, response.status) if response else (Outcome.NO_HTTPS, 0)
        row = page_row(held, url, now_ms, status, outcome)
        row.redirect = target
        if response is not None:
            note_response(row, response)
            self._keep_warc(row, response)
        self._count_page(held, status, stats, outcome)
        batch.pages.append(row)

    def _count_page(self, held: Held, status: int, stats: Stats, outcome: str) -> None:
        held.queued = max(0, held.queued - 1)
        stats.outcomes[outcome] = stats.outcomes.get(outcome, 0) + 1
        if status:
            held.pages += 1
            stats.pages += 1

    def _cap(self, held: Held, batch: Batch) -> None:
        reason = self._over(held) if held.run or held.queued else ""
        if reason:
            held.run.clear()
            held.queued = 0
            batch.purges.append(Purge(held.id, "", reason, forget=True))

    # -- a page -------------------------------------------------------------------------------

    def _page(
        self,
        held: Held,
        url: QueuedUrl,
        response: Response,
        batch: Batch,
        stats: Stats,
        now_ms: int,
    ) -> None:
        status = response.status
        row = page_row(held, url, now_ms, status, of_status(status))
        note_response(row, response)
        stats.bytes += row.wire_bytes
        if response.truncated == Truncated.TYPE:
            row.outcome = Outcome.NOT_TEXT
        elif row.outcome == Outcome.OK:
            self._content(held, url, response, row, batch, stats)
        elif status >= 400:
            self._refusal(response, row)
        _count(stats.labels, row.label)
        if row.outcome not in _UNKEPT:
            self._keep_warc(row, response)
        self._count_page(held, status, stats, row.outcome)
        if row.outcome == Outcome.OK:
            stats.ok += 1
            if row.language:
                _count(stats.languages, row.language, 1)
        count_type(stats.types, row.content_type)
        batch.pages.append(row)

    def _refusal(self, response: Response, row: PageRow) -> None:
        """Labels a page with an error status. Most statuses tell it alone; for the others a bounded
        part of the body is read, because a challenge is told from a failure by its words."""
        parsed, body = Parsed(), b""
        content_type = response.joined(b"content-type")
        if row.status not in STATUS_IS:
            encoding = response.joined(b"content-encoding")
            body, _, _ = decode(response.body, encoding, min(self.rules.max_decoded, REFUSAL_BYTES))
            if kind_of(content_type, body) != OTHER:
                parsed = parse(body, content_type)
        _label(response, row, parsed, body)

    def _keep_warc(self, row: PageRow, response: Response) -> None:
        note_records(row, self.records(response, row.fetched_ms, row.payload_digest))

    def records(
        self, response: Response, fetched_ms: int, digest: bytes = b""
    ) -> tuple[bytes, ...]:
        """The WARC records of a response, if they are wanted: for pages, and for robots.txt."""
        if not self.rules.keep_warc:
            return ()
        head = self._request_head(response.request)
        return response_records(response, head, fetched_ms, self._ids, digest)

    def _content(
        self,
        held: Held,
        url: QueuedUrl,
        response: Response,
        row: PageRow,
        batch: Batch,
        stats: Stats,
    ) -> None:
        """A page with status 200: a sitemap, text, or something else."""
        encoding = response.joined(b"content-encoding")
        limit = min(self.rules.max_decoded, LOOKED_AT)
        body, _, problem = decode(response.body, encoding, limit)
        if problem and not body:
            row.outcome = Outcome.UNDECODABLE
        elif url.flags & Flag.SITEMAP:
            row.outcome = Outcome.SITEMAP
            self._sitemap(held, url, body, batch, stats)
        elif kind_of(content_type := response.joined(b"content-type"), body) == OTHER:
            # Its type was not told, or could not be seen before unpacking.
            row.outcome = Outcome.NOT_TEXT
        else:
            parsed = self._parsed(url, response, content_type, body)
            wanted = self._said(held, url, response, parsed, body, row, stats)
            self._leads(held, url, parsed, wanted, batch, stats)

    def _parsed(self, url: QueuedUrl, response: Response, content_type: str, body: bytes) -> Parsed:
        """The page as its markup and its headers have it."""
        tld = host_of(url.url).rpartition(".")[2]
        parsed = parse(body, content_type, tld=tld, obey_nofollow=self.rules.obey_nofollow)
        if fields := response.headers(b"x-robots-tag"):
            noindex, nofollow = robots_tag.wishes(fields, self.rules.agent)
            parsed.noindex |= noindex
            parsed.nofollow |= nofollow
        return parsed

    def _said(
        self,
        held: Held,
        url: QueuedUrl,
        response: Response,
        parsed: Parsed,
        body: bytes,
        row: PageRow,
        stats: Stats,
    ) -> bool:
        """Keep what a page says, if it may be kept; whether it is in a wanted language."""
        row.title = parsed.title[:TITLE_CHARS]
        row.charset = parsed.charset
        found = languages(parsed.main or parsed.text, parsed.lang)
        wanted = self._in_wanted(found, parsed.lang)
        if parsed.noindex:
            row.outcome = Outcome.NOINDEX
            return wanted
        if found:
            row.language, row.language_score = found[0][0], round(100 * found[0][1])
        if wanted:
            _label(response, row, parsed, body)
            self._keep_text(url, parsed, row, found)
            self.notes.text(row, parsed.main or parsed.text)
            self._note_repeats(held, row, stats)
        else:
            row.outcome = Outcome.OTHER_LANGUAGE
        return wanted

    def _note_repeats(self, held: Held, row: PageRow, stats: Stats) -> None:
        """Whether other pages say the same, of the crawl and of the domain."""
        self._repeats.count(row.content_hash, row.simhash, stats)
        self._one_page.note(held.id, mark_of(row.text_chars, row.content_hash, row.simhash))

    def _leads(
        self,
        held: Held,
        url: QueuedUrl,
        parsed: Parsed,
        wanted: bool,
        batch: Batch,
        stats: Stats,
    ) -> None:
        """Where a page leads to. Where a wanted language is found, links count from there, as from
        a seed."""
        if not (parsed.nofollow and self.rules.obey_nofollow):
            base = (canonical(parsed.base, url.url) if parsed.base else None) or url.url
            depth = 1 if self.rules.languages and wanted else url.depth + 1
            hosts = self._links(held, parsed.links, base, depth, batch, stats)
            _note_edges(batch.edges, host_of(url.url), hosts)
        if parsed.links_dropped:
            _count(stats.drops, Drop.LINKS_PER_PAGE, parsed.links_dropped)

    def _sitemap(self, held: Held, url: QueuedUrl, body: bytes, batch: Batch, stats: Stats) -> None:
        """The URLs of a sitemap; an index gives more sitemaps. It speaks for its own site only."""
        if body.startswith(GZIP_MAGIC):
            body, _, _ = decode(body, "gzip", min(self.rules.max_decoded, LOOKED_AT))
        found = sitemaps.parse(body, SITEMAP_URLS)
        places = sitemaps.Places(held.name, url.url)
        own = [each for each in map(places.url, found.urls) if each]
        for reason, number in places.drops.items():
            _count(stats.drops, reason, number)
        if found.kind == "index":
            for each in own:
                self._found(held, each, url.depth, int(Flag.SITEMAP), batch, stats)
        else:
            self._take_links(held, map(resolved, own), url.depth + 1, batch, stats)

    def _in_wanted(self, found: Shares, declared: str) -> bool:
        """Whether a page is in a language that the crawl wants: the best that was found, or what it
        declares where its text is too short to tell."""
        if not self.rules.languages:
            return True
        return (found[0][0] if found else code_of(declared)) in self.rules.languages

    def _keep_text(self, url: QueuedUrl, parsed: Parsed, row: PageRow, found: Shares) -> None:
        row.text_chars = len(parsed.text)
        row.content_hash = content_hash(parsed.text)
        row.main_chars = len(parsed.main)
        row.simhash = simhash(parsed.main or parsed.text)
        row.text_row = text_row(
            row.url,
            row.fetched_ms,
            row.status,
            parsed.title,
            parsed.lang,
            parsed.text,
            depth=row.depth,
            content_type=row.content_type,
            charset=parsed.charset,
            content_hash=row.content_hash,
            main=parsed.main,
            scores=parsed.scores,
            languages=found,
            published=parsed.published,
            site_name=parsed.site_name,
            canonical=own_address(parsed, url.url),
            simhash=row.simhash,
            label=row.label,
            label_reason=row.label_reason,
        )

    # -- links --------------------------------------------------------------------------------

    def _links(
        self,
        held: Held,
        hrefs: list[str],
        base: str,
        depth: int,
        batch: Batch,
        stats: Stats,
    ) -> dict[str, int]:
        """The links of a page; returns how many lead to each host, wanted or not."""
        most, beyond = MADE_CHARS // len(base), []
        if len(hrefs) > most:
            _count(stats.drops, Drop.LINKS_PER_PAGE, len(hrefs) - most)
            hrefs, beyond = hrefs[:most], hrefs[most:]
        taken: list[tuple[str, int]] = []
        if not self._full(held):
            hrefs, taken = self._plain_links(held, hrefs, base, depth, batch)
        self._take_links(held, self._resolver.resolve(hrefs, base), depth, batch, stats)
        if self._resolver.dropped:
            _count(stats.drops, Drop.LINKS_PER_PAGE, self._resolver.dropped)
        return linked_hosts([*hrefs, *beyond] if beyond else hrefs, base, taken)

    def _take_links(
        self, held: Held, links: Iterable[ResolvedLink], depth: int, batch: Batch, stats: Stats
    ) -> None:
        """Sends those on that are in scope and were not sent to the store lately."""
        slots, mask = self.sent.slots, self.sent.mask  # asked so often that a call would show
        add, scope = batch.links.append, self.scope
        by_shape = scope.shape if scope.by_shape(depth) else None
        own, full = held.id, self._full(held)
        counts: dict[str, int] = {}
        samples: dict[str, str] = {}  # a dropped URL for each reason
        for ident, fp, url, domain in links:
            if slots[fp & mask] == fp:
                continue
            inside = ident == own
            if by_shape is not None:
                reason = by_shape(url)
            else:
                # Whether another domain is seeded, only the store knows.
                seeded = held.seeded or not inside
                reason = scope.refuses(url, host_of(url), domain, depth, seeded)
            if not reason and inside:
                reason = full
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
                samples[reason] = url
            else:
                slots[fp & mask] = fp
                add((ident, fp, url, depth, domain, 0))
        for reason, number in counts.items():
            _count(stats.drops, reason, number)
        if samples:
            self.notes.dropped(samples)

    def _plain_links(
        self, held: Held, hrefs: list[str], base: str, depth: int, batch: Batch
    ) -> tuple[list[str], list[tuple[str, int]]]:
        """Takes the hrefs that need no parser and break no rule, most of them; returns the rest,
        and how many of those it took lead to each host."""
        origin, directory = bases(base)
        place_of = self._places(held, depth)
        place = place_of(origin)
        if join is None or place is None or blocked_port(origin) >= 0:
            return hrefs, []
        rules = self.scope.rules
        certain = (
            rules.max_repeats, rules.max_segments, rules.max_query, NOT_TEXT,
            xxh3_64_intdigest, fingerprint, place_of, SUSPECTS,
        )  # fmt: skip
        left, hosts, count, own = join(
            hrefs, origin, directory, place, depth, 0, batch.links, self.sent.slots, certain
        )
        if count:
            batch.take(LinkBlock(*place, depth, count, own))
        return left, hosts

    def _places(self, held: Held, depth: int) -> Callable[[str], tuple[int, str] | None]:
        """What gives the domain of an origin, and None if more than their shape decides which of
        its URLs are wanted."""
        if self.scope.by_shape(depth):
            return place_of_origin

        def place(origin: str) -> tuple[int, str] | None:
            found = place_of_origin(origin)
            seeded = held.seeded or found[0] != held.id
            return found if self.scope.host_by_shape(host_of(origin + "/"), depth, seeded) else None

        return place

    def _full(self, held: Held) -> str:
        """Why the domain takes no more URLs of its own, '' if it does."""
        full = held.queued >= self.rules.max_queued_per_domain
        return self._over(held) or (Drop.QUEUE_CAP if full else "")

    def _over(self, held: Held) -> str:
        """Why no page of the domain is wanted any more, '' if there are."""
        if 0 < self.rules.max_pages_per_domain <= held.pages:
            return Drop.PAGE_CAP
        if not self.rules.keep_repeats and self._one_page.known(held.id, held.pages):
            return Drop.SAME_PAGE
        return ""

    def _found(
        self, held: Held, url: Url, depth: int, flags: int, batch: Batch, stats: Stats
    ) -> None:
        """One URL met on the way: a redirect's target, a sitemap."""
        host = host_of(url)
        domain = domain_of(host)
        if flags & Flag.SITEMAP and domain != held.name:
            return  # a sitemap speaks for its own site only
        reason = self.scope.refuses(url, host, domain, depth, held.seeded or domain != held.name)
        if reason:
            _count(stats.drops, reason, 1)
        else:
            # A page of the same visit may link to it: that link is deeper, and has no flags.
            fp = fingerprint(url)
            self.sent.add(fp)
            batch.links.append((domain_id(domain), fp, url, depth, domain, flags))


def _note_edges(edges: dict[tuple[str, str], int], source: str, targets: dict[str, int]) -> None:
    """Add a page's links to those of its batch, up to a bound."""
    if len(edges) < MOST_EDGES:
        for target, links in targets.items():
            edges[source, target] = edges.get((source, target), 0) + links


def _label(response: Response, row: PageRow, parsed: Parsed, body: bytes) -> None:
    """What kind of page it is."""
    facts = LabelFacts.of(
        parsed, row.url, row.status, response.header, row.content_type, row.truncated, body
    )
    row.label, row.label_reason = label(facts)


def _count(tally: dict[str, int], reason: str, number: int = 1) -> None:
    if reason:
        tally[reason] = tally.get(reason, 0) + number
