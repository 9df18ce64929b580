"""A simulated web on loopback, the same for the same seed: for demos, rehearsals and tests.

`World(WorldSpec(...))` says what exists and what a correct crawler finds; `SimWeb` serves it;
`check` judges a crawler by the server's log. Nothing here knows how lycosa works inside.
"""

from lycosa.simweb.check import Report, Violation, check
from lycosa.simweb.reqlog import Entry, read_log
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World

__all__ = [
    "Entry",
    "Report",
    "SimWeb",
    "Violation",
    "World",
    "WorldSpec",
    "check",
    "read_log",
]
