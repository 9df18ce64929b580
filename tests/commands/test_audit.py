"""`lycosa audit` as a person reads it."""

from lycosa.archive.address_audit import AddressReport
from lycosa.archive.audit import AuditReport, audit_visits
from lycosa.archive.ledger import LedgerVisit
from lycosa.commands.audit import address_lines, report_lines
from lycosa.commands.complaint import Complaint, _note_pages, answer
from lycosa.reading.domains import visit_values
from lycosa.reading.values import page_of
from support.made import made_page

NOW = 1_800_000_000_000


def visit(start: int, end: int) -> LedgerVisit:
    return LedgerVisit(1, "example.org", NOW + start, NOW + end, requests=1, unfinished=False)


def test_a_polite_crawl_passes_the_audit() -> None:
    lines = report_lines(audit_visits([visit(0, 500), visit(70_500, 71_000)], 70), 70)
    assert "2 visits to 1 domains, 0 of them cut off." in lines
    assert "was 70.000 s; at least 70 s were asked for." in lines[1]
    assert lines[-1] == "Every visit was polite."
    assert "No domain was visited twice." in report_lines(AuditReport(), 70)


def test_the_audit_tells_how_close_visits_to_an_address_came() -> None:
    report = AddressReport()
    assert address_lines(report, 1.0) == []
    report.note("192.0.2.1", 1000, 1000)
    (told,) = address_lines(report, 1.0)
    assert "to one address was 1.000 s; at least 1 s were asked for (--ip-delay)" in told
    report.note("192.0.2.1", -38, 1000)
    head, example = address_lines(report, 1.0)
    assert "too close 1 times" in head and example == "  192.0.2.1: -0.038 s"
    assert address_lines(report, 0.0) == []


def test_a_rude_crawl_does_not() -> None:
    lines = report_lines(audit_visits([visit(0, 500), visit(60_500, 61_000)], 70), 70)
    assert "NOT POLITE: 1 visits came too soon, 0 overlapped." in lines
    assert "the next began 60.000 s later, 70 s were needed (engines 1 and 1)" in lines[-1]


def test_a_page_is_told_with_its_own_visit_where_few_are_shown() -> None:
    """Visits may come within the second by which the clocks of a visit and its page may differ."""
    found = Complaint("example.org", "lycosa", "lycosa", "a@b.org", 0.02)
    found.visits = visit_values([visit(100 * n, 100 * n + 20) for n in range(12)])
    urls = [f"https://example.org/{n}" for n in range(12)]
    pages = [
        page_of(n + 1, made_page(url, fetched_ms=NOW + 100 * n + 21)) for n, url in enumerate(urls)
    ]
    for limit in (1, 3, 12, 20):
        found.urls.clear()
        _note_pages(found, pages, (), limit)
        shown = urls[-limit:]
        assert {n: [text.split()[0] for text in each] for n, each in found.urls.items()} == {
            n: [url] for n, url in enumerate(shown)
        }
    found.urls.clear()
    _note_pages(found, pages, (), 0)
    assert found.urls == {}


def test_a_delay_that_was_shorter_before_is_told() -> None:
    """Else a pause of 2 s is called polite, and 4 s needed, in one breath."""
    visits, before = [visit(0, 500), visit(2_500, 3_000)], [(NOW + 5_000, 2.0), (NOW + 9_000, 3.0)]
    report = audit_visits(visits, 4, before)
    until = "2027-01-15T08:00:09Z"
    lines = report_lines(report, 4, before)
    assert f"was 2.000 s; at least 4 s were asked for (until {until} at least 2 s)." in lines[1]
    assert "asked for." in report_lines(report, 1, before)[1]

    found = Complaint("example.org", "lycosa", "lycosa", "a@b.org", 4, report=report, before=before)
    found.visits = list(visit_values(visits))
    assert f"wait at least 4 s (until {until} at least 2 s), or longer" in " ".join(
        answer(found, 5)
    )

    addresses = AddressReport()
    addresses.note("192.0.2.1", 1000, 1000)
    assert f"to one address since {until} was 1.000 s" in address_lines(addresses, 1, before)[0]
