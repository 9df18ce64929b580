"""How long a domain is left alone."""

from __future__ import annotations

from lycosa.politeness import delay


def test_crawl_delay_slows_and_never_hurries() -> None:
    assert delay.domain_delay(70, None) == 70
    assert delay.domain_delay(70, 5) == 70
    assert delay.domain_delay(70, 600) == 600
    assert delay.domain_delay(70, 1_000_000) == 1_000_000
