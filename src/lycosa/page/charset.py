"""Which encoding a page is in. Owns the order of evidence; knows no HTML tree.

The order is that of browsers: byte order mark, HTTP, <meta>; then, where a browser would guess
from the reader's language, valid UTF-8 and Firefox's detector (chardetng), which takes the last
label of the host's name (`tld`) as a hint. The reader of HTML takes UTF-8 bytes, so `to_utf8`
returns valid UTF-8 without decoding it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from lycosa.page.encoding import label, text_of

compiled: Callable[[bytes], bool] | None
try:
    from lycosa.page._scan import is_utf8 as compiled
except ImportError:  # there was no C compiler when lycosa was installed
    compiled = None

HEAD_BYTES = 4_096  # where <meta charset> is looked for; the standard says 1,024, pages say more
SAMPLE_BYTES = 8_192  # given to the detector, which takes up to 2 ms for it (bench/charset.py)
LONG_BYTES = 1_000  # a sample so long can do without its last word
DEFAULT = "windows-1252"

Detector = Callable[[bytes, str], str]

# What a page that could be read as ASCII can't be in, and what it is taken for.
_AS_ASCII = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": DEFAULT}
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
# All of these take linear time on any input: a repeat that another could go on with is possessive.
_CHARSET = r"charset\s*+=\s*+[\"']?+\s*+([\w.:-]{2,40})"
_PARAMETER = re.compile(_CHARSET, re.I | re.A)
_IN_TAG = re.compile(_CHARSET.encode(), re.I)
_META = re.compile(rb"<meta[\s/][^<>]*+", re.I)
_XML = re.compile(rb"\A\s*+<\?xml[^<>]*?encoding\s*+=\s*+[\"']([\w.:-]{2,40})", re.I)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.S)
_HIGH = re.compile(rb"[\x80-\xff]")
_ENDS = (b" ", b"\n", b"\t", b"\r", b"<", b">")  # behind these, no character is cut in two
_ESCAPE = b"\x1b$"  # ISO-2022-JP: Japanese in bytes below 128
_TLD = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])").fullmatch  # chardetng panics on others


def sniff(body: bytes, content_type: str, tld: str = "") -> str:
    """The page's encoding, by its name in the Encoding Standard, in lower case."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if name := declared(body, content_type):
        return name
    if is_utf8(body):
        escape = body.find(_ESCAPE)
        return "utf-8" if escape < 0 else _escaped(body, escape, tld)
    return guess(body, tld)


def declared(body: bytes, content_type: str) -> str:
    """What HTTP or the page itself says, or '' where neither names an encoding we know."""
    return _told(content_type) or _declared_inside(body[:HEAD_BYTES])


@lru_cache(maxsize=256)
def _told(content_type: str) -> str:
    """What HTTP says. Cached: a crawl meets a few dozen headers."""
    names = (label(found[1]) for found in _PARAMETER.finditer(content_type))
    return next(filter(None, names), "")


def is_utf8(body: bytes) -> bool:
    """Whether the bytes are UTF-8; a last character cut in two is forgiven."""
    return compiled(body) if compiled is not None else is_utf8_in_python(body)


def is_utf8_in_python(body: bytes) -> bool:
    """What the compiled module does."""
    try:
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


def to_text(body: bytes, content_type: str, tld: str = "") -> tuple[str, str]:
    """The text without its byte order mark, and the encoding's name."""
    name = sniff(body, content_type, tld)
    return text_of(body, name).removeprefix("\ufeff"), name


def to_utf8(body: bytes, content_type: str, tld: str = "") -> tuple[bytes, str]:
    """The page as UTF-8 bytes, untouched if it is UTF-8 already, and its encoding's name."""
    name = sniff(body, content_type, tld)
    if name == "utf-8" and is_utf8(body):
        return body.removeprefix(b"\xef\xbb\xbf"), name
    text = text_of(body, name).removeprefix("\ufeff")
    return text.encode("utf-8", "replace"), name


def _declared_inside(head: bytes) -> str:
    """The first label of the XML declaration and the <meta> tags that means something."""
    for text in _labels_inside(head):
        if name := label(text.decode("ascii", "replace")):
            return _AS_ASCII.get(name, name)
    return ""


def _labels_inside(head: bytes) -> Iterator[bytes]:
    if declaration := _XML.match(head):
        yield declaration[1]
    first = _META.search(head)
    if first is None:
        return
    if b"<!--" not in head[: first.start()]:
        yield from _IN_TAG.findall(first[0])  # nearly always the end of it
    for tag in _META.finditer(_COMMENT.sub(b"", head)):
        yield from _IN_TAG.findall(tag[0])


def guess(body: bytes, tld: str = "") -> str:
    """For a page that is not UTF-8 and names no encoding: what its text looks like, judged by some
    of it around the first byte above 127."""
    first = _HIGH.search(body)
    return _judged(body, first.start() if first else 0, tld)


def _escaped(body: bytes, escape: int, tld: str) -> str:
    """For a page without a byte above 127 that looks like ISO-2022-JP."""
    name = _judged(body, escape, tld)
    return name if name == "iso-2022-jp" else "utf-8"


def _judged(body: bytes, at: int, tld: str) -> str:
    begin = max(0, at - 100)
    sample = body[begin : begin + SAMPLE_BYTES]
    if len(sample) >= LONG_BYTES:
        # A character cut in two would rule out its encoding: end where ASCII surely is.
        sample = sample[: max(map(sample.rfind, _ENDS)) + 1] or sample
    name = label(detector()(sample, tld if _TLD(tld) else ""))
    return _AS_ASCII.get(name, name) or DEFAULT


@cache  # rarely needed
def detector() -> Detector:
    """Firefox's detector; where there is no wheel of it, the same in C (decision 0016)."""
    try:
        return _chardetng()
    except ImportError:
        return _ported()


def _chardetng() -> Detector:
    from chardetng_py import EncodingDetector

    def detect(sample: bytes, tld: str) -> str:
        one = EncodingDetector()
        one.feed(sample, last=False)  # what is cut may go on
        name = one.guess(tld=tld.encode() or None, allow_utf8=False)
        return "windows-874" if name == "cp874" else name

    return detect


def _ported() -> Detector:
    from turbohtml.detect import Detection, detect

    def detected(sample: bytes, tld: str) -> str:
        return detect(sample, Detection(tld=tld or None)).encoding or ""

    return detected
