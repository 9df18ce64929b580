"""WARC and WET files of an export, and the index of the WARC files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from lycosa import __version__, ownfiles
from lycosa.archive.warc import record_ids, warcinfo
from lycosa.clock import wall_now
from lycosa.export.cdxj import RecordPlaced, cdxj_line
from lycosa.export.firsts import Firsts
from lycosa.export.shards import Shards
from lycosa.export.sorting import Runs, SortedRow
from lycosa.export.stream import ChosenPages
from lycosa.export.target import Target
from lycosa.export.warc_records import (
    FirstRecord,
    first_record,
    gzipped,
    response_record,
    revisit_record,
)
from lycosa.reading.values import Page, PageResponse

WARC_BYTES = 1 << 30  # of a WARC file, as others make them


class RecordFile:
    """A file of gzipped records, which begins with who made it."""

    def __init__(self, path: Path, name: str, crawl: str) -> None:
        self._file = ownfiles.create_own(path)
        ids = record_ids()
        info = warcinfo(
            name,
            wall_now(),
            ids,
            software=f"lycosa/{__version__}",
            operator="",
            user_agent="",
            part_of=crawl,
        )
        self._file.write(gzipped(info))

    def add(self, row: bytes) -> None:
        self._file.write(row)

    def written(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()

    def abort(self) -> None:
        self._file.close()


class WarcSink:
    """Responses in WARC files, bodies that came before as revisits; and a line of index for each.

    Files that an earlier run kept are `kept`, of both kinds; their pages are gone through again
    for their digests.
    """

    def __init__(
        self,
        target: Target,
        pages: ChosenPages,
        shards: Shards,
        kept: Iterable[str],
        after: int,
        write_index: Callable[[Iterable[SortedRow]], list[str]],
    ) -> None:
        self._target = target
        self._shards = shards
        runs = [name for name in kept if name.endswith(".run")]
        self._kept = [name for name in kept if name not in runs]
        self._runs = Runs(target.work, "cdxj", runs)
        self._write_index = write_index
        self._index: list[str] | None = None
        self._firsts = Firsts(target.work)
        for page in pages.with_response(to=after) if after else ():
            self._before(page)

    def _before(self, page: Page) -> FirstRecord | None:
        """The record of an earlier page with the same body; rows of older formats do not tell."""
        if page.payload_digest in ("", _NOTHING):
            return None
        found = self._firsts.before(page.payload_digest, first_record(page).text())
        return FirstRecord.of(found) if found else None

    def add(self, page: PageResponse) -> None:
        first = self._before(page)
        record = revisit_record(page, first) if first else response_record(page)
        packed = gzipped(record)
        offset = self._shards.file().written()
        self._shards.add(packed)
        name = self._shards.name.rpartition("/")[2]
        place = RecordPlaced(name, offset, len(packed), revisit=first is not None)
        self._runs.add((cdxj_line(page, place),))

    @property
    def full(self) -> bool:
        return self._shards.full

    def cut(self) -> None:
        self._shards.cut()
        self._runs.cut()

    def files(self) -> list[str]:
        index = self._runs.names if self._index is None else self._index
        return [*self._kept, *self._shards.kept, *index]

    def finish(self) -> None:
        self._shards.finish(bool(self._kept))
        self._index = self._write_index(self._runs.merged())
        for name in self._runs.names:
            (self._target.work / name).unlink()
        self._firsts.close()

    def abort(self) -> None:
        self._shards.abort()
        self._firsts.close()


_NOTHING = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # of an empty body
