"""The rows of bench/pages.py are as long as those of real sites, and come in the order they say."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from lycosa.frontier.columns import PAGES
from page_table.rows import PER_DOMAIN, Rows

ROWS = 4000


def test_rows_are_as_long_as_those_of_real_sites() -> None:
    rows = [dict(zip(PAGES, row, strict=True)) for row in Rows(ROWS).random(ROWS)]
    with_text = [row for row in rows if row["outcome"] == "ok"]
    assert 0.85 < len(with_text) / len(rows) < 0.95
    assert 50 < mean(len(row["url"]) for row in rows) < 62
    assert 30 < mean(len(row["title"]) for row in with_text) <= 40
    assert all(len(row["payload_digest"]) == 20 for row in rows)


def test_each_row_has_a_key_of_its_own_and_domains_come_in_any_order() -> None:
    rows = [row[:2] for row in Rows(ROWS).random(ROWS)]
    assert len(set(rows)) == ROWS
    domains = [domain for domain, _ in rows]
    assert len(set(domains)) > ROWS / PER_DOMAIN * 0.9
    assert domains != sorted(domains)


def test_rows_behind_come_in_the_order_of_the_index() -> None:
    rows = [row[:2] for row in Rows(ROWS).sorted(ROWS // 3)]
    assert len(rows) == ROWS // 3
    assert rows == sorted(rows)


def test_remembered_keys_say_where_their_rows_are() -> None:
    made = Rows(ROWS)
    rows = list(made.random(ROWS))
    assert made.keys
    assert all(rows[number - 1][:2] == (domain, fp) for number, domain, fp in made.keys)
