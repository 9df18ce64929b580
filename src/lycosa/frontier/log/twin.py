"""What the chunks of a domain say together: the state of each URL, the queue in order, folds. Pure.

Follows `rule`, which says how. The compiled `_domain_log.Index` does the same to the letter at a
fraction of the cost; this module is used where that one could not be built.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lycosa.frontier.log.checked import is_text_of
from lycosa.frontier.log.format import (
    DONE,
    DROP,
    FULL,
    MAX_KILLS,
    PER_BLOCK,
    REOPENED,
    Barrier,
    Chunk,
    ChunkHead,
    Group,
    Kill,
    Records,
    Wait,
    read,
    write,
)
from lycosa.frontier.log.rule import ALWAYS, IS_DONE, QUEUED, UNKNOWN, Fate, fate_of
from lycosa.frontier.states import found_order, waiting_order
from lycosa.frontier.values import Link
from lycosa.records import Flag, QueuedUrl, Url

_MASK = (1 << 32) - 1


class TwinIndex:
    """The chunks of one domain, in arrays: some 20 bytes a URL besides the blobs."""

    def __init__(self, domain_id: int, epoch_ms: int) -> None:
        self.domain_id = domain_id
        self.epoch_ms = epoch_ms
        self.unreadable: dict[int, int] = {}  # fp -> seq: queued URLs without a text
        self._chunks: dict[int, Chunk] = {}
        self._settled = False
        self._last: tuple[int, list[bytes] | None] = (-1, None)  # the block that was read last

    # --- chunks ---

    def add(self, seq: int, blob: bytes) -> str:
        """Takes a chunk in; '' or what is wrong with it (format.FOREIGN: nothing)."""
        if seq in self._chunks:
            return ""
        chunk = read(seq, blob, self.domain_id)
        if isinstance(chunk, str):
            return chunk
        self._chunks[seq] = chunk
        self._settled = False
        return ""

    def remove(self, seqs: Iterable[int]) -> None:
        for seq in seqs:
            del self._chunks[seq]
        self._settled = False
        self.unreadable.clear()

    def chunks(self) -> list[tuple[int, int, int, int]]:
        """Seq, level, bytes and copies of each, by seq."""
        return [
            (seq, chunk.head.level, len(chunk.blob), len(chunk.fps))
            for seq, chunk in sorted(self._chunks.items())
        ]

    def newest_stamp(self) -> int:
        return max((chunk.head.stamp for chunk in self._chunks.values()), default=0)

    def memory(self) -> int:
        """Bytes, about."""
        size = 1000
        for chunk in self._chunks.values():
            size += 600 + len(chunk.blob) + 100 * (len(chunk.groups) + len(chunk.blocks))
            size += 16 * len(chunk.fps) + 8 * (len(chunk.done) + len(chunk.drops))
            size += 250 * (len(chunk.waits) + len(chunk.kills) + len(chunk.barriers))
        return size + (200 * len(self._fates) if self._settled else 0)

    # --- the state of each URL ---

    def tell(self, fps: Sequence[int]) -> list[int]:
        """The state of each: UNKNOWN, QUEUED or IS_DONE."""
        self._settle()
        wanted = set(fps)
        states = dict.fromkeys(wanted, UNKNOWN)
        for chunk in self._chunks.values():
            states.update(dict.fromkeys(wanted.intersection(chunk.fps), QUEUED))
        for done in self._marks():
            states.update(dict.fromkeys(wanted.intersection(done), IS_DONE))
        states.update({fp: self._fates[fp].state for fp in wanted if fp in self._fates})
        return [states[fp] for fp in fps]

    def unseen(self, links: Sequence[Link]) -> dict[int, Link]:
        """Those whose URLs are unknown, by fingerprint; of one URL the first."""
        found: dict[int, Link] = {}
        states = self.tell([link[1] for link in links])
        for link, state in zip(links, states, strict=True):
            if state == UNKNOWN:
                found.setdefault(link[1], link)
        return found

    def counts(self) -> tuple[int, int, int, int]:
        """Queued, balance, done, responses."""
        self._settle()
        heads = [chunk.head for chunk in self._chunks.values()]
        balance = sum(head.balance for head in heads)
        responses = sum(head.responses for head in heads)
        return len(self._line) + len(self._waiting), balance, self._done, responses

    def _marks(self) -> Iterator[Iterable[int]]:
        for chunk in self._chunks.values():
            yield chunk.done
            yield [fp for fp, _, kind in chunk.barriers if kind == DONE]

    def _settle(self) -> None:
        """Finds out the state of all URLs, and the queue."""
        if self._settled:
            return
        self._last = (-1, None)
        done: set[int] = set()
        for marks in self._marks():
            done.update(marks)
        self._places = sorted(self._chunks)  # a place is (index in here) << 32 | index of a copy
        self._fates = self._judged(self._special())
        seen = {fp for chunk in self._chunks.values() for fp in chunk.fps} - done
        seen.difference_update(self._fates)
        self._waits = self._counting_waits()
        self._kills = self._counting_kills()
        self._line, where = array("Q"), {}
        for place, fp in self._in_order():
            fate = self._fates.get(fp)
            if fp not in seen if fate is None else fate.place != place:
                continue
            if fp in self._waits:
                where[fp] = place
            else:
                self._line.append(place)
        order = sorted((self._waits[fp][1], n, fp) for n, fp in enumerate(where))
        self._waiting = [(until, fp, where[fp]) for until, _, fp in order]
        told = {fp for fp, fate in self._fates.items() if fate.state == IS_DONE}
        self._done = len(done.difference(self._fates)) + len(told)
        self._settled = True

    def _special(self) -> set[int]:
        """The URLs of which a copy or a mark alone does not tell the state."""
        special: set[int] = set()
        seen: set[int] = set()
        for chunk in self._chunks.values():
            special.update(chunk.drops)
            special.update(fp for fp, _, kind in chunk.barriers if kind == DROP)
            special.update(wait[0] for wait in chunk.waits)
            special.update(kill[0] for kill in chunk.kills)
            for group, begin in _begins(chunk):
                if group.flags & REOPENED:
                    special.update(chunk.fps[begin : begin + group.size])
            own = set(chunk.fps)
            if len(own) < len(chunk.fps):
                special.update(fp for fp, count in Counter(chunk.fps).items() if count > 1)
            special |= own & seen
            seen |= own
        return special

    def _judged(self, special: set[int]) -> dict[int, Fate]:
        """What became of each of these."""
        done, drop = dict.fromkeys(special, ALWAYS), dict.fromkeys(special, ALWAYS)
        copies: dict[int, list[tuple[int, int, int, bool]]] = {fp: [] for fp in special}
        for number, seq in enumerate(self._places):
            chunk = self._chunks[seq]
            head = chunk.head
            events = [(fp, head.done_stamp, DONE) for fp in special.intersection(chunk.done)]
            events += [(fp, head.stamp, DROP) for fp in special.intersection(chunk.drops)]
            for fp, stamp, kind in (*events, *chunk.barriers):
                if fp in special:
                    newest = done if kind == DONE else drop
                    newest[fp] = max(newest[fp], stamp)
            if special.isdisjoint(chunk.fps):
                continue
            for group, begin in _begins(chunk):
                reopened = bool(group.flags & REOPENED)
                for index in range(begin, begin + group.size):
                    if (fp := chunk.fps[index]) in special:
                        place = number << 32 | index
                        copies[fp].append((group.depth, group.stamp, place, reopened))
        return {fp: fate_of(done[fp], drop[fp], copies[fp]) for fp in special}

    def _counting_waits(self) -> dict[int, Wait]:
        """The wait that counts, of each queued URL that waits."""
        waits: dict[int, Wait] = {}
        for chunk in self._chunks.values():
            for wait in chunk.waits:
                fp, until, stamp, attempts = wait
                if self._counts(fp, stamp):
                    old = waits.get(fp)
                    if old is None or (stamp, until, attempts) > (old[2], old[1], old[3]):
                        waits[fp] = wait
        return waits

    def _counting_kills(self) -> dict[int, tuple[int, int]]:
        """How many, and their newest stamp."""
        kills: dict[int, tuple[int, int]] = {}
        for chunk in self._chunks.values():
            for fp, stamp, number in chunk.kills:
                if self._counts(fp, stamp):
                    total, newest = kills.get(fp, (0, 0))
                    kills[fp] = min(total + number, MAX_KILLS), max(newest, stamp)
        return kills

    def _counts(self, fp: int, stamp: int) -> bool:
        """Whether a wait or a kill of that stamp counts."""
        fate = self._fates[fp]
        return fate.state == QUEUED and stamp >= fate.base

    def _may_count(self, fp: int, stamp: int) -> bool:
        """Whether it counts, or will when a copy comes that is on its way."""
        fate = self._fates[fp]
        return stamp >= fate.base if fate.state == QUEUED else stamp > max(fate.done, fate.drop)

    def _in_order(self, only: Iterable[int] | None = None) -> Iterator[tuple[int, int]]:
        """Place and fingerprint of every copy, in the order of the queue; `only`: of these seqs."""
        chosen = set(self._chunks if only is None else only)
        groups = []
        for number, seq in enumerate(self._places):
            if seq in chosen:
                chunk = self._chunks[seq]
                for group, begin in _begins(chunk):
                    groups.append((group.depth, group.stamp, number, begin, group.size, chunk.fps))
        groups.sort(key=lambda group: group[:4])
        for _, _, number, begin, count, fps in groups:
            base = number << 32
            for index in range(begin, begin + count):
                yield base | index, fps[index]

    # --- the queue ---

    def lanes(self) -> tuple[int, int]:
        """How many URLs are queued that do not wait, and how many wait."""
        self._settle()
        return len(self._line), len(self._waiting)

    def first_wait(self, without: frozenset[int] = frozenset()) -> int:
        """Until when the first waits, of those that are not among these; 0: none does."""
        self._settle()
        return next((until for until, fp, _ in self._waiting if fp not in without), 0)

    def is_waiting(self, fps: Sequence[int]) -> list[bool]:
        """Whether each is queued and waits."""
        self._settle()
        return [fp in self._waits for fp in fps]

    def next(self, now: int, limit: int, budget: int) -> list[QueuedUrl]:
        """The next URLs to fetch: those that waited until now, then the first of the queue."""
        self._settle()
        rows: list[QueuedUrl] = []
        for place in self._due_first(now):
            if len(rows) >= limit:
                break
            row = self._row(place)
            if row is None:
                continue
            budget -= len(row.url)
            if budget < 0 and rows:
                break
            rows.append(row)
        return rows

    def _due_first(self, now: int) -> Iterator[int]:
        for until, _, place in self._waiting:
            if until > now:
                break
            yield place
        yield from self._line

    def part(self, begin: int, count: int) -> list[QueuedUrl]:
        """URLs of the queue, from a place in the line on; those without a text are left out."""
        self._settle()
        places = list(self._line[begin : begin + count])
        after = max(begin - len(self._line), 0)
        places += [place for _, _, place in self._waiting[after : after + count - len(places)]]
        return [row for place in places if (row := self._row(place)) is not None]

    def find(self, fp: int) -> tuple[int, QueuedUrl | None]:
        """How many are ahead of a queued URL, and the URL; -1 if it is not queued."""
        self._settle()
        for ahead, place in enumerate(self._line):
            if self._fp(place) == fp:
                return ahead, self._row(place)
        for ahead, (_, other, place) in enumerate(self._waiting, len(self._line)):
            if other == fp:
                return ahead, self._row(place)
        return -1, None

    def _fp(self, place: int) -> int:
        return self._chunks[self._places[place >> 32]].fps[place & _MASK]

    def _row(self, place: int) -> QueuedUrl | None:
        """A queued URL; None, and it is noted, if its text can't be read."""
        chunk = self._chunks[self._places[place >> 32]]
        index = place & _MASK
        fp = chunk.fps[index]
        if fp in self.unreadable:
            return None
        texts = self._texts(place)
        url = "" if texts is None else texts[index % PER_BLOCK].decode("utf-8", "replace")
        group = _group_of(chunk, index)
        if not is_text_of(fp, url, group.flags):
            self.unreadable[fp] = chunk.seq
            return None
        order, attempts = found_order(group.depth, self.epoch_ms + group.stamp), 0
        if fp in self._waits:
            _, until, _, attempts = self._waits[fp]
            order = waiting_order(self.epoch_ms + until)
        flags = group.flags & ~REOPENED | Flag.KILL * self._kills.get(fp, (0, 0))[0]
        return QueuedUrl(fp, Url(url), group.depth, order, attempts, flags)

    def _texts(self, place: int) -> list[bytes] | None:
        block = place >> 32 << 32 | (place & _MASK) // PER_BLOCK
        if self._last[0] != block:
            chunk = self._chunks[self._places[place >> 32]]
            self._last = block, chunk.texts(block & _MASK)
        return self._last[1]

    # --- folding ---

    def fold(self, seqs: Sequence[int], level: int, settled: int, limit: int) -> list[bytes]:
        """The chunks that say what these say, as far as it still matters. `settled`: done marks up
        to this stamp share one."""
        self._settle()
        chunks = [self._chunks[seq] for seq in seqs]
        records = self._kept_copies(seqs)
        bulk, done_stamp = self._kept_marks(chunks, records, settled)
        records.done = sorted(bulk)
        records.barriers = [*records.barriers, *self._kept_drops(seqs)]
        records.waits = self._kept_waits(chunks)
        records.kills = self._kept_kills(chunks)
        head = ChunkHead(
            self.domain_id,
            min(level, FULL - 1),
            max(chunk.head.stamp for chunk in chunks),
            done_stamp,
            sum(chunk.head.responses for chunk in chunks),
            sum(chunk.head.balance for chunk in chunks),
        )
        return write(head, records, limit)

    def _kept_copies(self, seqs: Sequence[int]) -> Records:
        """Copies by which URLs are queued: one group for each depth and flags, in order. Reopened
        ones keep their stamp, by which they beat older marks."""
        queued = set(self._line)
        queued.update(place for _, _, place in self._waiting)
        found: dict[tuple[int, int, int], tuple[list[int], list[bytes]]] = {}
        stamps: dict[tuple[int, int, int], int] = {}
        for place, fp in self._in_order(seqs):
            if place not in queued:
                continue
            texts = self._texts(place)
            if texts is None:
                continue  # its text is lost: `plan` has dropped it, if it could know
            index = place & _MASK
            group = _group_of(self._chunks[self._places[place >> 32]], index)
            key = group.depth, group.flags, group.stamp if group.flags & REOPENED else 0
            fps, urls = found.setdefault(key, ([], []))
            fps.append(fp)
            urls.append(texts[index % PER_BLOCK])
            stamps[key] = max(stamps.get(key, 0), group.stamp)
        records = Records()
        for key in sorted(found):
            records.groups.append(Group(key[0], key[1], stamps[key], len(found[key][0])))
            records.fps += found[key][0]
            records.urls += found[key][1]
        return records

    def _kept_marks(
        self, chunks: list[Chunk], records: Records, settled: int
    ) -> tuple[list[int], int]:
        """Marks of what is done: those that share a stamp, and it; the others become barriers."""
        marks: dict[int, int] = {}
        for chunk in chunks:
            stamp = chunk.head.done_stamp
            own: list[Barrier] = [(fp, stamp, DONE) for fp in chunk.done]
            for fp, stamp, kind in (*own, *chunk.barriers):
                if kind == DONE and stamp >= marks.get(fp, 0):
                    fate = self._fates.get(fp)
                    if fate is None or (fate.state == IS_DONE and stamp == fate.done):
                        marks[fp] = stamp
        bulk = [fp for fp, stamp in marks.items() if stamp <= settled]
        alone = [(fp, stamp, DONE) for fp, stamp in marks.items() if stamp > settled]
        records.barriers = sorted(alone)
        return bulk, max((marks[fp] for fp in bulk), default=0)

    def _kept_drops(self, seqs: Sequence[int]) -> list[Barrier]:
        """Drops that still hide something in the chunks that are not folded."""
        drops: dict[int, int] = {}
        for seq in seqs:
            chunk = self._chunks[seq]
            own: list[Barrier] = [(fp, chunk.head.stamp, DROP) for fp in chunk.drops]
            for fp, stamp, kind in (*own, *chunk.barriers):
                if kind == DROP:
                    drops[fp] = max(stamp, drops.get(fp, 0))
        live = {fp for fp in drops if self._drop_holds(self._fates[fp], drops[fp])}
        outside: set[int] = set()
        for seq, chunk in self._chunks.items():
            if live and seq not in set(seqs):
                outside |= live.intersection(chunk.fps) | live.intersection(chunk.done)
                outside |= live.intersection(fp for fp, _, kind in chunk.barriers if kind == DONE)
                outside |= live.intersection(wait[0] for wait in chunk.waits)
                outside |= live.intersection(kill[0] for kill in chunk.kills)
        return [(fp, drops[fp], DROP) for fp in sorted(outside)]

    def _drop_holds(self, fate: Fate, stamp: int) -> bool:
        """Whether the newest barrier of a URL is this drop."""
        newest = fate.state == UNKNOWN or fate.base == stamp + 1
        return newest and stamp == fate.drop > fate.done

    def _kept_waits(self, chunks: list[Chunk]) -> list[Wait]:
        """The wait that counts of each URL, if it is in these chunks."""
        kept: dict[int, Wait] = {}
        for chunk in chunks:
            for wait in chunk.waits:
                fp, until, stamp, attempts = wait
                if self._may_count(fp, stamp) and self._waits.get(fp, wait) == wait:
                    _, *old = kept.get(fp, (fp, 0, 0, 0))
                    if (stamp, until, attempts) >= (old[1], old[0], old[2]):
                        kept[fp] = wait
        return list(kept.values())

    def _kept_kills(self, chunks: list[Chunk]) -> list[Kill]:
        """Kills that count, one for each URL."""
        sums: dict[int, tuple[int, int]] = {}
        for chunk in chunks:
            for fp, stamp, number in chunk.kills:
                if self._may_count(fp, stamp):
                    newest, total = sums.get(fp, (0, 0))
                    sums[fp] = max(newest, stamp), min(total + number, MAX_KILLS)
        return [(fp, newest, total) for fp, (newest, total) in sums.items()]


def _begins(chunk: Chunk) -> Iterator[tuple[Group, int]]:
    """Each group with the index of its first copy."""
    begin = 0
    for group in chunk.groups:
        yield group, begin
        begin += group.size


def _group_of(chunk: Chunk, index: int) -> Group:
    for group, begin in _begins(chunk):
        if index < begin + group.size:
            return group
    raise IndexError(index)
