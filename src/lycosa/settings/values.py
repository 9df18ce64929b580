"""Settings: a few small frozen values, built and validated once at the edge.

Each comes from the first of: flag, LYCOSA_* variable, TOML file, default. What there is to set
stands in `options`; here it is collected, checked and put into the values that the other modules
take: `CrawlSettings` (what all nodes of a crawl agree on, stored with it), `NodeSettings` (this
machine's own) and `RunLimits`. Reads files and variables only when asked to; starts nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from lycosa import __version__
from lycosa.errors import UserError
from lycosa.frontier.keys import DELAYS_KEY, NODE_KEY, SETTINGS_KEY
from lycosa.frontier.protocol import StoreRules
from lycosa.settings.options import STORE, Option, TooMuch, options_of, settings
from lycosa.terminal import redact
from lycosa.urls.scope import ScopeRules

_CONFIG_BYTES = 1 << 20
_EXCLUDE_BYTES = 64 << 20  # some million lines
_NO_LIMIT = 0  # of the whole numbers below


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """What all nodes of a crawl agree on."""

    email: str
    contact_url: str = ""
    delay: float = 70.0  # s
    ip_delay: float = 1.0  # s
    ip_delay_given: bool = False  # else it follows the delay
    seeded_only: bool = False
    exclude: tuple[str, ...] = ()  # lines as scope reads them
    max_depth: int | None = None  # None: no limit; 0: the seeds only
    max_pages_per_domain: int = _NO_LIMIT
    max_queued_per_domain: int = 10_000
    sitemaps: bool = False
    ignore_nofollow: bool = False
    visit_timeout: float = 90.0  # s
    lease_time: float = 180.0  # s
    max_body: int = 5 * 1024**2  # bytes on the wire

    @property
    def user_agent(self) -> str:
        """Derived, not stored: a newer version may go on with an older crawl."""
        contact = f"+{self.contact_url}; " if self.contact_url else ""
        return f"lycosa/{__version__} ({contact}mailto:{self.email})"

    def store_rules(self) -> StoreRules:
        """The part that the store applies."""
        return StoreRules(
            delay_ms=round(self.delay * 1000),
            lease_ms=round(self.lease_time * 1000),
            max_queued_per_domain=self.max_queued_per_domain,
            max_pages_per_domain=self.max_pages_per_domain,
            seeded_only=self.seeded_only,
        )

    def scope_rules(self) -> ScopeRules:
        """The part that says which URLs we want."""
        return ScopeRules(
            max_depth=self.max_depth, seeded_only=self.seeded_only, exclude=self.exclude
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "exclude": list(self.exclude)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CrawlSettings:
        """Settings as stored; what an older version did not know has its default."""
        unknown = sorted(set(data) - {part.name for part in fields(cls)})
        if unknown:
            raise UserError(
                f"This crawl was made by a newer lycosa: its setting {unknown[0]!r} is not known."
            )
        return cls(**{**data, "exclude": tuple(data.get("exclude", ()))})

    def difference(self, stored: CrawlSettings) -> list[str]:
        """What differs from a stored crawl, one readable line each."""
        lines = []
        for part in fields(self):
            mine, theirs = getattr(self, part.name), getattr(stored, part.name)
            if mine != theirs and part.name != "ip_delay_given":
                flag = _FLAG_OF.get(part.name, part.name.replace("_", "-"))
                lines.append(f"--{flag}: {_shown(mine)} here, {_shown(theirs)} in the crawl")
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What belongs to this machine."""

    data_dir: Path = Path("lycosa-data")
    store: str = "sqlite"  # may hold a password: print redact(store)
    max_workers: int = 1000  # fetches in flight, all engines of the node together
    engines: int = 1
    warc: bool = False
    tls_verify: bool = False
    allow_private: bool = False
    allow_network: tuple[str, ...] = ()  # private networks that may be connected to
    only_network: tuple[str, ...] = ()  # nothing outside of these is connected to; (): no limit
    ip_delay_exempt: tuple[str, ...] = ()  # networks without a delay per address, beside CDNs
    nameservers: tuple[tuple[str, int], ...] = ()  # (): those of the system
    port_map: dict[int, int] = field(default_factory=dict)  # port of the URL -> connected to
    log_level: str = "info"
    log_format: str = "text"
    log_interval: float = 5.0  # s
    view: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What holds for one run: when it ends before the crawl does, what the user vouches for."""

    max_pages: int = _NO_LIMIT
    max_duration: float = 0.0  # s; 0: no limit
    moved: bool = False  # the directory takes the place of the one it was copied from


# Fields whose name is not that of their flag.
_FLAG_OF = {
    "seeded_only": "seeded-urls-only",
    "exclude": "exclude-file",
    "allow_private": "allow-private-addresses",
    "nameservers": "nameserver",
}


@dataclass(frozen=True, slots=True)
class Values:
    """The options of one command after flags, variables, file and defaults were merged."""

    by_name: dict[str, Any]
    given: frozenset[str]  # not left at their default
    advice: str = ""  # what the user should know of how they were given

    def __getitem__(self, name: str) -> Any:
        return self.by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self.by_name


def collect(
    command: str, flags: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> Values:
    """Read and check every option of a command: flags > variables > TOML file > defaults."""
    environ = os.environ if environ is None else environ
    _refuse_unknown_variables(environ)
    options = options_of(command)
    settable = [o for o in options if not o.flag_only]
    found = {o.name: _read(o, flags[o.name], f"--{o.name}") for o in options if o.name in flags}
    for option in settable:
        raw = environ.get(option.variable, "")
        if raw and option.name not in found:
            parts = raw.split(",") if option.repeat else raw
            found[option.name] = _read(option, parts, option.variable)
    file = found.get("config")
    from_file = _load(Path(str(file))) if file else {}
    for option in settable:
        if option.name in from_file and option.name not in found:
            where = f"{option.name} in {file}"
            found[option.name] = _read(option, from_file[option.name], where)
    values = {o.name: o.default for o in options} | found
    return Values(values, frozenset(found), _exposed(options, flags))


def _exposed(options: list[Option], flags: Mapping[str, Any]) -> str:
    """What to say of a password on the command line; '' if there is none."""
    for option in options:
        text = str(flags.get(option.name, "")).replace(":@", "@")  # an empty one is none
        if option.kind is STORE and redact(text) != text:
            variable = "" if option.flag_only else f"put the URL into {option.variable}, or "
            return (
                f"Everybody on this machine can read the password in --{option.name} (ps):"
                f" {variable}leave it out and set PGPASSWORD or write a ~/.pgpass."
            )
    return ""


def _read(option: Option, value: object, source: str) -> object:
    """One value, or the sentence that says what is wrong with it and where it stands."""
    if option.repeat:
        values = value if isinstance(value, list) else [value]
        return tuple(_read_one(option, each, source) for each in values)
    return _read_one(option, value, source)


def _read_one(option: Option, value: object, source: str) -> object:
    try:
        return option.kind.parse(value)
    except TooMuch:
        raise UserError(f"{source} must be at most {option.kind.most}, not {value!r}.") from None
    except (ValueError, TypeError):
        shown = redact(value) if isinstance(value, str) else value
        raise UserError(f"{source} must be {option.kind.expects}, not {shown!r}.") from None


def _load(path: Path) -> dict[str, object]:
    """The keys of a TOML file by option name."""
    import tomllib

    try:
        data = tomllib.loads(_read_text(path, _CONFIG_BYTES))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The file {path} can't be read: {_reason(error)}.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"The file {path} is not valid TOML: {error}.") from None
    known = [o.name for o in settings()]
    for key in data:
        if key.replace("_", "-") not in known or key == "config":
            raise UserError(f"The file {path} has an unknown key {key!r}{closest(key, known)}")
    return {key.replace("_", "-"): value for key, value in data.items()}


def _read_text(path: Path, most: int) -> str:
    """A file as a whole, which is kept in memory: not any file."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UserError(f"The file {path} is larger than {most >> 20} MiB: is it the right one?")
    return data.decode("utf-8")


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    # A misspelt LYCOSA_DELAY must not end in a crawl that is ruder than was meant.
    known = {o.variable for o in settings()}
    for name in environ:
        if name.startswith("LYCOSA_") and name not in known:
            raise UserError(f"There is no setting {name}{closest(name, sorted(known))}")


def closest(word: str, known: list[str]) -> str:
    """How to end the sentence that says `word` is not known."""
    from difflib import get_close_matches

    match = get_close_matches(word.replace("_", "-") if word.islower() else word, known, 1, 0.5)
    return f"; did you mean {match[0]}?" if match else "."


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} lines"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g} s"
    return "none" if value in (None, "") else str(value)


def read_excludes(path: Path) -> tuple[str, ...]:
    """The exclusions in a file, in the form that scope keeps them."""
    from lycosa.urls.scope import parse_excludes

    try:
        return parse_excludes(_read_text(path, _EXCLUDE_BYTES).splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The file {path} can't be read: {_reason(error)}.") from None
    except UserError as error:
        raise UserError(f"In {path}: {error}") from None


def crawl_settings(values: Values, stored: CrawlSettings | None = None) -> CrawlSettings:
    """The shared settings; with `stored`, what was not given stays as it was in that crawl."""
    given = {
        part.name: values[name]
        for part in fields(CrawlSettings)
        if (name := _option_name(part.name)) in values.by_name
        and (stored is None or name in values.given)
        and values[name] is not None
    }
    if "exclude" in given:
        given["exclude"] = read_excludes(given["exclude"])
    if stored is None and "email" not in given:
        raise UserError(
            "A crawl needs your email address, so that site owners can reach you:"
            " add --email you@example.org."
        )
    if "ip_delay" in given:
        given["ip_delay_given"] = True
    elif "delay" in given and not (stored and stored.ip_delay_given):
        given["ip_delay"] = given["delay"] / 70
    return _checked(CrawlSettings(**given) if stored is None else replace(stored, **given))


_NODE_KEPT = (
    "warc", "tls_verify", "allow_private", "allow_network", "only_network", "ip_delay_exempt",
    "nameservers", "port_map", "max_workers",
)  # fmt: skip


def node_key(name: str = "") -> str:
    """Under which that is for a node of that name, where there are many."""
    return f"{NODE_KEY}:{name}" if name else NODE_KEY


def node_json(node: NodeSettings) -> dict[str, Any]:
    """What a later run on this machine goes on with."""
    kept = {name: getattr(node, name) for name in _NODE_KEPT}
    if node.engines != min(cores(), node.max_workers):  # another machine may have other cores
        kept["engines"] = node.engines
    return {**kept, "port_map": {str(port): to for port, to in node.port_map.items()}}


def stored_node(stored: Mapping[str, Any]) -> dict[str, Any]:
    """What `node_json` gave to a store for this node, as fields of NodeSettings."""
    import json

    try:
        found = json.loads(stored.get(NODE_KEY) or "{}")
        kept = {name: found[name] for name in (*_NODE_KEPT, "engines") if name in found}
        for name in ("allow_network", "only_network", "ip_delay_exempt"):
            kept[name] = tuple(kept.get(name, ()))
        kept["nameservers"] = tuple((host, port) for host, port in kept.get("nameservers", ()))
        kept["port_map"] = {int(port): to for port, to in kept.get("port_map", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return kept if found else {}


def earlier_delays(stored: Mapping[str, Any]) -> list[tuple[int, float]]:
    """The delays of earlier runs that differed, as (until_ms, delay), the oldest first."""
    import json

    return [(int(until), float(delay)) for until, delay in json.loads(stored.get(DELAYS_KEY, "[]"))]


def stored_settings(stored: Mapping[str, Any]) -> CrawlSettings | None:
    """The CrawlSettings among what a store keeps of its crawl; None if there are none."""
    import json

    text = stored.get(SETTINGS_KEY)
    try:
        return CrawlSettings.from_json(json.loads(text)) if text else None
    except (ValueError, TypeError, AttributeError):
        raise UserError(
            "The settings stored with this crawl can't be read: its database is damaged."
        ) from None


def _checked(crawl: CrawlSettings) -> CrawlSettings:
    # P4: a visit that begins some seconds after a renewal must end well before the lease does.
    needed = 1.5 * crawl.visit_timeout + 5
    if crawl.lease_time < needed:
        raise UserError(
            f"--lease-time ({crawl.lease_time:g} s) must be at least {needed:g} s, one and a half"
            f" times --visit-timeout ({crawl.visit_timeout:g} s) and 5 s more."
        )
    return crawl


def node_settings(values: Values, stored: Mapping[str, Any] | None = None) -> NodeSettings:
    """This machine's settings; what was not given is as it was in an earlier run (`stored`)."""
    parts = {part.name: _option_name(part.name) for part in fields(NodeSettings)}
    given = {field_: values[name] for field_, name in parts.items() if name in values.by_name}
    before = stored_node(stored or {})
    given |= {name: before[name] for name in before if parts[name] not in values.given}
    if given.get("engines") is None:
        given["engines"] = cores()
    node = NodeSettings(**given)
    _check_networks(node)
    # An engine without a fetch to make would only hold memory.
    return replace(node, engines=min(node.engines, node.max_workers))


def _check_networks(node: NodeSettings) -> None:
    """A crawl confined to a network that it may not connect to would only fail."""
    from lycosa.fetch.addresses import Allowed

    allowed = Allowed(node.allow_private, node.allow_network)
    for cidr in node.only_network:
        if not allowed(cidr.partition("/")[0]):
            raise UserError(
                f"--only-network {cidr} is not on the public internet: add --allow-network {cidr}"
                " to connect to it."
            )


def run_limits(values: Values) -> RunLimits:
    return RunLimits(
        max_pages=values["max-pages"] or _NO_LIMIT,
        max_duration=values["max-duration"] or 0.0,
        moved=values["moved"],
    )


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _option_name(field_name: str) -> str:
    return _FLAG_OF.get(field_name, field_name.replace("_", "-"))
