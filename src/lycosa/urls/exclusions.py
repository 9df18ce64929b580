"""Exclusions: what a user never wants to be visited.

Owns the lines of an exclude file, their normal form, and what each of them hits: a host with all
below it, a suffix, or a pattern over host, path and query. Pure. Must not know where the lines are
kept, nor what happens to what they hit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from lycosa.errors import UserError
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import domain_of, registrable

_HOSTS_REMEMBERED = 50_000  # about 150 bytes each


class Exclusions:
    """The lines, ready to be asked."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Takes lines that were accepted before; UserError if one can't be understood."""
        entries = parse_excludes(lines, known=True)
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

    def excludes(self, url: str, host: str) -> bool:
        """Whether a canonical URL is excluded."""
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

    def hits_host(self, host: str) -> bool:
        """Whether a line hits everything of a host."""
        return self._known_host(host)

    def excludes_domain(self, domain: str) -> bool:
        """Whether every URL of a registrable domain is excluded."""
        return bool(self._hosts or self._suffixes) and self._host_hit(domain)

    def spares(self, host: str) -> bool:
        """Whether no URL of a host can be excluded."""
        name = host.rstrip(".")
        if name in self._patterns or "" in self._patterns:
            return False
        return not self._known_host(host)

    def lines(self, url: str, host: str) -> list[str]:
        """All lines that hit a URL."""
        text = host.rstrip(".") + url[url.find("/", 8) :]
        globs = (*self._patterns.get(host.rstrip("."), ()), *self._patterns.get("", ()))
        return [*self.host_lines(host), *(g.pattern for g in globs if g.matches(text))]

    def host_lines(self, host: str) -> list[str]:
        """The lines that hit everything of a host."""
        name, lines = host.rstrip("."), []
        if name in self._hosts:
            lines.append(name)
        while dot := name.find(".") + 1:
            name = name[dot:]
            lines += [name] if name in self._hosts else []
            lines += [f".{name}"] if name in self._suffixes else []
        return lines

    def _known_host(self, host: str) -> bool:
        """`_host_hit`, remembered."""
        if not (self._hosts or self._suffixes):
            return False
        excluded = self._known_hosts.get(host)
        if excluded is None:
            if len(self._known_hosts) >= _HOSTS_REMEMBERED:
                self._known_hosts.clear()
            excluded = self._known_hosts[host] = self._host_hit(host)
        return excluded

    def _host_hit(self, host: str) -> bool:
        name = host.rstrip(".")
        if name in self._hosts:
            return True
        if name.count(".") > self._dots:  # no line is as long: its end decides
            name = "." + ".".join(name.rsplit(".", self._dots + 1)[1:])
        dot = name.find(".")
        while dot >= 0:
            name = name[dot + 1 :]
            if name in self._hosts or name in self._suffixes:
                return True
            dot = name.find(".")
        return False


class _Glob:
    """A pattern with '*' for any text, matched against host, path and query as a whole.

    The leftmost match of each piece is always right for globs, so there is no backtracking.
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


def registrable_of(entry: str) -> str:
    """The one registrable domain that an entry, as `parse_excludes` returns it, can hit; '' if
    there may be several."""
    host = _before_path(entry)
    if _kind(entry) == "suffix" or "*" in host:
        return ""
    return domain_of(host)


def _kind(entry: str) -> str:
    """'host', 'suffix' or 'pattern': entries tell it by their looks."""
    if "*" in entry:
        return "pattern"
    return "suffix" if entry[0] == "." else "host"


def _before_path(text: str) -> str:
    return _path_begins.split(text, maxsplit=1)[0]


_SHOWN = 100  # characters of a bad line
_comment = re.compile(r"(?:^|\s)#.*")
_space = re.compile(r"\s")
_path_begins = re.compile(r"[/?]")
_no_host = re.compile(r"[@/?#\\]")
_pattern_host = re.compile(r"[a-z0-9_.*\[\]:-]*")
_scheme = re.compile(r"https?://", re.IGNORECASE)
_address_range = re.compile(r"[0-9.]+/[0-9]{1,2}|[0-9a-f]*:[0-9a-f:]*/[0-9]{1,3}").fullmatch


def parse_includes(lines: Iterable[str]) -> tuple[str, ...]:
    """The same language for what alone is wanted."""
    return parse_excludes(lines, noun="inclusions")


def parse_excludes(
    lines: Iterable[str], known: bool = False, noun: str = "exclusions"
) -> tuple[str, ...]:
    """The entries of an exclude file, in normal form, each once; UserError names a bad line.
    `known`: they were accepted before, perhaps by another public suffix list."""
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
                shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
                why = str(problem)
                if noun != "exclusions":
                    why = why.replace("exclu", "inclu")
                raise UserError(f"Line {number} of the {noun}, {shown!r}: {why}.") from None
    return tuple(entries)


def _entry(text: str) -> str:
    """One exclusion in normal form; ValueError says what is wrong with it."""
    if _space.search(text):
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
    """ValueError for a host that is a public suffix: it would exclude millions of domains."""
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
    url = canonical(f"https://{text}/") if text and not _no_host.search(text) else None
    if url is None:
        raise ValueError("it is neither a domain, nor a suffix such as .gov, nor a pattern with *")
    return split(url).host.rstrip(".")


def _pattern(host: str, path: str) -> str:
    """A glob over host, path and query; of two possible readings the wider one."""
    if not (host + path).replace("*", "").strip("/."):
        raise ValueError("it would exclude everything")
    host = host.lower() if "*" in host else _host(host)
    if not _pattern_host.fullmatch(host):
        raise ValueError("a pattern's host is made of letters, digits, dots, hyphens and *")
    if not path and not host.endswith("*"):
        path = "/*"  # 'ads*.example.com' means all of these hosts
    elif path.startswith("?") and not host.endswith("*"):
        path = "/" + path
    pattern = host + quote(path, safe="/?#[]@!$&'()*+,;=:%|~")
    return pattern if "*" in pattern else pattern + "*"
