"""What a person sees: no line too wide, every number there, the terminal left as it was."""

import io
import os
import pty
import re

import pytest

from lycosa.node.display import Screen, Snapshot, line, render, summary
from lycosa.units import duration, rate, size

NOW = Snapshot(
    elapsed=75,
    pages=12_345,
    run_pages=750,
    ok=11_000,
    bytes=1_234_567_890,
    pages_per_s=98.76,
    bytes_per_s=2_500_000,
    in_flight=321,
    queued=54_321,
    domains=777,
    ready=12,
    engines=2,
    rss_mb=340.4,
    outcomes={"ok": 11_000, "redirect": 900, "timeout": 45, "dns": 400},
    labels={"content": 10_000, "listing": 500, "login-wall": 9},
    max_pages=20_000,
    max_duration=3600,
    end="about 2026-11-18 12:00 UTC, by its page limit",
    limiting="politeness: 777 domains / 70 s",
)


def test_the_view_shows_everything() -> None:
    text = "\n".join(render(NOW, 200))
    for part in (
        "12,345 of 20,000  11,000 ok  10,500 real  1.2 GB",
        "98.8 pages/s  2.5 MB/s",
        "321 fetches  2 engines  340 MB",
        "54,321 URLs in 777 domains, 12 ready",
        "dns 400, timeout 45",
        "1:15 min of 1:00 h for this run",
        "ends  about 2026-11-18 12:00 UTC, by its page limit",
        "politeness: 777 domains / 70 s",
    ):
        assert part in text
    assert "redirect" not in text
    assert "Ctrl-C" not in text


@pytest.mark.parametrize("width", [1, 10, 20, 40, 79, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = render(NOW, width)
    assert all(len(each) <= width for each in lines)
    assert len(lines) == len(render(NOW, 200))


def test_an_empty_crawl_can_be_shown() -> None:
    assert any("none" in each for each in render(Snapshot(), 80))
    assert summary(Snapshot(), "d", finished=True)


def test_stopping_is_shown() -> None:
    assert "Ctrl-C again" in render(Snapshot(stopping=True), 100)[-1]


def test_the_log_line_has_the_same_numbers() -> None:
    fields = line(NOW)
    assert (fields["pages"], fields["errors"], fields["per_s"]) == (12_345, 445, 98.8)
    assert fields["ends"] == "about 2026-11-18 12:00 UTC, by its page limit"
    assert "ends" not in line(Snapshot(pages_per_s=5))


def test_a_time_limit_is_no_end_of_the_work() -> None:
    shown = "\n".join(render(Snapshot(elapsed=50, max_duration=60), 80))
    assert "time  50 s of 1:00 min for this run" in shown and "ends  -" in shown


def test_the_summary_says_what_was_kept_and_how_to_go_on() -> None:
    stopped = "\n".join(summary(NOW, "lycosa-data", False, "lycosa crawl --resume"))
    assert (
        "can be resumed: 12,345 pages, 11,000 of them ok, 10,500 real (content or listing)"
        in stopped
    )
    assert "What the pages are: content 10,000, listing 500, login-wall 9." in stopped
    assert "1:15 min, 10.0 pages/s" in stopped
    assert "lycosa-data/text" in stopped
    assert "Go on with: lycosa crawl --resume" in stopped
    shared = "\n".join(summary(NOW, "lycosa-data", True, "", "postgresql://host/db"))
    assert "crawl.sqlite" not in shared and "--store postgresql://host/db" in shared
    finished = "\n".join(summary(NOW, "lycosa-data", True, "lycosa crawl --resume"))
    assert "is finished" in finished
    assert "Go on" not in finished


def test_units() -> None:
    assert [duration(s) for s in (0, 59.4, 59.6, 3599, 3600, 86399, 90000)] == [
        "0 s",
        "59 s",
        "1:00 min",
        "59:59 min",
        "1:00 h",
        "23:59 h",
        "1 d 1 h",
    ]
    assert [size(n) for n in (0, 999, 1000, 12_345, 999_499, 999_600, 5e12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "12.3 kB",
        "999 kB",
        "1.0 MB",
        "5.0 TB",
    ]
    assert [rate(x) for x in (0, 2 / 70, 9.96, 1234.5)] == ["0.0", "0.029", "10.0", "1,234"]


def test_without_a_terminal_there_is_no_screen() -> None:
    assert not Screen(io.StringIO()).usable(True)


def test_the_screen_redraws_in_place_and_shows_the_cursor_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        screen = Screen(terminal)
        assert screen.usable(True) and not screen.usable(False)
        screen.draw(Snapshot(pages=1))
        screen.draw(Snapshot(pages=2))
        screen.clear()
        written = ""
        while not written.endswith("\x1b[?25h"):  # the test's time limit ends a hang
            written += os.read(leader, 100_000).decode()
    os.close(leader)
    rows = len(render(Snapshot(), 80))
    assert written.count(f"\x1b[{rows}F") == 2  # back to the top: second drawing and clearing
    assert written.count("\x1b[?25l") == 2
    assert not re.search("pages +2", written.rsplit("\x1b[J", 1)[1])


def test_a_terminal_that_went_away_does_no_harm() -> None:
    stream = io.StringIO()
    stream.close()
    screen = Screen(stream)
    screen.draw(NOW)
    screen.clear()
