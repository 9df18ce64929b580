"""The layout of a chunk, and how one is written and read in Python. Pure.

Owns the bytes. What they mean together, over all chunks of a domain, is in `rule`; `_domain_log`
(compiled) writes and reads the same bytes. All numbers are little-endian; times are milliseconds
since the epoch of the crawl; a fingerprint is signed.

    at   bytes  what
    0    1      format: 1
    1    1      sections that follow, a bit each: 1 copies, 2 done, 4 drops, 8 waits, 16 kills,
                32 barriers
    2    1      level: how often it was folded; 255: full, never folded again
    3    1      number of the dictionary that its texts are packed with; 0: none
    4    4      length of the whole chunk
    8    8      domain id, signed
    16   6      stamp: the newest moment that it speaks of
    22   6      the stamp of its done marks
    28   4      responses, signed: pages with a response that it records
    32   4      balance, signed: by how much the store's count of queued URLs changed with it
    36   4 each for each section, how many entries it has; for copies two numbers: groups, copies

    then, each section that is there, in this order:
    16   group     depth (4), flags (2), stamp (6), how many copies (4)
    8    copy      fingerprint, in the order of the groups
    8    done      fingerprint, sorted
    8    drop      fingerprint; at the chunk's stamp
    24   wait      fingerprint, until (6), stamp (6), attempts (4)
    16   kill      fingerprint, stamp (6), how many (2)
    16   barrier   fingerprint, stamp (6), kind (2): 1 done, 2 drop; where the stamp matters alone
    4    block     bytes of each packed block of texts: 64 copies each, fewer in the last
    ...  the blocks
    8    checksum: xxh3 of all bytes before it, seeded with the domain id

A block is a zstd frame with its content size. Unpacked: the length of what all its URLs begin with,
for each URL the length of the rest, what they begin with, and the rests. A length is one byte; from
128 on two: its low 7 bits plus 128, and what is above them.

Every count and length is checked before it is used, against what is there: a blob is foreign bytes.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from lycosa.frontier.log.packers import CURRENT, known_dictionary
from lycosa.frontier.log.texts import pack_block, unpack_block

FORMAT = 1
FULL = 255  # the level of a chunk that is never folded again
REOPENED = 256  # bit of a group's flags: its copies are of pages that are to be fetched again
OWN_FLAGS = 15  # bits of `records.Flag` that a copy keeps; from 16 on they count kills
MAX_TIME = (1 << 48) - 1
MAX_COUNT = (1 << 32) - 1
MAX_KILLS = 3  # more make no difference
PER_BLOCK = 64
MAX_URL = 2_000  # bytes of a URL
DONE, DROP = 1, 2  # kinds of barriers
LEAST = 256  # bytes of entries that a chunk has room for, whatever the limit

COPIES, DONES, DROPS, WAITS, KILLS, BARRIERS = 1, 2, 4, 8, 16, 32
WIDTHS = {DONES: 8, DROPS: 8, WAITS: 24, KILLS: 16, BARRIERS: 16}
HEAD, GROUP = struct.Struct("<BBBBIqIHIHii"), struct.Struct("<IHIHI")
WAIT, KILL = struct.Struct("<qIHIHI"), struct.Struct("<qIHH")
COUNT, CHECK = struct.Struct("<I"), struct.Struct("<Q")
_LOW = (1 << 32) - 1
_UNSIGNED = (1 << 64) - 1
FOREIGN = "foreign"  # a chunk of another domain: nothing is wrong with it

Wait = tuple[int, int, int, int]
"""Fingerprint, until, stamp, attempts."""
Kill = tuple[int, int, int]
"""Fingerprint, stamp, how many."""
Barrier = tuple[int, int, int]
"""Fingerprint, stamp, kind."""


class Group(NamedTuple):
    """URLs that were found together."""

    depth: int
    flags: int
    stamp: int
    size: int  # copies


@dataclass(slots=True)
class Records:
    """What is to be written into one chunk, or several if it is too much for one."""

    groups: list[Group] = field(default_factory=list)
    fps: list[int] = field(default_factory=list)  # of all groups, in order
    urls: list[bytes] = field(default_factory=list)
    done: Sequence[int] = ()
    drops: Sequence[int] = ()
    waits: Sequence[Wait] = ()
    kills: Sequence[Kill] = ()
    barriers: Sequence[Barrier] = ()


class ChunkHead(NamedTuple):
    """What a chunk says of itself."""

    domain_id: int
    level: int
    stamp: int
    done_stamp: int
    responses: int
    balance: int


@dataclass(slots=True)
class Chunk:
    """A chunk that was read."""

    seq: int
    head: ChunkHead
    blob: bytes
    dictionary: int
    groups: list[Group]
    fps: array[int]
    done: array[int]
    drops: array[int]
    waits: list[Wait]
    kills: list[Kill]
    barriers: list[Barrier]
    blocks: list[tuple[int, int]]  # where each lies in the blob

    def texts(self, block: int) -> list[bytes] | None:
        """The URLs of a block; None if they can't be read."""
        begin, end = self.blocks[block]
        count = min(PER_BLOCK, len(self.fps) - block * PER_BLOCK)
        raw = unpack_block(self.blob[begin:end], self.dictionary)
        return None if raw is None else split_texts(raw, count)


def checksum(data: bytes | memoryview, domain_id: int) -> int:
    return xxh3_64_intdigest(data, domain_id & _UNSIGNED)


# --- texts of a block ---


def join_texts(urls: Sequence[bytes]) -> bytes:
    """A block of URLs, not yet packed."""
    if max(map(len, urls)) > MAX_URL:
        raise ValueError(f"a URL has at most {MAX_URL} bytes")
    cut = _common(min(urls), max(urls)) if len(urls) > 1 else 0
    lengths = [_length(cut), *[_length(len(url) - cut) for url in urls]]
    return b"".join((*lengths, urls[0][:cut], *[url[cut:] for url in urls]))


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))


def _length(number: int) -> bytes:
    return bytes((number,)) if number < 128 else bytes((number & 127 | 128, number >> 7))


def split_texts(raw: bytes, count: int) -> list[bytes] | None:
    """The URLs of a block, of which there are `count`; None if it is not one."""
    lengths, at = [], 0
    for _ in range(count + 1):
        pair = raw[at : at + 2]
        if not pair or (pair[0] > 127 and len(pair) < 2):
            return None
        long = pair[0] > 127
        lengths.append(pair[0] & 127 | pair[1] << 7 if long else pair[0])
        at += 2 if long else 1
    cut = lengths[0]
    start, at = raw[at : at + cut], at + cut
    if at + sum(lengths[1:]) != len(raw):
        return None
    urls = []
    for rest in lengths[1:]:
        urls.append(start + raw[at : at + rest])
        at += rest
    return urls


# --- writing ---


def write(head: ChunkHead, records: Records, limit: int) -> list[bytes]:
    """The chunks that hold these records, none longer than `limit` bytes; all but the last are
    full. The first carries responses and balance."""
    taken = _Taken(records)
    chunks: list[bytes] = []
    while True:
        part, blocks = taken.some(max(limit - HEAD.size - CHECK.size - 4 * 7, LEAST))
        first, last = not chunks, taken.nothing_left()
        own = head if first else head._replace(responses=0, balance=0)
        chunks.append(_encoded(own if last else own._replace(level=FULL), part, blocks))
        if last:
            return chunks


class _Taken:
    """Records of which one chunk after the other is made."""

    def __init__(self, records: Records) -> None:
        self.left = records
        fps, urls = records.fps, records.urls
        assert len(fps) == len(urls) == sum(group.size for group in records.groups)
        starts = range(0, len(urls), PER_BLOCK)
        self.blocks = [pack_block(join_texts(urls[at : at + PER_BLOCK])) for at in starts]

    def nothing_left(self) -> bool:
        left = self.left
        lists = (left.fps, left.done, left.drops, left.waits, left.kills, left.barriers)
        return not any(lists)

    def some(self, room: int) -> tuple[Records, list[bytes]]:
        """What fits; at least one record or block, so that it ends."""
        part = Records()
        for name, bit in (
            *(("done", DONES), ("drops", DROPS), ("waits", WAITS), ("kills", KILLS)),
            ("barriers", BARRIERS),
        ):
            values = getattr(self.left, name)
            count = min(len(values), max(room, 0) // WIDTHS[bit])
            setattr(part, name, values[:count])
            setattr(self.left, name, values[count:])
            room -= count * WIDTHS[bit]
        empty = not (part.done or part.drops or part.waits or part.kills or part.barriers)
        blocks: list[bytes] = []
        copies = 0
        while self.blocks:
            more = min(PER_BLOCK, len(self.left.fps) - copies)
            room -= 8 * more + 4 + len(self.blocks[0])
            groups = self._groups(copies + more) * GROUP.size
            if groups > room and not (empty and not blocks):
                break
            copies += more
            blocks.append(self.blocks.pop(0))
        self._cut(part, len(blocks) * PER_BLOCK)
        return part, blocks

    def _groups(self, copies: int) -> int:
        """How many groups the first so many copies belong to."""
        count = 0
        for number, group in enumerate(self.left.groups, 1):
            count += group.size
            if count >= copies:
                return number
        return len(self.left.groups)

    def _cut(self, part: Records, copies: int) -> None:
        left = self.left
        part.fps, left.fps = left.fps[:copies], left.fps[copies:]
        while copies > 0 and left.groups:
            group = left.groups.pop(0)
            taken = min(copies, group.size)
            part.groups.append(group._replace(size=taken))
            if taken < group.size:
                left.groups.insert(0, group._replace(size=group.size - taken))
            copies -= taken


def _encoded(head: ChunkHead, part: Records, blocks: list[bytes]) -> bytes:
    pieces, counts, sections = [], [], 0
    if part.fps:
        sections |= COPIES
        counts += [len(part.groups), len(part.fps)]
        pieces += [GROUP.pack(g.depth, g.flags, *_time(g.stamp), g.size) for g in part.groups]
        pieces.append(_fps(part.fps))
    for bit, values in ((DONES, part.done), (DROPS, part.drops)):
        if values:
            sections |= bit
            counts.append(len(values))
            pieces.append(_fps(values))
    if part.waits:
        sections |= WAITS
        counts.append(len(part.waits))
        pieces += [WAIT.pack(fp, *_time(to), *_time(at), tries) for fp, to, at, tries in part.waits]
    for bit, short in ((KILLS, part.kills), (BARRIERS, part.barriers)):
        if short:
            sections |= bit
            counts.append(len(short))
            pieces += [KILL.pack(fp, *_time(stamp), number) for fp, stamp, number in short]
    pieces += [COUNT.pack(len(block)) for block in blocks]
    pieces += blocks
    length = HEAD.size + 4 * len(counts) + sum(map(len, pieces)) + CHECK.size
    first = HEAD.pack(
        *(FORMAT, sections, head.level, CURRENT if blocks else 0, length, head.domain_id),
        *(*_time(head.stamp), *_time(head.done_stamp)),
        *(_bounded(head.responses), _bounded(head.balance)),
    )
    data = b"".join((first, struct.pack(f"<{len(counts)}I", *counts), *pieces))
    return data + CHECK.pack(checksum(data, head.domain_id))


def _bounded(value: int) -> int:
    return max(-(1 << 31), min(value, (1 << 31) - 1))


def _time(value: int) -> tuple[int, int]:
    return value & _LOW, value >> 32


def _fps(values: Iterable[int]) -> bytes:
    packed = array("q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


# --- reading ---


def read(seq: int, blob: bytes, domain_id: int) -> Chunk | str:
    """A chunk of this domain; FOREIGN if it is another one's; else what is wrong with it."""
    if len(blob) < HEAD.size + CHECK.size:
        return "too short"
    number, sections, level, dictionary, length, ident, *rest = HEAD.unpack_from(blob)
    if length != len(blob):
        return "its length is another one"
    (check,) = CHECK.unpack_from(blob, length - CHECK.size)
    if check != checksum(memoryview(blob)[: -CHECK.size], ident):
        return "its checksum is another one"
    if ident != domain_id:
        return FOREIGN
    if number != FORMAT:
        return f"format {number} is not known"
    if not known_dictionary(dictionary):
        return f"dictionary {dictionary} is not known"
    stamp, done_stamp = rest[0] | rest[1] << 32, rest[2] | rest[3] << 32
    head = ChunkHead(ident, level, stamp, done_stamp, rest[4], rest[5])
    return _sections(seq, blob, head, sections, dictionary) or "its sections do not fit"


def _sections(seq: int, blob: bytes, head: ChunkHead, bits: int, dictionary: int) -> Chunk | None:
    at, end = HEAD.size, len(blob) - CHECK.size
    wanted = bits.bit_count() + (bits & COPIES)
    if bits > 63 or at + 4 * wanted > end:
        return None
    counts = list(struct.unpack_from(f"<{wanted}I", blob, at))
    at += 4 * wanted
    groups, copies = (counts.pop(0), counts.pop(0)) if bits & COPIES else (0, 0)
    sizes = {bit: counts.pop(0) if bits & bit else 0 for bit in WIDTHS}
    blocks = -(-copies // PER_BLOCK)
    fixed = GROUP.size * groups + 8 * copies + 4 * blocks
    if at + fixed + sum(WIDTHS[bit] * count for bit, count in sizes.items()) > end:
        return None
    listed = []
    for depth, flags, low, high, count in GROUP.iter_unpack(blob[at : at + GROUP.size * groups]):
        listed.append(Group(depth, flags, low | high << 32, count))
    if sum(group.size for group in listed) != copies:
        return None
    at += GROUP.size * groups
    fps, at = _array(blob, at, copies), at + 8 * copies
    done, at = _array(blob, at, sizes[DONES]), at + 8 * sizes[DONES]
    drops, at = _array(blob, at, sizes[DROPS]), at + 8 * sizes[DROPS]
    waits = [
        (fp, low | high << 32, low2 | high2 << 32, tries)
        for fp, low, high, low2, high2, tries in WAIT.iter_unpack(
            blob[at : at + WAIT.size * sizes[WAITS]]
        )
    ]
    at += WAIT.size * sizes[WAITS]
    kills, at = _short(blob, at, sizes[KILLS]), at + KILL.size * sizes[KILLS]
    barriers, at = _short(blob, at, sizes[BARRIERS]), at + KILL.size * sizes[BARRIERS]
    if any(kind not in (DONE, DROP) for _, _, kind in barriers):
        return None
    places = _places(blob, at, blocks, end)
    if places is None:
        return None
    return Chunk(
        *(seq, head, blob, dictionary, listed, fps, done, drops, waits, kills, barriers, places)
    )


def _places(blob: bytes, at: int, blocks: int, end: int) -> list[tuple[int, int]] | None:
    """Where the blocks lie; None if they do not fill the rest of the chunk."""
    begin = at + 4 * blocks
    places = []
    for (size,) in COUNT.iter_unpack(blob[at:begin]):
        places.append((begin, begin + size))
        begin += size
    return places if begin == end else None


def _array(blob: bytes, at: int, count: int) -> array[int]:
    values = array("q", blob[at : at + 8 * count])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _short(blob: bytes, at: int, count: int) -> list[tuple[int, int, int]]:
    part = blob[at : at + KILL.size * count]
    return [(fp, low | high << 32, number) for fp, low, high, number in KILL.iter_unpack(part)]
