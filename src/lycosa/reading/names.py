"""Names that a user typed: whether the crawl knows them, and which known ones are near.

A misspelt name must not look like an empty answer. A crawl may have millions of domains, too many
to compare with: `known_domain` makes every name that is one typing mistake away, and asks the
store which of them it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from lycosa.errors import UserError
from lycosa.outcomes import OUTCOMES

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

_SAMPLE = 5000  # domains that are compared with as well: all of a small crawl
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-."
# What kinds of pages there are; '' is what is no page.
LABELS = (
    *("content", "listing", "soft-404", "blocked", "parked", "login-wall", "consent-wall"),
    *("error-page", "empty", "script-shell"),
)
_http_outcome = re.compile(r"http-[1-9][0-9]{2}").fullmatch
_language_code = re.compile(r"[a-z]{2,3}").fullmatch


def check_outcome(reader: Reader, name: str) -> None:
    """Raises UserError for a word that is no outcome."""
    if not name or name in OUTCOMES or _http_outcome(name):
        return
    found = reader.status()["outcomes"]
    if name not in found:
        near = get_close_matches(name, sorted({*OUTCOMES, *found}), 3, 0.5)
        raise UserError(f"There is no outcome '{name}'{_suggestion(near or list(found)[:5])}")


def check_label(name: str) -> None:
    """Raises UserError for a word that is no label."""
    if name and name not in LABELS:
        near = get_close_matches(name, LABELS, 3, 0.5)
        raise UserError(f"There is no label '{name}'{_suggestion(near or list(LABELS))}")


def language(code: str) -> str:
    """A language as pages have it; raises UserError for what is no code of one."""
    if not _language_code(code.lower()):
        raise UserError(f"'{code}' is no language: write its code of two or three letters, as en.")
    return code.lower()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that says a word is not known; '' if none is near."""
    near = get_close_matches(word, list(known), 3, 0.5)
    return _suggestion(near) if near else ""


def known_domain(reader: Reader, text: str) -> str:
    """The domain that was asked for ('' stays); raises UserError for one the crawl never met."""
    from lycosa.urls.domains import domain_of

    if not text:
        return ""
    name = domain_of(_host(text))
    if not reader.domains_among([name]):
        near = reader.domains_among(slips(name)) or get_close_matches(
            name, reader.some_domains(_SAMPLE), 3, 0.6
        )
        raise UserError(f"The crawl knows no domain '{name}'{_suggestion(near[:3])}")
    return name


def _host(text: str) -> str:
    """The host in what a user typed: a name, an address or a URL."""
    from lycosa.urls.canonical import canonical, host_of

    text = f"[{text}]" if text.count(":") > 1 and "/" not in text and text[0] != "[" else text
    url = canonical(text if "://" in text else f"https://{text}/")
    if url is None:
        raise UserError(f"'{text}' is no domain: write it as example.org.")
    return host_of(url)


def slips(name: str) -> Iterable[str]:
    """Every name that is one typing mistake away: a letter wrong, missing, added or swapped."""
    cuts = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    found = {a + b[1:] for a, b in cuts if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    found |= {a + c + b[1:] for a, b in cuts if b for c in _LETTERS}
    found |= {a + c + b for a, b in cuts for c in _LETTERS}
    return sorted(found - {name, ""})


def _suggestion(near: list[str]) -> str:
    """The end of a sentence that names what is not known."""
    if not near:
        return "."
    *first, last = near
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?"
