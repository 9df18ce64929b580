"""What becomes of a URL: the outcome of one that is done, the reason of one that was refused.

Owns every such word and its meaning. The store keeps and counts them under these names, users ask
for them on the command line, `why` and docs/usage.md explain them. A status other than 2xx is
`http-NNN`. The failures of the network are in `records.Failure`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lycosa.records import Failure


class Outcome:
    """Why a URL is done."""

    OK = "ok"
    REDIRECT = "redirect"
    NO_HTTPS = "no-https"
    NOINDEX = "noindex"
    OTHER_LANGUAGE = "other-language"
    NOT_TEXT = "not-text"
    SITEMAP = "sitemap"
    UNDECODABLE = "undecodable"
    REDIRECT_LOOP = "redirect-loop"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BAD_REDIRECT = "bad-redirect"
    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    OVERLOADED = "overloaded"
    RETRY_AFTER_TOO_LONG = "retry-after-too-long"
    CRAWL_DELAY_TOO_LONG = "crawl-delay-too-long"
    TEXT_LOST = "text-lost"
    POISON = "poison"
    BUG = "bug"


class Drop:
    """Why a URL was refused before it was queued: counted, not remembered."""

    EXCLUDED = "excluded"
    NOT_INCLUDED = "not-included"
    NOT_SEEDED = "not-seeded"
    DEPTH = "depth"
    PAGE_CAP = "page-cap"
    QUEUE_CAP = "queue-cap"
    HOST_CAP = "host-cap"
    NOT_A_URL = "not-a-url"
    SEGMENTS = "segments"
    REPEATED_SEGMENTS = "repeated-segments"
    QUERY_LENGTH = "query-length"
    BLOCKED_PORT = "blocked-port"
    FILE_TYPE = "file-type"
    LINKS_PER_PAGE = "links-per-page"
    SAME_PAGE = "same-page"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an outcome means: `said` by `why` of one URL, `documented` for all that have it."""

    said: str
    documented: str
    response: bool = True  # whether there was one: such a URL is a page
    fine: bool = False  # whether nothing went wrong


_NONE_CAME = "no usable response came"
_NOT_A_PAGE = "the site answered, but not with a page"

OUTCOMES: dict[str, Meaning] = {
    Outcome.OK: Meaning(
        "it was fetched and its text kept", "a 2xx response whose text is kept", fine=True
    ),
    Outcome.REDIRECT: Meaning(
        "it redirects; its content is recorded under the target",
        "it led to another URL, which has a row of its own",
        fine=True,
    ),
    Outcome.NO_HTTPS: Meaning(
        "the site does not speak https; it was asked over http in the same visit",
        "a bare domain that does not speak https: tried over http in the same visit",
        response=False,
        fine=True,
    ),
    Outcome.NOINDEX: Meaning(
        "it was fetched, but asks not to be kept; its links were followed",
        "the page asks not to be kept: neither text nor WARC",
        fine=True,
    ),
    Outcome.OTHER_LANGUAGE: Meaning(
        "it was fetched, but is in none of the languages of --language; its links were followed",
        "`--language` names others than the page is in: neither text nor WARC",
        fine=True,
    ),
    Outcome.NOT_TEXT: Meaning(
        "it is not text, so its body was not downloaded",
        "the type is no text: its body was not downloaded",
        fine=True,
    ),
    Outcome.SITEMAP: Meaning(
        "it is a sitemap, read for its links", "a sitemap, read for its URLs", fine=True
    ),
    Outcome.UNDECODABLE: Meaning(
        "it was fetched, but its Content-Encoding could not be undone", "its compression is broken"
    ),
    Outcome.REDIRECT_LOOP: Meaning(
        "its redirects lead back to where they came from", "redirects that lead in a circle"
    ),
    Outcome.TOO_MANY_REDIRECTS: Meaning(
        "it redirects more often than is followed", "more redirects than are followed"
    ),
    Outcome.BAD_REDIRECT: Meaning(
        "it redirects to something that is no URL", "a redirect that leads to no URL"
    ),
    Outcome.ROBOTS: Meaning(
        "robots.txt forbids it, so it was not fetched",
        "robots.txt forbids it (`lycosa why URL` names the line)",
        response=False,
        fine=True,
    ),
    Outcome.ROBOTS_UNREACHABLE: Meaning(
        "robots.txt of its origin could not be obtained, so nothing was fetched",
        "robots.txt could not be had after four tries, or redirects to a domain that is excluded or"
        " out of scope, so nothing may be fetched",
        response=False,
    ),
    Failure.NXDOMAIN: Meaning(
        "its host name does not exist", "the host's name does not exist", response=False
    ),
    Failure.DNS: Meaning(
        "its host name could not be looked up", "the name server had no answer", response=False
    ),
    Failure.CONNECT: Meaning(
        "its host could not be reached", "connections were refused, four times", response=False
    ),
    Failure.CONNECT_TIMEOUT: Meaning(
        "its host did not take the connection in time",
        "no connection in time, four times",
        response=False,
    ),
    Failure.TLS: Meaning(
        "no secure connection to its host came about",
        "the TLS handshake failed, four times",
        response=False,
    ),
    Failure.FIRST_BYTE: Meaning(
        _NONE_CAME, "connected, but not a byte came in time, four times", response=False
    ),
    Failure.TIMEOUT: Meaning(
        _NONE_CAME, "the response was not complete in time, four times", response=False
    ),
    Failure.RESET: Meaning(
        _NONE_CAME, "the connection was cut before a response, four times", response=False
    ),
    Failure.PROTOCOL: Meaning(_NONE_CAME, "what came was not HTTP", response=False),
    Failure.OUTSIDE: Meaning(
        "its host has an address outside of the networks in --only-network",
        "`--only-network` names other networks than its address is in: never connected to",
        response=False,
    ),
    Failure.PRIVATE: Meaning(
        "its host has an address that is not on the public internet",
        "the host's address is loopback or private: never connected to",
        response=False,
    ),
    Outcome.OVERLOADED: Meaning(
        "the site said again and again that it is overloaded", "429 or 503 four times in a row"
    ),
    Outcome.RETRY_AFTER_TOO_LONG: Meaning(
        "the site asked to come back in more than 24 hours",
        "asked to come back in more than a day (Retry-After)",
    ),
    Outcome.CRAWL_DELAY_TOO_LONG: Meaning(
        "robots.txt asks for more than 24 hours between visits (Crawl-delay)",
        "robots.txt asks for more than a day between visits (Crawl-delay)",
        response=False,
    ),
    Outcome.TEXT_LOST: Meaning(
        "its text was kept and is gone",
        "its text was kept and is gone (`lycosa verify --mark-lost`)",
    ),
    Outcome.POISON: Meaning(
        "it ended two engines while it was parsed",
        "two engines died while they parsed it",
        response=False,
    ),
    Outcome.BUG: Meaning(
        "a fault of lycosa's own cost it",
        "a fault of lycosa's own: please report it",
        response=False,
    ),
}

FINE = frozenset(name for name, meaning in OUTCOMES.items() if meaning.fine)

DROPS: dict[str, str] = {
    Drop.EXCLUDED: "`--exclude-file`, `lycosa exclude`",
    Drop.NOT_INCLUDED: "`--include`, `--include-file`",
    Drop.NOT_SEEDED: "`--seeded-urls-only`",
    Drop.DEPTH: "`--max-depth`",
    Drop.PAGE_CAP: "`--max-pages-per-domain`",
    Drop.QUEUE_CAP: "`--max-queued-per-domain`",
    Drop.HOST_CAP: "100 origins of one domain, 200 hosts in one sitemap",
    Drop.NOT_A_URL: "a sitemap lists something else",
    Drop.SEGMENTS: "32 path segments: a trap",
    Drop.REPEATED_SEGMENTS: "4 times the same path segment: a trap",
    Drop.QUERY_LENGTH: "1,000 characters of query: a trap",
    Drop.BLOCKED_PORT: "no web page is asked for at ports that browsers block (25, 6697 …) or"
    " stores listen at (6379 …)",
    Drop.FILE_TYPE: "the name ends like an image, archive, film …",
    Drop.LINKS_PER_PAGE: "4,000 links of one page, fewer if they are very long or odd",
    Drop.SAME_PAGE: "the site answers every URL with one page: of at least 20 pages nine in ten say"
    " the same (`--keep-repeats`)",
}


def of_status(status: int) -> str:
    """The outcome of a response whose status alone counts."""
    return Outcome.OK if 200 <= status < 300 else f"http-{status}"


def explained(outcome: str, status: int) -> str:
    """The sentence of `why` for an outcome."""
    meaning = OUTCOMES.get(outcome)
    if meaning is None:
        return _NOT_A_PAGE if status else _NONE_CAME
    return meaning.said
