"""From what a user asks for to a checked `Filter`.

Owns the names of filters and what may stand for each value. A word that is spelt wrong is an error,
never an empty answer (`names`). The conditions themselves are in `frontier/filters`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from lycosa.clock import wall_now
from lycosa.errors import UserError
from lycosa.frontier.filters import Filter
from lycosa.reading.names import check_label, check_outcome, did_you_mean, known_domain, language
from lycosa.urls.canonical import canonical

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

When = datetime | date | timedelta | str | None


class Filters(TypedDict, total=False):
    """What pages can be chosen by. Of several values any one may fit; None and '' mean any."""

    domain: str | Iterable[str] | None  # with all its hosts
    since: When  # fetched then or later; a timedelta: so long ago
    until: When  # fetched before
    language: str | Iterable[str] | None  # 'en', 'de' …
    label: str | Iterable[str] | None  # 'content', 'listing' …
    outcome: str | Iterable[str] | None  # 'ok', 'redirect', 'timeout' …
    status: int | Iterable[int] | None  # of HTTP
    min_depth: int | None
    max_depth: int | None  # links from a seed
    min_chars: int | None  # of the visible text
    max_chars: int | None
    prefix: str | None  # URLs that begin so


NAMES = tuple(Filters.__annotations__)


def filter_of(reader: Reader, filters: Filters) -> Filter:
    """A checked filter; raises UserError for what the crawl can't know."""
    _check_names(filters)
    domains = [known_domain(reader, name) for name in _listed(filters, "domain", str)]
    outcomes = _listed(filters, "outcome", str)
    for name in outcomes:
        check_outcome(reader, name)
    labels = _listed(filters, "label", str)
    for name in labels:
        check_label(name)
    return Filter(
        domains=tuple(dict.fromkeys(domains)),
        since_ms=_moment(filters.get("since"), "since"),
        until_ms=_moment(filters.get("until"), "until"),
        languages=tuple(language(name) for name in _listed(filters, "language", str)),
        labels=labels,
        outcomes=outcomes,
        statuses=_listed(filters, "status", int),
        min_depth=_number(filters, "min_depth") or 0,
        max_depth=_number(filters, "max_depth"),
        min_chars=_number(filters, "min_chars") or 0,
        max_chars=_number(filters, "max_chars"),
        url_prefix=_prefix(filters.get("prefix") or ""),
    )


def _check_names(filters: Filters) -> None:
    for name in filters:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES) or f"; there are {', '.join(NAMES)}."
            raise UserError(f"There is no filter '{name}'{hint}")


def _listed(filters: Filters, name: str, kind: type) -> tuple[Any, ...]:
    """The values of a filter that takes one or several."""
    value = filters.get(name)
    if value is None or value == "":
        return ()
    many = isinstance(value, Iterable) and not isinstance(value, str)
    values: tuple[object, ...] = tuple(value) if many else (value,)  # type: ignore[arg-type]
    for each in values:
        if not isinstance(each, kind) or isinstance(each, bool):
            raise UserError(f"The filter '{name}' takes {_WORDS[kind]}, not {each!r}.")
    return tuple(dict.fromkeys(values))


_WORDS: dict[type, str] = {str: "a word or a list of words", int: "a number or a list of numbers"}


def _number(filters: Filters, name: str) -> int | None:
    value = filters.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UserError(f"The filter '{name}' takes a number of at least 0, not {value!r}.")
    return value


def _moment(value: When, name: str) -> int:
    """A moment in milliseconds since 1970; 0 for none."""
    if value is None or value == "":
        return 0
    if isinstance(value, timedelta):
        return max(1, wall_now() - round(value.total_seconds() * 1000))
    if isinstance(value, str):
        value = _read(value, name)
    if not isinstance(value, date):
        raise UserError(f"The filter '{name}' takes a date or time, not {value!r}.")
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return max(1, round(value.timestamp() * 1000))


def _read(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise UserError(
            f"The filter '{name}' takes a time such as 2026-01-31 or 2026-01-31T12:00Z (UTC),"
            f" not '{text}'."
        ) from None


def _prefix(text: str) -> str:
    """A prefix as canonical URLs have it, as far as its host goes."""
    scheme, mark, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    if mark and scheme.lower() not in ("http", "https"):
        raise UserError(
            "The filter 'prefix' takes the beginning of a URL, such as https://example.org/a,"
            f" not '{text}'."
        )
    origin = canonical(f"{scheme}://{host}/") if slash and mark else None
    return f"{origin}{path}" if origin is not None else text
