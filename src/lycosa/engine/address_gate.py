"""Whether a visit may go to its address now. Pure.

At an address that many domains share, visits take turns (`address_turns`), with a pause between
two. An errand needs a slot there as well, which the store gives (`errands.Slots`): at most one
errand is under way at an address in the whole cluster. A domain that may not go now goes back to
the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable

from lycosa.engine.errands import Slots, first_url, is_errand
from lycosa.engine.scheduler import Held, Scheduler
from lycosa.engine.visit_result import Result, VisitRules
from lycosa.politeness.address_turns import NOWHERE, AddressTable, AddressTurns


class AddressGate:
    """The addresses of one engine's visits.

    `ask_every`: seconds after which the store has been asked again for slots; `exempt`: whether an
    address is too large a host for its domains to wait for each other.
    """

    def __init__(
        self,
        rules: VisitRules,
        ip_delay: float,
        ask_every: float,
        scheduler: Scheduler,
        table: AddressTable,
        exempt: Callable[[str], bool],
    ) -> None:
        self.slots = Slots(rules.timeout, ip_delay)
        self._delay = rules.delay
        self._ip_delay = ip_delay
        self._pace = max(ip_delay, ask_every)
        self._scheduler = scheduler
        self._table = table
        self._turns = AddressTurns(ip_delay, rules.timeout, table)
        self._exempt = exempt
        self._left: list[tuple[str, float]] = []  # addresses whose visits ended, to be told

    def change_delays(self, delay: float, ip_delay: float, ask_every: float) -> None:
        """The crawl's delays changed; what was promised before stays promised."""
        self._delay, self._ip_delay = delay, ip_delay
        self._pace = max(ip_delay, ask_every)
        self.slots.pause = self._turns.pause = ip_delay

    def first_url(self, held: Held, now_ms: int) -> str:
        """The URL at whose address the next visit of a domain begins, '' if any address will do."""
        if not held.run or not (self._ip_delay or is_errand(held.run[0])):
            return ""
        return first_url(held, now_ms)

    def admits(self, held: Held, address: str, now: float) -> bool:
        """Whether a visit may begin at this address ('': there is none); if not, the domain waits.
        An errand waits for its turn before it asks for a slot: slots are not held for long."""
        if (
            held.waits_at and held.waits_at != address
        ):  # its name moved, or its next URL is elsewhere
            self._leave_line(held)
        if not address or self._exempt(address):
            return True
        if self._ip_delay and not self._has_turn(held, address, now):
            return False
        if not is_errand(held.run[0]) or self.slots.has(held.id, address, now):
            return True
        if held.address:  # its turn is given back, unused
            self._left.append((address, now - self._ip_delay))
            self.tell_left()
            held.address = ""
            held.place, held.waits_at = self._turns.late(address), address
        self._wait_for_slot(held, address, now)
        return False

    def _has_turn(self, held: Held, address: str, now: float) -> bool:
        again, held.place = self._turns.ask(address, held.place, now)
        if again:
            held.waits_at = address
            self._scheduler.put_back(held, again)
            return False
        held.waits_at, held.address = "", address
        return True

    def _wait_for_slot(self, held: Held, address: str, now: float) -> None:
        at = self.slots.turn(address, now, self._pace)
        if at > now + self._delay:
            self._leave_line(held)
            self._scheduler.give_back(held, at)
        else:
            self._scheduler.put_back(held, at)

    def moves(self, held: Held, here: str, address: str, now: float) -> bool:
        """Whether a visit that was `here` may go on at another address now; it does not queue up
        there. Without this check many domains could lead us to one address at the same moment, by
        hosts of theirs."""
        if not address or address == here or self._exempt(address):
            return True
        if not self._turns.begin(address, now):
            return False
        if held.address:
            self._left.append((held.address, now))
        held.address = address
        return True

    def over(self, result: Result) -> None:
        """A visit ended: its address is free after a pause, or at once if no request was made."""
        held = result.held
        if held.address:
            pause = 0.0 if result.requests else self._ip_delay
            self._left.append((held.address, result.ended - pause))
            held.address = ""
            self.tell_left()
        self.slots.over(held.id, result.ended)

    def tell_left(self) -> None:
        """Tell the table which visits are over; what another engine keeps from it is told later."""
        if self._left:
            self._left = [each for each in self._left if not self._turns.over(*each)]

    def _leave_line(self, held: Held) -> None:
        """A domain no longer waits for the address that it waited for."""
        if held.place:
            self._turns.leave(held.waits_at, held.place)
        held.place, held.waits_at = NOWHERE, ""

    def crowded(self) -> dict[str, int]:
        """The addresses that most held domains wait for, and how many."""
        return self._turns.crowded()

    def forget_waiting(self) -> None:
        """Nobody waits any more: the engine gives everything back."""
        self._turns.forget_waiting()

    def prune(self, now: float) -> None:
        """Forget addresses that are free, if there are many."""
        self._table.prune(now)
