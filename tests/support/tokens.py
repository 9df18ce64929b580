"""The rule that every domain has exactly one token: it is ready, held or idle. For every store."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from lycosa.frontier.protocol import Frontier

# Verbs after which every domain must have its one token.
STEPS = (
    *("lease", "commit", "postpone", "retire", "add", "requeue", "restore", "rescue", "steer"),
    "finished",
)
NOT_ONE = """
SELECT id, sum(known), sum(tokens) FROM (
    SELECT id, 1 AS known, CASE WHEN idle THEN 1 ELSE 0 END AS tokens FROM domains
    UNION ALL SELECT id, 0, 1 FROM ready
    UNION ALL SELECT id, 0, 1 FROM held) AS found
GROUP BY id HAVING sum(known) <> 1 OR sum(tokens) <> 1 LIMIT 5
"""
LOST_WAIT = """
SELECT id, wait_at FROM domains AS d WHERE wait_at > 0 AND NOT EXISTS (
    SELECT 1 FROM ready AS r WHERE r.ready_at = d.wait_at AND r.id = d.id) LIMIT 5
"""


# Of SQLite: the key of a page lies in one roll, if it is up to where rolls go; and no URL has two
# pages, though no index says so.
MISPLACED = """
SELECT p.id, count(k.id) FROM pages AS p
LEFT JOIN page_keys AS k ON k.domain_id = p.domain_id AND k.fp = p.fp AND k.id = p.id
    AND k.roll IN (SELECT roll FROM page_rolls)
GROUP BY p.id
HAVING count(k.id) <> (p.id <= (SELECT coalesce(max(last), 0) FROM page_rolls)) LIMIT 5
"""
FEW = 2000  # pages, which are looked at after each step
TWICE = "SELECT domain_id, fp FROM pages GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 5"


def check_pages(db: Any) -> None:
    """Each URL has one page at most, and each page one place."""
    twice = db.execute(TWICE).fetchall()
    assert not twice, f"(domain, fingerprint): {twice}"
    misplaced = db.execute(MISPLACED).fetchall()
    assert not misplaced, f"(page, keys): {misplaced}"


def check_tokens(db: Any) -> None:
    """Each domain has one token, and who only waits for retries is found by its moment."""
    not_one = db.execute(NOT_ONE).fetchall()
    assert not not_one, f"(domain, rows, tokens): {not_one}"
    lost = db.execute(LOST_WAIT).fetchall()
    assert not lost, f"(domain, wait_at): {lost}"


def check_each_step(store: Any) -> None:
    """From now on a test fails in the step that leaves a domain without its one token."""
    for name in STEPS:
        setattr(store, name, _checked(store, getattr(store, name)))


def _checked(store: Any, verb: Callable[..., Any]) -> Callable[..., Any]:
    looked_at = 0  # up to which page, when there were many

    @wraps(verb)
    def step(*args: Any, **more: Any) -> Any:
        nonlocal looked_at
        before = getattr(store.db, "total_changes", 0)  # SQLite counts the rows it wrote
        found = verb(*args, **more)
        if getattr(store.db, "total_changes", 1) != before:
            check_tokens(store.db)
            if hasattr(store.db, "total_changes"):
                newest = store.db.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0]
                if newest <= FEW or newest > 1.1 * looked_at:  # of a million, not at each step
                    check_pages(store.db)
                    looked_at = newest
        return found

    return step


def unchecked(store: Frontier) -> None:
    """Back to the verbs themselves, whose cost is measured."""
    for name in STEPS:
        setattr(store, name, getattr(store, name).__wrapped__)
