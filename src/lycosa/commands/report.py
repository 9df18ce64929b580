"""`lycosa report`: the page of a crawl as one HTML file, on standard output."""

from __future__ import annotations

import sys

from lycosa.commands.which_crawl import opened_nodes
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import raw


def report(values: Values, _: list[str]) -> int:
    """Write the page of a crawl."""
    if sys.stdout.isatty():
        raise UserError("A report is an HTML file: send it to one with '> report.html'.")
    from lycosa.dashboard.report import report_page

    with opened_nodes(values) as crawl:
        page = report_page(crawl)
    stream = raw(sys.stdout)
    stream.flush()
    stream.buffer.write(page)
    stream.buffer.flush()
    return 0
