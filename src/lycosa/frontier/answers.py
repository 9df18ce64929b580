"""Answers of errands on their way to the origins that wait for them; the same for every store."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.errands import key
from lycosa.records import Lease, SharedRobots

Keys = dict[tuple[int, int], list[Lease]]


def asked_for(leases: Iterable[Lease]) -> Keys:
    """Where to look for the answers that origins of these domains wait for, and for whom."""
    keys: Keys = {}
    for lease in leases:
        for origin in lease.origins:
            if origin.aim:
                keys.setdefault(key(origin.aim), []).append(lease)
    return keys


def hand_out(answers: Iterable[SharedRobots], keys: Keys) -> None:
    """Give each answer to those who asked."""
    for answer in answers:
        for lease in keys[answer.domain_id, answer.fp]:
            lease.answers.append(answer)
