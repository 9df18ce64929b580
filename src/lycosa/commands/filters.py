"""The filters of pages that the user gave as flags; the same for all commands that have them."""

from __future__ import annotations

from lycosa.reading.filters import Filters
from lycosa.settings.collect import Values


def filters_of(values: Values) -> Filters:
    """What the flags of a command choose pages by."""
    found = Filters()
    for flag, name in FLAGS.items():
        if flag in values and values[flag] not in (None, "", ()):
            found[name] = values[flag]  # type: ignore[literal-required]
    if values["status"] == 0:
        found.pop("status", None)  # any, or what a script writes for any
    return found


# The flags, and what each is called as a filter.
FLAGS = {
    "domain": "domain",
    "since": "since",
    "until": "until",
    "language": "language",
    "label": "label",
    "outcome": "outcome",
    "status": "status",
    "min-depth": "min_depth",
    "max-depth": "max_depth",
    "min-chars": "min_chars",
    "max-chars": "max_chars",
    "prefix": "prefix",
}
