"""Measures what the frontier costs per page, on stores that hold millions of queued URLs.

    python bench/frontier.py                          # both stores, 1 M URLs
    python bench/frontier.py --store sqlite --urls 1000000 10000000 40000000 --dir /var/tmp/stores
    python bench/frontier.py --against ../before --repeats 3 --dir /var/tmp/stores
    python bench/frontier.py --crawl --store postgres --urls 10000000 --seconds 90
    python bench/frontier.py --quick                  # a few seconds, figures mean nothing

The load has the shape of real sites (`stores/world.py`): 100 links a page, 34 of them new and 5 to
other domains, sizes of sites by a Pareto law, half of the domains finished, ids from the real hash.
The store is filled and driven through its verbs alone, in the pattern of an engine: lease domains,
commit a page of each, give most domains back, refill the others. Every domain is given back after
a visit or two, as when more domains wait than an engine holds: per page that is the dearest case.
The time to make up the pages is not counted.

With --against another checkout (its C modules compiled) is measured in turns with this one, each on
copies of a store that it filled itself. With --dir the filled stores are kept; --fill ends after
filling. With --crawl two engines of the real program work on a filled server, and the server is
watched. PostgreSQL comes from the wheel that the tests use.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from measure import runs
from stores import ancestor, engines
from stores.stores import PostgresStore, Store, copied
from stores.turns import Code, Figures, Plan, contents, filled, medians, turn

BATCH = 500
HEAD = (
    f"  {'':38} client  server    lock (cpu)  written   log  reads (log) KB read"
    "    lease /  p99    commit /  p99  pages/s  links  sent   new  pages  ref"
)
COMPARED = ("client", "server", "lock", "lock cpu", "written", "log", "reads", "commit", "pages/s")


def show(label: str, f: Figures) -> None:
    print(
        f"  {label:<38} {f['client']:6.0f} {f['server']:7.0f}"
        f" {f['lock']:7.0f} ({f['lock cpu']:4.0f})"
        f" {f['written']:7.1f} {f['log']:5.1f} {f['reads']:6.1f} ({f['log reads']:3.1f})"
        f" {f['read']:7.1f}"
        f" {f['lease']:8.1f} /{f['lease p99']:5.0f} {f['commit']:9.1f} /{f['commit p99']:5.0f}"
        f" {f['pages/s']:8.0f} {f['links']:6.1f} {f['sent']:5.1f} {f['new']:5.1f}"
        f" {f['pages']:6.0f} {f['reference']:4.0f}",
        flush=True,
    )


def show_ratios(label: str, other: Figures, ours: Figures) -> None:
    """How many times as much the other checkout takes."""
    ratios = (f"{name} {other[name] / ours[name]:.2f}" for name in COMPARED if ours[name])
    print(f"  {label:<38} {', '.join(ratios)}", flush=True)


def tell_contents(code: Code, store: Store) -> None:
    told = contents(store)
    sizes: dict[str, int] = told["sizes"]
    each = {name: size / told["queued"] for name, size in sizes.items()}
    most = sorted(each, key=each.__getitem__, reverse=True)[:8]
    parts = ", ".join(f"{name} {each[name]:.1f}" for name in most if each[name] >= 0.05)
    print(
        f"  {code.label}: {told['queued']:,} URLs queued in {told['domains']:,} domains, filled in"
        f" {told['seconds']:.0f} s; {sum(each.values()):.1f} bytes a queued URL: {parts}",
        flush=True,
    )


def measure(args: argparse.Namespace, codes: list[Code], kind: str, root: Path, plan: Plan) -> None:
    """All checkouts by turns, again and again, so that a slow minute hits each."""
    sources = {}
    for code in codes:
        sources[code] = filled(code, root, kind, plan, any_code=args.filled_before)
        tell_contents(code, sources[code])
    if args.fill:
        return
    found: dict[Code, list[dict[str, Figures]]] = {code: [] for code in codes}
    for _ in range(args.repeats):
        for code in codes:
            with runs.turn(args.lock):
                found[code].append(turn(code, sources[code], plan))
    middle = {code: medians(turns) for code, turns in found.items()}
    print(HEAD)
    for name in middle[codes[0]]:
        for code in codes:
            show(f"{name}, {code.label}" if len(codes) > 1 else name, middle[code][name])
        for code in codes[:-1]:
            show_ratios(f"{name}, {code.label} / ours", middle[code][name], middle[codes[-1]][name])


def crawl(args: argparse.Namespace, code: Code, root: Path, plan: Plan) -> None:
    """The real program, or the ancestor's query, on a filled server."""
    source = filled(code, root, "postgres", plan, any_code=args.filled_before)
    store = copied(source, root / f"crawl-{os.getpid()}")
    assert isinstance(store, PostgresStore)
    store.start()
    try:
        print(f"  {store.server.settings()}")
        if args.crawl:
            print(engines.measure(store.server, plan, args.seconds, 2, args.workers))
        if args.ancestor:
            ancestor.show(store.server, plan.urls, args.seconds)
    finally:
        store.stop()
        shutil.rmtree(store.folder)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--urls", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--engines", type=int, nargs="+", default=[1, 2, 4], help="at once")
    parser.add_argument("--batches", type=int, default=16, help="committed warm; cold a quarter")
    parser.add_argument("--batch", type=int, default=BATCH, help="pages per commit")
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=1, help="turns, of which medians are shown")
    parser.add_argument("--dir", type=Path, help="keep the filled stores here")
    parser.add_argument("--fill", action="store_true", help="only fill")
    parser.add_argument(
        "--filled-before", action="store_true", help="stores that older code filled will do"
    )
    parser.add_argument("--crawl", action="store_true", help="run the real program on PostgreSQL")
    parser.add_argument("--seconds", type=float, default=20.0, help="of --crawl and --ancestor")
    parser.add_argument("--workers", type=int, default=5000, help="fetches at once, with --crawl")
    parser.add_argument("--ancestor", action="store_true", help="claims per URL, on PostgreSQL")
    parser.add_argument("--lock", type=Path, help="a file that is locked during each turn")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.urls, args.batches, args.batch, args.engines = [3_000], 2, 20, [1, 2]
    return args


def main() -> None:
    args = arguments()
    codes = [Code("ours", Path(__file__).parents[1])]
    if args.against:
        codes.insert(0, Code("before", args.against.resolve()))
    root = args.dir or Path(tempfile.mkdtemp(prefix="lycosa-bench-"))
    root.mkdir(parents=True, exist_ok=True)
    try:
        for urls in args.urls:
            plan = Plan(urls, args.batch, args.batches, tuple(args.engines), not args.quick)
            if args.crawl or args.ancestor:
                crawl(args, codes[-1], root, plan)
                continue
            for kind in ("sqlite", "postgres") if args.store == "both" else (args.store,):
                print(f"{kind}, about {urls:,} URLs; us, KB and reads per page; ms", flush=True)
                measure(args, codes, kind, root, plan)
    finally:
        if args.dir is None:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
