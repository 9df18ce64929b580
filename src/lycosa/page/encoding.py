"""The encodings of the web: what they are called, and how bytes become text. Pure.

Owns the labels of the Encoding Standard (https://encoding.spec.whatwg.org/#names-and-labels) and
decoding in bulk: Python calls an error handler for every byte that an encoding leaves undefined,
which took half a second for one page (S3). Which encoding a page is in is for `charset`.
"""

from __future__ import annotations

import codecs
from functools import cache

# Every label of the standard under its name. `gb18030` also stands for the standard's GBK, whose
# decoder is the same, and `iso-8859-8` for ISO-8859-8-I, which differs in the direction of lines.
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2"
    " iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3"
    " iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4"
    " iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595"
    " iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6"
    " iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126"
    " iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e"
    " iso-8859-8-i iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100"
    " iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9"
    " iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58"
    " x-gbk",
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989"
    " ksc5601 ksc_5601 windows-949",
    "replacement": "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}
NAMES = {text: name for name, texts in _LABELS.items() for text in texts.split()}

# Names that Python knows by another name, or means otherwise.
_CODECS = {
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    "windows-1252": "cp1252",
    "windows-874": "cp874",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    # Browsers show nothing of such a page, lest its bytes be scripts in disguise. We run none,
    # and most of its links are ASCII.
    "replacement": "ascii",
    "x-user-defined": "ascii",
}
_SEVERAL_BYTES = frozenset(
    [
        "utf-8",
        "utf-16le",
        "utf-16be",
        "gb18030",
        "big5",
        "euc-jp",
        "iso-2022-jp",
        "shift_jis",
        "euc-kr",
    ]
)
_ONE_BYTE = frozenset(_LABELS) - _SEVERAL_BYTES


def label(text: str) -> str:
    """The standard's name for a label, in lower case, or '' for one that means nothing."""
    return NAMES.get(text.strip("\t\n\f\r ").lower(), "")


def codec(name: str) -> str:
    """Python's codec for a name that `label` returned."""
    return _CODECS.get(name, name)


def text_of(body: bytes, name: str) -> str:
    """The text of bytes in an encoding, with U+FFFD for what it does not define."""
    if name in _ONE_BYTE:
        return codecs.charmap_decode(body, "strict", _table(name))[0]
    if not name.startswith("utf-16"):
        return body.decode(codec(name), "replace")  # these put U+FFFD without a handler
    try:
        return body.decode(codec(name))
    except UnicodeDecodeError:
        return _mended(body, big=name == "utf-16be").decode(codec(name), "replace")


@cache  # made when a page needs it: all of them would cost every start a dozen milliseconds
def _table(name: str) -> str:
    """The characters of the 256 bytes of an encoding with one byte for each."""
    if name == "x-user-defined":
        return "".join(chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(256))
    return bytes(range(256)).decode(codec(name), "replace")


# UTF-16 is mended with a byte for each unit: 'H' and 'L' begin and end a pair of surrogates.
_CLASSES = bytes(
    ord("H") if 0xD8 <= high < 0xDC else ord("L") if 0xDC <= high < 0xE0 else 0
    for high in range(256)
)
_ALONE = bytes(0xFF if byte in b"HL" else 0 for byte in range(256))
_LOW = bytes(0xFD if byte == 0xFF else 0 for byte in range(256))


def _mended(body: bytes, *, big: bool) -> bytes:
    """UTF-16 with U+FFFD in place of each surrogate that stands alone, in a few passes over all."""
    first, second = (0, 1) if big else (1, 0)
    units = len(body) // 2 * 2
    high, low = body[first:units:2], body[second:units:2]
    alone = high.translate(_CLASSES).replace(b"HL", b"\0\0").translate(_ALONE)
    mended = bytearray(body)
    mended[first:units:2] = _blend(high, alone, alone)
    mended[second:units:2] = _blend(low, alone, alone.translate(_LOW))
    return bytes(mended)


def _blend(values: bytes, mask: bytes, others: bytes) -> bytes:
    """`values`, and `others` where the mask's bits are set."""
    kept = int.from_bytes(values, "little") & ~int.from_bytes(mask, "little")
    return (kept | int.from_bytes(others, "little")).to_bytes(len(values), "little")
