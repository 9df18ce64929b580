"""Which page an engine is parsing now, in a place that survives its death (S3).

The engine writes, the supervisor reads when the engine is gone. Knows nothing of parsing.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from lycosa import ownfiles

_MARK = struct.Struct("<qqq")  # domain, order in its queue, fingerprint


def _path(root: Path, engine: int) -> Path:
    return root / f"engine-{engine}.page"


class Mark:
    """The mark of one engine."""

    def __init__(self, root: Path, engine: int) -> None:
        with ownfiles.create(_path(root, engine)) as file:
            file.write(bytes(_MARK.size))
            file.flush()
            self._map = mmap.mmap(file.fileno(), _MARK.size)

    def set(self, domain_id: int, order: int, fp: int) -> None:
        """This page is being parsed; zeros for none."""
        _MARK.pack_into(self._map, 0, domain_id, order, fp)


def read(root: Path, engine: int) -> tuple[int, int, int] | None:
    """(domain_id, order, fp) of the page that an engine was parsing, None for none."""
    try:
        domain_id, order, fp = _MARK.unpack(_path(root, engine).read_bytes())
    except (FileNotFoundError, struct.error):
        return None
    return (domain_id, order, fp) if domain_id else None


def clear(root: Path, engine: int) -> None:
    """Nobody is to be blamed: for an engine about to start, whose first deed comes much later."""
    _path(root, engine).unlink(missing_ok=True)
