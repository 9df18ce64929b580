"""The figures of a crawl as Prometheus reads them. Pure: lines of a history in, bytes out.

Owns the names of metrics and their labels, which dashboards and alert rules rely on: they are added
to, never renamed (docs/usage.md). A label is an outcome, a reason, a cause, a kind or a node, and
never a domain or a URL: those have no bound. Needs the extra `dashboard`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from lycosa import __version__
from lycosa.node.rollup import HistoryLine
from lycosa.what_limits import LIMITS

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
STATES = ("loading", "running", "paused", "stopping", "finished", "stopped", "failed")
_MB = 1e6

# Of each node: name of the metric (a counter's gets `_total`), field of the line, meaning.
_COUNTERS = (
    ("lycosa_pages", "pages", "URLs that got a response, whatever its status"),
    ("lycosa_ok_pages", "ok", "Pages whose outcome is ok"),
    ("lycosa_real_pages", "real", "Pages whose label is content or listing"),
    ("lycosa_received_bytes", "bytes", "Bytes of page bodies as received"),
    ("lycosa_requests", "requests", "HTTP requests that were made"),
    ("lycosa_visits", "visits", "Visits of domains"),
    ("lycosa_failed_visits", "failed_visits", "Visits that brought no page"),
    ("lycosa_robots_fetched", "robots_fetched", "robots.txt files that were fetched"),
    ("lycosa_slow_pages", "slow_pages", "Pages that held an engine's loop for more than 50 ms"),
    ("lycosa_store_exchanges", "exchanges", "Exchanges of engines with the store"),
)
_TALLIES = (
    ("lycosa_outcomes", "outcomes", "outcome", "URLs that are done, by outcome"),
    ("lycosa_labels", "labels", "label", "Pages by label"),
    ("lycosa_languages", "languages", "language", "Ok pages by language"),
    ("lycosa_media_types", "types", "type", "Responses by media type"),
    ("lycosa_drops", "drops", "reason", "URLs that were refused before they were queued"),
    ("lycosa_retries", "retries", "cause", "Visits to be tried again, by cause"),
)
_GAUGES = (
    ("lycosa_pages_per_second", "pages_per_s", 1.0, "Pages a second over the last seconds"),
    ("lycosa_in_flight_fetches", "in_flight", 1.0, "Fetches that are under way"),
    ("lycosa_held_domains", "held", 1.0, "Domains that engines hold"),
    ("lycosa_ready_domains", "ready", 1.0, "Held domains that could be visited at once"),
    ("lycosa_pending_lookups", "dns_pending", 1.0, "Names that are being looked up"),
    ("lycosa_used_cores", "cpu", 1.0, "Cores that engines use"),
    ("lycosa_resident_memory_bytes", "rss_mb", _MB, "Memory of all engines"),
    ("lycosa_store_lag_seconds", "store_lag_s", 1.0, "How long an exchange with the store takes"),
    ("lycosa_longest_turn_seconds", "loop_max_ms", 1e-3, "Longest turn of a loop, lately"),
    ("lycosa_disk_free_bytes", "disk_free", 1.0, "Bytes that may still be written"),
    ("lycosa_run_start_timestamp_seconds", "run", 1.0, "When the run began"),
    ("lycosa_line_timestamp_seconds", "at", 1.0, "When these figures were written"),
)
# Of the whole crawl.
_WHOLE = (
    ("lycosa_queued_urls", "queued", "URLs that are queued in the whole crawl"),
    ("lycosa_active_domains", "domains", "Domains with something left to fetch"),
    (
        "lycosa_ceiling_pages_per_second",
        "ceiling",
        "Pages a second that politeness allows: active domains by delay",
    ),
    ("lycosa_delay_seconds", "delay", "The delay between visits of a domain"),
    ("lycosa_page_limit", "page_limit", "Pages at which the run ends; 0 for no limit"),
)
_PHASES = {
    "dns": "Look-ups of names",
    "connect": "TCP connections",
    "tls": "TLS handshakes",
    "first_byte": "From the request to the first byte of the answer",
    "fetch": "Whole fetches",
    "parse": "CPU time of pages in the engine's loop",
    "commit": "Commits to the store",
    "lease": "Leases of domains from the store",
}


def exposition(now: dict[str, Any] | None, nodes: list[HistoryLine]) -> bytes:
    """All metrics in Prometheus' text format. `now` and `nodes` as `reading/history` gives them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Found(list(families(now, nodes))))
    return generate_latest(registry)


class _Found(Collector):
    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def families(now: dict[str, Any] | None, nodes: list[HistoryLine]) -> Iterator[Metric]:
    """Every metric with its values."""
    build = GaugeMetricFamily("lycosa_build_info", "Version of lycosa", labels=["version"])
    build.add_metric([__version__], 1)
    yield build
    if now is None or not nodes:
        return
    for name, key, meaning in _WHOLE:
        if now.get(key) is not None:
            yield GaugeMetricFamily(name, meaning, value=now[key])
    yield from _per_node(nodes)
    yield from _histograms(now)


def _per_node(nodes: list[HistoryLine]) -> Iterator[Metric]:
    for name, key, meaning in _COUNTERS:
        yield _counter(name, meaning, ((_name(line), line.get(key, 0)) for line in nodes))
    for name, key, label, meaning in _TALLIES:
        tally = CounterMetricFamily(name, meaning, labels=["node", label])
        for line in nodes:
            for kind, number in sorted(line.get(key, {}).items()):
                tally.add_metric([_name(line), kind], number)
        yield tally
    yield _duplicates(nodes)
    for name, key, factor, meaning in _GAUGES:
        values = ((_name(line), line[key] * factor) for line in nodes if line.get(key) is not None)
        yield _gauge(name, meaning, values)
    yield _kinds("lycosa_disk_used_bytes", "Bytes on disk by kind", "kind", nodes, "disk")
    yield from _politeness(nodes)
    yield from _engines(nodes)
    silent = ((_name(line), float(line.get("silent", False))) for line in nodes)
    yield _gauge("lycosa_silent", "Whether a run was killed or hangs: it wrote no end", silent)
    yield _one_of("lycosa_limit", "What holds the speed now", "cause", nodes, "limit", (*LIMITS,))
    yield _one_of("lycosa_state", "How the run stands", "state", nodes, "state", STATES)


def _name(line: HistoryLine) -> str:
    return str(line.get("node", ""))


def _counter(name: str, meaning: str, values: Iterable[tuple[str, float]]) -> Metric:
    found = CounterMetricFamily(name, meaning, labels=["node"])
    for node, value in values:
        found.add_metric([node], value)
    return found


def _gauge(name: str, meaning: str, values: Iterable[tuple[str, float]]) -> Metric:
    found = GaugeMetricFamily(name, meaning, labels=["node"])
    for node, value in values:
        found.add_metric([node], value)
    return found


def _duplicates(nodes: list[HistoryLine]) -> Metric:
    meaning = "Pages whose text an earlier page had, or nearly had"
    found = CounterMetricFamily("lycosa_duplicates", meaning, labels=["node", "kind"])
    for line in nodes:
        found.add_metric([_name(line), "exact"], line.get("duplicates", 0))
        found.add_metric([_name(line), "near"], line.get("near_duplicates", 0))
    return found


def _kinds(name: str, meaning: str, label: str, nodes: list[HistoryLine], key: str) -> Metric:
    found = GaugeMetricFamily(name, meaning, labels=["node", label])
    for line in nodes:
        for kind, amount in line.get(key, {}).items():
            found.add_metric([_name(line), kind], amount)
    return found


def _one_of(
    name: str, meaning: str, label: str, nodes: list[HistoryLine], key: str, words: tuple[str, ...]
) -> Metric:
    """1 for the word that holds, 0 for all others, so that a change is seen at once."""
    found = GaugeMetricFamily(name, meaning, labels=["node", label])
    for line in nodes:
        holds = str(line.get(key, ""))
        for word in words if holds in words or not holds else (*words, holds):
            found.add_metric([_name(line), word], float(word == holds))
    return found


def _politeness(nodes: list[HistoryLine]) -> Iterator[Metric]:
    told = [(_name(line), line.get("politeness", {})) for line in nodes]
    for name, key, meaning in (
        ("lycosa_polite_visits", "visits", "Visits that began after the pause that was needed"),
        ("lycosa_politeness_violations", "violations", "Visits that began too early: should be 0"),
    ):
        yield _counter(name, meaning, ((node, part.get(key, 0)) for node, part in told))
    for name, key, meaning in (
        ("lycosa_least_pause_seconds", "least", "The pause that was nearest to what was needed"),
        ("lycosa_needed_pause_seconds", "needed", "The pause that was needed there"),
    ):
        seen = ((node, part[key]) for node, part in told if part.get(key) is not None)
        yield _gauge(name, meaning, seen)


def _engines(nodes: list[HistoryLine]) -> Iterator[Metric]:
    engines = [(_name(line), line.get("engines", [])) for line in nodes]
    yield _gauge(
        "lycosa_engines", "Engines that run", ((node, len(all_)) for node, all_ in engines)
    )
    files = ((node, sum(each.get("open_files", 0) for each in all_)) for node, all_ in engines)
    yield _gauge("lycosa_open_files", "Files that engines have open", files)


def _histograms(now: dict[str, Any]) -> Iterator[Metric]:
    for phase, meaning in _PHASES.items():
        found = now.get("durations", {}).get(phase)
        if found:
            bounds = [*map(str, found["le"]), "+Inf"]
            buckets = _cumulative(zip(bounds, found["n"], strict=True))
            name = f"lycosa_{phase}_duration_seconds"
            yield HistogramMetricFamily(name, meaning, buckets=buckets, sum_value=found["sum"])
    if sizes := now.get("sizes"):
        counted = [("+Inf" if bound == "more" else bound, n) for bound, n in sizes.items()]
        yield HistogramMetricFamily(
            "lycosa_response_size_bytes",
            "Bodies as received",
            buckets=_cumulative(counted),
            sum_value=float(now.get("bytes", 0)),
        )


def _cumulative(counts: Iterable[tuple[str, int]]) -> list[tuple[str, float]]:
    found, total = [], 0
    for bound, number in counts:
        total += number
        found.append((bound, float(total)))
    return found
