"""How commands print a page, a time and JSON."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lycosa.terminal import in_json, one_line

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.frontier.reader import Reader
    from lycosa.records import PageRow

# Fields of a page row that mean nothing outside of lycosa, or that are printed in another form.
_FINGERPRINTS = ("content_hash", "simhash", "referrer")
_INTERNAL = ("domain_id", "fp", "order", "text_row", "warc")


def print_json(value: Any, indent: bool = True) -> None:
    """One JSON value on standard output."""
    import orjson

    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    print(in_json(orjson.dumps(value, option=option, default=str).decode()))


def utc(ms: int) -> str:
    """A moment for people and for JSON alike."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_line(row: PageRow) -> str:
    """One page on one line."""
    target = f" -> {row.redirect}" if row.redirect else ""
    code = row.status or "-"
    return one_line(f"{utc(row.fetched_ms)} {code:>3} {row.outcome:<12} {row.url}{target}")


def page_json(row: PageRow) -> dict[str, Any]:
    """A page row without the fields that mean nothing outside of lycosa."""
    from uuid import UUID

    from lycosa.archive.warc import base32

    values = {key: value for key, value in asdict(row).items() if key not in _INTERNAL}
    # Hexadecimal, as in the text: many readers of JSON round numbers beyond 2^53.
    return {
        **values,
        **{name: _hexadecimal(getattr(row, name)) for name in _FINGERPRINTS},
        "payload_digest": f"sha1:{base32(row.payload_digest)}" if row.payload_digest else "",
        "warc_record": f"<urn:uuid:{UUID(bytes=row.warc_record)}>" if row.warc_record else "",
        "fetched_at": utc(row.fetched_ms),
    }


def _hexadecimal(number: int) -> str:
    return f"{number & 2**64 - 1:016x}" if number else ""


class FilePlaces:
    """On which node the text of a page is, for a crawl that has several."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[int, Place | None] = {}

    def of(self, row: PageRow) -> Place | None:
        from lycosa.archive.segments import segment_engine

        engine_id = segment_engine(row.text_segment or row.warc_segment)
        if engine_id and engine_id not in self._known:
            # The caller may be in the middle of this reader's list of pages, which goes on.
            self._known[engine_id] = self._reader.place(engine_id)
        return self._known.get(engine_id)

    def json(self, row: PageRow) -> dict[str, str]:
        place = self.of(row)
        return {"host": place.host, "directory": place.directory} if place else {}

    def text(self, row: PageRow) -> str:
        place = self.of(row)
        return f" ({place.host}:{place.directory})" if place else ""
