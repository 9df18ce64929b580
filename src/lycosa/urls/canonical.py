"""The canonical form of a URL, and its parts.

Owns the WHATWG rules (by ada_url), our length limits, and the only places where a `Url` is made.
Pure. Must not know domains (`domains`), which URLs we want (`scope`) or may fetch (robots).

Most links are plain ASCII with nothing to normalise. Strict patterns recognise those, and
string concatenation joins them; everything else takes the full parser. The patterns accept only
what the parser would leave unchanged, and tests compare the two.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ada_url import join_url, normalize_url

from lycosa.records import Url

MAX_URL = 2000  # characters of a canonical URL
# Raw input beyond this is not even parsed: no sane spelling of a good URL is four times its size.
MAX_RAW = 4 * MAX_URL


class Parts(NamedTuple):
    """A canonical URL taken apart."""

    origin: str  # "https://www.example.com"; a port only where it is not the scheme's own
    host: str  # IPv6 without brackets
    port: int
    https: bool
    target: str  # path and query, as robots.txt matches it


# What WHATWG leaves alone in a path, and in a query; '.' is safe unless it begins a segment.
_PATH = r"[A-Za-z0-9\-._~!$&()*+,;=:@/%]*"
_QUERY = r"(?:\?[A-Za-z0-9\-._~!$&()*+,;=:@/%?\[\]|]*)?"
# Three labels of at most 60 and a last one that begins with a letter: no IPv4 number, no IDNA,
# and within the limits of DNS.
_NAME = r"(?:(?!xn--)[a-z0-9_-]{1,60}\.){0,3}(?!xn--)[a-z][a-z0-9-]{0,59}"

_plain_absolute = re.compile(rf"https?://{_NAME}(?:/{_PATH}{_QUERY})?").fullmatch
plain_rooted = re.compile(rf"/(?!/){_PATH}{_QUERY}").fullmatch
plain_relative = re.compile(rf"[A-Za-z0-9\-_~][A-Za-z0-9\-._~!$&()*+,;=@/%]*{_QUERY}").fullmatch

# A host that DNS can know. The URL standard also lets through quotes, braces and the like,
# which on the web come from broken scripts only.
_good_host = re.compile(r"(?=.{1,254}$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?").fullmatch

_ANY_ORIGIN = "https://a"


def canonical(url: str, base: str | None = None) -> Url | None:
    """The WHATWG form of an http(s) URL without fragment and credentials, or None."""
    cut = url.find("#", 0, MAX_RAW)  # the first '#' always begins the fragment
    if cut < 0 and len(url) > MAX_RAW:
        return None
    text = url if cut < 0 else url[:cut]
    if text.startswith(("http://", "https://")) and (plain := join_rooted(text, "")):
        return plain if len(plain) <= MAX_URL else None
    if cut >= 0:
        text += "#"  # without it, a space before the fragment would be at the end, and dropped
    try:
        whole = normalize_url(text) if base is None else join_url(base, text)
    except ValueError:
        return None
    return _accept(whole)


def _accept(whole: str) -> Url | None:
    """What the parser gave, without credentials and fragment; None: not http(s), or no DNS name."""
    if not whole.startswith(("https://", "http://")) or len(whole) > MAX_RAW:
        return None
    start = 8 if whole[4] == "s" else 7
    slash = whole.find("/", start)
    at = whole.rfind("@", start, slash)
    if at >= 0:
        whole = whole[:start] + whole[at + 1 :]
        slash -= at + 1 - start
    fragment = whole.find("#")
    if fragment >= 0:
        whole = whole[:fragment]
    host, _, _ = whole[start:slash].partition(":")
    if whole[start] != "[" and not _good_host(host):
        return None
    return Url(whole) if len(whole) <= MAX_URL else None


def split(url: str) -> Parts:
    """The parts of a URL that is already canonical."""
    https = url[4] == "s"
    start = 8 if https else 7
    slash = url.find("/", start)
    host = url[start:slash]
    port = 443 if https else 80
    if host[-1] == "]":
        host = host[1:-1]
    elif ":" in host:
        host, _, digits = host.rpartition(":")
        port = int(digits)
        if host[-1] == "]":
            host = host[1:-1]
    return Parts(url[:slash], host, port, https, url[slash:])


def rooted(origin: str, target: str) -> Url | None:
    """The URL of a path with its query, as a site wrote it, in a canonical origin. The parser does
    not see the origin: a host in another script would cost ten times the rest."""
    if not target:
        return Url(origin + "/")
    url = join_rooted(target, origin) if target[0] == "/" else None
    if url is None:
        normal = canonical(_ANY_ORIGIN + target)
        url = Url(origin + normal[len(_ANY_ORIGIN) :]) if normal else None
    return url if url and len(url) <= MAX_URL else None


def robots_txt(origin: str) -> Url:
    """Where a canonical origin has its robots.txt."""
    return Url(f"{origin}/robots.txt")


def over_http(url: Url) -> Url:
    """An https URL with http in its place; a port stays."""
    return canonical("http" + url.removeprefix("https")) or url


def host_of(url: str) -> str:
    """The same as `split(url).host`, and quicker."""
    host = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    return host if ":" not in host else split(url).host


def join_rooted(text: str, origin: str) -> Url | None:
    """A plain href that begins with '/' or a scheme as a URL; None: it needs the parser."""
    if not _no_dots(text):
        return None
    if text[0] == "/":
        return Url(origin + text) if plain_rooted(text) else None
    if not _plain_absolute(text):
        return None
    return Url(text if text.find("/", 8) > 0 else text + "/")


def join_relative(text: str, directory: str) -> Url | None:
    """A plain href that begins with a name as a URL; None: it needs the parser."""
    return Url(directory + text) if plain_relative(text) and _no_dots(text) else None


def _no_dots(text: str) -> bool:
    """True if no segment can be '.' or '..', in any spelling."""
    return "/." not in text and "/%2" not in text
