"""What the engines of a node have in common, beside the store: memory that outlives each of them.

The supervisor makes it and hands its descriptors on. None of it is a file: the loop of an engine
looks at it in every visit, and must not wait for a disk.
"""

from __future__ import annotations

import os

from lycosa.engine import address_table, control, parsing_mark


class Commons:
    """`addresses_from`: no address is visited before that moment of the engine's clock."""

    def __init__(self, engines: int, addresses_from: float) -> None:
        self.marks = parsing_mark.memory(engines)
        self._shared = {
            "control": control.memory(),  # how late the machine wakes an idle process
            "marks": self.marks,  # which page each engine is parsing
            "addresses": address_table.memory(addresses_from),  # when each may be visited
            "turns": os.memfd_create("lycosa-turns", os.MFD_CLOEXEC),  # at writing to the store
        }

    def settings(self) -> dict[str, int]:
        """Descriptors by name, as an engine is told them."""
        return dict(self._shared)

    def descriptors(self) -> tuple[int, ...]:
        return tuple(self._shared.values())

    def close(self) -> None:
        for fd in self._shared.values():
            os.close(fd)
