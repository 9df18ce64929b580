"""`lycosa pages`: lists the pages of a crawl that fit the filters."""

from __future__ import annotations

import sys

from lycosa.commands.filters import filters_of
from lycosa.commands.printing import page_json, page_line, place_json, print_json
from lycosa.commands.which_crawl import opened_crawl
from lycosa.settings.collect import Values


def pages(values: Values, _: list[str]) -> int:
    """List pages; with --json one object a line."""
    count = 0
    with opened_crawl(values) as crawl:
        where = crawl.filter(**filters_of(values))
        for page in crawl.pages(where, limit=values["limit"], newest=not values["oldest"]):
            count += 1
            place = crawl.place(page)
            if values["json"]:
                print_json({**page_json(page), **place_json(place)}, indent=False)
            else:
                where_kept = f" ({place.host}:{place.directory})" if place else ""
                print(page_line(page) + where_kept)
    if count == values["limit"] and sys.stderr.isatty():
        print(f"The list ends at {count}; --limit N shows more.", file=sys.stderr)
    return 0
