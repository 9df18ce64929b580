"""`lycosa pause` and `lycosa unpause`: of the whole crawl, on all its nodes, over restarts too."""

from __future__ import annotations

import sys

from lycosa.called import called
from lycosa.commands.change import wheel_of
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import same_crawl
from lycosa.settings.collect import Values


def pause(values: Values, _: list[str]) -> int:
    """Let no engine start a visit."""
    with wheel_of(values) as wheel:
        running, new = wheel.running(), wheel.pause(values["why"])
        heard = wheel.wait_until_heard()
    if values["json"]:
        print_json({"paused": True, "new": new, "running": running, "heard": heard})
        return 0
    hint = called("unpause", *same_crawl(values))
    if not new:
        print(f"The crawl is paused already; it goes on with: {hint}")
    elif not running:
        print(f"The crawl is not running; it stays paused when it is resumed, until: {hint}")
    else:
        print(f"The crawl starts no more visits; it goes on with: {hint}")
        _warn_unheard(heard)
    return 0


def unpause(values: Values, _: list[str]) -> int:
    """Let engines go on."""
    with wheel_of(values) as wheel:
        running, was = wheel.running(), wheel.unpause()
        heard = wheel.wait_until_heard()
    if values["json"]:
        print_json({"paused": False, "new": was, "running": running, "heard": heard})
    elif not was:
        print("The crawl is not paused.", file=sys.stderr)
    elif not running:
        hint = called("crawl", "--resume", *same_crawl(values))
        print(f"The crawl is no longer paused; it goes on with: {hint}")
    else:
        print("The crawl goes on.")
        _warn_unheard(heard)
    return 0


def _warn_unheard(heard: bool) -> None:
    if not heard:
        print(
            "lycosa: not every engine has heard of it yet; each does with its next commit.",
            file=sys.stderr,
        )
