"""charset: the order of evidence, labels, and text that comes out right."""

from __future__ import annotations

import random
import struct
from functools import partial
from pathlib import Path

import pytest

from lycosa.page import charset
from lycosa.page.charset import guess, sniff, to_text, to_utf8
from support.cpu import cpu_seconds

# Python's codec, where it has another name.
CODECS = {"shift_jis": "cp932", "big5": "big5hkscs", "euc-kr": "cp949", "windows-874": "cp874"}
SAMPLES = {
    "windows-1251": "Привет, это обычная страница на русском языке. ",
    "shift_jis": "これは日本語のページです。検索のためのテキスト。 ",
    "euc-jp": "これは日本語のページです。検索のためのテキスト。 ",
    "gb18030": "这是一个中文网页，用于测试编码检测。 ",
    "big5": "這是一個繁體中文網頁，用於測試編碼檢測。 ",
    "euc-kr": "이것은 한국어 페이지입니다. 인코딩 감지를 위한 텍스트. ",
    "windows-1252": "Où est la bibliothèque ? L’élève a déjà été à l’école. ",
    "windows-1253": "Αυτή είναι μια ελληνική σελίδα με κείμενο. ",
    "windows-1255": "זהו דף בעברית עם טקסט רגיל. ",
    "windows-1256": "هذه صفحة عادية باللغة العربية فيها نص كاف للتجربة. ",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl náš starý učitel. ",
    "iso-8859-2": "Zażółć gęślą jaźń, powiedział stary nauczyciel do swoich uczniów. ",
    "windows-1254": "Bu sayfa Türkçe yazılmış sıradan bir sayfadır, şöyle güzel bir iş. ",
    "windows-1257": "Šī ir parasta lapa latviešu valodā, kurā nav norādīts kodējums. ",
    "windows-874": "นี่คือหน้าเว็บภาษาไทยธรรมดา ไม่มีการระบุรหัสอักขระ ",
    "koi8-u": "Привіт, це звичайна сторінка українською мовою, її кодування не вказано. ",
    "ibm866": "Привет, это обычная страница на русском языке, старая и без объявления. ",
    "iso-8859-5": "Привет, это обычная страница на русском языке, старая и без объявления. ",
    "iso-2022-jp": "これは日本語のページです。検索のためのテキスト。 ",
}


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"\xef\xbb\xbfabc", "text/html; charset=latin1", "utf-8"),
        (b"\xff\xfea\0", "text/html; charset=utf-8", "utf-16le"),
        (b"\xfe\xff\0a", "", "utf-16be"),
        (b"<meta charset=koi8-r>", "text/html; charset=windows-1251", "windows-1251"),
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "koi8-r"),
        (b"<meta charset=koi8-r>", "text/html", "koi8-r"),
        (b"<META  CHARSET = 'Shift_JIS' >", "", "shift_jis"),
        (b'<meta http-equiv=x content="text/html; charset=gb2312">', "", "gb18030"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=big5>", "", "big5"),
        (b"<!-- <meta charset=koi8-r>", "", "utf-8"),
        (b"<meta charset=utf-16>", "", "utf-8"),
        (b"<meta charset=made-up>", "", "utf-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><html/>', "", "windows-1252"),
        (b"plain", "", "utf-8"),
        ("é".encode(), "", "utf-8"),
        (b"<p>caf\xe9</p>", "", "windows-1252"),
        (b"", "", "utf-8"),
        (b"x" * 5_000 + b"<meta charset=koi8-r>", "", "utf-8"),
        (b"a", 'text/html; Charset="KS_C_5601-1987"', "euc-kr"),
    ],
)
def test_evidence(body: bytes, content_type: str, expected: str) -> None:
    assert sniff(body, content_type) == expected


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("repeat", [3, 60])
def test_undeclared_pages_are_recognised(name: str, repeat: int) -> None:
    page = f"<html><body><p>{SAMPLES[name] * repeat}</p>"
    assert to_text(page.encode(CODECS.get(name, name)), "text/html") == (page, name)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_port_of_the_detector_gives_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where chardetng has no wheel."""
    page = f"<html><body><p>{SAMPLES[name] * 60}</p>".encode(CODECS.get(name, name))
    monkeypatch.setattr(charset, "detector", charset._ported)
    assert sniff(page, "text/html") == name


def test_the_hosts_ending_decides_where_the_bytes_do_not() -> None:
    """Of a few accents alone nobody can tell."""
    page = "<p>árvíztűrő tükörfúrógép".encode("iso-8859-2")
    assert {tld: guess(page, tld) for tld in ("hu", "de")} == {
        "hu": "iso-8859-2",
        "de": "windows-1252",
    }


@pytest.mark.parametrize(
    "tld", ["", "COM", "co.uk", ".de", "\xff", "1", "127", "a_b", "-", "x" * 99]
)
def test_what_is_no_ending_is_no_hint(tld: str) -> None:
    """chardetng panics on some of these."""
    assert guess(b"<p>caf\xe9 au lait", tld) == guess(b"<p>caf\xe9 au lait")


@pytest.mark.parametrize("name", ["shift_jis", "gb18030", "euc-kr", "big5", "euc-jp"])
def test_a_page_cut_inside_of_a_character_is_still_recognised(name: str) -> None:
    page = f"<p>{SAMPLES[name] * 60}".encode(CODECS.get(name, name))
    assert {sniff(page[:cut], "") for cut in range(1500, 1520)} == {name}
    assert {sniff(page[:cut], "") for cut in range(150, 160)} == {name}


def test_escapes_in_other_pages_are_not_japanese() -> None:
    assert sniff(b"<p>an escape \x1b$ that means nothing", "") == "utf-8"


def test_a_guess_costs_little_however_long_the_page_is() -> None:
    for unit in HOSTILE:
        body = (unit * (2 << 20))[: 2 << 20]
        took = cpu_seconds(partial(guess, body))
        assert took < 0.03, (unit, took)


@pytest.mark.parametrize("name", SAMPLES)
def test_declared_pages_become_utf8(name: str) -> None:
    page = f"<meta charset={name}><p>{SAMPLES[name]}</p>"
    assert to_utf8(page.encode(CODECS.get(name, name)), "") == (page.encode(), name)


# Every label of the Encoding Standard with the name of its encoding, from webencodings 0.6.1.
LABELS = dict(
    line.split("\t")
    for line in (Path(__file__).parents[1] / "data/encoding_labels.tsv").read_text().splitlines()
)
SAME_DECODER = {"gbk": "gb18030", "iso-8859-8-i": "iso-8859-8"}


@pytest.mark.parametrize("name", sorted(set(LABELS.values())))
def test_every_label_of_the_standard_is_known(name: str) -> None:
    expected = SAME_DECODER.get(name, name)
    for label in (label for label, named in LABELS.items() if named == name):
        for spelling in (label, label.upper()):
            content_type = f"text/html; charset={spelling}"
            assert to_text(b"abcd", content_type)[1] == expected, label
            meta = b"<meta charset='%s'>abcd" % spelling.encode()
            inside = {"utf-16le": "utf-8", "utf-16be": "utf-8", "x-user-defined": "windows-1252"}
            assert to_text(meta, "")[1] == inside.get(expected, expected), label
    assert "abcd" in to_text(b"abcd    ", "text/html; charset=" + name)[0] or "utf-16" in name


def test_what_is_no_label_means_nothing() -> None:
    for text in ("base64", "rot13", "made-up", "", "utf", "iso-8859-12", "\u212a" + "oi8-r"):
        assert sniff(b"caf\xe9 au lait", f"text/html; charset={text}") == "windows-1252"
    assert to_text(b"\x80\xff", "text/html; charset=x-user-defined")[0] == "\uf780\uf7ff"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"<meta charset=made-up><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=''><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=bogus><meta charset=x><meta http-equiv=content-type"
         b" content='text/html; charset=big5'>", "big5"),
        (b"<meta charset=bogus content='text/html; charset=koi8-r'>", "koi8-r"),
        (b"<meta charset=bogus><!-- <meta charset=koi8-r> --><meta charset=big5>", "big5"),
        (b'<?xml version="1.0" encoding="bogus"?><meta charset=koi8-r>', "koi8-r"),
        (b"<meta charset=koi8-r><meta charset=big5>", "koi8-r"),
    ],
)  # fmt: skip
def test_a_bogus_declaration_does_not_hide_the_next_one(page: bytes, expected: str) -> None:
    assert sniff(page, "text/html") == expected
    assert sniff(page, "text/html; charset=none-such") == expected
    assert sniff(page, "text/html; charset=none-such; charset=gbk") == "gb18030"


def test_surrogates_that_stand_alone_are_replaced_and_nothing_else() -> None:
    from lycosa.page.encoding import text_of

    chance = random.Random(7)
    units = [0x41, 0xE9, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x20AC, 0xFFFD, 0xD7FF, 0xE000]
    for order, name in (("<", "utf-16le"), (">", "utf-16be")):
        for _ in range(300):
            chosen = chance.choices(units, k=chance.randrange(12))
            body = struct.pack(f"{order}{len(chosen)}H", *chosen)
            expected = body.decode(name.replace("16", "16-"), "replace")
            assert text_of(body, name) == expected, chosen
    assert text_of(b"\xdc\xdc" * 2 + b"a", "utf-16le") == "\ufffd" * 3


HOSTILE = [
    b"\x81", b"\x98", b"\xff", b"\x80", b"\xa0a", b"\xd2", b"\xdb", b"\xfc", b"\x81 ",
    b"\x00\xd8", b"\xd8\x00", b"\xdc\xdc", b"\x00\xd8a\x00", b"\x1b", b"\x1b$B\xff", b"\x8e\xff",
    b"\x8f\xa1", b"\x0e", b"\x81\x30", b"\x81\x30\x81", b"\xf0\x9f", b"\xc3", b"\xed\xa0\x80",
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(LABELS.values())))
def test_bytes_that_an_encoding_leaves_undefined_cost_little(name: str) -> None:
    """2 MiB of them took half a second: Python calls a handler for each."""
    for unit in HOSTILE:
        body = (unit * (2 << 20))[: 2 << 20]
        took = cpu_seconds(partial(to_utf8, body, f"text/html; charset={name}"))
        assert took < 0.06, (unit, took)  # half a second, before


def test_valid_utf8_is_handed_on_untouched() -> None:
    body = "<p>naïve</p>".encode()
    assert to_utf8(body, "text/html; charset=utf-8")[0] is body


def test_invalid_utf8_is_repaired_and_a_cut_character_forgiven() -> None:
    assert to_utf8(b"a\xffb", "text/html; charset=utf-8") == ("a\ufffdb".encode(), "utf-8")
    assert sniff("aé".encode()[:-1], "") == "utf-8"
    assert sniff(b"a\xffb" * 10, "") != "utf-8"


def test_the_compiled_check_of_utf8_says_what_pythons_decoder_says() -> None:
    if charset.compiled is None:
        pytest.skip("no C compiler")
    characters = [*"a\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff", "ascii " * 9]
    pieces = [each.encode() for each in characters] + [bytes([byte]) for byte in range(256)]
    pieces += [b"\xed\xa0\x80", b"\xed\xbf", b"\xe0\x80", b"\xf0\x80", b"\xf4\x90", b"\xf5\x80"]
    chance = random.Random(3)
    good = 0
    for _ in range(30_000):
        body = b"".join(chance.choices(pieces, k=chance.randrange(6)))
        body = body[: chance.randrange(len(body) + 1)] if chance.random() < 0.3 else body
        good += charset.compiled(body)
        assert charset.compiled(body) == charset.is_utf8_in_python(body), body
    assert 5_000 < good < 25_000


def test_byte_order_marks_leave_the_text() -> None:
    assert to_text("abc".encode("utf-16"), "") == ("abc", "utf-16le")
    assert to_text(b"\xef\xbb\xbfabc", "") == ("abc", "utf-8")
    assert to_utf8(b"\xef\xbb\xbfabc", "") == (b"abc", "utf-8")
    assert to_utf8("é".encode("utf-16"), "") == ("é".encode(), "utf-16le")
