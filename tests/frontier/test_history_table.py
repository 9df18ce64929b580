"""Lines of figures that nodes leave in a store: the same in both, and bounded."""

from __future__ import annotations

from conftest import Bench

from lycosa.frontier.reader import Reader
from lycosa.frontier.values import NOTES_SECONDS

MINUTE, QUARTER, DAY = 60, 900, 86_400_000


def test_a_node_leaves_lines_that_others_read(bench: Bench, reader: Reader) -> None:
    put = bench.frontier.put_history
    for at in range(5):
        put("a", MINUTE, at * 60_000, f'{{"at":{at}}}', 0)
    put("b", MINUTE, 7, '{"at":7}', 0)
    put("a", QUARTER, 60_000, '{"at":60}', 0)
    assert reader.history_nodes() == {
        "a": {MINUTE: '{"at":4}', QUARTER: '{"at":60}'},
        "b": {MINUTE: '{"at":7}'},
    }
    found = reader.history_lines("a", MINUTE, 60_000, 180_000)
    assert found == ['{"at":1}', '{"at":2}', '{"at":3}']
    assert reader.history_lines("a", MINUTE, 0, DAY, limit=1) == ['{"at":0}']
    assert reader.history_lines("c", MINUTE, 0, DAY) == []


def test_a_line_that_is_left_twice_counts_once(bench: Bench, reader: Reader) -> None:
    bench.frontier.put_history("a", MINUTE, 5, "old", 0)
    bench.frontier.put_history("a", MINUTE, 5, "new", 0)
    assert reader.history_lines("a", MINUTE, 0, 9) == ["new"]


def test_what_has_aged_is_forgotten(bench: Bench, reader: Reader) -> None:
    put = bench.frontier.put_history
    for number in range(200):
        at = number * DAY // 24
        put("a", MINUTE, at, "fine", at - 2 * DAY)
        put("b", MINUTE, at, "other node", 0)
        put("a", QUARTER, at, "coarse", 0)
    assert len(reader.history_lines("a", MINUTE, 0, 1 << 50)) == 49
    assert len(reader.history_lines("a", QUARTER, 0, 1 << 50)) == 200
    assert len(reader.history_lines("b", MINUTE, 0, 1 << 50)) == 200


def test_notes_are_no_lines(bench: Bench, reader: Reader) -> None:
    put = bench.frontier.put_history
    put("a", MINUTE, 60_000, "line", 0)
    for at in (60_000, 120_000):
        put("a", NOTES_SECONDS, at, f"notes {at}", at)
    assert reader.history_nodes() == {"a": {MINUTE: "line"}}
    assert reader.history_notes() == {"a": "notes 120000"}
    assert reader.history_lines("a", NOTES_SECONDS, 0, DAY) == ["notes 120000"], "the last alone"
