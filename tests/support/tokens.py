"""The rule that every domain has exactly one token: it is ready, held or idle. For every store."""

from __future__ import annotations

from typing import Any

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


def check_tokens(db: Any) -> None:
    """Each domain has one token, and who only waits for retries is found by its moment."""
    not_one = db.execute(NOT_ONE).fetchall()
    assert not not_one, f"(domain, rows, tokens): {not_one}"
    lost = db.execute(LOST_WAIT).fetchall()
    assert not lost, f"(domain, wait_at): {lost}"
