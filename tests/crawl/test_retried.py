"""Real crawls that try again what failed for good."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

from support.http_server import HttpServer, reply, say
from support.program import EMAIL, lycosa, started, status, wait_for


def seeded(root: Path, *urls: str) -> list[str]:
    (root / "seeds.txt").write_text("\n".join(urls))
    words = ["crawl", str(root / "seeds.txt"), "--email", EMAIL, "--data-dir", str(root / "data")]
    return [*words, "--engines", "1"]


def outcomes(root: Path) -> dict[str, int]:
    return dict(status(root / "data").get("outcomes", {}))


def test_private_addresses_are_tried_again_when_they_are_allowed(tmp_path: Path) -> None:
    server = HttpServer()
    server.paths["/"] = say(reply(b"<p>hello"))
    base = f"http://127.0.0.1:{server.port}"
    words = seeded(tmp_path, f"{base}/", f"{base}/more")
    assert lycosa(*words, "--delay", "0.05").returncode == 0
    assert outcomes(tmp_path) == {"private-address": 2}
    where = ["--data-dir", str(tmp_path / "data")]
    assert lycosa("retry", "--outcome", "private-address", "--yes", *where).returncode == 0
    done = lycosa("crawl", "--resume", "--allow-private-addresses", *where)
    assert done.returncode == 0, done.stderr
    assert outcomes(tmp_path) == {"ok": 1, "http-404": 1}


def test_an_engine_that_gave_an_origin_up_tries_it_again(tmp_path: Path) -> None:
    """It holds the domain all the time, and with it the mark of the dead origin."""
    server, dead = HttpServer(), socket.socket()
    dead.bind(("127.0.0.1", 0))  # refuses connections until it listens
    links = "".join(f"<a href='/{n}'>{n}</a>" for n in range(1000))
    server.paths["/"] = say(reply(links.encode()))
    late = f"http://127.0.0.1:{dead.getsockname()[1]}/late"
    words = seeded(tmp_path, f"http://127.0.0.1:{server.port}/", late)
    flags = ["--delay", "0.05", "--ip-delay", "0", "--allow-private-addresses"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "lycosa", *words, *flags],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    started.append(process)
    wait_for(lambda: outcomes(tmp_path).get("connect") == 1, 60)
    dead.listen(50)
    threading.Thread(target=answer, args=(dead,), daemon=True).start()
    where = ["--data-dir", str(tmp_path / "data")]
    done = lycosa("retry", "--outcome", "connect", "--yes", *where)
    assert done.returncode == 0 and "1 URLs are queued again" in done.stdout, done.stderr
    wait_for(lambda: outcomes(tmp_path).get("ok") == 2, 60)
    assert process.poll() is None  # it ran all the time
    lycosa("stop", *where)
    process.wait(30)


def answer(listener: socket.socket) -> None:
    while True:
        sock, _ = listener.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(reply(b"User-agent: *\nAllow: /\n"))
