"""The command line of the simulated web: serve, seeds, check.

Owns its flags and their help. `main` returns the exit code: 0 fine, 1 violations found, 2 a
mistake in the command.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

from lycosa import ownfiles
from lycosa.called import NAME, called
from lycosa.errors import UserError
from lycosa.simweb import serve
from lycosa.simweb.check import check
from lycosa.simweb.reqlog import SPEC_FILE, read_log
from lycosa.simweb.spec import DEFAULT_MIX, WorldSpec
from lycosa.simweb.world import World

_ABOUT = """\
A web on your own machine: thousands of domains with pages, links, robots.txt files, redirects and
faults of every kind, the same for the same seed. Rehearse a crawl here before you run it on the
real web, and let `check` prove from the server's log that it was polite."""

_SERVE = """\
Serves a web until Ctrl-C, and prints the command that crawls it. All traffic stays on 127.x
addresses; no special rights are needed. Every request is logged in LOGDIR, for `check`."""

_CHECK = """\
Reads the log in LOGDIR and proves: between two visits of a domain lies the delay, or more if its
robots.txt asked for more (P1); no two requests to a domain overlap (P2); no page was requested
without a robots.txt that allows it (P3). Exit code 1 if a rule was broken."""

_HELP = {
    "seed": "another seed is another web",
    "domains": "number of domains",
    "pages": "ordinary pages per domain: the mean, exact with --plain",
    "page_bytes": "mean size of a page's HTML",
    "links": "links per page",
    "out_links": "share of links that leave the domain",
    "https": "share of domains that speak https; the others refuse it",
    "delay": "seconds: the delay you will crawl with; Crawl-delays are 1 to 3 times this",
    "latency_ms": "milliseconds that every response is held",
    "slow": "share of domains that hold every response for --slow-seconds",
    "slow_seconds": "seconds",
    "plain": "ordinary sites only, with exact page counts: for measurements",
    "real": "sizes, menus, paths and links as real sites have them; --pages is the smallest site",
    "languages": "write the pages of a domain in the language that it declares, one of eight",
    "hostile": "add hosts that attack: endless bodies, bombs, traps",
    "malice": "add so many hosts with random hostile answers",
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[:1].upper()}{message[1:].rstrip('.')} (see '{self.prog} -h').")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command."""
    try:
        options = _parser().parse_args(argv)
        code: int = options.run(options)
    except UserError as error:
        print(f"{NAME} simweb: {error}", file=sys.stderr)
        return 2
    return code


def _parser() -> _Parser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(called("simweb"), description=_ABOUT, formatter_class=raw)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serving = commands.add_parser(
        "serve", help="serve a web until Ctrl-C", description=_SERVE, formatter_class=raw
    )
    serving.add_argument("log_dir", metavar="LOGDIR", type=Path, help="made if it is not there")
    serving.add_argument("--processes", type=_up_to(64), default=1, help="server processes (1)")
    serving.add_argument(
        "--addresses", type=_up_to(60_000), default=64, help="addresses per group (64)"
    )
    serving.add_argument("--ports", type=_ports, help="HTTP,HTTPS,DNS instead of free ones")
    serving.add_argument("--verifiable", action="store_true", help="a certificate per domain")
    serving.add_argument(
        "--seeds", type=Path, help="write the domains' names to this file (LOGDIR/seeds.txt)"
    )
    _world_flags(serving)
    serving.set_defaults(run=_serve)
    seeds = commands.add_parser("seeds", help="print the names of all domains")
    _world_flags(seeds)
    seeds.set_defaults(run=_seeds)
    checking = commands.add_parser(
        "check", help="judge a crawl by the log", description=_CHECK, formatter_class=raw
    )
    checking.add_argument("log_dir", metavar="LOGDIR", type=Path)
    checking.add_argument("--delay", type=float, required=True, help="seconds between visits")
    checking.add_argument("--tolerance", type=float, default=0.005, help="seconds (0.005)")
    checking.set_defaults(run=_check)
    commands.add_parser("child").set_defaults(run=lambda _: serve.child())
    return parser


def _world_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the web")
    for field in fields(WorldSpec):
        if field.name == "mix":
            continue
        flag, help_text = "--" + field.name.replace("_", "-"), _HELP[field.name]
        if isinstance(field.default, bool):
            group.add_argument(flag, action="store_true", help=help_text)
        else:
            kind = type(field.default)
            text = f"{help_text} ({field.default})"
            group.add_argument(flag, type=kind, default=field.default, help=text)
    known = ", ".join(f"{name}={share:g}" for name, share in DEFAULT_MIX.items())
    group.add_argument(
        "--mix",
        type=_mix,
        default={},
        metavar="NAME=SHARE,...",
        help=f"shares of behaviours; the default is {known}",
    )


def _up_to(most: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        number = int(text)
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not from 1 to {most}")
        return number

    return count


def _ports(text: str) -> tuple[int, int, int]:
    http, https, dns = map(int, text.split(","))
    return http, https, dns


def _mix(text: str) -> dict[str, float]:
    pairs = (part.split("=") for part in text.split(",") if part)
    return {name: float(share) for name, share in pairs}


def _spec(options: argparse.Namespace) -> WorldSpec:
    values = {field.name: getattr(options, field.name) for field in fields(WorldSpec)}
    mix = values.pop("mix")
    return WorldSpec(**values).with_mix(mix)


def _serve(options: argparse.Namespace) -> int:
    web = serve.SimWeb(
        _spec(options),
        options.log_dir,
        options.processes,
        options.addresses,
        ports=options.ports,
        verifiable=options.verifiable,
    )
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with web:
        seeds = options.seeds or options.log_dir / "seeds.txt"
        if options.seeds:
            web.write_seeds(seeds)
        else:
            ownfiles.write(seeds, web.seed_lines())
        print(f"{len(web.seeds())} domains. Crawl them with:")
        print(f"  {called('crawl', seeds)} --email you@example.org --delay {web.spec.delay:g} \\")
        print(f"    --port-map {web.port_map} --nameserver {web.nameserver} \\")
        print("    --allow-private-addresses --only-network 127.0.0.0/8")
        print("Ctrl-C ends it.", flush=True)
        stop.wait()
    return 0


def _seeds(options: argparse.Namespace) -> int:
    for name in World(_spec(options)).seeds():
        print(name)
    return 0


def _check(options: argparse.Namespace) -> int:
    try:
        spec = WorldSpec.load((options.log_dir / SPEC_FILE).read_text())
    except OSError as error:
        raise UserError(
            f"{options.log_dir} has no log of a simulated web: name the directory that 'serve' got."
        ) from error
    report = check(read_log(options.log_dir), World(spec), options.delay, options.tolerance)
    print(report.text())
    return 0 if report.ok else 1
