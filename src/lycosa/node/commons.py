"""What the engines of a node have in common, beside the store: memory that outlives each of them.

The supervisor makes it and hands its descriptors on. None of it is a file: the loop of an engine
looks at it in every visit, and must not wait for a disk.
"""

from __future__ import annotations

import os
from dataclasses import astuple

from lycosa.engine import address_table, control, parsing_mark
from lycosa.engine.orders import SharedMemory


class Commons:
    """`addresses_from`: no address is visited before that moment of the engine's clock."""

    def __init__(self, engines: int, addresses_from: float) -> None:
        self.memory = SharedMemory(
            control=control.memory(),
            marks=parsing_mark.memory(engines),
            addresses=address_table.memory(addresses_from),
            turns=os.memfd_create("lycosa-turns", os.MFD_CLOEXEC),
        )

    def descriptors(self) -> tuple[int, ...]:
        return astuple(self.memory)

    def close(self) -> None:
        for fd in self.descriptors():
            os.close(fd)
