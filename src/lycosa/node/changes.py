"""What a supervisor hears of changes that somebody makes in the store while its run goes on.

Looks at the version of the rules, and reads what may change when that has grown. Engines hear the
same by themselves (`engine/exchange`); what it means for a run is decided in `supervisor`.
"""

from __future__ import annotations

from lycosa.frontier.keys import RULES_KEY
from lycosa.frontier.protocol import Frontier
from lycosa.settings.steered import Steered, steered


class Changes:
    """Of one crawl, as the node of this name sees them."""

    def __init__(self, frontier: Frontier, node: str) -> None:
        self._frontier = frontier
        self._node = node
        self._version: str | None = None  # that was read last

    def look(self) -> Steered | None:
        """What the store says now; None: the same as at the last call. Raises StoreGone."""
        version = self._frontier.setting(RULES_KEY)
        if version == self._version:
            return None
        found = steered(self._frontier.setting, self._node)
        self._version = version
        return found
