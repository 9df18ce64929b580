"""What tells a crawl's directory from a copy of it; pure."""

from dataclasses import replace
from typing import Any

import pytest

from lycosa.node.original import Identity

KNOWN = Identity(inode=77, device=5, boot="b1", machine="m1", host="h", path="/data/crawl")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"path": "/elsewhere"}, True),  # moved within its file system
        ({"boot": "b2", "device": 9}, True),  # devices are numbered anew by a boot
        ({"device": 9}, True),  # a container's new mount, where it always was
        ({"device": 9, "path": "/elsewhere"}, False),  # a snapshot, mounted beside it
        ({"inode": 78}, False),
        ({"inode": 78, "boot": "b2"}, False),
        ({"machine": "m2"}, False),  # a disk's image on another machine
        ({"machine": ""}, True),  # not told
        ({"host": "other"}, True),  # machines and containers are renamed
    ],
)
def test_a_file_and_its_copies(changes: dict[str, Any], same: bool) -> None:
    assert KNOWN.is_same(replace(KNOWN, **changes)) is same
    assert replace(KNOWN, **changes).is_same(KNOWN) is same
