"""A simulated web on loopback, the same for the same seed: for the demo, rehearsals and tests.

`World(WorldSpec(...))` says what exists and what a correct crawler finds; `SimWeb` serves it;
`check` judges a crawler by the server's log. Nothing here knows how lycosa works inside, so that it
can judge it.

    spec, chance       what is asked for, and draws that can be repeated
    world, walk        what exists, and what a correct crawler finds
    paths, special, rules, hostile, malice   pages, robots.txt files and attacks
    pages, markup, filler, reply             the answer to a request, as bytes
    names, certs       DNS answers and certificates
    serve, server, connection, reqlog        processes, sockets and the log of requests
    check, command     the verdict, and the command line
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
