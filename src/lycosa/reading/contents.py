"""The texts and responses of pages, read from segments: a chunk of pages in, their contents out.

A frame is unpacked once for all pages of a chunk that are in it; they lie together, because the
rows of one commit are one frame. Memory: the lines of a chunk, which `parts` keeps small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from lycosa.archive.edges import HostEdge, read_edges
from lycosa.archive.frames import read_lines
from lycosa.archive.warc_check import Responses
from lycosa.errors import LycosaError, StoreError
from lycosa.reading.directories import Directories, damaged
from lycosa.reading.values import Page, PageResponse, TextPage, response_of, text_page_of
from lycosa.records import PageRow

NumberedRow = tuple[int, PageRow]  # a page's id and row
ENOUGH_CHARS = 2 << 20  # characters of text that are in memory at once, if a frame ends there
MOST_CHARS = 16 << 20  # and if none does
MOST_OPEN = 16  # WARC segments


def parts(chunk: Sequence[NumberedRow]) -> Iterator[list[NumberedRow]]:
    """A chunk in pieces whose texts fit into memory together; a frame is not cut without need,
    because it is unpacked once for each piece."""
    part: list[NumberedRow] = []
    chars, frame = 0, (0, 0)
    for found in chunk:
        row = found[1]
        before, frame = frame, (row.text_segment, row.text_frame)
        if chars > MOST_CHARS or (chars > ENOUGH_CHARS and frame != before):
            yield part
            part, chars = [], 0
        part.append(found)
        chars += row.text_chars
    if part:
        yield part


def texts(
    directories: Directories, part: Sequence[NumberedRow]
) -> Iterator[TextPage | LycosaError]:
    """The pages with their texts, in order; an error in place of one that can't be read."""
    lines = _lines(directories, part)
    for ident, row in part:
        line = lines.pop(ident)
        yield line if isinstance(line, LycosaError) else _text(directories, ident, row, line)


def _text(
    directories: Directories, ident: int, row: PageRow, line: bytearray
) -> TextPage | LycosaError:
    try:
        kept = orjson.loads(line)
        if kept["url"] != row.url:
            raise ValueError("another row is there")
        return text_page_of(ident, row, kept)
    except (ValueError, TypeError, KeyError) as error:
        root = directories.need(row.text_segment)
        return damaged("text", row.text_segment, root, row.text_frame, error)


def text_row(directories: Directories, page: Page) -> dict[str, Any]:
    """The row of one page as it was written."""
    segment, frame = page.text_segment, page.text_frame
    (line,) = _read(directories, segment, frame, [page.text_offset])
    try:
        row: dict[str, Any] = orjson.loads(line)
    except ValueError as error:
        raise damaged("text", segment, directories.need(segment), frame, error) from error
    return row


def _lines(
    directories: Directories, part: Sequence[NumberedRow]
) -> dict[int, bytearray | LycosaError]:
    """The rows of pages by their ids; each frame is read once."""
    frames: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for ident, row in part:
        frames.setdefault((row.text_segment, row.text_frame), []).append((row.text_offset, ident))
    lines: dict[int, bytearray | LycosaError] = {}
    for (segment, frame), wanted in sorted(frames.items()):
        wanted.sort()
        idents = [ident for _, ident in wanted]
        try:
            found = _read(directories, segment, frame, [offset for offset, _ in wanted])
        except LycosaError as error:
            lines.update(dict.fromkeys(idents, error))
        else:
            lines.update(zip(idents, found, strict=True))
    return lines


def _read(
    directories: Directories, segment: int, frame: int, offsets: list[int]
) -> list[bytearray]:
    root = directories.need(segment)
    committed = directories.committed("text", segment, frame)
    try:
        return read_lines(root, segment, frame, offsets, committed)
    except StoreError as error:
        raise damaged("text", segment, root, frame, error) from error


def edges(directories: Directories, segment: int, committed: int) -> Iterator[HostEdge]:
    """The host graph of a segment."""
    root = directories.need(segment)
    try:
        yield from read_edges(root, segment, committed)
    except StoreError as error:
        raise damaged("edges", segment, root, 0, error) from error


class ResponseFiles:
    """Some WARC segments, kept open: the responses of pages in a row lie in few of them."""

    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._open: dict[int, Responses] = {}

    def responses(self, part: Sequence[NumberedRow]) -> Iterator[PageResponse | LycosaError]:
        """The pages with their responses; an error in place of one that can't be read."""
        for ident, row in part:
            try:
                yield self._response(ident, row)
            except LycosaError as error:
                yield error

    def _response(self, ident: int, row: PageRow) -> PageResponse:
        segment, at = row.warc_segment, row.warc_offset
        root = self._directories.need(segment)
        try:
            head, body = self._file(root, segment, at).read(at, row.url)
        except StoreError as error:
            raise damaged("warc", segment, root, at, error) from error
        return response_of(ident, row, head, body)

    def _file(self, root: Path, segment: int, at: int) -> Responses:
        file = self._open.pop(segment, None)
        if file is not None and at >= file.committed:  # it has grown
            file.close()
            file = None
        if file is None:
            committed = self._directories.committed("warc", segment, at)
            file = Responses(root, segment, committed)
        self._open[segment] = file  # the newest at the end
        if len(self._open) > MOST_OPEN:
            self._open.pop(next(iter(self._open))).close()
        return file

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
