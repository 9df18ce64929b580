"""Lines of figures with everything that a real crawl has, and what Prometheus makes of them."""

from __future__ import annotations

from typing import Any

from lycosa.engine import summaries
from lycosa.engine.notes import EngineNotes
from lycosa.metrics import Stats
from lycosa.node.display import Snapshot
from lycosa.node.figures import Moment, SeenEngine, line_of
from lycosa.node.rollup import merged
from lycosa.records import PageRow, Response, Url
from support.made import made_request

DOMAIN = "some-site.test"


def line(node: str = "", pages: int = 5, state: str = "running") -> dict[str, Any]:
    stats = Stats(
        pages=pages,
        visits=pages,
        polite_visits=pages,
        outcomes={"ok": pages, "timeout": 1},
        labels={"content": pages},
        languages={"en": pages},
        types={"text/html": pages},
        drops={"depth": 2},
        retries={"dns": 1},
    )
    shown = Snapshot(queued=70, domains=7, pages_per_s=2.5, limiting="politeness: 7 domains / 70 s")
    moment = Moment(
        1_794_960_000.0, node, 1_794_950_000.0, state, shown, 70.0,
        disk={"text": 10, "store": 20}, disk_free=1000,
        politeness={"visits": pages, "least": 70.5, "needed": 70.0, "violations": 0},
    )  # fmt: skip
    return line_of(stats, moment, [SeenEngine(0, 1, stats, 33)])


def now(*lines: dict[str, Any]) -> dict[str, Any]:
    """With summaries that name a domain."""
    notes = EngineNotes()
    response = Response(made_request(f"https://{DOMAIN}/"), 200, started=1.0, ended=1.25)
    response.connect, response.tls, response.first_byte = 0.01, 0.02, 0.2
    notes.fetched(response)
    notes.looked_up(0.004)
    notes.parsed(0.002)
    notes.exchanged(0.1, 0.01)
    notes.rows([PageRow(1, 2, Url(f"https://{DOMAIN}/"), 0, 0, 1, 200, "ok", wire_bytes=9000)])
    return {**summaries.merged([notes.summary(2.0)]), **merged(lines)}


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    from prometheus_client import parser

    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text.decode())
        for sample in family.samples
    }
