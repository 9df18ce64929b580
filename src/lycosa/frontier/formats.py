"""The format of a crawl: a number that its store keeps. Pure.

Each migration of a dialect makes the next format. A crawl of an older format is brought up to date
when it is resumed (`node/upgrade`); every other command refuses it in one sentence, and a newer
format is refused by all. `tests/formats` keeps a crawl of each format.
"""

from __future__ import annotations

from lycosa.called import called
from lycosa.errors import OlderFormat, UserError
from lycosa.frontier import queries

NONE = 0  # of a store that holds nothing yet


def known(dialect: str) -> int:
    """The format that this lycosa reads and writes."""
    return len(queries.migrations(dialect))


def check_not_newer(found: int, dialect: str) -> None:
    """Raise UserError if a newer lycosa made the crawl."""
    if found > known(dialect):
        raise UserError(
            f"This crawl was made by a newer lycosa (format {found}, this one knows"
            f" {known(dialect)}): install that version to go on with it."
        )


def check_current(found: int, dialect: str) -> None:
    """Raise if the crawl has another format than this lycosa reads and writes: OlderFormat, or
    UserError for a newer one."""
    check_not_newer(found, dialect)
    if NONE < found < known(dialect):
        raise OlderFormat(
            f"This crawl has format {found} and this lycosa works with format {known(dialect)}:"
            f" '{called('crawl', '--resume')}' brings it up to date and goes on with it."
        )


def still_in_use(found: int, seconds: float) -> UserError:
    """The refusal to change a store under engines that know its older format."""
    return UserError(
        f"This crawl has format {found}, and engines of the lycosa that made it still work on it:"
        " stop all its nodes, then start this one again; if they were killed, their leases end in"
        f" {seconds:.0f} s."
    )
