"""Links to domains that their finder does not hold, on their way: how they are grouped, what a row
of the table `inbox` holds, and which rows an engine brings to their logs. Pure.

To look a link up in the log of its domain, and to append it there, costs reads and writes at a
place of its own. So a large crawl puts such links into *buckets* first: parts of all domains by the
first bits of their ids, which lie together in the log too. A commit writes one row for each bucket
that it has links for, and delivers what came into one bucket, from all engines, to the logs.

Any engine may deliver any row. Whoever deletes a row has read it and delivers all of it in the same
transaction; whoever finds that one of its rows is gone leaves the others where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson
from xxhash import xxh3_64_digest

from lycosa.frontier.log.batches import LinksOf, NewUrls, by_domain
from lycosa.frontier.values import Committed, Link
from lycosa.records import Flag, Url
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint

PLACES = 1024  # that the first bits of a domain's id tell: rows are sorted by them
MOST_BUCKETS = 256  # of a round: a link waits for as many commits
DOMAINS = 1000  # of a bucket: with fewer, its links are few as well
ROW_LINKS = 8  # of a row, in the mean: with fewer, rows cost more than they save
ROW_MOST = 500  # links of a row
MOST_LINKS = 5000  # that a transaction delivers, or twice as many as its commit puts on their way
MOST_ROWS = 2000  # that it delivers
SHORT_ROUNDS = 4  # deliveries for an engine that was handed fewer domains than it asked for
FORMAT = 1
_PLACE_SHIFT = 53  # of 63 bits of a domain's id
_KEY_SHIFT = 53  # of a row's key: 10 bits of the place, 20 of an engine, 27 of a batch, 6 of a part
_ENGINES, _BATCHES, _PARTS = 1 << 20, 1 << 27, 1 << 6
_HEAD = 9  # bytes: format and checksum
_STEP = 633  # the golden section of PLACES: engines that start together are far apart

FoundLink = tuple[Url, int, int]
"""A URL, its depth and its flags: its fingerprint and its domain's id are made from it."""
InboxRow = tuple[int, int, bytes]
"""Key, how many links, and what is in it."""


class BadRow(ValueError):
    """A row can't be read; says why."""


@dataclass(slots=True)
class Mail:
    """Rows that were read: what is in them, and what could not be read."""

    most: int = MOST_LINKS  # links of one transaction
    keys: list[int] = field(default_factory=list)  # of all rows, also of those that are damaged
    links: dict[tuple[int, int], Link] = field(default_factory=dict)  # each once
    found_ms: dict[int, int] = field(default_factory=dict)  # when the first of a domain was found
    damaged: list[tuple[int, str, bytes]] = field(default_factory=list)  # key, why, what it holds
    count: int = 0  # links that were read, those that are there twice, too
    whole: bool = True  # nothing is left of the last bucket

    def read(self, rows: Iterable[tuple[int, bytes]], epoch_ms: int) -> Mail:
        """Rows in the order of their keys, as many as one transaction delivers."""
        for key, data in rows:
            if self.count >= self.most or len(self.keys) >= MOST_ROWS:
                self.whole = False
                break
            self._read(key, data, epoch_ms)
        return self

    def _read(self, key: int, data: bytes, epoch_ms: int) -> None:
        self.keys.append(key)
        try:
            links, found = unpacked(data)
        except BadRow as error:
            self.damaged.append((key, str(error), data))
            return
        at = found + epoch_ms
        self.count += len(links)
        for link in links:
            self.links.setdefault(link[:2], link)
            self.found_ms[link[0]] = min(at, self.found_ms.get(link[0], at))


@dataclass(slots=True)
class Delivery:
    """Rows that are about to be delivered, and what in them is new."""

    mail: Mail = field(default_factory=Mail)
    new: NewUrls = field(default_factory=NewUrls)
    chunks: dict[int, list[bytes]] = field(default_factory=dict)  # of the new, made beforehand


class Arrival(NamedTuple):
    """Links to domains that their finders do not hold, and that go to logs now."""

    new: NewUrls
    chunks: dict[int, list[bytes]]  # made before the transaction
    places: dict[int, int]  # from when on a domain is ready that is new

    def joined(self, made: Delivery) -> Arrival:
        """With those on their way that arrive: together, so that domains are met in one order."""
        chunks = {**self.chunks, **made.chunks}
        for ident in self.chunks.keys() & made.chunks.keys():
            del chunks[ident]  # made anew, of all links to it
        return Arrival(self.new.joined(made.new), chunks, made.mail.found_ms)


class Rounds:
    """Where engines look for the next rows: each goes around the places, bucket by bucket, and
    begins somewhere else than others. Where another engine is at the same bucket, it jumps."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}  # by engine
        self._between = Committed(0, 0, False, 0)  # what came of deliveries between commits
        self.domains = 0  # that the crawl knows, as of the last commit

    def look(self, engine_id: int, count: int, most: int) -> dict[str, int]:
        """The values of `inbox_read`, for an engine that asks for one of so many buckets."""
        place = self._places.setdefault(engine_id, _start(engine_id))
        key = place << _KEY_SHIFT
        return {"key": key, "mask": _mask(count), "limit": MOST_ROWS + 1, "most": most}

    def went(self, engine_id: int, mail: Mail, count: int) -> None:
        """It has read rows: on to the next bucket, unless rows of this one are left."""
        last = mail.keys[-1]
        if not mail.whole:
            self._places[engine_id] = last >> _KEY_SHIFT
            return
        place = ((last | _mask(count)) >> _KEY_SHIFT) + 1
        if place < PLACES:
            self._places[engine_id] = place
        elif count > 1 or self._places[engine_id]:
            self._places[engine_id] = 0
        else:  # it read all there are: from here on not in step with others who did
            self._places[engine_id] = _start(engine_id)

    def collided(self, engine_id: int) -> None:
        """Another engine brings some of its rows: none was brought."""
        self._places[engine_id] = (self._places[engine_id] + _STEP) % PLACES

    def keep(self, result: Committed) -> None:
        """What came of a delivery between two commits, until the next one tells of it."""
        self._between.join(result)

    def tell(self, result: Committed) -> None:
        """What came of deliveries since the last commit is told now."""
        result.join(self._between)
        self._between = Committed(0, 0, False, 0)


def _start(engine_id: int) -> int:
    return engine_id * _STEP % PLACES


def rows_for(
    rounds: Rounds,
    engine_id: int,
    count: int,
    posted: int,
    rows: Callable[[dict[str, int]], Iterable[tuple[int, bytes]]],
    epoch_ms: int,
) -> Mail:
    """The next rows for an engine, of one of so many buckets. Where each commit delivers one, a
    bucket has as many links as a commit puts on their way (`posted`), in the mean. `rows`: the
    statement `inbox_read`, with its values."""
    mail = Mail(max(MOST_LINKS, 2 * posted))
    mail.read(rows(rounds.look(engine_id, count, mail.most)), epoch_ms)
    if mail.keys:
        rounds.went(engine_id, mail, count)
    return mail


def buckets(domains: int, links: int, forced: int = 0) -> int:
    """Into how many buckets so many links are put, by the domains that the crawl knows; 1: they are
    delivered at once."""
    return forced or _power_of_two(min(MOST_BUCKETS, domains // DOMAINS, links // ROW_LINKS))


def buckets_read(domains: int, forced: int = 0) -> int:
    """How many buckets there are for those who deliver, however few links they bring themselves:
    else they would meet all others."""
    return forced or _power_of_two(min(MOST_BUCKETS, domains // DOMAINS))


def _power_of_two(most: int) -> int:
    return 1 << max(0, most.bit_length() - 1)


def apart(links: LinksOf, held: Collection[int]) -> tuple[LinksOf, list[Link]]:
    """Links that go to the logs at once, and those that may wait in a bucket. Errands do not wait:
    an origin waits for them."""
    direct: LinksOf = {}
    posted: list[Link] = []
    for ident, some in links.items():
        waits = [] if ident in held else [link for link in some if _may_wait(link)]
        if len(waits) < len(some):
            direct[ident] = [link for link in some if not _may_wait(link)] if waits else some
        posted += waits
    return direct, posted


def _may_wait(link: Link) -> bool:
    return not link[5] & Flag.ERRAND and link[2].isascii()


def place_of(ident: int) -> int:
    """The place of a domain among all."""
    return ident >> _PLACE_SHIFT


def rows_of(
    links: Iterable[Link], count: int, writer: tuple[int, int], since_epoch_ms: int
) -> list[InboxRow]:
    """Links as rows, in the order of their keys. `writer`: an engine and its batch; `count`: of
    buckets, a power of two."""
    width = PLACES // count
    grouped: dict[int, list[list[Link]]] = {}
    for ident, some in by_domain(links).items():
        at = place_of(ident)
        grouped.setdefault(at - at % width, []).append(_each_once(some))
    rows = []
    for place, domains in sorted(grouped.items()):
        for part, told in enumerate(_parts(domains)):
            key = _key(place, *writer, part)
            rows.append((key, sum(map(len, told)), packed(told, since_epoch_ms)))
    return rows


def _each_once(links: list[Link]) -> list[Link]:
    """Of the same URL, the one that was found first."""
    found: dict[int, Link] = {}
    for link in links:
        found.setdefault(link[1], link)
    return list(found.values())


def _parts(domains: list[list[Link]]) -> Iterator[list[list[Link]]]:
    """The links of a bucket by domain, for as many rows as it takes; the last takes the rest."""
    part: list[list[Link]] = []
    room, made = ROW_MOST, 1
    for some in domains:
        left = some
        while len(left) >= room and made < _PARTS:
            yield [*part, left[:room]]
            part, left, room, made = [], left[room:], ROW_MOST, made + 1
        if left:
            part.append(left)
            room -= len(left)
    if part:
        yield part


def _key(place: int, engine_id: int, number: int, part: int) -> int:
    """No two rows have the same, ever: numbers of engines and of their batches are not used again.
    Else a row that was read might be another one by the time that it is deleted."""
    writer = (engine_id % _ENGINES * _BATCHES + number % _BATCHES) * _PARTS + part
    return place << _KEY_SHIFT | writer


def _mask(count: int) -> int:
    """The bits in which the keys of a bucket may differ, of so many buckets."""
    return (PLACES // count << _KEY_SHIFT) - 1


def keys_for(ident: int) -> list[tuple[int, int]]:
    """The ranges of keys in which the links to a domain are, each with its end, however many
    buckets their writers had."""
    place = place_of(ident)
    starts, width = set[int](), 1
    while width <= PLACES:
        starts.add(place - place % width)
        width *= 2
    return [(start << _KEY_SHIFT, ((start + 1) << _KEY_SHIFT) - 1) for start in sorted(starts)]


# -- what a row holds ---------------------------------------------------------------------------


def packed(domains: Iterable[Sequence[Link]], since_epoch_ms: int) -> bytes:
    """Links by domain that were found at one moment, which counts from the epoch of the logs."""
    told = [
        (some[0][4], [(url, depth, flags) for _, _, url, depth, _, flags in some])
        for some in domains
    ]
    body = orjson.dumps((since_epoch_ms, told))
    return bytes([FORMAT]) + xxh3_64_digest(body) + body


def unpacked(data: bytes) -> tuple[list[Link], int]:
    """The links of a row, and when they were found; BadRow if it is not as it was written."""
    body = data[_HEAD:]
    if not body or data[0] != FORMAT:
        raise BadRow("it has an unknown format")
    if xxh3_64_digest(body) != data[1:_HEAD]:
        raise BadRow("its checksum is another one")
    try:
        found, domains = orjson.loads(body)
        links = [link for name, some in domains for link in _links(name, some)]
    except (ValueError, TypeError, AttributeError) as error:
        raise BadRow("it is not what its checksum says") from error
    if type(found) is not int or abs(found) >= 1 << 48:
        raise BadRow("it is not what its checksum says")
    return links, found


def _links(name: str, some: Iterable[FoundLink]) -> Iterator[Link]:
    """The links of a domain. Whose a URL is, its finder has judged: a name that is no end of its
    host would aim us at somebody else."""
    ident = domain_id(name)
    for url, depth, flags in some:
        host = host_of(url).rstrip(".") if url.startswith(("https://", "http://")) else ""
        if host != name and not host.endswith(f".{name}"):
            raise ValueError("a URL is of another domain")
        if not (type(depth) is type(flags) is int and 0 <= depth < 1 << 31 and 0 <= flags < 256):
            raise ValueError("a link has numbers that none has")
        yield ident, fingerprint(url), url, depth, name, flags
