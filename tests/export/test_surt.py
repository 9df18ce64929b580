"""Keys of URLs as web archives sort by them. `test_replay` compares with the package `surt`."""

import pytest

from lycosa.export.surt import surt_key
from lycosa.urls.canonical import canonical

KEYS = {
    "https://www.example.com/": "com,example)/",
    "http://www2.Example.com:80/A/B/?b=2&a=1": "com,example)/a/b?a=1&b=2",
    "https://example.com:8443/x/": "com,example:8443)/x",
    "http://192.168.0.1/": "1,0,168,192)/",
    "https://example.com/?": "com,example)/",
    "https://example.com/a//b/": "com,example)/a/b",
    "https://example.com/%7Efoo/%E4%BD%A0": "com,example)/~foo/%e4%bd%a0",
    "https://example.com/a?B=C&a": "com,example)/a?a&b=c",
    "https://xn--bcher-kva.example/": "example,xn--bcher-kva)/",
    "https://example.com./x": "com,example)/x",
    "https://example.com/a?x=%2F%20y+z": "com,example)/a?x=/%20y+z",
    "https://e.com/a?x=%2541": "com,e)/a?x=a",
    "https://e.com/?a=1&a=0&A=2": "com,e)/?a=0&a=1&a=2",
    "https://e.com/a?sid=0123456789abcdef0123456789abcdef&z=1": "com,e)/a?z=1",
    "https://ex.com/a?CFID=12&CFTOKEN=34&x=1": "com,ex)/a?x=1",
    "http://ex.com/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx": "com,ex)/mileg.aspx",
    "http://[2001:db8::1]:8080/p": "2001:db8::1:8080)/p",
}


@pytest.mark.parametrize("url", KEYS)
def test_the_key_is_that_of_other_archives(url: str) -> None:
    clean = canonical(url)
    assert clean is not None
    assert surt_key(clean) == KEYS[url]


def test_a_url_made_of_escapes_takes_no_longer_than_its_length_says() -> None:
    assert surt_key("https://e.com/" + "%25" * 2000 + "41").startswith("com,e)/")
