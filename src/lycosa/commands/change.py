"""What commands that change a crawl share: they say what would happen, ask, and turn the wheel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lycosa.errors import UserError
from lycosa.settings.collect import Values

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Frontier
    from lycosa.frontier.reader import Reader
    from lycosa.steering.wheel import Wheel


def wheel_of(values: Values) -> Wheel:
    """The wheel of the crawl that --data-dir and --store name."""
    from lycosa.steering.wheel import open_wheel

    return open_wheel(values["data-dir"], values["store"])


def wheel_of_nodes(values: Values) -> Wheel:
    """The same for a change that may be meant for one node: the one that --node or --data-dir
    names, else all of them."""
    from lycosa.frontier.protocol import is_server
    from lycosa.node.datadir import node_of
    from lycosa.steering.wheel import NOBODY, open_wheel

    name, data_dir = values["node"], values["data-dir"]
    if not name and is_server(values["store"]) and "data-dir" in values.given:
        name = node_of(data_dir) or NOBODY
    return open_wheel(data_dir, values["store"], name)


def open_writer(values: Values, reader: Reader) -> Frontier:
    """The crawl as a store to write to, beside the engines that may work on it."""
    from lycosa.steering.wheel import Wheel

    return Wheel(reader, values["data-dir"], values["store"]).writer()


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
