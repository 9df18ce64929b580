"""`lycosa demo`: crawls a small simulated web on loopback, then checks and shows what it did.

The demo runs the same engines as a crawl of the real web, with a short delay; a name server and
ports of the simulated web lead them to this machine. It removes nothing but an earlier demo, which
it recognises by a file (`MARK`).
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa import ownfiles
from lycosa.called import called, pip_install
from lycosa.commands.beside import dashboard_beside, wait_for_key
from lycosa.commands.which_crawl import opened
from lycosa.errors import UserError
from lycosa.frontier.filters import Filter
from lycosa.outcomes import Outcome
from lycosa.settings.collect import Values
from lycosa.settings.options import parse_nameserver, parse_port_map
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits, cores

if TYPE_CHECKING:
    from lycosa.simweb.check import Report
    from lycosa.simweb.spec import WorldSpec

MARK = "this-is-a-lycosa-demo"  # a directory with this file may be removed by the next demo
# Behaviours that would keep the demo waiting without showing anything new.
_QUIET = {"robots-500": 0.0, "robots-503": 0.0, "robots-slow": 0.0, "servfail": 0.0}
_MAX_SECONDS = 50.0  # the demo ends earlier by itself, unless something is wrong


def demo(values: Values, _: list[str]) -> int:
    """Serve a simulated web, crawl it, check the crawl against the web's own log."""
    root: Path = values["data-dir"]
    prepare(root)
    from lycosa.log import setup
    from lycosa.node.supervisor import run_crawl
    from lycosa.simweb.certs import available
    from lycosa.simweb.serve import SimWeb

    setup(values["log-level"], values["log-format"])
    delay: float = values["delay"]
    spec = demo_spec(values["domains"], values["pages"], delay)
    if not available():
        _say(f"Over http only: https needs a package ({pip_install('cryptography')}).")
        spec = replace(spec, https=0.0)
    _say(f"Starting a simulated web of {spec.domains:,} domains on this machine ...")
    with dashboard_beside(values, root, "sqlite") as shown:
        with SimWeb(spec, root / "simweb") as web:
            seeds = root / "seeds.txt"
            ownfiles.write(seeds, web.seed_lines())
            crawl = CrawlSettings(email="demo@example.org", delay=delay, ip_delay=0.0)
            node = _node(values, root, web.nameserver, web.port_map)
            code = run_crawl(crawl, node, RunLimits(max_duration=_MAX_SECONDS), [str(seeds)], False)
        # After the end of the servers, so that their logs are complete.
        report = web.check(delay)
        print(verdict(report))
        print("\n".join(hints(root, _example(values))))
        if shown and sys.stdin.isatty() and sys.stdout.isatty():
            print(f"\nThe dashboard stays at {shown}\nuntil you press a key.", flush=True)
            wait_for_key()
    return code or (0 if report.ok else 1)


def prepare(root: Path) -> None:
    """An empty, marked directory: made, or emptied if an earlier demo left it."""
    if root.exists() and not root.is_dir():
        raise UserError(f"{root} is not a directory: name another with --data-dir.")
    if root.exists() and any(root.iterdir()):
        if not (root / MARK).is_file():
            raise UserError(f"{root} is not a demo of lycosa: name another with --data-dir.")
        shutil.rmtree(root)
    root.mkdir(mode=ownfiles.DIRECTORY, parents=True, exist_ok=True)
    ownfiles.write(root / MARK, b"Made by the demo of lycosa, and removed by the next one.\n")


def demo_spec(domains: int, pages: int, delay: float) -> WorldSpec:
    """A little of everything that the web does, except what only takes time."""
    from lycosa.simweb.spec import WorldSpec

    spec = WorldSpec(domains=domains, pages=pages, delay=delay, links=20, page_bytes=8_000)
    return spec.with_mix(_QUIET)


def _node(values: Values, root: Path, nameserver: str, port_map: str) -> NodeSettings:
    return NodeSettings(
        data_dir=root,
        max_workers=200,
        engines=min(2, cores()),
        min_free_disk=0,  # it is small, and a demo that waits shows nothing
        allow_private=True,
        only_network=("127.0.0.0/8",),
        nameservers=(parse_nameserver(nameserver),),
        port_map=parse_port_map(port_map),
        log_level=values["log-level"],
        log_format=values["log-format"],
        log_interval=values["log-interval"],
        view=values["view"],
    )


def _example(values: Values) -> str:
    """A page that was kept."""
    with opened(Values({**values.by_name, "store": "sqlite"}, values.given)) as reader:
        return next(
            (row.url for row in reader.pages(Filter(outcomes=(Outcome.OK,)), limit=1)), "URL"
        )


def verdict(report: Report) -> str:
    """What the simulated web saw of the crawler."""
    seen = (
        f"The web's own log has {report.requests:,} requests in {report.visits:,} visits to"
        f" {report.domains:,} domains"
    )
    if report.ok:
        return f"{seen}: each one allowed by robots.txt, none too soon."
    return f"{seen}.\n{report.text()}"


def hints(root: Path, url: str) -> list[str]:
    """What to try next."""
    where = ("--data-dir", root)
    return [
        "",
        "Look at it:",
        f"  {called('status', *where)}",
        f"  {called('pages', *where, '--limit', 5)}",
        f"  {called('show', *where, url)}",
        f"  zstdcat {root}/text/*.jsonl.zst | jq -r .title | head",
    ]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
