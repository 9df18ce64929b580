"""`lycosa audit` on a crawl with kills agrees with the simulated web's own log; what is planted is
found; the answer to a site's owner tells what the server saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_kill import unlucky_crawl

from lycosa.archive.ledger import Ledger
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa

DELAY = 0.4
LATE = 0.3  # seconds by which a server on a busy machine notes a request late


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    spec = WorldSpec(seed=5, domains=40, pages=6, delay=DELAY).only("robots-allow", "crawl-delay")
    return unlucky_crawl(spec, tmp_path_factory.mktemp("audit"), seed=23, kills=5, every=2.0)


def audit(crawl: Crawl, *words: str, code: int = 0) -> dict[str, Any]:
    done = lycosa("audit", "--json", "--data-dir", crawl.data, *words)
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def by_domain(crawl: Crawl) -> dict[str, list[Entry]]:
    """What the server saw of each domain that was visited often."""
    found: dict[str, list[Entry]] = {}
    for entry in sorted(crawl.web.log(), key=lambda entry: entry.wall):
        found.setdefault(entry.domain, []).append(entry)
    return found


def test_the_audit_and_the_server_agree(killed: Crawl) -> None:
    report = killed.check_polite()  # by the server's log alone
    told = audit(killed)["report"]
    assert told["overlaps"] == told["too_soon"] == 0
    assert told["smallest_gap_ms"] >= 1000 * DELAY - 10
    seen = by_domain(killed)
    assert told["domains"] >= len(seen)
    assert killed.kills and report.pages > 100
    # A visit has a robots.txt and a page at most here, and every request belongs to one.
    requests = sum(map(len, seen.values()))
    assert told["visits"] <= requests + told["unfinished"]
    assert requests <= 2 * told["visits"]


def test_the_answer_to_an_owner_tells_what_the_server_saw(killed: Crawl) -> None:
    seen = by_domain(killed)
    cut_off = {
        domain: audit(killed, "--domain", domain, "--limit", "1000")
        for domain in sorted(seen, key=lambda name: -len(seen[name]))[:4]
    }
    for domain, told in cut_off.items():
        assert told["ok"] and told["forbidden"] == 0
        entries, visits = seen[domain], told["last_visits"]
        assert len(visits) == told["visits"]
        spans = [
            (v["started_ms"] / 1000, v["ended_ms"] / 1000 + (0 if v["finished"] else 5))
            for v in visits
        ]
        for entry in entries:
            assert any(a - 0.01 <= entry.wall <= b + LATE for a, b in spans), (entry, spans)
        # Of a visit that was cut off nobody knows how many requests were sent.
        assert told["requests"] <= len(entries) <= told["requests"] + 2 * told["cut_off"]
        urls = {url.split()[0] for visit in visits for url in visit["urls"]}
        assert {e.url for e in entries if e.status == 200} - {
            e.url for e in entries if e.target == "/robots.txt"
        } == urls
        text = " ".join(told["answer"])
        assert f"{told['visits']:,} visit" in text and "No visit came too soon" in text
        if told["cut_off"]:
            assert "did not end in the ledger" in text


def test_a_planted_visit_is_found(killed: Crawl) -> None:
    domain, other = sorted(by_domain(killed))[:2]
    last = audit(killed, "--domain", domain)["last_visits"][-1]
    path = killed.data / "visits"
    before = set(path.iterdir())
    ledger = Ledger(killed.data, 999, 1 << 20)
    soon = last["ended_ms"] + 100
    ledger.note_started([(domain, soon)])
    ledger.ended(domain, soon, soon + 50, 1, "192.0.2.1", "fetched")
    ledger.close()
    try:
        whole = audit(killed, code=1)["report"]
        assert (whole["too_soon"], whole["overlaps"]) == (1, 0)
        told = audit(killed, "--domain", domain, code=1)
        assert not told["ok"] and told["report"]["too_soon"] == 1
        done = lycosa("audit", "--data-dir", killed.data, "--domain", domain)
        assert done.returncode == 1
        text = " ".join(done.stdout.split())
        assert "THIS RULE WAS BROKEN: 1 visit came too soon" in text
        assert "began 0.100 s after the end of the one before, 0.4 s were needed" in text
        assert audit(killed, "--domain", other)["ok"]
    finally:
        for file in set(path.iterdir()) - before:
            file.unlink()


def test_a_page_that_robots_txt_forbids_is_found(killed: Crawl) -> None:
    domain = max(by_domain(killed).items(), key=lambda item: len(item[1]))[0]
    db = killed.database()
    try:
        kept = db.execute(
            "SELECT o.origin, o.rules, o.fetched_ms FROM origins o JOIN domains d"
            " ON d.id = o.domain_id WHERE d.name = ?",
            (domain,),
        ).fetchall()
        db.execute(
            "UPDATE origins SET rules = ?, fetched_ms = 1 WHERE domain_id ="
            " (SELECT id FROM domains WHERE name = ?)",
            (b"D/", domain),
        )
        db.commit()
        told = audit(killed, "--domain", domain, code=1)
        assert told["forbidden"] == told["urls"] > 0 and told["report"]["too_soon"] == 0
        text = " ".join(told["answer"])
        assert "were fetched that the copy below forbids" in text and "Disallow: /" in text
    finally:
        for origin, rules, fetched_ms in kept:
            values = (rules, fetched_ms, origin)
            db.execute("UPDATE origins SET rules = ?, fetched_ms = ? WHERE origin = ?", values)
        db.commit()
        db.close()
    assert audit(killed, "--domain", domain)["ok"]


def test_mistakes_are_one_sentence(killed: Crawl, tmp_path: Path) -> None:
    for words, said in (
        (("--since", "1d"), "--since needs --domain"),
        (("--domain", "nowhere.test"), "knows no domain 'nowhere.test'"),
        (("--domain", "x.test", str(tmp_path)), "There is no ledger of visits in"),
    ):
        done = lycosa("audit", "--data-dir", killed.data, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1
    domain = next(iter(by_domain(killed)))
    none = audit(killed, "--domain", domain, "--until", "2020-01-01")
    assert none["visits"] == 0 and f"It did not visit {domain} until 2020" in none["answer"][-1]
