"""`lycosa pages`: lists the pages of a crawl, by domain, status, outcome, time or prefix."""

from __future__ import annotations

import sys

from lycosa.clock import wall_now
from lycosa.commands.names import check_outcome, known_domain
from lycosa.commands.printing import Places, page_json, page_line, print_json
from lycosa.commands.which_crawl import opened
from lycosa.settings.collect import Values


def pages(values: Values, _: list[str]) -> int:
    """List pages; with --json one object a line."""
    since = values["since"]
    with opened(values) as reader:
        check_outcome(reader, values["outcome"])
        rows = reader.pages(
            domain=known_domain(reader, values["domain"]),
            status=values["status"],
            outcome=values["outcome"],
            since_ms=wall_now() - round(since * 1000) if since else 0,
            url_prefix=values["prefix"],
            limit=values["limit"],
            newest=not values["oldest"],
        )
        places = Places(reader)
        count = 0
        for row in rows:
            count += 1
            if values["json"]:
                print_json({**page_json(row), **places.json(row)}, indent=False)
            else:
                print(page_line(row) + places.text(row))
    if count == values["limit"] and sys.stderr.isatty():
        print(f"The list ends at {count}; --limit N shows more.", file=sys.stderr)
    return 0
