"""The kept inputs: one zip per target in tests/corpus, small enough to be read with the code."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "corpus"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same inputs make the same file


def kept(target: str) -> list[bytes]:
    path = FOLDER / f"{target}.zip"
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as file:
        return [file.read(name) for name in sorted(file.namelist())]


def keep(target: str, inputs: Iterable[bytes]) -> None:
    FOLDER.mkdir(exist_ok=True)
    with zipfile.ZipFile(FOLDER / f"{target}.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for data in sorted(set(inputs), key=name_of):
            file.writestr(zipfile.ZipInfo(name_of(data), EPOCH), data, zipfile.ZIP_DEFLATED)


def name_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def unpack(target: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for data in kept(target):
        (folder / name_of(data)).write_bytes(data)
