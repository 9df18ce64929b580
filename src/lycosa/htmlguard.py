"""Keeps hostile HTML from stalling an engine (S3). Owns what may be given to lexbor, and how much.

Building an HTML tree is quadratic in depth, in open formatting elements and in the attributes
of one tag, and no cheap scan can foretell it: what counts as a tag depends on everything before
it. So a page goes to lexbor in pieces, each with few enough bytes and '<' that even the worst
costs little, and a page whose piece grew out of proportion goes on without a tree (`tokens`).
Small trees cost an ordinary page 5 to 25 % more than one large tree; a scan of its tags would
cost more and promise less. Everything here is linear; nothing here knows links or text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import attrgetter

from selectolax.lexbor import LexborNode

# The worst pieces found: 320 distinct formatting elements reopened by 320 paragraphs, 45 ms, and
# more if they have many attributes each; 8,000 attributes on one tag, hidden among false tags,
# 115 ms, until `attribute_work` has met one. After the first such piece a page has no more trees.
PIECE_BYTES = 32_768
PIECE_TAGS = 640  # '<' bytes, whether tags or not

MAX_ATTRIBUTES = 500  # of one tag
GROWTH = 4  # elements per '<' beyond which a piece was made to reopen elements
RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
COMMENT = "!--"
RAW_NAMES = RAW | {COMMENT}

_BACK = 2_048  # how far from its end a piece may be cut shorter at a better place
_ENDS = (b"</p>", b"</div>", b"</li>", b"</tr>")  # no inline element should be open after these
_WINDOW = 4_096
_FLOOD_WINDOW = 2_048  # a tag with too many attributes is longer than two of these
_SAMPLE = 4  # every so many elements have their attributes counted

_QUOTED = r"\"[^\"<]*+\"|'[^'<]*+'"
_FLOOD = re.compile(
    rb"<[a-z][^\s/>]*+(?:[\s/]*+[^\s/>=]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"']*+))?+){%d}"
    % MAX_ATTRIBUTES,
    re.I,
)
# Each character is looked at a bounded number of times, whatever is unclosed: comments and raw
# text run to the end, a tag ends at the next '<', a quote without its partner is one character.
_TOKEN = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))"
    r"|(/?)([a-z][^\s/<>]*+)((?:[^<>\"']++|" + _QUOTED + r"|[\"'])*+)>?"
    r"|[!?/][^<>]*+>?)",
    re.I | re.S,
)
_ATTRIBUTE = re.compile(
    r"([^\s/=<>\"']++)(?:\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s>]*+)))?+", re.S
)
_SKIPPED = RAW | {"svg", "template", "select"}
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>]|\Z)", re.I) for name in _SKIPPED}
_RAW_END_BYTES = {name: re.compile(rb"</%s" % name.encode(), re.I) for name in RAW}
_RAW_END_BYTES[COMMENT] = re.compile(rb"--!?>")
_RAW_START = re.compile(rb"<(!--|(?:%s)(?=[\s/>]))" % "|".join(sorted(RAW)).encode(), re.I)
_DELIMITERS = {COMMENT: (b"<!--", b"-->")}

_attributes = attrgetter("attrs")

Token = tuple[str, str, bool, str]  # text before the tag, its name ('' at the end), end tag?, attrs


def safe(body: bytes) -> bool:
    """Whether lexbor may have this page whole: one piece, and no tag full of attributes."""
    return body.count(b"<") <= PIECE_TAGS and fits(body)


def fits(piece: bytes) -> bool:
    """Whether a piece from `piece_end` may go to lexbor; long ones without tags may not."""
    return len(piece) <= PIECE_BYTES and not _flooded(piece)


def grown(tags: int, elements: int) -> bool:
    """Whether lexbor made far more elements of a piece than it has tags."""
    return elements > 64 and elements > GROWTH * tags


def attribute_work(start: int, piece: bytes, nodes: list[LexborNode]) -> int | None:
    """What the attributes of a piece cost beyond one for each element, in tags, estimated.

    None if an element has far too many. Counting those of all elements would cost an ordinary
    page a tenth of its parsing, so some are chosen, which ones nobody can foretell: Python's
    hash of bytes is salted per process, and a page can't be written to be passed over for long.
    """
    stride = _SAMPLE if len(nodes) > 128 else 1
    counts = list(map(len, map(_attributes, nodes[hash((start, piece[-64:])) % stride :: stride])))
    most = max(counts, default=0)
    if most > MAX_ATTRIBUTES:
        return None
    # Each costs 0.7 tags, and is compared with those before it in its tag.
    return max(0, (sum(counts) * stride - len(nodes)) * (most + 210) // 300)


def piece_end(body: bytes, start: int) -> tuple[int, int]:
    """Where the piece that begins at `start` ends, and an upper bound on its tags.

    It ends within the limits, after a block or before a '<'. A stretch without any '<' (inline
    data, a script, plain text) is not cut: the piece ends before it, and it becomes a piece of
    its own, however long, which then does not fit.
    """
    end, tags = _measure(body, start)
    if end == len(body):
        return end, tags
    last = body.rfind(b"<", start + 1, end)
    if last < 0:
        following = body.find(b"<", end)
        return (following if following >= 0 else len(body)), 1
    block = _block_end(body, start, end)
    return (block if block > 0 else last), tags


def _measure(body: bytes, start: int) -> tuple[int, int]:
    """How far a piece may reach at most, and its tags. Ordinary pages are counted only once."""
    limit = min(start + PIECE_BYTES, len(body))
    end, tags = start, 0
    while end < limit:
        step = min(end + _WINDOW, limit)
        more = body.count(b"<", end, step)
        if tags + more > PIECE_TAGS:
            break
        end, tags = step, tags + more
    if end == start:  # more tags than that in the first window
        end = start + _WINDOW
        while (tags := body.count(b"<", start, end)) > PIECE_TAGS:
            end = start + (end - start) * (PIECE_TAGS - 20) // tags
    return end, tags


def still_open(piece: bytes, name: str) -> bool:
    """Whether the last `name` element of a piece was not closed in it."""
    start, end = _DELIMITERS.get(name) or (b"<" + name.encode(), b"</" + name.encode())
    begin = piece.rfind(start)
    if begin < 0:
        piece = piece.lower()
        begin = piece.rfind(start)
    return begin >= 0 and piece.find(end, begin) < 0


def open_raw(piece: bytes) -> str:
    """The comment or raw text element that a piece ends in, judged by its last tag, or ''."""
    found = _RAW_START.match(piece, max(piece.rfind(b"<"), 0))
    name = found[1].decode().lower() if found else ""
    return name if name and still_open(piece, name) else ""


def raw_end(body: bytes, name: str, start: int) -> int:
    """Where an open comment or raw text element ends; the end of the page if it does not."""
    found = _RAW_END_BYTES[name].search(body, start)
    if found is None:
        return len(body)
    return found.end() if name == COMMENT else found.start()


def _block_end(body: bytes, start: int, end: int) -> int:
    """The last place near the end of a piece where a block was closed, or -1."""
    low = max(start + 1, end - min(_BACK, (end - start) // 4))
    best = -1
    for tag in _ENDS:
        at = body.rfind(tag, low, end)
        if at >= 0:
            best = max(best, at + len(tag))
            low = best
    return best


def _flooded(piece: bytes) -> bool:
    """Whether a stretch without '<' belongs to a tag with too many attributes.

    Tags hidden from this by "<x>" in their values are bounded by the size of the piece, and
    found afterwards by `attribute_work`.
    """
    for at in range(0, len(piece), _FLOOD_WINDOW):
        if piece.find(b"<", at, at + _FLOOD_WINDOW) < 0:
            begin = piece.rfind(b"<", 0, at)
            if begin >= 0 and _FLOOD.match(piece, begin):
                return True
    return False


def tokens(text: str, limit: int) -> Iterator[Token]:
    """The first `limit` tags of a page, without building a tree; raw text is skipped.

    A title's text comes as that of its end tag. The last token has no name and carries the text
    behind the last tag.
    """
    at = 0
    endless: set[str] = set()  # searched for once, so that many of them stay linear
    for _ in range(limit):
        found = _TOKEN.search(text, at)
        if found is None:
            yield text[at:], "", False, ""
            return
        name = (found[2] or "").lower()
        yield text[at : found.start()], name, bool(found[1]), found[3] or ""
        at = found.end()
        if name not in _SKIPPED or found[1] or name in endless or _closes_itself(name, found[0]):
            continue
        end = _RAW_END[name].search(text, at)
        if end is None and name not in RAW:
            endless.add(name)
            continue
        inside, at = at, end.start() if end else len(text)
        if name == "title":
            yield text[inside:at], name, True, ""


def _closes_itself(name: str, tag: str) -> bool:
    return name == "svg" and tag.endswith("/>")


def attributes(text: str) -> dict[str, str]:
    """The attributes of a tag as `tokens` cut it out; the first of a name counts."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        found.setdefault(match[1].lower(), match[2] or match[3] or match[4] or "")
    return found
