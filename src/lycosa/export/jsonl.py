"""Lines of JSON in zstd files: the rows of the table `text`, one object a page."""

from __future__ import annotations

from pathlib import Path

import orjson
import zstandard

from lycosa import ownfiles
from lycosa.export.tables import Columns, Record

LEVEL = 3
PATTERN = "pages-{:05d}.jsonl.zst"


class JsonlFile:
    """One file of lines."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self._columns = columns
        self._file = ownfiles.create_own(path)
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._packed = packer.stream_writer(self._file)

    def add(self, row: Record) -> None:
        chosen = {name: row[name] for name in self._columns}
        self._packed.write(orjson.dumps(chosen, option=orjson.OPT_APPEND_NEWLINE))

    def written(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._packed.flush(zstandard.FLUSH_FRAME)
        self._file.close()

    def abort(self) -> None:
        self._file.close()
