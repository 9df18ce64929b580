"""Compares other crawlers with lycosa, on the same simulated web in the same run.

    python bench/peers.py --dir ~/peers --install    # each in an environment of its own
    python bench/peers.py --dir ~/peers              # medians of 3; only what is there runs
    python bench/peers.py --dir ~/peers --mix real --peer scrapy --pages 4000
    python bench/peers.py --quick                    # a few seconds; installs nothing

Four mixes. real: a web with the shape of the real one, as in bench/crawl.py. broad: hosts of 1,000
pages that link to each other, as many hosts as pages are fetched; in both what is not fetched stays
queued. single: hosts of one page, all its links lead to itself.
sites: hosts of 20 pages, fetched to the end.

The simulated web counts the pages: answers with 200 that are not robots.txt. CPU is that of the
whole process tree, start-up included; from 'steady' the CPU of a run on one page is subtracted. All
crawlers run in a network namespace with nothing but loopback, whose port 53 the simulated web
answers, so that each can use its own resolver and the ordinary ports. This needs root on Linux;
without it, lycosa alone runs.

- Scrapy: the settings of its page on broad crawls, JOBDIR persistence, robots.txt, text kept.
- crawlee-python: ParselCrawler, storage on disk, robots.txt, text kept.
- spider (npm @spider-rs/spider-rs): reported only; it asks for robots.txt of start hosts alone.
- wget2 (Debian): recursive, robots.txt, pages kept as they are; no text, no persistence.

The last two can't be told to stop after so many pages, so they have no part in these two.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from measure import namespace, runs
from measure.runs import Job

HERE = Path(__file__).parent / "peer_crawlers"
SPIDER = "0.0.157"  # the last release with a compiled part for Linux in the registry
LIMIT = 900  # seconds for one run of one peer
MIXES = {
    "broad": Job(per_host=1, site_pages=1000),
    "real": Job(visits=4, links=100),
    "single": Job(per_host=1),
    "sites": Job(per_host=20),
}
PEERS = ("scrapy", "crawlee", "wget2", "spider")
SCRAPY = 25.0  # times the CPU of lycosa, steady, in the real shape
BOUNDED = ("lycosa", "scrapy", "crawlee")  # can be told how many pages to fetch


@dataclass
class Figures:
    """One run of one crawler."""

    pages: int
    robots: int
    cpu: float  # seconds
    seconds: float
    rss_mb: float


def peers(folder: Path | None) -> dict[str, list[str]]:
    """Command lines of what is present; SEEDS and OUT are replaced."""
    found: dict[str, list[str]] = {}
    for name in ("scrapy", "crawlee"):
        if folder and any(folder.glob(f"{name}/lib/python*/site-packages/{name}")):
            python = folder / name / "bin" / "python"
            found[name] = [str(python), str(HERE / f"{name}_peer.py"), "SEEDS", "OUT"]
    if wget2 := shutil.which("wget2"):
        found["wget2"] = [
            wget2, "--quiet", "--recursive", "--level=inf", "--robots=on", "--max-threads=20",
            "--tries=1", "--no-check-certificate", "--no-hsts", "--no-netrc", "--http2=off",
            "--directory-prefix=OUT", "--input-file=SEEDS",
        ]  # fmt: skip
    if folder and shutil.which("node") and (folder / "spider" / "node_modules").is_dir():
        found["spider"] = ["node", str(HERE / "spider_peer.mjs"), "SEEDS", "OUT"]
    return found


def install(folder: Path) -> None:
    """An environment for each peer; wget2 from Debian."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, wanted in (("scrapy", "scrapy"), ("crawlee", "crawlee[parsel]")):
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        subprocess.run([folder / name / "bin" / "pip", "install", "-q", wanted], check=True)
    if shutil.which("npm"):
        (folder / "spider").mkdir(exist_ok=True)
        names = ("@spider-rs/spider-rs", "@spider-rs/spider-rs-linux-x64-gnu")
        words = ["npm", "install", "--silent", *(f"{name}@{SPIDER}" for name in names)]
        subprocess.run(words, cwd=folder / "spider", check=True)
    if not shutil.which("wget2") and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "wget2"], check=True)


def crawl(name: str, words: list[str], job: Job, folder: Path | None) -> Figures:
    """One run of one crawler on a fresh web."""
    with tempfile.TemporaryDirectory(prefix="lycosa-peer-") as home:
        root = Path(home)
        (root / "out").mkdir()
        ports = namespace.PORTS if namespace.inside() else None
        with SimWeb(job.world, root / "log", processes=job.servers, ports=ports) as web:
            (root / "seeds.txt").write_text("".join(runs.seeds_of(job, web)))
            if name == "lycosa":
                words = runs.command(job, web, root, "sqlite")
            here = {"SEEDS": str(root / "seeds.txt"), "OUT": str(root / "out")}
            for key, value in here.items():
                words = [word.replace(key, value) for word in words]
            env = {**os.environ, "PEER_HOME": str(folder / "spider") if folder else ""}
            if job.site_pages or job.visits:
                env["PEER_PAGES"] = str(job.pages)
            began = time.monotonic()
            with (root / "said.txt").open("w") as said:
                process = subprocess.Popen(
                    ["timeout", str(LIMIT), *words], stdout=said, stderr=said, cwd=root, env=env
                )
                _, code, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
            seconds = time.monotonic() - began
            log = web.log()
        good = [entry for entry in log if entry.status == 200]
        robots = sum(entry.target == "/robots.txt" for entry in good)
        pages = len({entry.url for entry in good}) - len(
            {entry.url for entry in good if entry.target == "/robots.txt"}
        )
        if pages < job.pages * 0.98:
            tail = (root / "said.txt").read_text()[-600:]
            print(f"{name}: {pages} of {job.pages} pages, exit code {process.returncode}: {tail}")
    return Figures(
        pages, robots, usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss * 1024 / 1e6
    )


def compare(job: Job, args: argparse.Namespace) -> bool:
    """Every crawler in turn, again and again. Tells whether Scrapy takes as much as is wanted."""
    present = peers(args.dir)
    todo = {"lycosa": [], **{name: present[name] for name in args.peer or present}}
    if job.site_pages or job.visits:
        todo = {name: words for name, words in todo.items() if name in BOUNDED}
    if not namespace.inside():
        todo = {"lycosa": []}
        print("no network namespace here (needs root on Linux): lycosa alone")
    many: dict[str, list[Figures]] = {name: [] for name in todo}
    one: dict[str, list[Figures]] = {name: [] for name in todo}
    for _ in range(args.repeats):
        for name, words in todo.items():
            with runs.turn(args.lock):
                single = replace(job, pages=1, per_host=1, site_pages=0, visits=0)
                one[name].append(crawl(name, words, single, args.dir))
                many[name].append(crawl(name, words, job, args.dir))
    of = f" of {job.site_pages:,}" if job.site_pages else ""
    print(f"\n{'https' if job.https else 'http'}, {job.seeds or job.pages // job.per_host} hosts, "
          f"{job.visits or job.per_host} page(s){of} a host, {job.size // 1000} KB, "
          f"{job.links} links; "
          f"reference {runs.reference_ms():.0f} ms, load {os.getloadavg()[0]:.1f}")  # fmt: skip
    print(f"{'':8} us/page   steady  / lycosa  steady  pages  robots  pages/s     MB")
    base: tuple[float, float] = (0.0, 0.0)
    ratios = {}
    for name in todo:
        mine = show(name, many[name], one[name], base)
        base = base if base[0] else mine
        ratios[name] = mine[1] / base[1]
    if not job.visits or "scrapy" not in ratios:
        return True
    met = ratios["scrapy"] >= SCRAPY
    print(f"Scrapy / lycosa, steady: {ratios['scrapy']:.1f}, wanted: at least {SCRAPY:g}: "
          f"{'met' if met else 'NO'}")  # fmt: skip
    return met


def show(
    name: str, many: list[Figures], one: list[Figures], base: tuple[float, float]
) -> tuple[float, float]:
    """A line; returns its CPU a page, with and without start-up."""
    pages = statistics.median(each.pages for each in many) or 1
    cpu = statistics.median(each.cpu for each in many)
    start = statistics.median(each.cpu for each in one)
    whole, steady = cpu * 1e6 / pages, (cpu - start) * 1e6 / max(1, pages - 1)
    first = base if base[0] else (whole, steady)
    speed = pages / statistics.median(each.seconds for each in many)
    robots = statistics.median(each.robots for each in many)
    rss = statistics.median(each.rss_mb for each in many)
    print(
        f"{name:8} {whole:7.0f} {steady:8.0f} {whole / first[0]:9.1f} {steady / first[1]:7.1f}"
        f" {pages:6.0f} {robots:7.0f} {speed:8.0f} {rss:6.0f}"
    )
    return whole, steady


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=Path, help="where the peers' environments are")
    parser.add_argument("--install", action="store_true", help="make them; needs --dir")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--mix", nargs="+", choices=MIXES, default=list(MIXES))
    parser.add_argument("--peer", nargs="+", choices=PEERS, help="by default all that are there")
    parser.add_argument("--scheme", default="http,https")
    parser.add_argument("--size", type=int, default=80, help="KB of HTML")
    parser.add_argument("--links", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lock", type=Path, help="a file that is locked during each run")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.install and not namespace.inside():
        if args.dir is None:
            parser.error("--install needs --dir")
        install(args.dir)
    namespace.enter()
    if args.quick:
        args.pages, args.repeats, args.mix, args.scheme = 30, 1, ["broad", "single"], "http"
    present = peers(args.dir)
    if absent := set(args.peer or ()) - set(present):
        parser.error(f"not there: {', '.join(sorted(absent))}; --dir FOLDER --install brings them")
    met = True
    print(f"peers present: {', '.join(present) or 'none'}; TLS verification: off everywhere")
    for mix in args.mix:
        for scheme in args.scheme.split(","):
            job = replace(MIXES[mix], https=scheme == "https", pages=args.pages,
                          size=args.size * 1000, delay=0.05)  # fmt: skip
            if not job.visits:
                job = replace(job, links=args.links)
            met = compare(job, args) and met
    return 0 if met or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
