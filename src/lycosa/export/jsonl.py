"""Lines of JSON in zstd files: the rows of the table `text`, one object a page."""

from __future__ import annotations

from pathlib import Path

import orjson
import zstandard

from lycosa import ownfiles
from lycosa.export.tables import Columns, TableRecord

LEVEL = 3
PACKED = 3  # text becomes a third
PATTERN = "pages-{:05d}.jsonl.zst"


class JsonlFile:
    """One file of lines."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._columns = columns
        self._file = ownfiles.create_own(path)
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._packed = packer.stream_writer(self._file)
        self._waiting = 0  # bytes that the packer has not written yet

    def add(self, row: TableRecord) -> None:
        chosen = {name: row[name] for name in self._columns}
        line = orjson.dumps(chosen, option=orjson.OPT_APPEND_NEWLINE)
        before = self._file.tell()
        self._packed.write(line)
        self._waiting = self._waiting + len(line) if self._file.tell() == before else 0

    def written(self) -> int:
        return self._file.tell() + self._waiting // PACKED

    def close(self) -> None:
        self._packed.flush(zstandard.FLUSH_FRAME)
        self._file.close()

    def abort(self) -> None:
        self._file.close()
