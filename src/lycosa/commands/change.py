"""What commands that change a crawl share: they say what would happen, ask, and write.

The crawl may be running: its engines hear of new rules with their next commit, about a second
later, and go by the old ones until then.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from lycosa.clock import wall_now
from lycosa.commands.which_crawl import crawl_running
from lycosa.errors import StoreError, UserError
from lycosa.settings.collect import Values
from lycosa.settings.stored import stored_settings

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Frontier
    from lycosa.frontier.reader import Reader

HEARD = 3.0  # seconds in which every engine has heard of a change: three commits


def check_terminal(yes: bool, what: str) -> None:
    """Refuse a change that needs an answer where nobody can answer, before anything is printed."""
    if not yes and not (sys.stdin and sys.stdin.isatty()):
        raise UserError(f"This would {what}: add --yes if you want that.")


def confirmed(yes: bool, question: str) -> bool:
    """Whether the user says yes."""
    if yes:
        return True
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    print("Nothing was changed.", file=sys.stderr)
    return False


def wait_until_heard(values: Values, reader: Reader) -> None:
    """Wait until all engines of a running crawl know the new rules: a URL that is queued earlier
    may meet an engine that goes by the old ones."""
    if crawl_running(values, reader.status()):
        time.sleep(HEARD)


def open_writer(values: Values, reader: Reader) -> Frontier:
    """The crawl as a store to write to, beside the engines that may work on it."""
    from lycosa.frontier.protocol import open_frontier

    settings = stored_settings(reader.settings())
    if settings is None:
        raise StoreError("The crawl has no settings stored.")
    newest = [0]
    frontier = open_frontier(
        values["store"],
        values["data-dir"],
        settings.store_rules(),
        lambda: max(wall_now(), newest[0] + 1),  # the wall clock may have been set back
        name="lycosa command",
    )
    newest[0] = frontier.newest_ms()
    return frontier
