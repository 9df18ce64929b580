"""What limits the speed: which cause is named, and each by one name everywhere."""

import ast
import re
from pathlib import Path

import pytest

from lycosa.metrics import Stats
from lycosa.reference import limit_rows
from lycosa.what_limits import _CHECKS, LIMITS, Limit, limiting

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/lycosa"

BUSY = {"queued": 10_000, "held": 500, "domains": 700}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "politeness: 700 domains / 70 s"),
        ({"domains": 0}, "politeness: 500 domains / 70 s"),
        ({"domains": 1, "held": 1}, "politeness: 1 domain / 70 s"),
        ({"loading_seeds": True}, "seeds: they are still being loaded"),
        ({"loading_seeds": True, "ready": 100, "in_flight": 990}, "concurrency: 990 of 1,000"),
        ({"queued": 0, "held": 0, "domains": 700}, "queue: nothing is left to fetch"),
        ({"queued": 0, "held": 0, "uncommitted": 1}, "politeness"),
        ({"store_lag_s": 12.0, "cpu_share": 2.0}, "disk: the store is 12 s behind"),
        ({"cpu_share": 1.9, "in_flight": 1000, "ready": 50}, "CPU: 95 % of 2 cores used"),
        ({"cpu_share": 1.5}, "politeness"),
        ({"dns_pending": 400, "in_flight": 500}, "DNS: 400 of 500 fetches wait"),
        ({"dns_pending": 10, "in_flight": 12}, "politeness"),
        ({"in_flight": 1000, "ready": 50}, "concurrency: 1,000 of 1,000 fetches"),
        ({"bandwidth_wait": 0.9, "max_bandwidth": 10**6, "ready": 50}, "bandwidth: the 1.0 MB/s"),
        ({"in_flight": 1000, "ready": 0}, "politeness"),
        ({"in_flight": 900, "ready": 5}, "politeness"),
        ({"short_of_files": True, "in_flight": 200}, "open files: the system allows no more"),
    ],
)
def test_what_limits(changes: dict[str, object], line: str) -> None:
    stats = Stats.from_dict({"engines": 2, **BUSY, **changes})
    assert limiting(stats, delay=70, max_workers=1000).startswith(line)


def test_without_a_delay_the_sites_limit() -> None:
    told = limiting(Stats(queued=5, domains=3), 0, 1000)
    assert told == "politeness: 3 domains, one request each at a time"


READY = {"ready": 3000, "in_flight": 100, "cores": 2}


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        # The seven-minute crawl: others have the cores, and the loop is never idle.
        (
            {"cpu_share": 1.1, "loop_busy": 0.98, "core_wait": 0.5, "others_busy": 0.4},
            "CPU of others: other programs use 40 % of 2 cores, an engine waits 50 % of the",
        ),
        # Others have the cores, but nobody waits for them.
        (
            {"loop_busy": 0.98, "core_wait": 0.05, "others_busy": 0.8},
            "CPU: an engine has something",
        ),
        # The engines wait for each other's cores alone.
        (
            {"loop_busy": 0.95, "core_wait": 0.5, "others_busy": 0.05},
            "CPU: an engine has something",
        ),
        # The loop is idle: it is not the cores.
        ({"loop_busy": 0.3, "core_wait": 0.5, "others_busy": 0.9}, "nothing: 3,000 domains"),
        (
            {"loop_busy": 0.5, "store_wait": 0.4, "store_lag_s": 3.4},
            "store: engines wait for it 40 %",
        ),
        ({"loop_busy": 0.5, "store_wait": 0.1}, "nothing: 3,000 domains"),
        ({"short_of_memory": True, "bodies_mb": 512.0}, "memory: responses under way hold 512 MB"),
        ({"short_of_memory": True, "short_of_files": True, "loop_busy": 1.0}, "memory: "),
        ({"store_lag_s": 6.0, "short_of_memory": True}, "disk: "),
        ({"rate": 200.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, speeding up"),
        ({"rate": 100.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, 100 visits"),
        ({"rate": 50.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, 50 visits"),
    ],
)
def test_what_limits_while_domains_are_ready(figures: dict[str, object], line: str) -> None:
    """Of a crawl that has enough to do, it is never said that it speeds up when it does not."""
    known = set(Stats.__dataclass_fields__)
    assert set(figures) <= known, "figures that nobody measures"
    stats = Stats.from_dict({"engines": 2, **BUSY, **READY, **figures})
    assert limiting(stats, delay=70, max_workers=1000).startswith(line)


@pytest.mark.parametrize("rate", [0.0, 1.0, 504.0])
def test_a_steady_rate_is_no_speeding_up(rate: float) -> None:
    for ready in (11, 400, 3000, 100_000):
        stats = Stats(queued=10_000, held=ready, ready=ready, in_flight=100)
        for name in ("rate", "rate_before"):
            setattr(stats, name, rate) if hasattr(stats, name) else None
        assert "speeding up" not in limiting(stats, 70, 1000)


def test_one_address_that_many_wait_for_is_named() -> None:
    busy = {"192.0.2.7": 900, "192.0.2.8": 3}
    stats = Stats(held=1000, domains=20_113, queued=50_000, crowded=busy)
    told = limiting(stats, 70.0, 500)
    assert told == "one address: 900 domains wait for 192.0.2.7 (--ip-delay)"
    few = Stats(held=1000, domains=20_113, queued=50_000, crowded={"192.0.2.7": 30})
    assert limiting(few, 70.0, 500).startswith("politeness")
    merged = Stats.merge([stats, stats])
    assert merged.crowded == {"192.0.2.7": 1800, "192.0.2.8": 6}
    assert "1,800 domains wait for 192.0.2.7" in limiting(merged, 70.0, 500)


# -- one name for each ------------------------------------------------------------------------

NAMES = {value for name, value in vars(Limit).items() if name.isupper()}
# These mean nothing else; "disk" or "store" are words of their own.
UNIQUE = {Limit.CPU_OF_OTHERS, Limit.CPU, Limit.DNS, Limit.OPEN_FILES, Limit.CONCURRENCY}
UNIQUE |= {Limit.ADDRESS, Limit.POLITENESS}


def test_every_limit_is_looked_for_and_explained_in_order() -> None:
    assert list(LIMITS) == [*(name for name, _ in _CHECKS), Limit.POLITENESS]
    assert set(LIMITS) == NAMES


def test_the_words_for_limits_are_those_of_the_code() -> None:
    tuning = (ROOT / "docs/tuning.md").read_text("utf-8")
    head = "| line | meaning, and what helps |\n| --- | --- |\n"
    assert f"{head}{limit_rows()}\n" in tuning, "make them anew with: lycosa.reference.limit_rows"


EXAMPLES: list[tuple[str, dict[str, object]]] = [
    (Limit.PAUSED, {"paused": "user"}),
    (Limit.PAUSED, {"paused": "disk", "loading_seeds": True}),
    (Limit.SEEDS, {"loading_seeds": True}),
    (Limit.QUEUE, {"queued": 0, "held": 0}),
    (Limit.DISK, {"store_lag_s": 6.0}),
    (Limit.MEMORY, {"short_of_memory": True, "bodies_mb": 400.0}),
    (Limit.CPU_OF_OTHERS, {"loop_busy": 0.9, "core_wait": 0.5, "others_busy": 0.4, "cores": 2}),
    (Limit.CPU, {"cpu_share": 1.9}),
    (Limit.CPU, {"loop_busy": 0.95}),
    (Limit.DNS, {"dns_pending": 400, "in_flight": 500}),
    (Limit.OPEN_FILES, {"short_of_files": True, "in_flight": 200}),
    (Limit.BANDWIDTH, {"bandwidth_wait": 0.6, "max_bandwidth": 2_500_000}),
    (Limit.CONCURRENCY, {"in_flight": 1000, "ready": 50}),
    (Limit.ADDRESS, {"crowded": {"192.0.2.7": 300}}),
    (Limit.STORE, {"store_wait": 0.4}),
    (Limit.NOTHING, {"ready": 3000, "rate": 2.0, "rate_before": 1.0}),
    (Limit.NOTHING, {"ready": 3000, "rate": 400.0, "rate_before": 400.0}),
    (Limit.POLITENESS, {}),
]


def test_the_examples_are_what_the_program_says() -> None:
    said = [
        (name, limiting(Stats.from_dict({"engines": 2, **BUSY, **figures}), 70, 1000))
        for name, figures in EXAMPLES
    ]
    said.append((Limit.POLITENESS, limiting(Stats.from_dict(BUSY), 0, 1000)))
    written = [(name, f"{name}: {text}") for name, c in LIMITS.items() for text in c.examples]
    assert [name for name, _ in said] == [name for name, _ in written]
    for (_, line), (_, example) in zip(said, written, strict=True):
        assert line.startswith(example[:-1]) if example.endswith("…") else line == example


def like(word: str) -> str:
    """What all spellings of a word have in common."""
    return re.sub(r"[^a-z]", "", word.lower())


def spelt(text: str) -> bool:
    """Whether a text of the program is or begins with the name of a limit, however spelt."""
    word, colon, _ = text.partition(": ")
    if colon:
        return like(word) in set(map(like, NAMES))
    keys = {"cpu", "dns", "politeness", "open_files"}  # of times, outcomes and lines of the history
    return like(word) in set(map(like, UNIQUE)) and word not in keys


def test_they_are_written_nowhere_else() -> None:
    """Not in the program's texts, in this or another spelling: they come from `Limit`."""
    assert spelt("Cpu: 5 %") and spelt("OPEN FILES") and spelt("open-files: 5") and spelt("DISK: x")
    assert not spelt("the CPU: x") and not spelt("cpu") and not spelt("disk")
    wrong = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value}"
        for path in SOURCE.rglob("*.py")
        if path.name != "what_limits.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and spelt(node.value)
    ]
    assert wrong == []
