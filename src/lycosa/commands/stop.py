"""`lycosa stop`: leaves a request to stop in the store; the supervisors find it there."""

from __future__ import annotations

import sys

from lycosa.commands.change import wheel_of
from lycosa.commands.printing import print_json
from lycosa.settings.collect import Values


def stop(values: Values, _: list[str]) -> int:
    """Ask a crawl to stop."""
    with wheel_of(values) as wheel:
        running = wheel.stop()
    if values["json"]:
        print_json({"stopping": running})
    elif running:
        print("The crawl finishes what is in flight and stops.")
    else:
        print("The crawl is not running.", file=sys.stderr)
    return 0
