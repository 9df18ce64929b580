"""The profile's map from stacks to parts of the work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from measure import split

ENGINE = "Engine._turn (lycosa/engine/loop.py:224)"
EXCHANGE = "Exchanger.perform (lycosa/engine/exchange.py:90)"
SEND = "send (libc.so.6)"


@pytest.mark.parametrize(
    ("frames", "part"),
    [
        ([ENGINE], "loop"),
        ([ENGINE, "Fetcher._act (lycosa/fetch/fetcher.py:300)", SEND], "fetch"),
        (
            [
                ENGINE,
                "Fetcher._act (lycosa/fetch/fetcher.py:300)",
                "SSL_write (libssl-1.so.3)",
                SEND,
            ],
            "TLS",
        ),
        ([EXCHANGE], "frontier"),
        (["Exchanger._write_text (lycosa/engine/exchange.py:167)", "ZSTD (zstd.c:1)"], "archive"),
        (
            [ENGINE, "parse (x/lycosa/page/html.py:1)", "_Reader.link (x/lycosa/page/html.py:9)"],
            "links",
        ),
        (["SqliteFrontier.lease (lycosa/frontier/sqlite/frontier.py:3)"], "frontier"),
    ],
)
def test_the_part_of_a_stack(frames: list[str], part: str) -> None:
    assert split.part_of(frames) == part
    assert part in split.PARTS


def test_waiting_is_no_cpu() -> None:
    lines = [
        f"thread (1): MainThread;{ENGINE};{SEND} 3\n",
        f"thread (1): MainThread;{ENGINE};take_gil (libpython.so);0x1f (libc.so.6) 5\n",
        f"thread (2): store;{EXCHANGE};fdatasync (libc.so.6) 7\n",
        "thread (3): Thread-1;sleep (libc.so.6) 9\n",
    ]
    found = split.read(lines)
    assert found.total == 3
    assert found.parts == {"loop": 3}
    assert found.alone == {SEND: 3}
