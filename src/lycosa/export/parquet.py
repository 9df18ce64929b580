"""Parquet files: records in, row groups of zstd-packed columns out.

The only module that knows pyarrow, which comes with an extra and is imported when it is needed.
Memory: the records of a batch, and the columns of a row group; it is given back with each group.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lycosa import __version__, ownfiles
from lycosa.called import pip_install
from lycosa.errors import UserError
from lycosa.export.tables import Columns, TableRecord

BATCH_ROWS = 500  # records that wait as Python's values
BATCH_BYTES = 2 << 20  # of their longest column
GROUP_ROWS = 100_000
GROUP_BYTES = 32 << 20  # of a row group, unpacked
LEVEL = 3
PACKED = 3  # columns become a third, about

_LONG = ("text", "visible_text", "blocks")  # columns without a dictionary: no value comes twice
_UNIQUE = ("id", "url", "url_surtkey", "url_path", "page", "fingerprint", "warc_record_id")


def need_pyarrow() -> None:
    """Raise UserError unless pyarrow is there. Imports it, with the C library's allocator: of
    Arrow's own, each row group leaves other gaps, and together they hold twice what is in use."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UserError(
            f"Parquet needs pyarrow: install it with: {pip_install('lycosa[data]')}"
        ) from None


class ParquetFile:
    """One file of a table."""

    def __init__(self, path: Path, columns: Columns, sorted_by: str = "") -> None:
        import pyarrow.parquet as pq

        self._columns = columns
        self._schema = _schema(columns)
        self._file = ownfiles.create_own(path)
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[name for name in columns if name not in (*_LONG, *_UNIQUE)],
            sorting_columns=_sorting(columns, sorted_by),
        )
        self._waiting: list[TableRecord] = []
        self._waiting_bytes = 0
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, row: TableRecord) -> None:
        self._waiting.append(row)
        self._waiting_bytes += sum(len(row.get(name) or "") for name in _LONG)
        if len(self._waiting) >= BATCH_ROWS or self._waiting_bytes >= BATCH_BYTES:
            self._pack()

    def written(self) -> int:
        return self._file.tell() + (self._bytes + self._waiting_bytes) // PACKED

    def close(self) -> None:
        import pyarrow as pa

        self._pack()
        self._group()
        self._writer.close()
        self._file.close()
        pa.default_memory_pool().release_unused()

    def abort(self) -> None:
        self._writer.is_open = False  # its end would be written when it is forgotten
        self._file.close()

    def _pack(self) -> None:
        import pyarrow as pa

        if not self._waiting:
            return
        rows, self._waiting, self._waiting_bytes = self._waiting, [], 0
        columns = [
            pa.array([row[field.name] for row in rows], type=field.type) for field in self._schema
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._group()

    def _group(self) -> None:
        import pyarrow as pa

        if self._batches:
            table = pa.Table.from_batches(self._batches, schema=self._schema)
            self._batches, self._rows, self._bytes = [], 0, 0
            self._writer.write_table(table, row_group_size=GROUP_ROWS)
            del table
            # What is free is kept for later, in pieces that the next group does not fit into:
            # without this, several groups' memory is taken.
            pa.default_memory_pool().release_unused()


def _schema(columns: Columns) -> Any:
    import pyarrow as pa

    # Moments are UTC, without a zone in their type, as Common Crawl's are.
    types = {"double": pa.float64(), "timestamp": pa.timestamp("ms")}
    fields = [
        pa.field(name, types[kind] if kind in types else pa.type_for_alias(kind))
        for name, kind in columns.items()
    ]
    return pa.schema(fields, metadata={"made by": f"lycosa {__version__}"})


def _sorting(columns: Columns, sorted_by: str) -> Any:
    import pyarrow.parquet as pq

    at = [number for number, name in enumerate(columns) if name == sorted_by]
    return [pq.SortingColumn(number) for number in at] or None
