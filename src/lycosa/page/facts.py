"""When a page was published and what its site is called, as far as the page says so. Pure.

Owns which meta tags and which words of JSON-LD count, and the order of trust. JSON is searched, not
parsed: pages write it in all sizes and often wrongly, and two values are wanted of it.
"""

from __future__ import annotations

import json
import re

MAX_NAME = 200  # characters of a site's name

_DATE = re.compile(
    r"\s*((?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)"
    r"(?:[T ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?)"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.ASCII,
).match
_PUBLISHED = re.compile(r'"datePublished"[ \t\n\r]{0,20}:[ \t\n\r]{0,20}"([^"\\]{4,40})"').search
_PUBLISHER = re.compile(
    r'"publisher"[ \t\n\r]{0,20}:[ \t\n\r]{0,20}\{[^{}]{0,500}?'
    r'"name"[ \t\n\r]{0,20}:[ \t\n\r]{0,20}("(?:[^"\\]|\\.){1,200}")'
).search

# Names of meta tags (name, property or itemprop), the most trusted first.
DATES = ("article:published_time", "datepublished", "date", "dc.date", "dcterms.date", "pubdate")
NAMES = ("og:site_name", "", "application-name")
_FROM_JSON = 1  # where JSON-LD comes in these orders
_FROM_TIME = len(DATES)  # a <time> of the text, last


class PageFacts:
    """The best that was found so far."""

    __slots__ = ("_date_rank", "_name_rank", "published", "site_name")

    def __init__(self) -> None:
        self.published = self.site_name = ""
        self._date_rank = self._name_rank = 99

    def meta(self, name: str, content: str) -> None:
        """<meta>, by its name in lower case."""
        if name in DATES:
            self.date(content, DATES.index(name))
        elif name and name in NAMES:
            self.name(content, NAMES.index(name))

    def time(self, value: str) -> None:
        """The first <time datetime>."""
        self.date(value, _FROM_TIME)

    def data(self, text: str) -> None:
        """JSON-LD."""
        if found := _PUBLISHED(text):
            self.date(found[1], _FROM_JSON)
        if found := _PUBLISHER(text):
            try:
                self.name(json.loads(found[1], strict=False), 1)
            except ValueError:
                pass  # an escape that means nothing

    def date(self, value: str, rank: int) -> None:
        if rank < self._date_rank and (found := iso_date(value)):
            self.published, self._date_rank = found, rank

    def name(self, value: str, rank: int) -> None:
        text = " ".join(value[: 4 * MAX_NAME].split())[:MAX_NAME].rstrip()
        if text and rank < self._name_rank:
            self.site_name, self._name_rank = text, rank


def iso_date(value: str) -> str:
    """A date, with its time and zone if they are known, as ISO 8601; '' if it is none."""
    found = _DATE(value[:60])
    if found is None:
        return ""
    day, time, zone = found.groups()
    if time is None or len(day) < 10:
        return day
    if zone and zone != "Z" and ":" not in zone:
        zone = zone[:3] + ":" + zone[3:]
    return f"{day}T{time}{zone or ''}"
