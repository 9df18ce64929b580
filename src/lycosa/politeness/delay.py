"""How long a domain is left alone. Pure: values and `now` in, seconds out.

Owns the delay between visits and Crawl-delay; what follows a failure is in `retry`. All waits but
Retry-After are multiples of the delay, so that a crawl at `--delay 1` behaves like one at 70, only
faster.
"""

from __future__ import annotations

from lycosa.outcomes import Outcome

WAITS = (1, 4, 16)  # multiples of the delay, for the first, second and third failure in a row
DAY = 86_400.0  # seconds
DELAY_TOO_LONG = Outcome.CRAWL_DELAY_TOO_LONG  # of all that is queued of such a domain


def asks_too_much(crawl_delay: float | None) -> bool:
    """Whether a robots.txt asks for more than a day between visits: a crawl would never end."""
    return crawl_delay is not None and crawl_delay > DAY


def domain_delay(base: float, crawl_delay: float | None) -> float:
    """The delay of a domain: the crawl's, or a longer one that its robots.txt asks for."""
    return max(base, crawl_delay or 0.0)
