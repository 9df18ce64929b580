"""Seed files: the lines with which a crawl begins.

Owns what a line of a seed file may be: a bare domain, a URL, or a row of a ranked list
('1,example.com'), with comments, in plain text or gzip. Every line is a Seed, a BadSeed that says
why, or nothing (blank, comment, header). Must not know the frontier, or whether a seed is wanted.

Lists have millions of lines, nearly all of them plain domains: a strict pattern recognises those
without the URL parser, and accepts only what the parser would leave unchanged.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lycosa.errors import UserError
from lycosa.records import Flag, Url
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import domain_of, registrable
from lycosa.urls.ports import BLOCKED

_MAX_LINE = 8000  # bytes; longer lines are no seeds
_BLOCK = 1 << 16  # bytes read at once
_SHOWN = 80  # characters of a bad line that are shown
_BARE = int(Flag.BARE | Flag.SEED)
_URL = int(Flag.SEED)


class Seed(NamedTuple):
    """One URL to begin with."""

    line: int
    url: Url
    domain: str
    flags: int


class BadSeed(NamedTuple):
    """A line that is no seed, and why."""

    line: int
    text: str
    why: str


# A rank that may precede it, then labels of lower-case letters, digits and inner hyphens, the last
# one without digits: no IPv4 number, no IDNA. Sizes keep the whole within the limits of DNS.
_plain_domain = re.compile(
    rb"(?:[0-9]{1,12},)?"
    rb"((?:(?!xn--)[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?\.){1,3}[a-z]{2,60})[ \t\r\n]*"
).fullmatch

# Ranked lists: numbers before the name ('1,example.com', '1,1,example.com,com') or behind it.
_rank_first = re.compile(
    r'(?:"?[0-9]{1,12}"? *[,;\t] *)+"?(?=[^,;\t"]*[^,;\t"0-9])([^,;\t"]++)"?(?:[,;\t].*)?'
).fullmatch
_rank_last = re.compile(
    r'"?((?:https?://)?[^/,;\t"\s]++)"? *[,;\t] *"?[0-9]{1,12}"?', re.IGNORECASE
).fullmatch
_header = re.compile(
    r'(?=.*(?:domain|host|site|url|origin))"?[a-z_ ]++"?(?:[,;\t]"?[a-z_ ]++"?)+', re.IGNORECASE
).fullmatch
_comment = re.compile(r"(?:^|\s)#.*")
_has_space = re.compile(r"\s").search
# 'name:8080' is a host with a port, 'name:anything' a scheme.
_has_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])").match
_label = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?").fullmatch
_number = re.compile(r"[0-9.]+").fullmatch


def read(lines: Iterable[bytes], first_line: int = 1) -> Iterator[Seed | BadSeed]:
    """The seeds of a file, in order; lines that mean nothing are passed over."""
    for number, line in enumerate(lines, first_line):
        plain = _plain_domain(line) or _plain_domain(line.strip().lower())
        if plain:
            host = plain[1].decode("ascii")
            yield Seed(number, Url(f"https://{host}/"), registrable(host), _BARE)
        elif (found := _read_line(number, line)) is not None:
            yield found


def _read_line(number: int, line: bytes) -> Seed | BadSeed | None:
    """A line that is no plain domain."""
    if len(line) > _MAX_LINE:
        return BadSeed(number, _shown(line.decode("utf-8", "replace")), "the line is too long")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return BadSeed(number, _shown(line.decode("latin-1")), "it is not UTF-8 text")
    text = _comment.sub("", text.removeprefix("\ufeff")).strip()
    if not text or _header(text):
        return None
    ranked = _rank_first(text) or _rank_last(text)
    name = ranked[1].strip() if ranked else text
    found = _read_url(name) if _has_scheme(name) else _read_domain(name)
    if isinstance(found, str):
        return BadSeed(number, _shown(text), found)
    return found._replace(line=number)


def _shown(text: str) -> str:
    """A bad line as a person can read it: short, and without control characters."""
    text = "".join(c if c.isprintable() else "?" for c in text[: _SHOWN + 1].strip())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _read_url(text: str) -> Seed | str:
    """A seed with a scheme, or why it is none."""
    if not text.lower().startswith(("http://", "https://")):
        return "only http and https URLs can be crawled"
    if _has_space(text):
        return "a URL has no spaces"
    url = canonical(text)
    if url is None:
        return "it is not a valid URL, or longer than 2000 characters"
    return _unblocked(Seed(0, url, domain_of(split(url).host), _URL))


def _read_domain(text: str) -> Seed | str:
    """A seed without a scheme, or why it is none: host or host:port, perhaps with a path."""
    if not text:
        return "there is no domain in it"
    if _has_space(text):
        return "a domain has no spaces"
    if "@" in text:
        return "it looks like an email address, not a domain"
    url = canonical("https://" + text) if text[0] not in "/\\?" else None
    if url is None:
        return "it is not a valid domain"
    host, port = split(url)[1:3]
    if host[-1] == ".":
        url, host = canonical(url.replace(host, host[:-1], 1)) or url, host[:-1]
    problem = _problem(host, text) if ":" not in host else ""
    if problem:
        return problem
    if port == 80:  # the port says which scheme is meant
        return _read_url("http" + url.removeprefix("https"))
    return _unblocked(Seed(0, url, domain_of(host), _BARE))


def _unblocked(seed: Seed) -> Seed | str:
    port = split(seed.url).port
    return f"no web page is asked for at port {port}" if port in BLOCKED else seed


def _problem(host: str, text: str) -> str:
    """Why a name can't be a bare domain, '' if it can."""
    if "." not in host:
        return "a domain needs a dot; for a single-label host write a URL, such as http://name/"
    if not all(map(_label, host.split("."))):
        return "the parts of a domain are letters, digits, and hyphens between them"
    if _number(host) and not text.startswith(host):
        return "it is a number, not a domain"  # which URL parsers read as an address
    return ""


@contextmanager
def open_seeds(path: str, name: str = "") -> Iterator[Iterator[bytes]]:
    """The lines of a seed file, unpacked if it is gzip; '-' is the standard input. `name`: what the
    user called it, if its content was put into this file."""
    with _open(path) as file:
        head = file.peek(2)[:2]
        if not head:
            raise UserError(f"{named(name or path)} is empty: put one domain or URL on each line.")
        yield _unpacked(file, name or path) if head == b"\x1f\x8b" else _lines(file)


def named(path: str) -> str:
    """A source of seeds, to begin a sentence with."""
    return "The standard input" if path == "-" else f"The seed file {path}"


def no_seeds(path: str) -> UserError:
    """The complaint about a file that is something else."""
    return UserError(
        f"{named(path)} has no line that is a domain or URL: put one domain (example.com) or URL on"
        " each line."
    )


def _open(path: str) -> io.BufferedReader:
    try:
        if path == "-":
            return open(0, "rb", closefd=False)
        return open(path, "rb")
    except FileNotFoundError:
        problem = "does not exist: check the path"
    except IsADirectoryError:
        problem = "is a directory: name a file in it"
    except PermissionError:
        problem = "can't be read: give yourself permission to read it"
    except (OSError, ValueError) as error:
        problem = f"can't be opened: {error}"
    raise UserError(f"{named(path)} {problem}.")


def _lines(file: io.BufferedIOBase) -> Iterator[bytes]:
    """The lines of a file, of each at most a little more than may be read: a file without a line
    break must not fill the memory."""
    rest = b""
    while block := file.read(_BLOCK):
        lines = block.split(b"\n")
        if len(rest) <= _MAX_LINE:  # else it is too long already, however it goes on
            rest += lines[0]
        lines[0] = rest
        rest = lines.pop()
        yield from [line + b"\n" for line in lines]
    if rest:
        yield rest


def _unpacked(file: io.BufferedReader, path: str) -> Iterator[bytes]:
    try:
        with gzip.open(file) as unpacked:
            yield from _lines(unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{named(path)} is damaged gzip: fetch or pack it again.") from None
