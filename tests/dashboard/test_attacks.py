"""Attacks on a real dashboard over a real socket: each is refused, and it goes on answering."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support import made_crawl
from support.dashboards import TOKEN, Served
from support.made_history import made_lines, made_now, write_history

SCRIPT = "<script>fetch('//evil.example')</script><img src=x onerror=alert(1)>"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\x00"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl whose newest pages were written by somebody who means ill."""
    root = tmp_path_factory.mktemp("secret-place") / "data"
    made_crawl.make(root, pages=40)
    lines = made_lines(time.time())
    nasty = {"url": f"https://d0.test/{SCRIPT}{ESCAPES}", "title": SCRIPT + ESCAPES, "at": 1.0}
    now = made_now(lines[-1], latest=[{**nasty, "preview": ESCAPES, "label": SCRIPT}])
    now["directory"] = str(root)
    now["engines"][0] |= {"directory": str(root), "host": "machine.internal", "pid": 77}
    write_history(root, lines, now)
    return root


@pytest.fixture(scope="module")
def served(crawl: Path) -> Iterator[Served]:
    with Served([crawl]) as made:
        yield made


def works(served: Served) -> None:
    assert served.get("/healthz").status == 200


def excluded(served: Served) -> list[str]:
    return list(served.get("/api/steering").json["exclusions"])


# -- who asks -------------------------------------------------------------------------------------


def test_a_post_of_another_site_changes_nothing(served: Served) -> None:
    """As a form or a script of that site would send it, with and without what it can't know."""
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
    ):
        for token in (None, TOKEN):
            done = served.post("/api/exclude", {"lines": ["d1.test"]}, token, **headers)
            assert done.status == 403
    plain = {"content_type": "text/plain", "authorization": f"Bearer {TOKEN}"}
    body = json.dumps({"lines": ["d1.test"]}).encode()
    assert served.send("POST", "/api/exclude", body, **plain).status == 415
    assert served.get("/api/exclude").status in (404, 405)
    assert excluded(served) == []


def test_a_name_that_was_made_to_lead_here_gets_nothing(served: Served) -> None:
    for path in ("/", "/api/overview", "/events", "/metrics", "/static/main.js"):
        told = served.get(path, host=f"evil.example:{served.port}")
        assert told.status == 403
        assert b"d0.test" not in told.body
    assert served.get("/api/overview", origin="https://evil.example").status == 403


def test_no_other_site_may_read_or_frame_an_answer(served: Served) -> None:
    for path in ("/", "/api/overview", "/static/main.js", "/nothing"):
        told = served.get(path).headers
        assert "access-control-allow-origin" not in told
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert told["x-frame-options"] == "DENY"
        policy = told["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    "token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "x" * 60_000]
)
def test_without_the_token_nothing_is_steered(served: Served, token: str | None) -> None:
    for name in ("pause", "stop", "exclude", "take-back", "seeds", "set", "hits"):
        done = served.post(f"/api/{name}", {"lines": ["d1.test"]}, token)
        assert done.status in (400, 401, 431)  # the longest is no request at all
    assert excluded(served) == []


def test_tokens_are_compared_in_constant_time() -> None:
    source = (Path(__file__).parents[2] / "src/lycosa/dashboard/access.py").read_text("utf-8")
    assert "hmac.compare_digest(sent, self.token.encode())" in source
    assert "== self.token" not in source and "self.token ==" not in source


def test_another_address_shows_nothing_without_the_token(crawl: Path) -> None:
    with Served([crawl], host="0.0.0.0") as served:
        for path in (
            "/api/overview",
            "/api/words",
            "/events",
            "/metrics",
            "/status.json",
            "/healthz",
        ):
            assert served.get(path).status == 401
            assert b"d0.test" not in served.get(path).body
        told = served.get("/api/overview", authorization=f"Bearer {TOKEN}")
        assert told.status == 200
        page = served.get("/").body
        assert b"d0.test" not in page and TOKEN.encode() not in page


# -- what strangers wrote -------------------------------------------------------------------------


def test_titles_and_urls_arrive_as_text_with_their_control_characters_written_out(
    served: Served,
) -> None:
    told = served.get("/api/overview")
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
    text = told.body.decode()
    for hidden in ("\x1b", "\u202e", "\\u001b", "\\u0000", "\x00"):
        assert hidden not in text
    page = told.json["latest"][0]
    assert page["title"].startswith(SCRIPT + "\\x1b]0;owned\\x07")
    assert page["preview"].endswith("\\u202egnp.exe\\x00")


def test_an_answer_about_an_odd_url_is_a_sentence(served: Served) -> None:
    for path in (
        "/api/why?url=javascript:alert(1)",
        "/api/search?q=%00%1b",
        "/api/domain?name=%22",
    ):
        told = served.get(path)
        assert told.status == 400
        assert "\x1b" not in told.json["error"]


def test_neither_paths_nor_machines_are_told(served: Served, crawl: Path) -> None:
    paths = ("/", "/api/overview", "/api/nodes", "/status.json", "/api/steering", "/healthz",
             "/api/why?url=https://d1.test/1", "/api/domain?name=d1.test", "/api/words",
             "/api/examples?outcome=ok", "/api/history", "/nothing",
             "/api/domain?name=nope.test")  # fmt: skip
    for path in paths:
        body = served.get(path).body.decode()
        assert str(crawl) not in body and "secret-place" not in body, path
        assert "machine.internal" not in body, path


def test_a_crawl_that_is_not_there_is_said_without_its_path(tmp_path: Path) -> None:
    with Served([tmp_path / "secret-place"]) as served:
        told = served.get("/api/overview")
        assert told.status == 503
        assert "lycosa status" in told.json["error"]
        assert str(tmp_path) not in told.body.decode()


@pytest.mark.parametrize("store", ["postgresql://me:hunter2@127.0.0.1:1/crawl"])
def test_the_store_is_not_told(tmp_path: Path, store: str) -> None:
    with Served([], store=store) as served:
        body = served.get("/api/overview").body.decode()
        for secret in ("hunter2", "127.0.0.1", "postgresql", "me:"):
            assert secret not in body


# -- odd requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/static/../routes.py", "/static/%2e%2e/routes.py", "/static/..%2froutes.py", "//etc/passwd",
     "/static//etc/passwd", "/static/%00", "/static/....//routes.py", "/static/..%5croutes.py",
     "/../../../../etc/passwd", "/static/./../../reading/crawl.py", "/static/"],
)  # fmt: skip
def test_no_trick_of_paths_leads_out_of_the_page(served: Served, path: str) -> None:
    told = served.get(path)
    assert told.status in (400, 403, 404, 405)
    assert b"import" not in told.body and b"root:" not in told.body
    works(served)


def test_ten_megabytes_are_refused_before_they_are_read(served: Served) -> None:
    body = b"x" * (10 << 20)
    head = (
        f"POST /api/seeds HTTP/1.1\r\nHost: {served.place}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\n"
    )
    for more in (f"Content-Length: {len(body)}\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"):
        with served.connect() as connection:
            connection.sendall((head + more).encode())
            with suppress(OSError):  # it hangs up while we send
                if "chunked" in more:
                    connection.sendall(b"a00000\r\n" + body + b"\r\n0\r\n\r\n")
                else:
                    connection.sendall(body)
            with suppress(OSError):
                answer = connection.recv(1000)
                assert answer == b"" or answer.startswith(b"HTTP/1.1 413")
    works(served)
    assert _memory_mb(served) < 150


def test_a_head_without_end_is_refused(served: Served) -> None:
    with served.connect() as connection:
        with suppress(OSError):
            connection.sendall(b"GET / HTTP/1.1\r\n")
            for number in range(2000):
                connection.sendall(f"X-{number}: {'y' * 1000}\r\n".encode())
        with suppress(OSError):
            assert connection.recv(100)[:10] in (b"", b"HTTP/1.1 4")
    works(served)


def test_garbage_is_refused(served: Served) -> None:
    for data in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 5000,
        b"GET\r\n\r\n",
    ):
        with served.connect(5) as connection:
            connection.sendall(data)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1000)
    works(served)


def test_a_thousand_idle_connections_do_not_keep_others_out(served: Served) -> None:
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(served.connect())
        began = time.monotonic()
        for _ in range(20):
            works(served)
        assert time.monotonic() - began < 5
        assert _memory_mb(served) < 150
        assert _files(served) < 260


def test_viewers_that_never_read_do_not_keep_others_out(served: Served) -> None:
    with ExitStack() as stack:
        for _ in range(60):
            connection = stack.enter_context(served.connect())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.sendall(f"GET /events HTTP/1.1\r\nHost: {served.place}\r\n\r\n".encode())
        time.sleep(1)
        works(served)
        assert served.get("/api/overview").status == 200
        assert served.get("/events").status == 503  # there is a bound, and it is told


def _memory_mb(served: Served) -> float:
    text = Path(f"/proc/{served.process.pid}/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _files(served: Served) -> int:
    return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
