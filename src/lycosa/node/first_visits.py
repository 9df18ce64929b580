"""A warning to the user when not one of a run's first visits succeeds. Pure.

Failures are tried again for half an hour before they count as errors: until then a run on a machine
that can't reach the web would look healthy.
"""

from __future__ import annotations

from lycosa.called import called
from lycosa.metrics import Stats
from lycosa.records import Failure

FEW = 10  # visits after which one must have succeeded
LONG = 15.0  # or seconds

_NETWORK = "Does a firewall or a missing route keep this machine from the web?"
_ADVICE = {
    Failure.NAMESERVER: "Can the name servers be reached (--nameserver)?",
    Failure.DNS: "Do the name servers answer (--nameserver)?",
    Failure.NXDOMAIN: "Are the names of the seeds right?",
    Failure.CONNECT: _NETWORK,
    Failure.CONNECT_TIMEOUT: _NETWORK,
    Failure.FIRST_BYTE: _NETWORK,
    Failure.TLS: "Does something on the way to the web break TLS, or is --tls-verify too strict?",
    Failure.PRIVATE: "Such addresses need --allow-network or --allow-private-addresses.",
    Failure.LOCAL: "This machine is short of open files or memory.",
}


class FirstVisits:
    """Looks until a visit has succeeded or the warning was given."""

    def __init__(self) -> None:
        self._looking = True

    def look(self, stats: Stats, elapsed: float) -> str:
        """The warning, once, if it is time for it; else ''. `elapsed`: seconds of this run."""
        if not self._looking or not stats.visits:
            return ""
        if stats.failed_visits < stats.visits:
            self._looking = False
            return ""
        if stats.visits < FEW and elapsed < LONG:
            return ""
        self._looking = False
        return warning(stats)


def warning(stats: Stats) -> str:
    """What failed, and what to check."""
    causes = dict(stats.retries)
    for cause, count in stats.outcomes.items():
        causes[cause] = causes.get(cause, 0) + count
    order = sorted(causes, key=lambda cause: -causes[cause])
    told = ", ".join(f"{cause} {causes[cause]:,}" for cause in order)
    advice = _ADVICE.get(order[0] if order else "", "Can the sites be reached from here?")
    return (
        f"Not one of the first {stats.visits:,} visits succeeded ({told}). {advice}"
        f" '{called('check')}' looks at this machine; '{called('why', 'URL')}' tells why one"
        " site failed."
    )
