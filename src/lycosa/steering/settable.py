"""Which settings may change while a crawl runs, how they are read, and where they are kept. Pure.

A row of `SETTABLE` names an option of `settings/options`; its text is read by that option's own
rules, so that `lycosa set` takes what the flag takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lycosa.errors import UserError
from lycosa.settings.collect import closest, read_option
from lycosa.settings.options import Option, options_of
from lycosa.settings.values import CrawlSettings

NONE = "none"  # what takes a limit away
CRAWL, RUN, NODE = "crawl", "run", "node"  # who has it: all nodes, the page limit, one node


@dataclass(frozen=True, slots=True)
class Settable:
    """A setting that may change while a crawl runs, with its value as text."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Kept:
    """How one setting is kept: in a field of CrawlSettings or NodeSettings, or as the page limit.
    `off` is the value that stands for no limit; None: there always is one."""

    field: str
    where: str = CRAWL
    off: object = None
    can_be_off: bool = False


SETTABLE: dict[str, Kept] = {
    "delay": Kept("delay"),
    "ip-delay": Kept("ip_delay"),
    "max-workers": Kept("max_workers", NODE),
    "max-pages": Kept("max_pages", RUN, 0, True),
    "max-depth": Kept("max_depth", CRAWL, None, True),
    "max-pages-per-domain": Kept("max_pages_per_domain", CRAWL, 0, True),
    "max-queued-per-domain": Kept("max_queued_per_domain"),
    "language": Kept("language", CRAWL, (), True),
    "keep-repeats": Kept("keep_repeats"),
    "sitemaps": Kept("sitemaps"),
    "ignore-nofollow": Kept("ignore_nofollow"),
    "min-free-disk": Kept("min_free_disk", NODE),
}


def kind_of(name: str) -> Kept:
    """UserError for what can't be set while a crawl runs."""
    found = SETTABLE.get(name.replace("_", "-"))
    if found is not None:
        return found
    known = {option.name for option in options_of("crawl")}
    if name in known:
        raise UserError(
            f"{name} can't change while a crawl runs: stop the crawl, and give --{name} with"
            " --resume."
        )
    raise UserError(f"There is no setting '{name}'{closest(name, list(SETTABLE))}")


def option_of(name: str) -> Option:
    """The option of `lycosa crawl` that has this name."""
    return next(option for option in options_of("crawl") if option.name == name)


def read_value(name: str, text: str) -> Any:
    """The value that a text stands for; UserError if it stands for none."""
    kind, option = kind_of(name), option_of(name)
    if kind.can_be_off and text.strip().lower() in (NONE, ""):
        return kind.off
    given: object = text.split(",") if option.repeat else text
    return read_option(option, given, name)


def value_text(name: str, value: Any) -> str:
    """A value as a person would write it."""
    kind = kind_of(name)
    if kind.can_be_off and value == kind.off:
        return NONE
    if isinstance(value, tuple | list):
        return ",".join(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def meaning_of(name: str) -> str:
    """What a setting is for, as its flag says it."""
    option = option_of(name)
    unit = f" ({option.unit})" if option.unit else ""
    node = "; of each node" if kind_of(name).where == NODE else ""
    return f"{option.help}{unit}{node}"


def changed(crawl: CrawlSettings, name: str, value: Any) -> CrawlSettings:
    """The settings of a crawl with one of them changed, and those that follow from it."""
    more: dict[str, Any] = {kind_of(name).field: value}
    if name == "delay" and not crawl.ip_delay_given:
        more["ip_delay"] = value / 70
    if name == "ip-delay":
        more["ip_delay_given"] = True
    return replace(crawl, **more)
