"""Log lines: their two shapes, one event a line, no passwords, nothing below the level."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from lycosa.log import get_logger, setup


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("lycosa")
    kept = (root.handlers[:], root.level, ours.level, logging.raiseExceptions)
    yield
    root.handlers[:], root.level, ours.level, logging.raiseExceptions = kept


def logged(fmt: str, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    setup(level, fmt, stream)
    return stream


def test_text_lines() -> None:
    stream = logged("text")
    get_logger("node").info("progress", pages=5, per_s=1.2345, limit="a b", by={"ok": 1})
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO    progress"
        r' pages=5 per_s=1\.23 limit="a b" by=ok:1\n',
        stream.getvalue(),
    )


def test_json_lines() -> None:
    stream = logged("json")
    get_logger("node").warning("slow", seconds=3, path=__import__("pathlib").Path("/x"))
    event = json.loads(stream.getvalue())
    assert event.pop("time").endswith("Z")
    assert event == {
        "level": "warning",
        "logger": "lycosa.node",
        "message": "slow",
        "seconds": 3,
        "path": "/x",
    }


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_one_event_is_one_line_without_passwords(fmt: str) -> None:
    stream = logged(fmt)
    get_logger("x").error(
        "can't reach postgresql://u:secret@h/db", title="a\r\nb", store="x://a:secret@h"
    )
    assert stream.getvalue().count("\n") == 1
    assert "secret" not in stream.getvalue()
    assert "u:***@h/db" in stream.getvalue()


def test_levels_of_ours_and_of_others() -> None:
    stream = logged("text", "debug")
    get_logger("x").debug("ours")
    logging.getLogger("other").info("theirs")
    logging.getLogger("other").warning("theirs, loud")
    assert "ours" in stream.getvalue()
    assert stream.getvalue().count("theirs") == 1
    setup("error", "text", stream)
    get_logger("x").warning("hidden")
    assert "hidden" not in stream.getvalue()


def test_tracebacks_are_kept() -> None:
    for fmt in ("text", "json"):
        stream = logged(fmt)
        try:
            raise ValueError("broken")
        except ValueError:
            get_logger("x").exception("it failed")
        assert "Traceback" in stream.getvalue()
        assert "broken" in stream.getvalue()


def test_a_closed_stream_does_no_harm() -> None:
    stream = logged("text")
    stream.close()
    get_logger("x").error("nobody hears")
