"""WACZ: WARC files, their index and a list of pages in one ZIP file, for ReplayWeb.page.

Nothing in the ZIP is packed once more, so that players read parts of it by HTTP ranges. Every file
and its SHA-256 stand in `datapackage.json`, the digest of which is in a file of its own.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from lycosa import __version__, ownfiles
from lycosa.archive.text import rfc3339
from lycosa.export.sorting import SortedRow
from lycosa.export.tables import record_id
from lycosa.export.target import Target
from lycosa.export.warc_records import gzipped
from lycosa.page.media import HTML, kind_of
from lycosa.reading.values import Page

VERSION = "1.1.1"
ARCHIVE = "archive/{}-{{:05d}}.warc.gz"
PAGES = "pages/pages.jsonl"
INDEX, INDEX_OF_INDEX = "indexes/index.cdx.gz", "indexes/index.idx"
_BLOCK_LINES = 1024  # of the index that are packed together
_STEP = 1 << 20
_LONGEST_AGO = (1980, 1, 1, 0, 0, 0)  # ZIP has no earlier one; ours have no time, to be equal


class PageList:
    """`pages.jsonl`: what a player lists as pages."""

    def __init__(self, path: Path) -> None:
        self._file = ownfiles.create_own(path)
        head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
        self._file.write(orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE))

    def add(self, row: Page) -> None:
        if row.status != 200 or kind_of(row.content_type, b"") != HTML:
            return
        line = {
            "id": record_id(row).removeprefix("<urn:uuid:").removesuffix(">"),
            "url": row.url,
            "ts": rfc3339(row.fetched_ms),
            "title": row.title or row.url,
        }
        self._file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def written(self) -> int:
        return 0  # it is one file, however long

    def close(self) -> None:
        self._file.close()

    def abort(self) -> None:
        self._file.close()


def write_index(target: Target, rows: Iterable[SortedRow]) -> list[str]:
    """The sorted lines of an index in packed blocks, and the list of the blocks."""
    lines = (row[0] for row in rows)
    with (
        ownfiles.create_own(target.draft(INDEX)) as packed,
        ownfiles.create_own(target.draft(INDEX_OF_INDEX)) as listed,
    ):
        meta = {"format": "cdxj-gzip-1.0", "filename": INDEX.rpartition("/")[2]}
        listed.write(b"!meta 0 " + json.dumps(meta).encode() + b"\n")
        for block in _blocks(lines):
            listed.write(_put_block(packed, block))
    target.keep(INDEX)
    target.keep(INDEX_OF_INDEX)
    return [INDEX, INDEX_OF_INDEX]


def _blocks(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while block := list(islice(lines, _BLOCK_LINES)):
        yield block


def _put_block(packed: BinaryIO, block: list[bytes]) -> bytes:
    """Write a block; the line that says where it is."""
    member = gzipped(b"".join(block))
    place = {
        "offset": packed.tell(),
        "length": len(member),
        "digest": f"sha256:{hashlib.sha256(member).hexdigest()}",
        "filename": INDEX.rpartition("/")[2],
    }
    packed.write(member)
    return block[0].partition(b"{")[0] + json.dumps(place).encode() + b"\n"


def pack(target: Target, name: str, files: list[str], title: str, now_ms: int) -> None:
    """Put the files into a ZIP file of this name."""
    with (
        ownfiles.create_own(target.draft(name)) as out,
        zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as made,
    ):
        resources = [_put(made, target.work / each, each) for each in files]
        package = json.dumps(_package(resources, title, now_ms), indent=2).encode()
        _put_bytes(made, "datapackage.json", package)
        digest = {"path": "datapackage.json", "hash": f"sha256:{_sha256(package)}"}
        _put_bytes(made, "datapackage-digest.json", json.dumps(digest, indent=2).encode())
    target.keep(name)


def _package(resources: list[dict[str, Any]], title: str, now_ms: int) -> dict[str, Any]:
    return {
        "profile": "data-package",
        "wacz_version": VERSION,
        "title": title,
        "software": f"lycosa {__version__}",
        "created": rfc3339(now_ms),
        "resources": resources,
    }


def _put(made: zipfile.ZipFile, path: Path, name: str) -> dict[str, Any]:
    """Copy a file into the ZIP; what the package says of it."""
    digest, length = hashlib.sha256(), 0
    place = zipfile.ZipInfo(name, _LONGEST_AGO)
    with path.open("rb") as file, made.open(place, "w", force_zip64=True) as target:
        while data := file.read(_STEP):
            digest.update(data)
            length += len(data)
            target.write(data)
    base = name.rpartition("/")[2]
    return {
        "name": base.lower(),
        "path": name,
        "hash": f"sha256:{digest.hexdigest()}",
        "bytes": length,
    }


def _put_bytes(made: zipfile.ZipFile, name: str, data: bytes) -> None:
    made.writestr(zipfile.ZipInfo(name, _LONGEST_AGO), data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
