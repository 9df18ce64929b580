"""What an engine's core wants done: a value that its loop carries out. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lycosa.engine.scheduler import Held
from lycosa.engine.visit_result import Result
from lycosa.records import Request

AddressFound = Callable[[str, float], "Actions"]  # address ('': none) and now in
Lookup = tuple[str, AddressFound]  # a host, and whom to tell its address


@dataclass(slots=True)  # frozen it would cost three times as much; nobody changes one
class Actions:
    """To be done in this order. What is in the first two has to be in the ledger, on file, before
    any of the requests is sent."""

    starts: tuple[tuple[str, int], ...] = ()  # visits: domain, and when by the store's clock
    delays: tuple[Held, ...] = ()  # domains that ask to be left alone for longer than was known
    ends: tuple[Result, ...] = ()  # visits that are over
    requests: tuple[Request, ...] = ()
    lookups: tuple[Lookup, ...] = ()  # addresses that visits wait for

    def __add__(self, more: Actions) -> Actions:
        if self is NOTHING:
            return more
        return Actions(
            self.starts + more.starts,
            self.delays + more.delays,
            self.ends + more.ends,
            self.requests + more.requests,
            self.lookups + more.lookups,
        )


NOTHING = Actions()
