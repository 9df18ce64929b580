"""Which links an engine has lately sent to the store, in a fixed amount of memory."""

from __future__ import annotations

from array import array

SENT_LINKS = 1 << 20  # fingerprints remembered as sent to the store: 8 bytes each


class SentLinks:
    """Fingerprints of links that were lately sent to the store: most links of a page repeat.

    One slot per fingerprint, the newer one wins: forgetting costs a look-up in the store, no more.
    """

    def __init__(self, slots: int = SENT_LINKS) -> None:
        self.mask = slots - 1
        self.slots = array("q", bytes(8 * slots))

    def __contains__(self, fp: int) -> bool:
        return self.slots[fp & self.mask] == fp

    def add(self, fp: int) -> None:
        self.slots[fp & self.mask] = fp
