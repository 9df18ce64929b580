"""From what the user said to settings.

Each option comes from the first of: flag, LYCOSA_* variable, TOML file, default. What there is to
set stands in `options`. `collect` reads, checks and merges the options of a command;
`crawl_settings`, `node_settings` and `run_limits` make settings of them. In a resumed crawl, what
the user did not give stays as it was stored. Reads files and variables only when called.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from lycosa.errors import UserError
from lycosa.settings.amounts import TooMuch
from lycosa.settings.options import SERVER, STORE, Option, options_of, settings
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits, cores, option_name
from lycosa.terminal import redact

NEAR = 0.6  # of two words' letters, in order: less is another word, not a slip
_CONFIG_BYTES = 1 << 20
_EXCLUDE_BYTES = 64 << 20  # some million lines


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
    found = {
        o.name: read_option(o, flags[o.name], f"--{o.name}") for o in options if o.name in flags
    }
    for option in settable:
        raw = environ.get(option.variable, "")
        if raw and option.name not in found:
            parts = raw.split(",") if option.repeat else raw
            found[option.name] = read_option(option, parts, option.variable)
    file = found.get("config")
    from_file = _load(Path(str(file))) if file else {}
    for option in settable:
        if option.name in from_file and option.name not in found:
            where = f"{option.name} in {file}"
            found[option.name] = read_option(option, from_file[option.name], where)
    values = {o.name: o.default for o in options} | found
    return Values(values, frozenset(found), _exposed(options, flags))


def _exposed(options: list[Option], flags: Mapping[str, Any]) -> str:
    """The advice for a password on the command line; '' if there is none."""
    for option in options:
        text = str(flags.get(option.name, "")).replace(":@", "@")  # an empty one is none
        if option.kind in (STORE, SERVER) and redact(text) != text:
            variable = "" if option.flag_only else f"put the URL into {option.variable}, or "
            return (
                f"Everybody on this machine can read the password in --{option.name} (ps):"
                f" {variable}leave it out and set PGPASSWORD or write a ~/.pgpass."
            )
    return ""


def read_option(option: Option, value: object, source: str) -> object:
    """The value of an option; UserError says what is wrong with it, and in which source."""
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
    """A whole file, which must fit into memory: UserError beyond `most` bytes."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise UserError(f"The file {path} is larger than {most >> 20} MiB. Is it the right file?")
    return data.decode("utf-8")


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    # With a misspelt LYCOSA_DELAY the crawl would be ruder than its user wanted.
    known = {o.variable for o in settings()}
    for name in environ:
        if name.startswith("LYCOSA_") and name not in known:
            raise UserError(f"There is no setting {name}{closest(name, sorted(known))}")


def closest(word: str, known: list[str]) -> str:
    """The end of a sentence that says `word` is not known: the known word nearest to it, if one is
    near. That both are flags or variables does not make them alike."""
    from difflib import get_close_matches

    alike = next((each for each in ("--", "LYCOSA_") if word.startswith(each)), "")
    word = word.removeprefix(alike)
    bare = {each.removeprefix(alike): each for each in known}
    match = get_close_matches(word.replace("_", "-") if word.islower() else word, bare, 1, NEAR)
    return f"; did you mean {bare[match[0]]}?" if match else "."


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"


def read_excludes(path: Path) -> tuple[str, ...]:
    """The exclusions in a file, in the form that scope keeps them."""
    from lycosa.urls.exclusions import parse_excludes

    try:
        return parse_excludes(_read_text(path, _EXCLUDE_BYTES).splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The file {path} can't be read: {_reason(error)}.") from None
    except UserError as error:
        raise UserError(f"In {path}: {error}") from None


MOST_INCLUDES = 10_000  # every link is compared with each that has a '*' in its host


def read_includes(values: Values) -> tuple[str, ...]:
    """What --include and --include-file name, in the form that scope keeps them."""
    from lycosa.urls.exclusions import parse_includes

    try:
        lines = parse_includes(values["include"])
    except UserError as error:
        raise UserError(f"In --include: {error}") from None
    if path := values["include-file"]:
        try:
            lines += parse_includes(_read_text(path, _EXCLUDE_BYTES).splitlines())
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"The file {path} can't be read: {_reason(error)}.") from None
        except UserError as error:
            raise UserError(f"In {path}: {error}") from None
    if len(lines) > MOST_INCLUDES:
        raise UserError(f"At most {MOST_INCLUDES:,} lines can be included, not {len(lines):,}.")
    return tuple(dict.fromkeys(lines))


def crawl_settings(values: Values, stored: CrawlSettings | None = None) -> CrawlSettings:
    """The shared settings; with `stored`, what was not given stays as it was in that crawl."""
    given = {
        part.name: values[name]
        for part in fields(CrawlSettings)
        if (name := option_name(part.name)) in values.by_name
        and (stored is None or name in values.given)
        and values[name] is not None
    }
    if "exclude" in given:
        given["exclude"] = read_excludes(given["exclude"])
    if stored is None or {"include", "include-file"} & values.given:
        given["include"] = read_includes(values)
    if stored is not None and given.get("bot_name", stored.bot_name) != stored.bot_name:
        raise UserError(
            f"This crawl is called {stored.bot_name}, and has read robots.txt files by that name:"
            " leave --bot-name out, or start another crawl."
        )
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


def _checked(crawl: CrawlSettings) -> CrawlSettings:
    """UserError if a visit that begins seconds after a renewal could outlive the lease (P4)."""
    needed = 1.5 * crawl.visit_timeout + 5
    if crawl.lease_time < needed:
        raise UserError(
            f"--lease-time ({crawl.lease_time:g} s) must be at least {needed:g} s, one and a half"
            f" times --visit-timeout ({crawl.visit_timeout:g} s) and 5 s more."
        )
    return crawl


def node_settings(values: Values, stored: Mapping[str, Any] | None = None) -> NodeSettings:
    """This machine's settings; what was not given is as it was in an earlier run (`stored`)."""
    from lycosa.settings.stored import stored_node

    parts = {part.name: option_name(part.name) for part in fields(NodeSettings)}
    given = {field_: values[name] for field_, name in parts.items() if name in values.by_name}
    before = stored_node(stored or {})
    given |= {name: before[name] for name in before if parts[name] not in values.given}
    if given.get("engines") is None:
        given["engines"] = cores()
    given["max_bandwidth"] = given.get("max_bandwidth") or 0
    node = NodeSettings(**given)
    _check_networks(node)
    # More engines than fetches: the rest would only take memory.
    return replace(node, engines=min(node.engines, node.max_workers))


def _check_networks(node: NodeSettings) -> None:
    """UserError if --only-network names a network that the crawl may not connect to."""
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
        max_pages=values["max-pages"] or 0,
        max_duration=values["max-duration"] or 0.0,
        moved=values["moved"],
    )
