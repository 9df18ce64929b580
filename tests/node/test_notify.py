"""Telling others how a run goes: real servers and commands, also slow, hanging and failing ones."""

from __future__ import annotations

import http.server
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from lycosa.errors import UserError
from lycosa.node import notify
from lycosa.node.alarms import AGAIN, LASTS, Alarms
from lycosa.node.disk_room import DiskRoom, free_bytes
from lycosa.node.notify import Notifier, check_receivers, shown
from support.program import wait_for


class Heard(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted to it."""

    bodies: ClassVar[list[dict[str, object]]] = []
    code = 204
    words = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Heard.bodies.append({"path": self.path, **json.loads(body)})
        Heard.words = self.headers.get("Authorization", "")
        self.send_response(Heard.code)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Heard.bodies, Heard.code = [], 204
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Heard)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://user:secret@127.0.0.1:{server.server_port}/hook?token=secret"
    server.shutdown()
    server.server_close()


def test_a_url_and_a_command_are_told(url: str, tmp_path: Path) -> None:
    notifier = Notifier((url, f"cat >> {tmp_path}/said"))
    notifier.tell({"event": "finished", "pages": 7})
    notifier.close()
    assert Heard.bodies == [{"path": "/hook?token=secret", "event": "finished", "pages": 7}]
    assert Heard.words == "Basic dXNlcjpzZWNyZXQ="
    assert json.loads((tmp_path / "said").read_text()) == {"event": "finished", "pages": 7}


def test_a_command_that_appends_gets_one_event_a_line(tmp_path: Path) -> None:
    notifier = Notifier((f"cat >> {tmp_path}/said",))
    for event in ("paused", "unpaused"):
        notifier.tell({"event": event})
    notifier.close()
    lines = (tmp_path / "said").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["paused", "unpaused"]


def test_failing_receivers_are_named_once_and_without_secrets(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Heard.code = 500
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://u:secret@127.0.0.1:{closed.getsockname()[1]}/secret"
        failing = (url.replace("user:secret@", ""), nobody, "/bin/false --token=secret", "'torn")
        with caplog.at_level(logging.WARNING):
            notifier = Notifier(failing)
            for _ in range(3):
                notifier.tell({"event": "paused"})
            notifier.close()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4 and not [text for text in said if "secret" in text]
    assert any("127.0.0.1 can't be notified: it answers with status 500" in text for text in said)
    assert any("false can't be notified: it ended with exit code 1" in text for text in said)


def test_a_receiver_that_hangs_holds_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notify, "TIMEOUT", 1.0)
    monkeypatch.setattr(notify, "COMMAND_TIMEOUT", 1.0)
    monkeypatch.setattr(notify, "END_WAIT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        began = time.monotonic()
        notifier = Notifier((hanging, "sleep 60; true", f"cat >> {tmp_path}/said"))
        for number in range(300):  # more than may wait
            notifier.tell({"event": "limit", "number": number})
        assert time.monotonic() - began < 0.5
        wait_for(lambda: (tmp_path / "said").exists())
        notifier.close()
        assert time.monotonic() - began < 5
    assert [r for r in caplog.records if "can't be notified" in r.getMessage()]


def test_what_may_be_secret_is_not_shown() -> None:
    assert shown("https://user:word@hooks.example.org/services/T0/B1?x=y") == "hooks.example.org"
    assert shown("/usr/bin/mail -s secret me@example.org") == "mail"
    assert shown("http://[broken") == "a URL"
    assert shown("  ") == "a command"


def test_a_stall_is_told_once_and_only_if_something_could_be_fetched() -> None:
    alarms = Alarms(600, 0.0)
    assert alarms.look(1, "politeness: x", 5, True) == []
    assert alarms.look(700, "politeness: x", 5, False) == []
    assert alarms.look(1200, "politeness: x", 5, True) == []
    ((event, text),) = alarms.look(1301, "politeness: x", 5, True)
    assert event == "stalled" and "for 10 minutes" in text
    assert alarms.look(9000, "politeness: x", 5, True) == []
    assert alarms.look(9001, "politeness: x", 6, True) == []
    assert [event for event, _ in alarms.look(9700, "politeness: x", 6, True)] == ["stalled"]


def test_a_limit_is_told_when_it_lasts() -> None:
    alarms = Alarms(600, 0.0)
    assert alarms.look(0, "DNS: x", 1, True) == []
    assert alarms.look(LASTS - 1, "DNS: x", 2, True) == []
    assert alarms.look(LASTS, "DNS: x", 3, True) == [("limit", "The speed is limited by DNS: x.")]
    assert alarms.look(LASTS + 1, "DNS: x", 4, True) == []
    assert alarms.look(LASTS + 2, "politeness: x", 5, True) == []
    alarms.look(AGAIN, "disk: y", 6, True)
    assert [e for e, _ in alarms.look(AGAIN + LASTS, "disk: y", 7, True)] == ["limit"]


def test_a_disk_is_low_until_there_is_a_tenth_more() -> None:
    room = DiskRoom(1000)
    assert not room.look(1000) and not room.low
    assert room.look(999) and room.low
    assert not room.look(1050) and room.low
    assert not room.look(None) and room.low
    assert room.look(1100) and not room.low
    room.least = 0
    assert not room.look(0) and not room.low


def test_free_bytes_are_those_of_the_file_system(tmp_path: Path) -> None:
    free = free_bytes(tmp_path)
    assert free is not None and free > 0
    assert free_bytes(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("receiver", "says"),
    [
        ("http://", "without a host: write it as https://example.org/path."),
        ("https:///hook?secret", "without a host"),
        ("http://:80/secret", "without a host"),
        ("http://user:secret@/", "without a host"),
        ("http://h:0/secret", "a port that can't be"),
        ("http://h:99999/secret", "a port that can't be"),
        ("http://h:abc/secret", "a port that can't be"),
        ("http://[::1/secret", "a host that can't be"),
        ("http://h/a secret", "a space in it"),
        (" http://h/secret", "a space in it"),
        ("ftp://h/secret", "can't tell a URL of 'ftp' anything"),
        ("htp://h/secret", "can't tell a URL of 'htp' anything"),
        ("http:/h/secret", "can't tell a URL of 'http' anything"),
        ("file:///etc/secret", "can't tell a URL of 'file' anything"),
        ("", "is empty: name a URL or a command."),
        ("  \t", "is empty"),
        ("mail 'secret", "the shell can't read: check its quotes."),
        ("if true; then mail secret", "the shell can't read"),
        ("no-such-program --token secret", "the command 'no-such-program', which is not there"),
        ("/no/such/program secret", "the command 'program', which is not there"),
        ("TOKEN=secret no-such-program", "the command 'no-such-program'"),
        ("/etc/passwd secret", "the command 'passwd', which is not there or can't be run"),
        ("/etc secret", "the command 'etc', which is not there or can't be run"),
    ],
)
def test_what_can_not_be_told_is_refused(receiver: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        check_receivers(("https://example.org/hook", receiver))
    assert says in str(refused.value)
    assert str(refused.value).startswith("--notify ")
    assert "secret" not in str(refused.value)


def test_what_a_shell_can_run_is_taken() -> None:
    check_receivers(
        (
            "http://127.0.0.1:8080/hook?token=x",
            "HTTPS://user:word@example.org",
            "http://[::1]:80/",
            "cat >> /tmp/said",
            "TOKEN=x cat",
            "cd / && cat",
            "if read line; then cat; fi",
            "$HOME/bin/tell",
            "~/bin/tell",
            "(cat; cat) | cat",
            "cat <<'END'\nit's\nEND",
        )
    )
