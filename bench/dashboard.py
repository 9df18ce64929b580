"""What the dashboard costs: the CPU of its process with nobody and with one viewer, and the speed
of the same crawl without it, with it, and with it and a viewer.

    python bench/dashboard.py                 # three crawls of a minute
    python bench/dashboard.py --quick         # a few seconds, figures mean nothing

The viewer is a client that reads the live figures as fast as they come, as the page does. The crawl
is held by politeness, so that its speed is the same unless something takes its cores. Wanted: one
viewer costs less than 1 % of a core, and the crawl is as fast as without.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec

WARM_UP = 5.0  # seconds before the CPU is read: the server's own start is not a viewer's cost
TICK = os.sysconf("SC_CLK_TCK")
CASES = ("without", "nobody looks", "one viewer")


@dataclass
class Measured:
    """One crawl."""

    case: str
    pages: int = 0
    seconds: float = 0.0
    cpu: float = 0.0  # seconds of the dashboard's process
    watched: float = 0.0  # seconds in which that was measured
    bytes: int = 0  # that the viewer read


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--domains", type=int, default=120)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.domains = 9.0, 20
    for case in CASES:
        print(told(measured(case, args.seconds, args.domains)), flush=True)


def told(found: Measured) -> str:
    line = f"{found.case:14} {found.pages / found.seconds:8.1f} pages/s"
    if not found.watched:
        return f"{line}   no dashboard in the process tree"
    share = 100 * found.cpu / found.watched
    return f"{line}   dashboard {share:.2f} % of a core, {found.bytes / 1000:,.0f} kB to the viewer"


def measured(case: str, seconds: float, domains: int) -> Measured:
    found = Measured(case)
    spec = WorldSpec(domains=domains, pages=int(seconds * 3), https=0.0, plain=True, links=40)
    with tempfile.TemporaryDirectory() as name, SimWeb(spec, Path(name) / "log") as web:
        root = Path(name)
        (root / "seeds.txt").write_text("".join(f"http://{each}/\n" for each in web.seeds()))
        words = [
            "crawl", root / "seeds.txt", "--email", "bench@lycosa.example", "--data-dir",
            root / "data", "--delay", 0.5, "--ip-delay", 0, "--engines", 1, "--no-view",
            "--allow-private-addresses", "--nameserver", web.nameserver, "--port-map", web.port_map,
            "--max-duration", seconds, "--dashboard" if case != "without" else "--no-dashboard",
        ]  # fmt: skip
        command = [sys.executable, "-m", "lycosa", *map(str, words)]
        begun = time.monotonic()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as crawl:
            if case != "without":
                _watch(crawl, found, case == "one viewer", seconds - 3)
            crawl.communicate()
        assert crawl.returncode == 0, "the crawl failed"
        found.seconds = min(time.monotonic() - begun, seconds)
        found.pages = sum(entry.target != "/robots.txt" for entry in web.log())
    return found


def _watch(crawl: subprocess.Popen[str], found: Measured, viewer: bool, seconds: float) -> None:
    """Read the CPU of the dashboard's process for a while."""
    assert crawl.stderr is not None
    address = next(line for line in crawl.stderr if "dashboard: http" in line)
    told_port = re.search(r"127\.0\.0\.1:(\d+)/", address)
    assert told_port, address
    # Its log is read on, or the crawl would wait for a full pipe.
    threading.Thread(target=crawl.stderr.read, daemon=True).start()
    pid = _dashboard_of(crawl.pid)
    if viewer:
        threading.Thread(target=_view, args=(int(told_port[1]), found), daemon=True).start()
    time.sleep(WARM_UP)
    before, begun = _cpu(pid), time.monotonic()
    time.sleep(max(1.0, seconds - WARM_UP))
    found.cpu, found.watched = _cpu(pid) - before, time.monotonic() - begun


def _view(port: int, found: Measured) -> None:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        while data := connection.recv(1 << 16):
            found.bytes += len(data)


def _dashboard_of(pid: int) -> int:
    """The process of the dashboard, which may only be about to start when its address is told."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(OSError):
                if "lycosa.dashboard" in Path(f"/proc/{child}/cmdline").read_text():
                    return int(child)
        time.sleep(0.05)
    raise AssertionError("there is no dashboard")


def _cpu(pid: int) -> float:
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


if __name__ == "__main__":
    main()
