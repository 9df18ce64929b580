"""The error tree, split by whose fault it is. Owns every exception that lycosa raises on purpose.

    LycosaError
    ├── UserError        the operator's: one sentence that says what to do, exit code 2
    │   └── CrawlExists  there is a crawl already, where a new one was to begin
    ├── StoreError       the frontier's: a dead or damaged database
    │   ├── StoreGone    it can't be reached or is locked now: try again
    │   ├── Damaged      its file is not what was written: nothing in it can be trusted
    │   ├── Fenced       another process declared this engine dead: drop everything held
    │   └── DiskFull     no space left: stop cleanly, exit code 1, nothing lost
    └── Bug              ours: an invariant that does not hold

What a site or the network does wrong is never an exception: it is a value in `records.Response`.
"""


class LycosaError(Exception):
    """The root of the tree."""


class UserError(LycosaError):
    """The user can fix it; the message is one clear sentence that says how."""


class CrawlExists(UserError):
    """The user wants to begin a crawl where there is one already."""


class OlderFormat(UserError):
    """The crawl was made by an older lycosa and has to be brought up to date first."""


class StoreError(LycosaError):
    """The frontier's database can't do what it was asked."""


class StoreGone(StoreError):
    """The database is locked or out of reach for now; the same call may succeed later."""


class Damaged(StoreError):
    """Somebody else or the disk changed the database's file; the message says what to do."""


class Fenced(StoreError):
    """This engine's lease was taken away; nothing it holds may be used or written."""


class DiskFull(StoreError):
    """The disk that holds the crawl is full."""


class Bug(LycosaError):
    """A fault of lycosa's own: an invariant does not hold."""


# The exit code of a crawl that was asked to stop and has more to do; 0: it is done.
EXIT_STOPPED = 3

# The exit codes by which an engine tells its supervisor why it ended on its own.
EXIT_FENCED = 4
EXIT_DISK_FULL = 5
EXIT_ORPHAN = 6  # the supervisor is gone
EXIT_DAMAGED = 7  # the database is damaged


def engine_exit(error: BaseException) -> int:
    """The exit code that tells a supervisor of an error that ended an engine; 0: there is none."""
    codes: dict[type[BaseException], int] = {
        Fenced: EXIT_FENCED,
        DiskFull: EXIT_DISK_FULL,
        Damaged: EXIT_DAMAGED,
    }
    return codes.get(type(error), 0)
