"""Which URLs we want: limits against traps, file types, seeded domains, exclusions.

Owns the reasons for which a found URL is refused, and the lines of an exclude file. Pure and
cheap: asked once for every new link. Must not know robots.txt, counts per domain (caps belong to
the frontier) or what happens to a refused URL beyond being counted by the reason's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import quote

from lycosa.errors import UserError
from lycosa.outcomes import Drop
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import registrable
from lycosa.urls.ports import blocked_port

# Every answer of `Scope.refuses` but ''.
REASONS = (
    Drop.EXCLUDED,
    Drop.NOT_SEEDED,
    Drop.DEPTH,
    Drop.SEGMENTS,
    Drop.REPEATED_SEGMENTS,
    Drop.QUERY_LENGTH,
    Drop.FILE_TYPE,
    Drop.BLOCKED_PORT,
)

# Endings that never hold a page of text. Kept: xml, rss, txt, csv, json and all that scripts use.
_IMAGES = (
    "jpg jpeg jpe jfif png gif webp avif bmp ico svg tif tiff psd heic raw eps ai cdr "
    "woff woff2 ttf otf eot"
)
_SOUND_AND_VIDEO = (
    "mp3 mp4 m4a m4v m4b avi mov wmv mkv webm flv mpg mpeg 3gp ogg oga ogv opus wav flac aac wma "
    "mid midi m3u8 swf"
)
_ARCHIVES_AND_PROGRAMS = (
    "zip gz tgz bz2 xz zst 7z rar tar lz lzma cab jar war exe msi dmg pkg apk ipa deb rpm iso "
    "img bin dll appimage crx xpi torrent"
)
_DOCUMENTS = (
    "pdf ps djvu epub mobi azw3 doc docx docm dot dotx xls xlsx xlsm ppt pptx pps ppsx odt ods odp "
    "rtf vsd dwg dxf stl mdb sqlite parquet shp kmz hdf5"
)
_PARTS_OF_PAGES = "css js mjs map wasm"
NOT_TEXT = frozenset(
    " ".join(
        (_IMAGES, _SOUND_AND_VIDEO, _ARCHIVES_AND_PROGRAMS, _DOCUMENTS, _PARTS_OF_PAGES)
    ).split()
)
_SITEMAPS = (".xml.gz", ".txt.gz")  # the one kind of archive that we do read
_LONGEST_ENDING = max(map(len, NOT_TEXT))
_HOSTS_REMEMBERED = 50_000  # about 150 bytes each


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """What all nodes of a crawl agree on."""

    max_depth: int | None = None  # links away from a seed; None: no limit
    max_segments: int = 32  # in the path
    max_repeats: int = 4  # of one segment in the path
    max_query: int = 1000  # characters
    seeded_only: bool = False  # stay in the domains of the seeds
    exclude: tuple[str, ...] = ()  # lines as `parse_excludes` takes or returns them


class Scope:
    """The rules, ready to be asked."""

    def __init__(self, rules: ScopeRules) -> None:
        """UserError if an exclusion can't be understood."""
        entries = parse_excludes(rules.exclude, known=True)
        self.rules = rules
        self._max_depth = 1 << 62 if rules.max_depth is None else rules.max_depth
        self._hosts = frozenset(entry for entry in entries if _kind(entry) == "host")
        self._suffixes = frozenset(entry[1:] for entry in entries if _kind(entry) == "suffix")
        self._patterns: dict[str, list[_Glob]] = {}  # by their host, '' if that has a '*'
        for entry in entries:
            if _kind(entry) == "pattern":
                host = _before_path(entry)
                self._patterns.setdefault("" if "*" in host else host, []).append(_Glob(entry))
        names = self._hosts | self._suffixes
        self._dots = max((name.count(".") for name in names), default=0)  # in the longest of them
        self._known_hosts: dict[str, bool] = {}

    def excluding(self, lines: Iterable[str]) -> Scope:
        """The same limits with these exclusions instead."""
        return Scope(replace(self.rules, exclude=tuple(lines)))

    def refuses(self, url: str, host: str, domain: str, depth: int, seeded: bool) -> str:
        """Why a canonical URL is not wanted, '' if it is. `seeded`: its domain has a seed."""
        rules = self.rules
        if rules.exclude and self._excluded(url, host):
            return Drop.EXCLUDED
        if rules.seeded_only and not seeded:
            return Drop.NOT_SEEDED
        if depth > self._max_depth:
            return Drop.DEPTH
        return self.shape(url)

    def by_shape(self, depth: int) -> bool:
        """Whether, this far from the seeds, nothing but the shape of a URL matters."""
        return not self.rules.exclude and not self.rules.seeded_only and depth <= self._max_depth

    def host_by_shape(self, host: str, depth: int, seeded: bool) -> bool:
        """The same for the URLs of one host. `seeded`: its domain has a seed."""
        if depth > self._max_depth or (self.rules.seeded_only and not seeded):
            return False
        if not self.rules.exclude:
            return True
        name = host.rstrip(".")
        if name in self._patterns or "" in self._patterns:
            return False
        return not self._known_host(host)

    def shape(self, url: str) -> str:
        """Why a URL of this length, these segments and this ending is not wanted, '' if it is."""
        rules = self.rules
        start = url.find("/", 8)
        # Before the path, a digit ends a port or an IPv4 address: a look at it is cheap.
        if url[start - 1] <= "9" and blocked_port(url[:start]) >= 0:
            return Drop.BLOCKED_PORT
        end = url.find("?", start)
        if end < 0:
            end = len(url)
        elif len(url) - end - 1 > rules.max_query:
            return Drop.QUERY_LENGTH
        slashes = url.count("/", start, end)
        if slashes > rules.max_repeats:
            if slashes > rules.max_segments:
                return Drop.SEGMENTS
            if _repeats(url[start:end], rules.max_repeats):
                return Drop.REPEATED_SEGMENTS
        dot = url.rfind(".", end - _LONGEST_ENDING - 1, end)
        if dot > start and url[dot + 1 : end].lower() in NOT_TEXT:
            return "" if url.endswith(_SITEMAPS, start, end) else Drop.FILE_TYPE
        return ""

    def excluded_domain(self, domain: str) -> bool:
        """True if every URL of a registrable domain is excluded."""
        return bool(self._hosts or self._suffixes) and self._excluded_host(domain)

    def excluded_by(self, url: str, host: str) -> list[str]:
        """The exclusions that hit a URL, all of them: for people, who ask why."""
        text = host.rstrip(".") + url[url.find("/", 8) :]
        globs = (*self._patterns.get(host.rstrip("."), ()), *self._patterns.get("", ()))
        return [*self.host_lines(host), *(g.pattern for g in globs if g.matches(text))]

    def host_lines(self, host: str) -> list[str]:
        """The exclusions that hit everything of a host."""
        name, lines = host.rstrip("."), []
        if name in self._hosts:
            lines.append(name)
        while dot := name.find(".") + 1:
            name = name[dot:]
            lines += [name] if name in self._hosts else []
            lines += [f".{name}"] if name in self._suffixes else []
        return lines

    def _excluded(self, url: str, host: str) -> bool:
        excluded = self._known_host(host)
        if excluded or not self._patterns:
            return excluded
        host = host.rstrip(".")
        text = host + url[url.find("/", 8) :]
        for globs in (self._patterns.get(host), self._patterns.get("")):
            for glob in globs or ():
                if glob.matches(text):
                    return True
        return False

    def _known_host(self, host: str) -> bool:
        """`_excluded_host`, remembered."""
        excluded = self._known_hosts.get(host)
        if excluded is None:
            if len(self._known_hosts) >= _HOSTS_REMEMBERED:
                self._known_hosts.clear()
            excluded = self._known_hosts[host] = self._excluded_host(host)
        return excluded

    def _excluded_host(self, host: str) -> bool:
        name = host.rstrip(".")
        if name in self._hosts:
            return True
        if name.count(".") > self._dots:  # all that matters is at its end
            name = "." + ".".join(name.rsplit(".", self._dots + 1)[1:])
        dot = name.find(".")
        while dot >= 0:
            name = name[dot + 1 :]
            if name in self._hosts or name in self._suffixes:
                return True
            dot = name.find(".")
        return False


def _repeats(path: str, limit: int) -> bool:
    """True if one segment occurs more than `limit` times: a link that leads into itself."""
    segments = path.split("/")
    distinct = set(segments)
    # Only if enough are repeated at all is it worth counting which.
    if len(segments) - len(distinct) < limit:
        return False
    del segments[0]
    return any(segments.count(segment) > limit for segment in distinct)


class _Glob:
    """A pattern with '*' for any text, matched against host, path and query as a whole.

    Pieces are taken leftmost first, which is always right for globs: there is no backtracking.
    """

    __slots__ = ("_first", "_last", "_middle", "_needed", "_shortest", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._first, *rest = pattern.split("*")
        self._last = rest.pop()  # every pattern has a '*'
        self._middle = [piece for piece in rest if piece]
        self._needed = max(pattern.split("*"), key=len)  # the quickest way to say no
        self._shortest = len(pattern) - pattern.count("*")

    def matches(self, text: str) -> bool:
        if self._needed not in text or len(text) < self._shortest:
            return False
        if not (text.startswith(self._first) and text.endswith(self._last)):
            return False
        at, end = len(self._first), len(text) - len(self._last)
        for piece in self._middle:
            at = text.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True


def _kind(entry: str) -> str:
    """'host', 'suffix' or 'pattern': entries tell it by their looks."""
    if "*" in entry:
        return "pattern"
    return "suffix" if entry[0] == "." else "host"


def _before_path(text: str) -> str:
    return re.split(r"[/?]", text, maxsplit=1)[0]


_comment = re.compile(r"(?:^|\s)#.*")
_scheme = re.compile(r"https?://", re.IGNORECASE)
_address_range = re.compile(r"[0-9.]+/[0-9]{1,2}|[0-9a-f:]*:[0-9a-f:]*/[0-9]{1,3}").fullmatch


def parse_excludes(lines: Iterable[str], known: bool = False) -> tuple[str, ...]:
    """The entries of an exclude file, in normal form, each once; UserError names a bad line.
    `known`: they were accepted before, by whatever list of suffixes was right then."""
    entries: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        text = _comment.sub("", line.removeprefix("\ufeff")).strip()
        if text:
            try:
                entry = _entry(text)
                if not known and _kind(entry) == "host":
                    _refuse_suffix(entry)
                entries[entry] = None
            except ValueError as problem:
                raise UserError(f"Line {number} of the exclusions, {text!r}: {problem}.") from None
    return tuple(entries)


def _entry(text: str) -> str:
    """One exclusion in normal form; ValueError says what is wrong with it."""
    if re.search(r"\s", text):
        raise ValueError("write one exclusion on each line, without spaces")
    if _address_range(text.lower()):
        raise ValueError("address ranges can't be excluded, only single addresses and names")
    text = _scheme.sub("", text, count=1)
    host = _before_path(text)
    path = text[len(host) :]
    if path in ("", "/") and "*" not in host.removeprefix("*."):
        suffix = host.removeprefix("*") if host.startswith(("*.", ".")) else ""
        return "." + _host(suffix[1:]) if suffix else _host(host)
    return _pattern(host, path)


def _refuse_suffix(host: str) -> None:
    """ValueError for a host that is a public suffix: it would take millions of domains along."""
    if ":" in host or registrable(f"x.{host}") != f"x.{host}":
        return
    alone = "" if "." in host else f", or {host}/* for the host of that name alone"
    raise ValueError(
        f"it is a public suffix, write .{host} to exclude every domain below it{alone}"
    )


def _host(text: str) -> str:
    """A host in the form that URLs have it."""
    if text.count(":") > 1 and not text.startswith("["):
        text = f"[{text}]"
    if ":" in text.rpartition("]")[2]:
        raise ValueError("leave the port out: a host is excluded with all its ports")
    url = canonical(f"https://{text}/") if text and not re.search(r"[@/?#\\]", text) else None
    if url is None:
        raise ValueError("it is neither a domain, nor a suffix such as .gov, nor a pattern with *")
    return split(url).host.rstrip(".")


def _pattern(host: str, path: str) -> str:
    """A glob over host, path and query; where it could be read in two ways, the wider one."""
    if not (host + path).replace("*", "").strip("/."):
        raise ValueError("it would exclude everything")
    host = host.lower() if "*" in host else _host(host)
    if not re.fullmatch(r"[a-z0-9_.*\[\]:-]*", host):
        raise ValueError("a pattern's host is made of letters, digits, dots, hyphens and *")
    if not path and not host.endswith("*"):
        path = "/*"  # 'ads*.example.com' means all of these hosts
    elif path.startswith("?") and not host.endswith("*"):
        path = "/" + path
    pattern = host + quote(path, safe="/?#[]@!$&'()*+,;=:%|~")
    return pattern if "*" in pattern else pattern + "*"
