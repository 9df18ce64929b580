"""Which chunks of a log are folded into one, and when. Pure.

Owns the tiers: a URL is rewritten once for each level, so some log8(n / 26) times in all.
"""

from __future__ import annotations

from lycosa.frontier.log.format import FULL
from lycosa.frontier.log.values import Limits

ChunkSize = tuple[int, int, int, int]
"""Seq, level, bytes, copies."""


def to_fold(
    chunks: list[ChunkSize], empty: bool, limits: Limits
) -> tuple[list[ChunkSize], int] | None:
    """The chunks that are to become one, and its level; None: it is not yet time. `empty`: nothing
    is queued, so that all may become one."""
    return _all(chunks, limits) if empty else _tiers(chunks, limits)


def _all(chunks: list[ChunkSize], limits: Limits) -> tuple[list[ChunkSize], int] | None:
    """All chunks, if one can hold them. Else the smallest first, of full ones only those that hold
    copies, which nobody needs: the others would be rewritten each time that the domain is empty."""
    if sum(size for _, _, size, _ in chunks) > limits.chunk_bytes:
        chunks = [each for each in chunks if each[1] != FULL or each[3]]
    part = _affordable(chunks, limits.rewrite_bytes)
    if len(part) < 2:
        return None
    return part, max((level for _, level, _, _ in part if level != FULL), default=0)


def _tiers(chunks: list[ChunkSize], limits: Limits) -> tuple[list[ChunkSize], int] | None:
    """The lowest levels that are complete, counting what the level below becomes; of the last as
    much as may be rewritten."""
    part: list[ChunkSize] = []
    level = 0
    while True:
        tier = [each for each in chunks if each[1] == level]
        if len(tier) + bool(part) < limits.tier:
            break
        room = limits.rewrite_bytes - sum(size for _, _, size, _ in part)
        taken = _affordable(tier, room)
        if len(taken) < len(tier):
            part, level = part + taken, level + bool(taken)
            break
        part += tier
        level += 1
    return (part, level) if len(part) > 1 else None


def _affordable(chunks: list[ChunkSize], room: int) -> list[ChunkSize]:
    """The smallest of them, as many as have room."""
    part, total = [], 0
    for each in sorted(chunks, key=lambda chunk: chunk[2]):
        total += each[2]
        if total > room:
            break
        part.append(each)
    return part
