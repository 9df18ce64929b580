"""Which encoding a page is in. Owns the order of evidence; knows no HTML tree.

The order is that of browsers: byte order mark, HTTP, <meta>; then, where a browser would guess
from the reader's language, valid UTF-8, a short statistical test and at last windows-1252.
The reader of HTML takes UTF-8 bytes, so `to_utf8` returns valid UTF-8 without decoding it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from lycosa.page.encoding import label, text_of

HEAD_BYTES = 4_096  # where <meta charset> is looked for; the standard says 1,024, pages say more
SAMPLE_BYTES = 1_500  # given to the statistical test, which takes about 0.5 ms for it
DEFAULT = "windows-1252"

# What undeclared pages that are not UTF-8 are written in, as the statistical test names it.
# No other Latin encoding: on so little text it can't tell them from windows-1252.
_GUESSES = {
    "cp1251": "windows-1251",
    "cp932": "shift_jis",
    "gb18030": "gb18030",
    "euc_kr": "euc-kr",
    "big5": "big5",
    "euc_jp": "euc-jp",
    "cp1253": "windows-1253",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp1252": "windows-1252",
}

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
_RUN = re.compile(rb"[\x80-\xff]{3}")


def sniff(body: bytes, content_type: str) -> str:
    """The page's encoding, by its name in the Encoding Standard, in lower case."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    return declared(body, content_type) or ("utf-8" if is_utf8(body) else _guess(body))


def declared(body: bytes, content_type: str) -> str:
    """What HTTP or the page itself says, or '' where neither names an encoding we know."""
    for found in _PARAMETER.finditer(content_type):
        if name := label(found[1]):
            return name
    return _declared_inside(body[:HEAD_BYTES])


def is_utf8(body: bytes) -> bool:
    """Whether the bytes are UTF-8; a last character cut in two is forgiven."""
    try:
        codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return True


def to_text(body: bytes, content_type: str) -> tuple[str, str]:
    """The text without its byte order mark, and the encoding's name."""
    name = sniff(body, content_type)
    return text_of(body, name).removeprefix("\ufeff"), name


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """The page as UTF-8 bytes, untouched if it is UTF-8 already, and its encoding's name."""
    name = sniff(body, content_type)
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


def _guess(body: bytes) -> str:
    """For a page that is not UTF-8 and names no encoding: a test on some text around its first byte
    above 127."""
    first = _HIGH.search(body)
    begin = max(0, first.start() - 100) if first else 0
    sample = body[begin : begin + SAMPLE_BYTES]
    # Western text has single accents between ASCII letters: too little for the test to go by.
    if not _RUN.search(sample):
        return DEFAULT
    # A character cut in two would rule out its encoding: end where ASCII surely is.
    end = max(map(sample.rfind, _ENDS)) + 1 if len(sample) == SAMPLE_BYTES else 0
    from charset_normalizer import from_bytes  # rarely needed, and slow to load

    best = from_bytes(
        sample[:end] if end else sample,
        steps=2,
        chunk_size=512,
        cp_isolation=list(_GUESSES),
        preemptive_behaviour=False,
        enable_fallback=False,
    ).best()
    return _GUESSES.get(best.encoding, DEFAULT) if best else DEFAULT
