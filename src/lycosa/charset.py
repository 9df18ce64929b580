"""Which encoding a page is in. Owns the labels and the order of evidence; knows no HTML tree.

The order is that of browsers: byte order mark, HTTP, <meta>; then, where a browser would guess
from the reader's language, valid UTF-8, a short statistical test and at last windows-1252.
The parser eats UTF-8 bytes, so `to_utf8` hands valid UTF-8 on as it is, without decoding it.
"""

from __future__ import annotations

import codecs
import re

HEAD_BYTES = 4_096  # where <meta charset> is looked for; the standard says 1,024, pages say more
SAMPLE_BYTES = 1_500  # given to the statistical test, which takes about 0.5 ms for it
DEFAULT = "windows-1252"

# Labels of the Encoding Standard that Python knows by another name, or means otherwise.
_CODECS = {
    "utf-8": "utf_8",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    "windows-1252": "cp1252",
    "windows-874": "cp874",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
}
_ALIASES = {
    "utf-8": "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16le": "utf-16 ucs-2 unicode unicodefeff csunicode iso-10646-ucs-2",
    "utf-16be": "unicodefffe",
    "windows-1252": "latin1 l1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 cp1252"
    " cp819 ibm819 iso-ir-100 x-cp1252 csisolatin1 ansi_x3.4-1968 iso_8859-1:1987",
    "windows-1254": "iso-8859-9 iso8859-9 iso88599 iso_8859-9 latin5 l5 cp1254 x-cp1254"
    " csisolatin5 iso-ir-148 iso_8859-9:1989",
    "windows-874": "iso-8859-11 iso8859-11 iso885911 tis-620 dos-874",
    "windows-1250": "cp1250 x-cp1250",
    "windows-1251": "cp1251 x-cp1251",
    "windows-1253": "cp1253 x-cp1253",
    "windows-1255": "cp1255 x-cp1255",
    "windows-1256": "cp1256 x-cp1256",
    "windows-1257": "cp1257 x-cp1257",
    "windows-1258": "cp1258 x-cp1258",
    "gb18030": "gb2312 gbk gb_2312 gb_2312-80 x-gbk chinese csgb2312 csiso58gb231280 iso-ir-58",
    "big5": "big5-hkscs cn-big5 csbig5 x-x-big5",
    "shift_jis": "shift-jis sjis ms932 ms_kanji windows-31j x-sjis csshiftjis",
    "euc-jp": "x-euc-jp cseucpkdfmtjapanese",
    "euc-kr": "ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 cseuckr"
    " csksc56011987 iso-ir-149",
    "koi8-r": "koi koi8 koi8_r cskoi8r",
    "koi8-u": "koi8-ru",
    "ibm866": "cp866 866 csibm866",
    "macintosh": "mac x-mac-roman csmacintosh",
    "x-mac-cyrillic": "x-mac-ukrainian",
    "iso-2022-jp": "csiso2022jp",
    "iso-8859-8": "iso-8859-8-i iso-8859-8-e logical visual hebrew csiso88598e csiso88598i",
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in aliases.split()}
_NAMES |= {name: name for name in (*_ALIASES, *_CODECS)}
for _part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16):
    for _form in ("iso-8859-{}", "iso8859-{}", "iso8859{}", "iso_8859-{}"):
        _NAMES.setdefault(_form.format(_part), f"iso-8859-{_part}")
for _latin, _part in ((2, 2), (3, 3), (4, 4), (6, 10)):
    _NAMES[f"latin{_latin}"] = _NAMES[f"l{_latin}"] = f"iso-8859-{_part}"
_NAMES |= {"cyrillic": "iso-8859-5", "arabic": "iso-8859-6", "greek": "iso-8859-7"}

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

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,>]+)", re.I)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.S)
_META = re.compile(rb"<meta[\s/][^<>]*?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_XML = re.compile(rb"\A\s*<\?xml[^<>]*?encoding\s*=\s*[\"']([\w.:-]{2,40})", re.I)
_HIGH = re.compile(rb"[\x80-\xff]")
_RUN = re.compile(rb"[\x80-\xff]{3}")
_TAIL = re.compile(rb"[^\s<>]*\Z")


def sniff(body: bytes, content_type: str) -> str:
    """The page's encoding, by its name in the Encoding Standard, in lower case."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    return declared(body, content_type) or ("utf-8" if is_utf8(body) else _guess(body))


def declared(body: bytes, content_type: str) -> str:
    """What HTTP or the page itself says, or '' where neither names an encoding we know."""
    found = _PARAMETER.search(content_type)
    name = label(found[1]) if found else ""
    return name or _declared_inside(body[:HEAD_BYTES])


def label(text: str) -> str:
    """The standard's name for a label, or '' for one that means nothing."""
    return _NAMES.get(text.strip().lower(), "")


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
    text = body.decode(codec(name), "replace")
    return text.removeprefix("\ufeff"), name


def to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """The page as UTF-8 bytes, untouched if it is UTF-8 already, and its encoding's name."""
    name = sniff(body, content_type)
    if name == "utf-8" and is_utf8(body):
        return body.removeprefix(b"\xef\xbb\xbf"), name
    text = body.decode(codec(name), "replace").removeprefix("\ufeff")
    return text.encode("utf-8", "replace"), name


def codec(name: str) -> str:
    """Python's codec for a name that `sniff` returned."""
    return _CODECS.get(name, name)


def _declared_inside(head: bytes) -> str:
    found = _XML.match(head) or _META.search(head)
    if found and b"<!--" in head[: found.start()]:
        found = _META.search(_COMMENT.sub(b"", head))
    name = label(found[1].decode("ascii", "replace")) if found else ""
    # Who can read the declaration as ASCII does not read UTF-16.
    return "utf-8" if name.startswith("utf-16") else name


def _guess(body: bytes) -> str:
    """For bytes that are not UTF-8 and say nothing: a test on a few lines around the first ones."""
    first = _HIGH.search(body)
    begin = max(0, first.start() - 100) if first else 0
    sample = body[begin : begin + SAMPLE_BYTES]
    # Western text has its accents one by one: no need to ask, and too little to ask about.
    if not _RUN.search(sample):
        return DEFAULT
    # A character cut in two would rule out its encoding: end where ASCII surely is.
    trimmed = _TAIL.sub(b"", sample) if len(sample) == SAMPLE_BYTES else sample
    from charset_normalizer import from_bytes  # rarely wanted, and long to load

    best = from_bytes(
        trimmed or sample,
        steps=2,
        chunk_size=512,
        cp_isolation=list(_GUESSES),
        preemptive_behaviour=False,
        enable_fallback=False,
    ).best()
    return _GUESSES.get(best.encoding, DEFAULT) if best else DEFAULT
