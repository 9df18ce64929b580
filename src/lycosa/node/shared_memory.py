"""Makes the memory that the engines of a node share beside the store, see `orders.SharedMemory`.

The supervisor makes it before the first engine starts, and it outlives each of them. None of it
is a file: the loop of an engine looks at it in every visit and must not wait for a disk.
"""

from __future__ import annotations

import os
from dataclasses import astuple

from lycosa.engine import address_table, bandwidth, control, poison
from lycosa.engine.orders import SharedMemory


def make(engines: int, addresses_from: float) -> SharedMemory:
    """`addresses_from`: no address is visited before that moment of the engine's clock."""
    return SharedMemory(
        control=control.memory(),
        marks=poison.memory(engines),
        addresses=address_table.memory(addresses_from),
        bandwidth=bandwidth.memory(engines),
        turns=os.memfd_create("lycosa-turns", os.MFD_CLOEXEC),
    )


def descriptors(memory: SharedMemory) -> tuple[int, ...]:
    """All of them, for a process that is to inherit them."""
    return astuple(memory)


def close(memory: SharedMemory) -> None:
    for fd in descriptors(memory):
        os.close(fd)
