"""What each compiled module saves: it and its twin in Python do the same work in turns.

    python bench/compiled.py [--rounds 15] [--quick]
    python bench/compiled.py --against DIR    # another build in the place of Python

The work, in microseconds of CPU: an ordinary page of 80 KB is read (`page/_scan`); the 60 links of
a page become what the frontier gets (`urls/_links`); 5,000 characters of text become 64 bits
(`page/_simhash`); robots.txt and a page of 20 KB are fetched
over http from a new host each, 200 at once (`fetch/_receive`). A round measures both. Printed are
the medians of all rounds, and the median of their ratios, which a slow minute spoils least.

DIR holds `page/_scan.so`, `page/_simhash.so`, `urls/_links.so` and `fetch/_receive.so`, each made
by

    gcc -O3 -shared -fPIC -I PYTHONS_HEADERS src/lycosa/page/_scan.c -o DIR/page/_scan.so
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from statistics import median
from typing import Any

import fetch
import parse
from lycosa.engine import harvest
from lycosa.fetch import libcurl, receive, transfer
from lycosa.page import html, simhash
from measure import runs


@dataclass(frozen=True)
class Build:
    """Who does the work: functions and classes of compiled modules or of their twins."""

    name: str
    scan: Any
    join: Any
    simhash: Any
    receive: Any

    def use(self) -> None:
        for module, name, value in (
            (html, "scan", self.scan),
            (harvest, "join", self.join),
            (simhash, "compiled", self.simhash),
            (transfer, "Inbox", self.receive.Inbox),
            (libcurl, "Quota", self.receive.Quota),
            (libcurl, "compiled", self.receive),
        ):
            setattr(module, name, value)


PYTHON = Build("Python", None, None, None, receive)


def installed() -> Build:
    if html.scan is None or harvest.join is None or simhash.compiled is None:
        sys.exit("0 modules are compiled here: there was no C compiler when lycosa was installed.")
    inbox = import_module("lycosa.fetch._receive")
    return Build("compiled", html.scan, harvest.join, simhash.compiled, inbox)


def other(folder: Path) -> Build:
    names = ("page/_scan", "urls/_links", "page/_simhash", "fetch/_receive")
    scan, links, hashing, inbox = (_load(folder, name) for name in names)
    return Build(folder.name, scan.scan, links.join, hashing.simhash, inbox)


def _load(folder: Path, name: str) -> Any:
    loader = ExtensionFileLoader("lycosa." + name.replace("/", "."), str(folder / f"{name}.so"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


# --- the work: each returns microseconds of CPU ---


def reading(calls: int) -> Callable[[], float]:
    body = parse.page(80_000, 60)
    return lambda: parse.seconds(lambda: html.parse_html(body, parse.TYPE), calls, 1) * 1e6


# Of twelve links on real pages five begin with '/', four name their own host and two another one.
_HREFS = (
    *["/section/{}/{}.html"] * 5,
    *["https://www.example.com/section/{}/{}/"] * 4,
    *["https://social.test/share/{}?u={}", "https://www.partner.example/{}/{}"],
    "../topic/{}-{}",
)


def joining(pages: int) -> Callable[[], float]:
    many = [[_HREFS[i % len(_HREFS)].format(page, i) for i in range(60)] for page in range(pages)]
    return lambda: parse.seconds(lambda: parse._send(many), 1, 1) / pages * 1e6


def hashing(calls: int) -> Callable[[], float]:
    text = html.parse_html(parse.page(80_000, 60), parse.TYPE).text[:5_000]
    return lambda: parse.seconds(lambda: simhash.simhash(text), calls, 1) * 1e6


class Receiving:
    """Every host is asked once, so that each is a new one."""

    def __init__(self, ports: list[int], pairs: int) -> None:
        self._ports, self._pairs = ports, pairs
        self._first = 0

    def __call__(self) -> float:
        run = fetch.Run(self._ports, https=False, names=False)
        used = run.measure(self._first, self._pairs, 200)
        self._first += self._pairs
        run.close()
        assert run.failed == 0
        return used


def compare(what: str, work: Callable[[], float], builds: tuple[Build, Build], rounds: int) -> None:
    figures: dict[str, list[float]] = {build.name: [] for build in builds}
    for number in range(rounds + 1):
        for build in builds if number % 2 else reversed(builds):
            build.use()
            figures[build.name].append(work())
    first, second = (figures[build.name][1:] for build in builds)  # the first round warms up
    ratio = median(b / a for a, b in zip(first, second, strict=True))
    one, two = (f"{build.name} {median(figures[build.name][1:]):7.0f} us" for build in builds)
    print(f"{what:34}{one}   {two}   ratio {ratio:.3f}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a single round, only to see it run")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--against", type=Path, metavar="DIR", help="a folder with another build")
    chosen = options.parse_args()
    small = chosen.quick
    rounds = 1 if small else chosen.rounds
    builds = (installed(), other(chosen.against) if chosen.against else PYTHON)
    gc.set_threshold(100_000, 50, 100)  # as in an engine
    runs.raise_file_limit()
    compare("a page of 80 KB", reading(1 if small else 20), builds, rounds)
    compare("60 links of a page", joining(5 if small else 200), builds, rounds)
    compare("5,000 characters of text", hashing(1 if small else 50), builds, rounds)
    with tempfile.TemporaryDirectory() as folder:
        certificate = str(Path(folder) / "bench.pem")
        fetch._certificate(certificate)
        command = [sys.executable, fetch.__file__, "--serve", certificate]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            ports = [int(word) for word in server.stdout.readline().split()]
            work = Receiving(ports, 50 if small else 2_000)
            compare("robots.txt and a page received", work, builds, rounds)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
