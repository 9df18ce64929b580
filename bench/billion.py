"""Computes what a billion pages a day need: cores, servers, disks, bandwidth, money.

    python bench/billion.py                       # the tables of docs/cluster.md
    python bench/billion.py --pages 100000000     # a tenth of it
    python bench/billion.py --prices my.toml      # NAME = VALUE: any of the assumptions below

Measured figures come from docs/performance.md by way of `capacity/inputs.py`; all that is assumed
stands in the two tables below and is printed with its reason. PRICES are list prices as the author
remembers them: nobody looked them up, and whoever plans puts in those of the day. The crawl has to
be split by domain into several, each with a server of its own (docs/cluster.md, Several servers).
"""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from capacity.inputs import CRAWL, HARDWARE, SERVER, Assumed, Measured

DAY = 86_400

WEB = {
    "delay": Assumed(70, "s", "the default of lycosa"),
    "https": Assumed(0.9, "of all pages", "most sites today"),
    "visits": Assumed(1.25, "a page", "redirects to other hosts, failures, robots.txt alone"),
    "visit seconds": Assumed(3, "s", "a visit in the mean, slow and dead hosts included"),
    "received": Assumed(40, "KB a visit", "a packed page, headers, TLS, a share of robots.txt"),
    "sent": Assumed(3, "KB a visit", "two requests, a TLS handshake, acknowledgements"),
    "text": Assumed(2.0, "KB a page", "4,000 characters, packed by zstd in frames of many pages"),
    "known URLs": Assumed(50e9, "URLs", "queued at most: 50 M domains with 1,000 each"),
    "days": Assumed(30, "days", "that such a crawl goes on"),
}
PRICES = {
    "node": Assumed(0.68, "$/h", "16 virtual cores, 32 GB: AWS c6i.4xlarge, us-east-1, 2025"),
    "server": Assumed(2.75, "$/h", "32 virtual cores, 256 GB, 7.5 TB NVMe: i4i.8xlarge, the same"),
    "text store": Assumed(0.023, "$/GB a month", "S3 standard, us-east-1, 2025"),
    "traffic out": Assumed(0.06, "$/GB", "a mean of AWS's steps at 100 TB a month, 2025"),
    "traffic in": Assumed(0.0, "$/GB", "free at AWS"),
}
NODE_CORES, NODE_GB = 16, 32
SERVER_CORES, SERVER_TB = 32, 7.5
LEAST_SERVERS = 4  # so that one may restart, and vacuum has room
HOURS = 730  # of a month

Inputs = Mapping[str, Assumed]


@dataclass
class Table:
    """Lines of what, how much, and from what it follows."""

    title: str
    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, amount: str, how: str) -> None:
        self.lines.append((what, amount, how))

    def show(self) -> str:
        rows = [f"| {what} | {amount} | {how} |" for what, amount, how in self.lines]
        return "\n".join([f"| {self.title} | | from |", "| --- | --- | --- |", *rows])


def inputs(web: Inputs, prices: Inputs) -> Table:
    """All that the computation begins with."""
    table = Table("what it begins with")
    cold = SERVER["cold"]
    measured: dict[str, Measured] = {
        "engine, a page over https": CRAWL["https"],
        "engine, a page over http": CRAWL["http"],
        "memory of an engine, 5,000 in flight": CRAWL["in flight"],
        "server, a page, cold": cold["server"],
        "server, reads a page, cold": cold["reads"],
        "server, written a page, cold": cold["written"],
        "server, of it log": cold["log"],
        "a queued URL": CRAWL["a URL"],
        "rows of `pages`, a queued URL": CRAWL["a page row"],
        "new links": CRAWL["new links"],
    }
    needed = {
        name: HARDWARE[name] for name in ("busy cores", "slow hours", "disk write", "disk reads")
    }
    figures: dict[str, Measured | Assumed] = {**measured, **web, **needed, **prices}
    for name, figure in figures.items():
        table.add(name, f"{figure.value:,.12g} {figure.unit}", figure.source())
    return table


@dataclass(frozen=True)
class Load:
    """Rates that everything follows from."""

    pages: float  # a second
    visits: float
    domains: float  # visited all the time
    flying: float  # visits under way

    @staticmethod
    def of(pages_a_day: float, web: Inputs) -> Load:
        pages = pages_a_day / DAY
        visits = pages * web["visits"].value
        seconds = web["visit seconds"].value
        return Load(pages, visits, visits * (web["delay"].value + seconds), visits * seconds)


@dataclass(frozen=True)
class Machines:
    nodes: int
    servers: int


def nodes_of(load: Load, web: Inputs, table: Table) -> int:
    share, busy = web["https"].value, HARDWARE["busy cores"].value
    page = share * CRAWL["https"].value + (1 - share) * CRAWL["http"].value
    slow = HARDWARE["slow hours"].value
    working = load.visits * page * slow / 1e6
    cores = working / busy
    table.add(
        "cores of nodes", f"{cores:,.0f}",
        f"{load.visits:,.0f} visits/s × {page:,.0f} µs × {slow} for slow hours, {busy:.0%} busy;"
        " every visit is counted as a page",
    )  # fmt: skip
    nodes = math.ceil(cores / NODE_CORES) + 1
    table.add("nodes", f"{nodes}", f"of {NODE_CORES} cores, one engine each core, and one to spare")
    engines, held = nodes * NODE_CORES, load.domains
    table.add("engines", f"{engines}", f"each {load.pages / engines:,.0f} pages/s")
    memory = max(1.0, load.flying / engines / 5_000) * CRAWL["in flight"].value * NODE_CORES / 1000
    table.add(
        "memory of a node", f"{memory:.1f} of {NODE_GB} GB",
        f"{load.flying / engines:,.0f} visits under way and {held / engines:,.0f} domains held by"
        " an engine; measured with 5,000 under way and no more domains than these",
    )  # fmt: skip
    return nodes


def servers_of(load: Load, web: Inputs, table: Table) -> int:
    cold = {name: figure.value for name, figure in SERVER["cold"].items()}
    busy, slow = HARDWARE["busy cores"].value, HARDWARE["slow hours"].value
    each, days = f"{load.visits:,.0f} visits/s × ", web["days"].value
    cores = load.visits * cold["server"] * slow / 1e6 / busy
    written, reads = load.visits * cold["written"] / 1000, load.visits * cold["reads"]
    urls = web["known URLs"].value * CRAWL["a URL"].value / 1e12
    row = CRAWL["a page row"].value / CRAWL["done"].value * 100
    rows = load.visits * DAY * row / 1e12
    how = f"{each}{cold['server']:.0f} µs × {slow}, {busy:.0%} busy, all caches cold"
    table.add("cores of servers", f"{cores:.1f}", how)
    how = f"{each}{cold['written']} KB, cold; {cold['log']} KB of it log"
    table.add(
        "written by servers", f"{written:,.0f} MB/s, {written * DAY / 1e6:,.0f} TB a day", how
    )
    table.add("reads", f"{reads:,.0f} a second", f"{each}{cold['reads']}, cold")
    how = f"{web['known URLs'].value / 1e9:.0f} billion × {CRAWL['a URL'].value} bytes"
    table.add("queued URLs", f"{urls:,.1f} TB", how)
    how = f"a row for every visit, {row:.0f} bytes: {CRAWL['a page row'].value} a queued URL, where"
    how += f" {CRAWL['done'].value:.0f} % as many are done"
    amount = f"{rows * 1000:,.0f} GB a day, {rows * days:,.1f} TB in {days:.0f} days"
    table.add("rows of `pages`", amount, how)
    full = {
        "CPU": cores / SERVER_CORES,
        "bytes written": written / HARDWARE["disk write"].value,
        "reads": reads / HARDWARE["disk reads"].value,
        "URLs on disk": urls / (SERVER_TB * busy),
        "rows of `pages` on disk": rows * days / (SERVER_TB * busy),
    }
    on_disk = full["URLs on disk"] + full["rows of `pages` on disk"]
    servers = max(LEAST_SERVERS, math.ceil(max(*full.values(), on_disk)))
    how = f"of {SERVER_CORES} cores and {SERVER_TB} TB, {load.visits / servers:,.0f} visits/s each;"
    how += " in servers: " + ", ".join(f"{name} {need:.2f}" for name, need in full.items())
    how += f"; at least {LEAST_SERVERS}, so that one may restart"
    table.add("servers", f"{servers}", how)
    table.add("standbys", f"{servers}", "one for each: a lost server is a lost part of the crawl")
    return servers


def computed(pages_a_day: float, web: Inputs) -> tuple[Table, Load, Machines]:
    load, table = Load.of(pages_a_day, web), Table("a day of so many pages needs")
    value = {name: figure.value for name, figure in web.items()}
    table.add("pages", f"{load.pages:,.0f} a second", f"{pages_a_day:,.0f} a day")
    table.add("visits", f"{load.visits:,.0f} a second", f"{value['visits']} a page")
    how = (
        f"each has one visit in {value['delay']:.0f} s and its own {value['visit seconds']:.0f} s;"
    )
    how += " with fewer domains the crawl is slower, whatever the machines"
    table.add("domains visited all the time", f"{load.domains:,.0f}", how)
    nodes = nodes_of(load, web, table)
    servers = servers_of(load, web, table)
    into, out = (load.visits * value[name] / 1e6 * 8 for name in ("received", "sent"))
    how = f"{value['received']:.0f} and {value['sent']:.0f} KB a visit"
    table.add("bandwidth", f"{into:.1f} Gbit/s in, {out:.2f} out", how)
    text = pages_a_day * value["text"] / 1e9
    table.add("kept text", f"{text:,.1f} TB a day", f"{value['text']} KB a page")
    new = pages_a_day * CRAWL["new links"].value / 1e9
    how = f"{CRAWL['new links'].value} a page while a crawl is young; caps bound the queue"
    table.add("new links", f"{new:,.0f} billion a day", how)
    return table, load, Machines(nodes, servers)


def money(load: Load, machines: Machines, web: Inputs, prices: Inputs) -> Table:
    """Of a month at list prices, and of a million pages."""
    table = Table("a month of 730 hours costs")
    seconds, price = HOURS * 3600, {name: figure.value for name, figure in prices.items()}
    sent, received = (
        load.visits * web[name].value * seconds / 1e6 for name in ("sent", "received")
    )
    text = load.pages * web["text"].value * seconds / 1e6  # GB, as those before
    count = 2 * machines.servers
    bought = (
        ("nodes", machines.nodes * HOURS, "node", f"{machines.nodes}"),
        ("servers and standbys", count * HOURS, "server", f"{count}"),
        ("traffic out", sent, "traffic out", f"{sent / 1000:,.0f} TB"),
        ("traffic in", received, "traffic in", f"{received / 1000:,.0f} TB"),
        ("text of the month, kept for a month", text, "text store", f"{text / 1000:,.0f} TB"),
    )
    total = 0.0
    for name, amount, unit, told in bought:
        total += amount * price[unit]
        how = f"{told} × {price[unit]:g} {prices[unit].unit}"
        table.add(name, f"$ {amount * price[unit]:,.0f}", how)
    how = "on demand, without discounts, at list prices as the author remembers them"
    table.add("together", f"$ {total:,.0f}", how)
    pages = load.pages * seconds
    table.add(
        "a million pages", f"$ {total / pages * 1e6:.2f}", f"{pages / 1e9:,.1f} billion pages"
    )
    return table


def tables(pages_a_day: float, web: Inputs, prices: Inputs) -> str:
    """What is printed, and stands in docs/cluster.md."""
    needs, load, machines = computed(pages_a_day, web)
    found = (needs, money(load, machines, web, prices), inputs(web, prices))
    return "\n\n".join(table.show() for table in found)


def replaced(table: Inputs, own: Mapping[str, float]) -> Inputs:
    return {
        name: figure._replace(value=own[name], why="yours") if name in own else figure
        for name, figure in table.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=float, default=1e9, help="a day")
    parser.add_argument("--prices", type=Path, help="a TOML file with assumptions of your own")
    parser.add_argument("--quick", action="store_true", help="changes nothing: it is quick")
    args = parser.parse_args()
    own = tomllib.loads(args.prices.read_text()) if args.prices else {}
    unknown = sorted(set(own) - set(WEB) - set(PRICES))
    if unknown:
        parser.error(f"no assumption is called {', '.join(unknown)}")
    print(tables(args.pages, replaced(WEB, own), replaced(PRICES, own)))


if __name__ == "__main__":
    main()
