"""Crawls real HTML files with lycosa and with Scrapy, in turns, on thousands of host names.

    python bench/real_files.py --dir /var/tmp/real --install   # files from Debian, Scrapy from PyPI
    python bench/real_files.py --dir /var/tmp/real             # medians of 3
    python bench/real_files.py --quick                         # a few seconds; installs nothing

The files are those of Debian's documentation packages (`real/sites.py`), downloaded and unpacked,
not installed: 15,000 pages. Each directory is a site of its own, under several names; links between
directories lead from site to site. The pages also lead to real sites, which nobody may touch from
here: everything runs in a network namespace with nothing but loopback, in which those names do not
exist. Without one (it needs root on Linux) this refuses to run.

CPU is that of the whole process tree, start-up included. Pages are counted by the server (answers
with 200 that are not robots.txt, each URL once), and as the crawlers kept them. With --quick and
without files a few are made up, and Scrapy runs if it is there.
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
from dataclasses import dataclass
from pathlib import Path

from measure import namespace, runs
from measure.runs import Job
from real.serve import FileWeb
from real.sites import Sites, download

PEER = Path(__file__).parent / "peer_crawlers" / "scrapy_peer.py"
HOSTS = 2_000  # at least so many; directories get as many names as that takes
LIMIT = 900  # seconds for one run


@dataclass
class Figures:
    """One run of one crawler."""

    pages: int  # served
    kept: int  # with their text
    robots: int
    cpu: float  # seconds
    seconds: float
    rss_mb: float
    reference_ms: float

    @property
    def cpu_us(self) -> float:
        return self.cpu * 1e6 / max(1, self.pages)


def install(folder: Path) -> None:
    """Files of Debian's packages, and an environment for Scrapy."""
    folder.mkdir(parents=True, exist_ok=True)
    download(folder)
    if not scrapy(folder):
        subprocess.run([sys.executable, "-m", "venv", folder / "scrapy"], check=True)
        subprocess.run([folder / "scrapy" / "bin" / "pip", "install", "-q", "scrapy"], check=True)


def scrapy(folder: Path | None) -> list[str]:
    """The command line of Scrapy, if it is there; SEEDS and OUT are replaced."""
    if folder and any(folder.glob("scrapy/lib/python*/site-packages/scrapy")):
        return [str(folder / "scrapy" / "bin" / "python"), str(PEER), "SEEDS", "OUT"]
    return []


def made_up(folder: Path) -> Path:
    """A few files that lead to each other and, as real ones do, to the web outside."""
    for number in range(6):
        directory = folder / f"part{number}"
        directory.mkdir(parents=True)
        others = "".join(
            f'<p>See <a href="../part{other}/page{page}.html">part {other}</a>.</p>'
            for other in range(6) for page in range(3)
        )  # fmt: skip
        for page in range(3):
            (directory / f"page{page}.html").write_text(
                f"<!DOCTYPE html><title>{number}, {page}</title><p>Some words of a page. "
                f'<a href="page{(page + 1) % 3}.html">next</a> '
                f'<a href="https://www.example.org/{page}">outside</a>{others}'
            )
    return folder


def crawl(name: str, words: list[str], job: Job, files: Path, copies: int) -> Figures:
    """One run of one crawler."""
    with tempfile.TemporaryDirectory(prefix="lycosa-real-") as home:
        root = Path(home)
        (root / "out").mkdir()
        with FileWeb(files, copies, root / "log", job.https, namespace.PORTS) as web:
            scheme = "https" if job.https else "http"
            (root / "seeds.txt").write_text("".join(f"{scheme}://{h}/\n" for h in web.seeds()))
            if name == "lycosa":
                words = runs.command(job, web, root, "sqlite")
            here = {"SEEDS": str(root / "seeds.txt"), "OUT": str(root / "out")}
            words = [here.get(word, word) for word in words]
            found = _measured(words, root, job)
            log = [entry for entry in web.log() if entry.status == 200]
        found.pages = len({entry.url for entry in log if entry.target != "/robots.txt"})
        found.robots = len({e.url for e in web.log() if e.target == "/robots.txt"})
        if name == "lycosa":
            found.kept = int(runs.status(root, "sqlite")["outcomes"].get("ok", 0))
        else:
            with (root / "out" / "pages.jsonl").open() as lines:
                found.kept = sum(1 for _ in lines)
    return found


def _measured(words: list[str], root: Path, job: Job) -> Figures:
    reference, began = runs.reference_ms(), time.monotonic()
    with (root / "said.txt").open("w") as said:
        process = subprocess.Popen(
            ["timeout", str(LIMIT), *words], stdout=said, stderr=said, cwd=root,
            env={**os.environ, "PEER_PAGES": str(job.pages)},
        )  # fmt: skip
        _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode != 0:
        tail = (root / "said.txt").read_text()[-600:]
        raise SystemExit(f"a crawl failed with exit code {process.returncode}: {tail}")
    return Figures(
        0, 0, 0, usage.ru_utime + usage.ru_stime, time.monotonic() - began,
        usage.ru_maxrss * 1024 / 1e6, (reference + runs.reference_ms()) / 2,
    )  # fmt: skip


def compare(args: argparse.Namespace, files: Path, scheme: str) -> None:
    """Both crawlers in turn, again and again."""
    sites = Sites(files, 1)
    copies = -(-args.hosts // max(1, len(sites.hosts())))
    # Of `visits` only that a number of pages ends the crawl is used.
    job = Job(https=scheme == "https", pages=args.pages, delay=0.05, visits=1)
    todo = {"lycosa": ["lycosa"]}
    if words := scrapy(args.dir):
        todo["scrapy"] = words
    found: dict[str, list[Figures]] = {name: [] for name in todo}
    for _ in range(args.repeats):
        for name, words in todo.items():
            with runs.turn(args.lock):
                found[name].append(crawl(name, words, job, files, copies))
    print(f"\n{scheme}, {sites.files:,} files on {len(sites.hosts()) * copies:,} hosts, load "
          f"{os.getloadavg()[0]:.1f}")  # fmt: skip
    print(f"{'':8} us/page  / lycosa   pages    kept  robots  pages/s     MB  ref ms")
    base = statistics.median(each.cpu_us for each in found["lycosa"])
    for name, many in found.items():
        show(name, many, base)


def show(name: str, many: list[Figures], base: float) -> None:
    def middle(field: str) -> float:
        return float(statistics.median(getattr(each, field) for each in many))

    print(
        f"{name:8} {middle('cpu_us'):7.0f} {middle('cpu_us') / base:9.1f} {middle('pages'):7.0f}"
        f" {middle('kept'):7.0f} {middle('robots'):7.0f} {middle('pages') / middle('seconds'):8.0f}"
        f" {middle('rss_mb'):6.0f} {middle('reference_ms'):7.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=Path, help="where the files and Scrapy are")
    parser.add_argument("--install", action="store_true", help="fetch them; needs --dir")
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--hosts", type=int, default=HOSTS, help="names, at least")
    parser.add_argument("--scheme", default="http,https")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--lock", type=Path, help="a file that is locked during each run")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.install and not namespace.inside():
        if args.dir is None:
            parser.error("--install needs --dir")
        install(args.dir)
    namespace.enter()
    if not namespace.inside():
        parser.error("the pages lead to real sites, so this runs only in a network namespace of "
                     "its own: run it as root on Linux, with unshare and ip installed")  # fmt: skip
    if args.quick:
        args.pages, args.repeats, args.hosts, args.scheme = 30, 1, 10, "http"
    made = Path(tempfile.mkdtemp(prefix="lycosa-made-"))
    try:
        files = args.dir / "files" if args.dir else made
        if args.quick and not args.dir:
            made_up(files)
        if not files.is_dir() or not Sites(files, 1).files:
            parser.error("no HTML files are there: --dir FOLDER --install fetches them")
        for scheme in args.scheme.split(","):
            compare(args, files, scheme)
    finally:
        shutil.rmtree(made)


if __name__ == "__main__":
    main()
