"""The key by which indexes of web archives sort a URL: hosts reversed, what does not matter gone.

`com,example)/path?a=1&b=2`: pywb, Common Crawl and the Wayback Machine look URLs up by such a key,
so that ours has to be theirs, letter by letter. Takes canonical URLs. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from lycosa.urls.canonical import split

_MOST_ESCAPES = 8  # %2525… is undone this often

_www = re.compile(r"www\d*\.")
_slashes = re.compile(r"//+")
# Numbers of sessions: the same page has another one for every visitor.
_SESSIONS = tuple(
    re.compile(words)
    for words in (
        r"jsessionid=[0-9a-z]{32}(?:&|$)",
        r"phpsessid=[0-9a-z]{32}(?:&|$)",
        r"sid=[0-9a-z]{32}(?:&|$)",
        r"aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)",
        r"cfid=[^&]{1,64}&cftoken=[^&]{1,64}(?:&|$)",
    )
)
_asp_session = re.compile(r"/\((?:[a-z]\([0-9a-z]{24}\))+\)(?=/[^?]+\.aspx)")


def surt_key(url: str) -> str:
    """The key of a canonical URL; all its letters are small."""
    parts = split(url)
    path, _, query = parts.target.partition("?")
    port = "" if parts.port == (443 if parts.https else 80) else f":{parts.port}"
    return f"{_host_key(parts.host)}{port})/{_path_key(path)}{_query_key(query)}"


def _host_key(host: str) -> str:
    if ":" in host:
        return host.strip("[]")
    name = _www.sub("", host.rstrip("."), count=1) if _www.match(host) else host.rstrip(".")
    return ",".join(reversed(name.split(".")))


def _path_key(path: str) -> str:
    """Without the slash at its beginning, which every key has."""
    plain = _without_dots(_slashes.sub("/", _folded(path)))
    return _asp_session.sub("", plain).strip("/") if "(" in plain else plain.strip("/")


def _without_dots(path: str) -> str:
    """Segments '.' and '..' that were escaped: canonical URLs have no others."""
    if "/." not in path:
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def _query_key(query: str) -> str:
    folded = _folded(query) if query else ""
    for session in _SESSIONS:
        folded = session.sub("", folded, count=1)
    return "?" + "&".join(sorted(folded.split("&"), key=_name_first)) if folded else ""


def _name_first(part: str) -> tuple[str, str, str]:
    """Parameters sort by their names: id=1 comes before id2=1."""
    return part.partition("=")


def _folded(text: str) -> str:
    """In small letters; only what can't stand in a URL is written as %xx."""
    if "%" not in text:
        return text.lower()
    plain = text.encode()
    for _ in range(_MOST_ESCAPES):
        before, plain = plain, unquote_to_bytes(plain)
        if plain == before:
            break
    return "".join(map(_written, plain)).lower()


def _written(byte: int) -> str:
    return chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" else f"%{byte:02x}"
