"""Builders for the values that cross borders: a test names the fields that it is about.

A URL decides most of the rest (domain, host, port, fingerprint). It is taken as it is written: a
test may want one that is not canonical.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Iterable, Sequence

from lycosa.archive.ledger import UNTOLD, Clock, LedgerVisit
from lycosa.archive.text import text_row
from lycosa.engine.scheduler import Held, KnownOrigin
from lycosa.frontier.protocol import Link, LinkBlock
from lycosa.records import FOUND, Kind, Lease, Origin, PageRow, QueuedUrl, Request, Url
from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint

DELAY = 70.0  # seconds, the crawl's default


def noise(seed: int, length: int = 1500) -> str:
    """So many characters of a path that no dictionary packs well."""
    return base64.urlsafe_b64encode(random.Random(seed).randbytes(length)).decode()[:length]


def link(url: str, depth: int = 0, flags: int = 0) -> Link:
    """A URL on its way into the frontier."""
    domain = domain_of(split(url).host)
    return (domain_id(domain), fingerprint(url), Url(url), depth, domain, flags)


def block(links: Sequence[Link]) -> LinkBlock:
    """Links of one page to one domain, as the compiled module packs them."""
    ident, _, _, depth, name, _ = links[0]
    packed = [(fp, url.encode()) for _, fp, url, *_ in links]
    data = b"".join(struct.pack("=qH", fp, len(url)) + url for fp, url in packed)
    return LinkBlock(ident, name, depth, len(links), data)


def blocks(links: Iterable[Link], chance: random.Random) -> tuple[list[LinkBlock], list[Link]]:
    """Some links as blocks, and the others."""
    kinds: dict[tuple[int, int], list[Link]] = {}
    left = []
    for each in links:
        if each[5] or chance.random() < 0.3:
            left.append(each)
        else:
            kinds.setdefault((each[0], each[3]), []).append(each)
    made = []
    for some in kinds.values():
        cut = chance.randrange(len(some))
        made += [block(part) for part in (some[:cut], some[cut:]) if part]
    return made, left


def queued(
    url: str, depth: int = 0, order: int = 0, attempts: int = 0, flags: int = 0
) -> QueuedUrl:
    """A URL as the frontier hands it out."""
    return QueuedUrl(fingerprint(url), Url(url), depth, order, attempts, flags)


def lease(
    domain: str = "a.test",
    urls: Iterable[QueuedUrl] = (),
    *,
    ident: int | None = None,
    ready_ms: int = 0,
    delay_ms: int = 0,
    failures: int = 0,
    pages: int = 0,
    queued: int | None = None,
    seeded: bool = True,
    origins: Iterable[Origin] = (),
) -> Lease:
    """A domain as the frontier leases it. `queued` is the number of `urls` unless it is given."""
    run = list(urls)
    return Lease(
        domain_id=domain_id(domain) if ident is None else ident,
        name=domain,
        ready_ms=ready_ms,
        delay_ms=delay_ms,
        failures=failures,
        pages=pages,
        queued=len(run) if queued is None else queued,
        seeded=seeded,
        urls=run,
        origins=list(origins),
    )


def held(
    domain: str = "a.test",
    urls: Iterable[QueuedUrl] = (),
    *,
    ident: int | None = None,
    seeded: bool = True,
    delay: float = DELAY,
    failures: int = 0,
    pages: int = 0,
    queued: int | None = None,
    ready: float = 0.0,
    origins: dict[str, KnownOrigin] | None = None,
) -> Held:
    """A domain as an engine holds it. `queued` is the number of `urls` unless it is given."""
    run = list(urls)
    return Held(
        id=domain_id(domain) if ident is None else ident,
        name=domain,
        seeded=seeded,
        delay=delay,
        failures=failures,
        pages=pages,
        queued=len(run) if queued is None else queued,
        ready=ready,
        run=run,
        origins={} if origins is None else origins,
    )


def made_request(url: str, kind: Kind = Kind.PAGE, deadline: float = 9.0) -> Request:
    parts = split(url)
    return Request(url, parts.host, parts.port, parts.https, kind, deadline)


def made_page(
    url: str,
    outcome: str = "ok",
    *,
    status: int = 200,
    depth: int = 0,
    order: int = FOUND,
    fetched_ms: int = 1,
) -> PageRow:
    """A URL that is done. `order` is that of the queue's row that it replaces."""
    place, fp, known_as, *_ = link(url)
    return PageRow(
        domain_id=place,
        fp=fp,
        url=known_as,
        order=order,
        depth=depth,
        fetched_ms=fetched_ms,
        status=status,
        outcome=outcome,
    )


def page_of(
    url: QueuedUrl, outcome: str = "ok", *, status: int = 200, fetched_ms: int = 1
) -> PageRow:
    """A leased URL that is done."""
    return made_page(
        url.url,
        outcome,
        status=status,
        depth=url.depth,
        order=url.order,
        fetched_ms=fetched_ms,
    )


def made_row(url: str, text: str = "", title: str = "", lang: str = "") -> bytes:
    """The line of a page in the text archive."""
    return text_row(url, 0, 200, title, lang, text)


def made_visit(
    domain: str,
    start_ms: int,
    end_ms: int,
    *,
    engine_id: int = 1,
    address: str = "",
    learned_ms: int | None = None,
    start_clock: Clock = UNTOLD,
    end_clock: Clock = UNTOLD,
) -> LedgerVisit:
    """A visit of one request that has ended, as it is read from the ledger."""
    return LedgerVisit(
        engine_id=engine_id,
        domain=domain,
        start_ms=start_ms,
        end_ms=end_ms,
        requests=1,
        address=address,
        outcome="ok",
        learned_ms=learned_ms,
        unfinished=False,
        start_clock=start_clock,
        end_clock=end_clock,
    )
