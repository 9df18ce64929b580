"""Chance that can be repeated: every draw is a hash of the seed and of what is drawn.

Owns the hash and the two ways to use it. It keeps no state, so a page is the same whether it is
drawn first or last, in one process or in ten. It knows nothing of what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable

_MASK = (1 << 64) - 1


def draw(seed: int, a: int = 0, b: int = 0) -> int:
    """64 well-mixed bits for (seed, a, b)."""
    x = (seed * 0xD1342543DE82EF95 + a * 0x9E3779B97F4A7C15 + b * 0xC2B2AE3D27D4EB4F + 1) & _MASK
    x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & _MASK
    x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & _MASK
    return x ^ (x >> 32)


def share(seed: int, a: int = 0, b: int = 0) -> float:
    """A number in [0, 1) for (seed, a, b)."""
    return (draw(seed, a, b) >> 11) * 2.0**-53


def choose(weights: Iterable[tuple[str, float]], u: float) -> str:
    """The name on which `u` in [0, 1) falls when the weights are laid end to end."""
    pairs = [(name, weight) for name, weight in weights if weight > 0]
    left = u * sum(weight for _, weight in pairs)
    for name, weight in pairs:
        left -= weight
        if left < 0:
            return name
    return pairs[-1][0] if pairs else ""
