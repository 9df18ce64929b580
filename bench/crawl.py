"""CPU per page of the real program: supervisor and engines, on a simulated web whose cost is not
counted.

    python bench/crawl.py                   # http and https, 80 KB, a new host for each page
    python bench/crawl.py --per-host 20 --size 240000 --links 100 --warc
    python bench/crawl.py --quick           # a few seconds, figures mean nothing

Beside each run a fixed reference loop is timed, since a shared machine's speed varies.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec


def reference_ms() -> float:
    """CPU of a fixed piece of work."""
    begin = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number & 7
    return (time.process_time() - begin) * 1000


def run(args: argparse.Namespace, https: bool) -> dict[str, float]:
    """One crawl to its end."""
    spec = WorldSpec(
        seed=1, domains=args.hosts, pages=args.per_host, page_bytes=args.size, links=args.links,
        https=1.0 if https else 0.0, out_links=0.0, plain=True,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        with SimWeb(spec, root / "log", processes=args.servers) as web:
            scheme = "https" if https else "http"
            seeds = "".join(f"{scheme}://{site}/\n" for site in web.seeds())
            (root / "seeds.txt").write_text(seeds)
            return measure(args, root, web)


def measure(args: argparse.Namespace, root: Path, web: SimWeb) -> dict[str, float]:
    words = [
        "crawl", root / "seeds.txt", "--email", "bench@lycosa.example", "--data-dir", root / "data",
        "--delay", args.delay, "--ip-delay", 0, "--engines", args.engines, "--no-view",
        "--max-workers", args.workers, "--allow-private-addresses",
        "--nameserver", web.nameserver, "--port-map", web.port_map, "--log-level", "warning",
    ]  # fmt: skip
    if args.warc:
        words.append("--warc")
    command = [sys.executable, "-m", "lycosa", *map(str, words)]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    assert process.returncode == 0, "the crawl failed"
    told = subprocess.run(
        [sys.executable, "-m", "lycosa", "status", "--data-dir", root / "data", "--json"],
        capture_output=True, check=True,
    )  # fmt: skip
    found = json.loads(told.stdout)
    return {
        "pages": found["pages"],
        "cpu_us": (usage.ru_utime + usage.ru_stime) * 1e6 / found["pages"],
        "pages_s": found["pages"] / seconds,
        "rss_mb": max(engine["rss_mb"] for engine in found["engines"]),
        "reference_ms": reference_ms(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=4000)
    parser.add_argument("--per-host", type=int, default=1, help="pages per host")
    parser.add_argument("--size", type=int, default=80_000, help="bytes of HTML")
    parser.add_argument("--links", type=int, default=60)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--workers", type=int, default=400)
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warc", action="store_true")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.hosts, args.repeats, args.size = 30, 1, 20_000
    print(f"{args.hosts} hosts x {args.per_host} pages of {args.size} bytes, {args.links} links")
    print(f"load {os.getloadavg()[0]:.1f}, {args.engines} engine(s), TLS not verified")
    for https in (False, True):
        runs = [run(args, https) for _ in range(args.repeats)]
        middle = {key: statistics.median(each[key] for each in runs) for key in runs[0]}
        print(
            f"{'https' if https else 'http '}  {middle['cpu_us']:7.0f} us CPU/page"
            f"  {middle['pages_s']:6.0f} pages/s  {middle['rss_mb']:5.0f} MB"
            f"  reference {middle['reference_ms']:.0f} ms  ({middle['pages']:.0f} pages)"
        )


if __name__ == "__main__":
    main()
