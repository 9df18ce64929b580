"""charset: the order of evidence, labels, and text that comes out right."""

from __future__ import annotations

import pytest

from lycosa import charset
from lycosa.charset import sniff, to_text, to_utf8

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
    assert to_text(page.encode(charset.codec(name)), "text/html") == (page, name)


@pytest.mark.parametrize("name", SAMPLES)
def test_declared_pages_become_utf8(name: str) -> None:
    page = f"<meta charset={name}><p>{SAMPLES[name]}</p>"
    assert to_utf8(page.encode(charset.codec(name)), "") == (page.encode(), name)


def test_every_label_leads_to_a_codec() -> None:
    for text, name in charset._NAMES.items():
        assert charset.label(text.upper()) == name
        assert charset.label(name) == name
        assert isinstance(b"abcd".decode(charset.codec(name), "replace"), str)
    assert charset.label("ISO-8859-15") == "iso-8859-15"
    assert charset.label("latin1") == charset.label("ascii") == "windows-1252"
    assert charset.label("base64") == charset.label("rot13") == ""


def test_valid_utf8_is_handed_on_untouched() -> None:
    body = "<p>naïve</p>".encode()
    assert to_utf8(body, "text/html; charset=utf-8")[0] is body


def test_invalid_utf8_is_repaired_and_a_cut_character_forgiven() -> None:
    assert to_utf8(b"a\xffb", "text/html; charset=utf-8") == ("a\ufffdb".encode(), "utf-8")
    assert sniff("aé".encode()[:-1], "") == "utf-8"
    assert sniff(b"a\xffb" * 10, "") != "utf-8"


def test_byte_order_marks_leave_the_text() -> None:
    assert to_text("abc".encode("utf-16"), "") == ("abc", "utf-16le")
    assert to_text(b"\xef\xbb\xbfabc", "") == ("abc", "utf-8")
    assert to_utf8(b"\xef\xbb\xbfabc", "") == (b"abc", "utf-8")
    assert to_utf8("é".encode("utf-16"), "") == ("é".encode(), "utf-16le")
