"""The profile's map from stacks to parts of the work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from kit import split

ENGINE = "Engine._turn (lycosa/engine.py:224)"
SEND = "send (libc.so.6)"


@pytest.mark.parametrize(
    ("frames", "part"),
    [
        ([ENGINE], "loop"),
        ([ENGINE, "Fetcher._act (lycosa/fetch.py:300)", SEND], "fetch"),
        ([ENGINE, "Fetcher._act (lycosa/fetch.py:300)", "SSL_write (libssl-1.so.3)", SEND], "TLS"),
        (["Exchanger.perform (lycosa/exchange.py:90)"], "frontier"),
        (["Exchanger._write_text (lycosa/exchange.py:167)", "ZSTD (zstd.c:1)"], "archive"),
        ([ENGINE, "parse (x/lycosa/parse.py:1)", "_Reader.link (x/lycosa/parse.py:9)"], "links"),
        (["SqliteFrontier.lease (lycosa/frontier/sqlite.py:3)"], "frontier"),
    ],
)
def test_the_part_of_a_stack(frames: list[str], part: str) -> None:
    assert split.part_of(frames) == part
    assert part in split.PARTS


def test_waiting_is_no_cpu() -> None:
    lines = [
        f"thread (1): MainThread;{ENGINE};{SEND} 3\n",
        f"thread (1): MainThread;{ENGINE};take_gil (libpython.so);0x1f (libc.so.6) 5\n",
        "thread (2): store;Exchanger.perform (lycosa/exchange.py:90);fdatasync (libc.so.6) 7\n",
        "thread (3): Thread-1;sleep (libc.so.6) 9\n",
    ]
    found = split.read(lines)
    assert found.total == 3
    assert found.parts == {"loop": 3}
    assert found.alone == {SEND: 3}
