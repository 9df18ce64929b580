"""Computations of large crawls: their inputs are what docs/performance.md says, their tables stand
in docs/cluster.md, and the queue that they play is one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import billion
import thousand
from capacity.inputs import CRAWL, DRIVEN, EXCHANGES, SERVER, SESSION, Measured
from capacity.queueing import CPU, DONE, GIVE, TAKE, WAIT, Machine, Step

ROOT = Path(__file__).parents[2]
PERFORMANCE = (ROOT / "docs/performance.md").read_text("utf-8")
CLUSTER = (ROOT / "docs/cluster.md").read_text("utf-8")
FIGURES = [
    *(figure for found in (*SERVER.values(), *DRIVEN.values()) for figure in found.values()),
    *(*CRAWL.values(), *EXCHANGES.values(), SESSION),
]


def cells() -> Iterator[tuple[str, str, float]]:
    """The tables of performance.md: first cell of the row, heading, the last number of the cell."""
    heads: list[str] = []
    for line in PERFORMANCE.splitlines():
        words = [word.strip() for word in line.strip("|").split("|")]
        if not line.startswith("|") or set(words[0]) <= {"-", " "}:
            heads = heads if line.startswith("|") else []
        elif not heads:
            heads = words
        else:
            for head, word in zip(heads[1:], words[1:], strict=False):
                numbers = re.findall(r"\d[\d,]*(?:\.\d+)?", word)
                if numbers:
                    yield words[0], head, float(numbers[-1].replace(",", ""))


@pytest.mark.parametrize("figure", FIGURES, ids=lambda each: f"{each.row} {each.column}")
def test_a_measured_figure_is_what_the_documents_say(figure: Measured) -> None:
    """After a new measurement: enter it in bench/capacity/inputs.py, and put what bench/billion.py
    prints into docs/cluster.md."""
    if not figure.row:
        assert figure.column in " ".join(PERFORMANCE.split())
        assert f"{figure.value:g}" in figure.column
        return
    said = [value for row, head, value in cells() if (row, head) == (figure.row, figure.column)]
    assert figure.value in said


def test_the_tables_of_a_billion_pages_are_in_the_document() -> None:
    printed = billion.tables(1e9, billion.WEB, billion.PRICES)
    for table in printed.split("\n\n"):
        assert table in CLUSTER, "put what bench/billion.py prints into docs/cluster.md"


def test_assumptions_can_be_replaced() -> None:
    own = billion.replaced(billion.WEB, {"delay": 10.0})
    assert own["delay"].value == 10 and own["delay"].why == "yours"
    printed = billion.tables(1e8, own, billion.PRICES)
    assert f"| domains visited all the time | {1e8 / 86_400 * 1.25 * 13:,.0f} |" in printed


def test_the_model_predicts_what_was_measured() -> None:
    """The cases to which it was not fitted."""
    found = thousand.compare()
    assert len(found) == 4
    for store, engines, measured, predicted in found:
        assert 0.85 < predicted / measured < 1.15, (store, engines)


def test_more_engines_than_a_server_carries_wait_for_it() -> None:
    few, many = (thousand.play(engines, 735, "warm", 4) for engines in (4, 100))
    assert few.busy < 0.2 and few.pages == pytest.approx(few.offered, rel=0.1)
    assert many.busy > 0.99 and many.pages < many.offered / 2 and many.half > 1


def steps(*cycle: Step) -> Iterator[Step]:
    while True:
        yield from cycle


def test_cores_are_shared_by_those_who_want_them() -> None:
    machine = Machine(lambda wanted: min(wanted, 2))
    machine.run([steps((CPU, 1.0), (DONE, 1)) for _ in range(4)], 100.0)
    assert machine.pages == pytest.approx(200, abs=4)
    assert machine.busy == pytest.approx(2 * machine.now)


def test_one_holds_the_lock_at_a_time() -> None:
    machine = Machine(lambda wanted: wanted)
    cycle = ((CPU, 1.0), (TAKE, 0.0), (WAIT, 0.5), (GIVE, 0.0), (DONE, 1))
    machine.run([steps(*cycle) for _ in range(8)], 100.0)
    assert machine.pages == pytest.approx(200, abs=4)


def test_who_waits_needs_no_core() -> None:
    machine = Machine(lambda wanted: min(wanted, 1))
    cycle = ((CPU, 0.1), (WAIT, 0.9), (DONE, 1))
    machine.run([chain([(WAIT, n / 5)], steps(*cycle)) for n in range(5)], 100.0)
    assert machine.pages == pytest.approx(500, rel=0.05)
    assert machine.busy == pytest.approx(50, rel=0.05)
