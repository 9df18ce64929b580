"""`lycosa audit`: proves from the visit ledger alone that no domain was visited too soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lycosa.commands.look import opened, print_json, utc
from lycosa.config import Values, earlier_delays, stored_settings
from lycosa.errors import StoreError

if TYPE_CHECKING:
    from lycosa.archive.ledger import AuditReport


def audit(values: Values, _: list[str]) -> int:
    """Exit code 1 if a single visit broke the rule."""
    from lycosa.archive import ledger

    with opened(values) as reader:
        stored = reader.settings()
    settings = stored_settings(stored)
    if settings is None:
        raise StoreError("The crawl has no settings stored, so its delay is not known.")
    visits = ledger.read(values["data-dir"])
    report = ledger.audit(visits, settings.delay, earlier_delays(stored))
    if values["json"]:
        print_json({"ok": report.ok, "delay": settings.delay, "report": report})
    else:
        print("\n".join(report_lines(report, settings.delay)))
    return 0 if report.ok else 1


def report_lines(report: AuditReport, delay: float) -> list[str]:
    """The report for people; pure."""
    gap = report.smallest_gap_ms
    lines = [
        f"{report.visits:,} visits to {report.domains:,} domains,"
        f" {report.unfinished:,} of them cut off.",
        "No domain was visited twice."
        if gap is None
        else f"The smallest pause between two visits to a domain was {gap / 1000:,.3f} s;"
        f" at least {delay:g} s were asked for.",
    ]
    if report.ok:
        return [*lines, "Every visit was polite."]
    lines.append(
        f"NOT POLITE: {report.too_soon:,} visits came too soon, {report.overlaps:,} overlapped."
    )
    lines += [
        f"  {found.domain}: a visit ended {utc(found.end_ms)}, the next began"
        f" {(found.start_ms - found.end_ms) / 1000:.3f} s later, {found.needed_ms / 1000:g} s"
        f" were needed (engines {found.owners[0]} and {found.owners[1]})"
        for found in report.examples
    ]
    return lines
