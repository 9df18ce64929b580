"""A dashboard beside a real crawl: it is there by default, ends with the crawl, and nothing that
happens to it reaches the crawl."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lycosa.dashboard.beside import bound
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.dashboards import Served, gone, process_of
from support.program import Crawl, lycosa, wait_for

SPEC = WorldSpec(domains=30, pages=6, https=0.0, plain=True, links=8, page_bytes=3000)


def crawl_of(web: SimWeb, root: Path, *flags: str) -> Crawl:
    return Crawl(web, root, 0.2, "--dashboard", "--engines", "1", "--ip-delay", "0", *flags)


def address(crawl: Crawl) -> tuple[int, str]:
    """The port and the token that were printed."""
    found = re.compile(r"dashboard: http://127\.0\.0\.1:(\d+)/#token=(\S+)")
    wait_for(lambda: crawl.log.exists() and found.search(crawl.log.read_text()))
    told = found.search(crawl.log.read_text())
    assert told
    return int(told[1]), told[2]


def shown(port: int) -> Served:
    return Served([], port=port)


def test_it_is_there_by_default_and_ends_with_the_crawl(tmp_path: Path) -> None:
    with SimWeb(replace(SPEC, pages=60), tmp_path / "log") as web:
        crawl = crawl_of(web, tmp_path)
        process = crawl.start()
        port, token = address(crawl)
        told = shown(port).get("/api/overview")
        assert told.status == 200
        assert told.json["state"] in ("running", "loading")
        # A supervisor writes its figures every 5 s.
        wait_for(lambda: shown(port).get("/api/overview").json["pages"] > 0, 10)
        pid = process_of(port)
        assert pid != process.pid
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        file = crawl.data / "dashboard-token"
        assert file.read_text().strip() == token
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert process.wait(60) == 0
        wait_for(lambda: gone(pid), 5)
    crawl.check_complete()
    crawl.check_polite()


def test_a_kill_of_the_crawl_ends_it(tmp_path: Path) -> None:
    with SimWeb(replace(SPEC, pages=40), tmp_path / "log") as web:
        crawl = crawl_of(web, tmp_path)
        process = crawl.start()
        pid = process_of(address(crawl)[0])
        process.kill()
        process.wait()
        wait_for(lambda: gone(pid), 10)


@pytest.mark.parametrize("harm", ["kill", "stop", "flood"])
def test_no_harm_to_it_reaches_the_crawl(tmp_path: Path, harm: str) -> None:
    with SimWeb(SPEC, tmp_path / "log") as web, ExitStack() as stack:
        crawl = crawl_of(web, tmp_path)
        process = crawl.start()
        port, _ = address(crawl)
        wait_for(lambda: crawl.pages() > 5)
        pid = process_of(port)
        if harm == "kill":
            os.kill(pid, signal.SIGKILL)
        elif harm == "stop":
            os.kill(pid, signal.SIGSTOP)
        else:
            flood(port, stack)
        assert process.wait(90) == 0
        wait_for(lambda: gone(pid), 5)
    crawl.check_complete()
    crawl.check_polite()
    assert "died" not in crawl.log.read_text()


def flood(port: int, stack: ExitStack) -> None:
    """A thousand connections: some ask and never read, some ask half a question, some nothing."""
    asked = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    for number in range(1000):
        with suppress(OSError):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.sendall((asked, asked[:20], b"")[number % 3])


def test_without_its_packages_one_line_says_what_to_install(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda n, *a: None if n == 'starlette' else find(n, *a)\n"
    )
    variables = {**os.environ, "PYTHONPATH": str(hidden), "LYCOSA_DASHBOARD": "yes"}
    with SimWeb(replace(SPEC, domains=3, pages=2), tmp_path / "log") as web:
        crawl = crawl_of(web, tmp_path)
        assert crawl.run(env=variables) == 0
    said = [line for line in crawl.log.read_text().splitlines() if "dashboard" in line]
    assert len(said) == 1
    assert "-m pip install starlette uvicorn prometheus_client" in said[0]
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", "dashboard", "--data-dir", str(crawl.data)],
        env=variables, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and "pip install starlette" in done.stderr


def test_a_port_that_is_taken_does_not_keep_a_crawl_from_running(tmp_path: Path) -> None:
    with SimWeb(replace(SPEC, domains=3, pages=2), tmp_path / "log") as web, bound() as taken:
        port = taken.getsockname()[1]
        crawl = crawl_of(web, tmp_path, "--dashboard-port", str(port))
        assert crawl.run() == 0
    assert "WARNING no dashboard: The dashboard can't listen" in crawl.log.read_text()


def test_a_free_port_is_found_near_the_usual_one() -> None:
    with bound() as first, bound() as second:
        ports = {each.getsockname()[1] for each in (first, second)}
    assert len(ports) == 2
    assert all(8900 <= port < 9000 for port in ports)


def test_a_command_serves_a_crawl_that_has_ended(tmp_path: Path) -> None:
    with SimWeb(replace(SPEC, domains=5, pages=3), tmp_path / "log") as web:
        crawl = crawl_of(web, tmp_path, "--no-dashboard")
        assert crawl.run() == 0
    assert "dashboard" not in crawl.log.read_text()
    command = [sys.executable, "-m", "lycosa", "dashboard", "--data-dir", str(crawl.data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.search(r":(\d+)/#token=(\S+)", line)
        assert found, line
        told = shown(int(found[1])).get("/api/overview").json
        assert told["state"] == "finished" and not told["live"]
        assert told["pages"] == crawl.pages()
        done = shown(int(found[1])).post("/api/exclude", {"lines": ["x.test"]}, found[2])
        assert done.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-my-own-choice\n")
    file.chmod(0o644)
    here = ("--data-dir", str(tmp_path / "none"))
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("example.org\n")
    for words, told in (
        (["dashboard", *here], "There is no crawl in"),
        (["report", *here], "There is no crawl in"),
        (["crawl", str(seeds), "--email", "a@b.org", "--dashboard", *here,
          "--dashboard-token-file", str(file)], "Others can read the token file"),
        (["dashboard", "--port", "70000"], "--port"),
    ):  # fmt: skip
        done = lycosa(*words)
        assert done.returncode == 2, done.stderr
        assert told in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_a_token_of_the_users_own_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a-token-of-my-own-choice\n")
    file.chmod(0o600)
    with SimWeb(replace(SPEC, domains=3, pages=2), tmp_path / "log") as web:
        crawl = crawl_of(web, tmp_path, "--dashboard-token-file", str(file))
        assert crawl.run() == 0
    assert "dashboard: http://127.0.0.1:" in crawl.log.read_text()
    assert "own-choice" not in crawl.log.read_text()
    assert not (crawl.data / "dashboard-token").exists()


def test_nobody_who_looks_costs_nothing(tmp_path: Path) -> None:
    from support import made_crawl
    from support.made_history import made_lines, made_now, write_history

    root = tmp_path / "data"
    made_crawl.make(root, pages=20)
    lines = made_lines(time.time())
    write_history(root, lines, made_now(lines[-1]))
    with Served([root]) as served:
        assert served.get("/api/overview").status == 200
        time.sleep(0.5)
        before = switches(served.process.pid)
        time.sleep(5)
        assert switches(served.process.pid) - before <= 2  # it sleeps


def switches(pid: int) -> int:
    """How often the threads of a process were woken up."""
    return sum(
        int(line.split()[1])
        for path in Path(f"/proc/{pid}/task").glob("*/status")
        for line in path.read_text().splitlines()
        if line.startswith("voluntary_ctxt")
    )
