"""The one table of options. Owns the name, kind, default, unit and help of every setting.

The flags of the command line, the LYCOSA_* variables, the keys of a TOML file and
docs/reference.md all come from `OPTIONS`: to add a setting, add a row here and the field in
`values` that it fills; one of a node that a resume should keep also goes into `stored`. How one
value is read from text is in `amounts`, or here; where it came from and what it is for is not known
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lycosa.settings.amounts import (
    KIB,
    ValueKind,
    at_least,
    at_most,
    parse_bandwidth,
    parse_bot_name,
    parse_seconds,
    parse_size,
    parse_switch,
    parse_whole,
    text_of,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting, or one flag of one command."""

    name: str  # flag without the dashes and TOML key; in upper case with LYCOSA_ the variable
    kind: ValueKind
    default: object
    help: str
    metavar: str = ""
    unit: str = ""
    commands: tuple[str, ...] = ("crawl",)
    shared: bool = False  # all nodes of a crawl agree on it: it is stored with the crawl
    repeat: bool = False  # may be given several times; a list in TOML, commas in the variable
    flag_only: bool = False  # a question's filter, not a setting: no variable, no TOML key
    shown_default: str = ""  # said instead of the default

    @property
    def variable(self) -> str:
        return "LYCOSA_" + self.name.upper().replace("-", "_")

    @property
    def flag(self) -> str:
        """The flag to show: of a switch that is on by default, the one that turns it off."""
        return f"--no-{self.name}" if self.default is True else f"--{self.name}"


def parse_nameserver(value: object) -> tuple[str, int]:
    """'192.0.2.1', '192.0.2.1:5353', '2001:db8::1' or '[2001:db8::1]:53'."""
    import ipaddress

    text = text_of(value)
    found = re.fullmatch(r"\[(.+)\](?::(\d+))?|([^:]+)(?::(\d+))?|(.+)", text)
    assert found is not None  # the last alternative takes anything
    host = found[1] or found[3] or found[5]
    return str(ipaddress.ip_address(host)), _port(found[2] or found[4] or 53)


def _port(value: object) -> int:
    port = parse_whole(value, 1)
    if port > 65535:
        raise ValueError
    return port


def parse_network(value: object) -> str:
    """An address or a network."""
    import ipaddress

    return str(ipaddress.ip_network(text_of(value), strict=False))


def parse_port_map(value: object) -> dict[int, int]:
    """'80=18080,443=18443', or a table in TOML."""
    if isinstance(value, dict):
        pairs: Iterable[tuple[object, object]] = value.items()
    else:
        pairs = [tuple(pair.split("=")) for pair in text_of(value).split(",")]  # type: ignore[misc]
    return {_port(a): _port(b) for a, b in pairs}


def parse_email(value: object) -> str:
    """An address as it may stand in a user agent: plain ASCII, no spaces, no brackets."""
    if not re.fullmatch(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.:\[\]-]+", text_of(value)):
        raise ValueError
    return text_of(value)


def parse_contact_url(value: object) -> str:
    """An http(s) URL as it may stand in a user agent."""
    if not re.fullmatch(r"https?://[!-'*-:<-~]+", text_of(value)):
        raise ValueError
    return text_of(value)


def parse_language(value: object) -> str:
    """'de', 'de-AT' or 'deu' as the code that pages get."""
    from lycosa.page.language import code_of

    text = text_of(value)
    code = code_of(text)
    if not code or not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        raise ValueError
    return code


def parse_path(value: object) -> Path:
    try:
        return Path(text_of(value)).expanduser()
    except RuntimeError:  # '~somebody' whom this machine does not know
        raise ValueError from None


def parse_store(value: object) -> str:
    text = text_of(value)
    if text != "sqlite" and not re.match(r"postgres(ql)?://", text):
        raise ValueError
    return text


def parse_server(value: object) -> str:
    if (text := parse_store(value)) == "sqlite":
        raise ValueError
    return text


def number(low: int, high: int) -> ValueKind:
    expects = f"a whole number of at least {low}"
    return ValueKind(expects, lambda v: int(at_most(parse_whole(v, low), high)), f"{high:,}")


def choice(*names: str) -> ValueKind:
    def parse(value: object) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return ValueKind("one of " + ", ".join(names), parse)


def seconds(most: str, low: float = 0, above: bool = False) -> ValueKind:
    bound = f"more than {low:g}" if above else f"at least {low:g}"
    expects = f"a time of {bound} seconds, such as 90, 30m, 12h or 2d"
    high = parse_seconds(most)
    return ValueKind(expects, lambda v: at_most(at_least(parse_seconds(v), low, above), high), most)


def size_value(most: str) -> ValueKind:
    high = parse_size(most)
    return ValueKind(
        "a size such as 512k, 5M or 1G", lambda v: int(at_most(parse_size(v), high)), most
    )


def parse_when(value: object) -> datetime | timedelta:
    """'2h' as so long ago, '2026-01-31' or '2026-01-31T12:00' as a moment of UTC."""
    text = text_of(value)
    if re.match(r"\d{4}-\d", text):
        found = datetime.fromisoformat(text)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return timedelta(seconds=at_most(parse_seconds(text), parse_seconds("36500d")))


BOT_NAME = ValueKind(
    "a name of letters, hyphens and underscores, as robots.txt files have them (RFC 9309)",
    parse_bot_name,
)
BANDWIDTH = ValueKind(
    "an amount a second of at least 1000 bytes, such as 500k, 2M/s or 20Mbit/s",
    lambda v: int(at_most(parse_bandwidth(v), parse_size("100G"))),
    "100G",
)
SWITCH = ValueKind("true or false", parse_switch)
TEXT = ValueKind("a text", text_of)
WHEN = ValueKind(
    "a time ago such as 90, 30m, 12h or 2d, or a day such as 2026-01-31", parse_when, "36500d"
)
FREE = ValueKind(
    "a size such as 500M or 2G, or 0",
    lambda v: 0 if str(v).strip() == "0" else int(at_most(parse_size(v), parse_size("90T"))),
    "90T",
)
PATH = ValueKind("a path", parse_path)
EMAIL = ValueKind("an email address such as you@example.org", parse_email)
CONTACT = ValueKind("a URL that begins with http:// or https://", parse_contact_url)
STORE = ValueKind("'sqlite' or a URL that begins with postgresql://", parse_store)
SERVER = ValueKind("a URL that begins with postgresql://", parse_server)
NETWORK = ValueKind("a network such as 10.1.0.0/16", parse_network)
NAMESERVER = ValueKind("an IP address, or one with a port such as 192.0.2.1:53", parse_nameserver)
LANGUAGE = ValueKind("the code of a language such as de, pt or zh", parse_language)
PORTS = ValueKind("pairs of ports such as 80=18080,443=18443", parse_port_map)

STEERERS = ("stop", "pause", "unpause", "set", "seeds", "exclude", "retry")  # change a crawl
READERS = ("status", "pages", "show", "why", "queue", *STEERERS, "audit", "verify")
EVERY = ("crawl", "check", *READERS)
EXPORTERS = ("export", "query")
LOOKERS = ("domains", "domain", "top")
OF_NODES = ("sample", *LOOKERS, *EXPORTERS)  # they read the directories of several nodes
SHOWERS = ("dashboard", "report")  # they show a crawl as a page
STORED = (*EVERY, *OF_NODES, *SHOWERS)
LOGGERS = ("crawl", "demo")
CHOOSERS = ("pages", "sample", *EXPORTERS)  # commands with the filters of pages
SORTS = ("pages", "queued", "failing", "delay", "slowest")  # of `frontier/survey`

# fmt: off
OPTIONS: tuple[Option, ...] = (
    Option("email", EMAIL, None, "your address, sent with every request so that a site's owner"
           " can reach you; without it there is no crawl", "ADDRESS", shared=True),
    Option("contact-url", CONTACT, None, "a page about your crawl, sent with every request",
           "URL", shared=True),
    Option("bot-name", BOT_NAME, "lycosa", "what your bot is called: the first word of its user"
           " agent, and the name by which it reads robots.txt; it stays for the whole crawl",
           "NAME", shared=True),
    Option("data-dir", PATH, Path("lycosa-data"), "where the crawl is kept", "DIR",
           commands=EVERY),
    Option("data-dir", PATH, (Path("lycosa-data"),), "where the crawl is kept; several times: the"
           " directories of its nodes", "DIR", commands=(*OF_NODES, *SHOWERS), repeat=True,
           shown_default="lycosa-data"),
    Option("resume", SWITCH, False, "go on with the crawl in the data directory, or join the one"
           " in the store; settings not given again stay as they were"),
    Option("start-or-resume", SWITCH, False, "start a crawl, or go on with the one that is there:"
           " the same command at every start of a service"),
    Option("moved", SWITCH, False, "the data directory was moved or restored from a copy, and its"
           " original will never run again; to be said once", commands=("crawl", "migrate"),
           flag_only=True),
    Option("store", STORE, "sqlite", "where the frontier is kept: 'sqlite' is a file in the data"
           " directory, postgresql://user@host/database a server that many nodes share", "URL",
           commands=STORED),
    Option("config", PATH, None, "read settings from this TOML file; its keys are these names",
           "FILE", commands=STORED),
    Option("exclude-file", PATH, None, "never visit what this file lists: one domain, host or URL"
           " pattern a line", "FILE", shared=True),
    Option("include", TEXT, (), "follow only links to what this domain, host or URL pattern hits,"
           " as in --exclude-file; seeds are fetched in any case", "PATTERN", shared=True,
           repeat=True, shown_default="all"),
    Option("include-file", PATH, None, "the same for what this file lists, one a line", "FILE",
           shared=True),
    Option("seeded-urls-only", SWITCH, False, "stay in the domains of the seeds", shared=True),
    Option("max-workers", number(1, 100_000), 1000, "fetches in flight at once on this node", "N",
           commands=("crawl", "check")),
    Option("engines", number(1, 256), None, "processes", "N", commands=("crawl", "check"),
           shown_default="one per core"),
    Option("max-bandwidth", BANDWIDTH, None, "receive no more than this a second on this node, on"
           " average: bytes, or bits as 20Mbit/s", "AMOUNT", unit="bytes/s",
           commands=("crawl", "check"), shown_default="no limit"),
    Option("max-pages", number(1, 10**12), None,
           "stop after this many pages of the whole crawl", "N",
           shown_default="no limit"),
    Option("max-duration", seconds("3650d", above=True), None, "stop after this long", "TIME",
           unit="seconds", shown_default="no limit"),
    Option("language", LANGUAGE, (), "keep only pages in this language, and count links from each"
           " of them anew for --max-depth", "CODE", repeat=True, shared=True,
           shown_default="all languages"),
    Option("max-depth", number(0, 65_536), None, "follow at most this many links from a seed, and"
           " from a page in a --language that is wanted", "N",
           shared=True, shown_default="no limit"),
    Option("max-pages-per-domain", number(1, 10**9), None,
           "fetch at most this many pages of a domain",
           "N", shared=True, shown_default="no limit"),
    Option("max-queued-per-domain", number(1, 10**9), 10_000,
           "keep at most this many URLs of a domain"
           " waiting; more are counted and dropped", "N", shared=True),
    Option("keep-repeats", SWITCH, False,
           "go on with a site that answers every URL with one page; else what is queued of it is"
           " dropped", shared=True),
    Option("delay", seconds("30d"), 70.0,
           "wait this long between the end of a visit to a domain and"
           " the next; a longer Crawl-delay in robots.txt wins", "TIME", unit="seconds",
           shared=True, commands=("crawl", "check")),
    Option("ip-delay", seconds("1d"), None,
           "wait this long between the end of a visit to an IP address"
           " and the next; holds for the engines of one node", "TIME",
           unit="seconds", shared=True, shown_default="a 70th of the delay"),
    Option("min-free-disk", FREE, 2 * KIB**3, "pause while less than this is free on the disk of"
           " the data directory; 0: never", "SIZE", unit="bytes", shown_default="2G"),
    Option("warc", SWITCH, False, "keep responses as WARC files beside the text"),
    Option("sitemaps", SWITCH, False, "also find pages by the sitemaps that robots.txt names",
           shared=True),
    Option("ignore-nofollow", SWITCH, False, "follow links that a page marks nofollow",
           shared=True),
    Option("tls-verify", SWITCH, False, "refuse sites whose TLS certificate is not valid; trusts"
           " the system's authorities, or those in the file that SSL_CERT_FILE names"),
    Option("allow-private-addresses", SWITCH, False, "also connect to loopback and private"
           " addresses; only for tests on your own network"),
    Option("allow-network", NETWORK, (), "also connect to this private network", "CIDR",
           repeat=True, shown_default="none"),
    Option("only-network", NETWORK, (), "connect to nothing outside of this network; the rest is"
           " recorded as outside-network. For rehearsals", "CIDR", repeat=True,
           shown_default="no limit"),
    Option("ip-delay-exempt", NETWORK, (), "no delay per address in this network, beside those of"
           " large CDNs", "CIDR", repeat=True, shown_default="none"),
    Option("nameserver", NAMESERVER, (), "ask this name server", "HOST:PORT", repeat=True,
           commands=("crawl", "check"), shown_default="those of the system"),
    Option("port-map", PORTS, {}, "connect to other ports than URLs say; for rehearsals",
           "80=18080,443=18443", shown_default="none"),
    Option("visit-timeout", seconds("1h", above=True), 90.0, "end a visit after this long", "TIME",
           unit="seconds", shared=True),
    Option("lease-time", seconds("1d", above=True), 180.0, "how long an engine may be silent before"
           " others take over its domains", "TIME", unit="seconds", shared=True),
    Option("max-body", size_value("1G"), 5 * KIB**2, "read at most this much of a response", "SIZE",
           unit="bytes", shared=True),
    Option("log-level", choice("debug", "info", "warning", "error"), "info", "what to report",
           "LEVEL", commands=LOGGERS),
    Option("log-format", choice("text", "json"), "text", "how to report it", "FORMAT",
           commands=LOGGERS),
    Option("log-interval", seconds("1d", above=True), 5.0,
           "without a terminal, report progress this"
           " often", "TIME", unit="seconds", commands=LOGGERS),
    Option("notify", TEXT, (), "tell this URL (http or https, by POST) or command (on its standard"
           " input) as JSON when the crawl finished, failed, stopped, stalled, is paused or goes"
           " on, when the disk is low, and when disk or DNS limit its speed", "URL|COMMAND",
           repeat=True, shown_default="nobody"),
    Option("stalled-after", seconds("30d", above=True), 600.0, "say so when nothing was fetched for"
           " this long although something could be", "TIME", unit="seconds"),
    Option("view", SWITCH, True, "no live view, even on a terminal", commands=LOGGERS),
    Option("dashboard", SWITCH, True, "no dashboard beside the crawl", commands=LOGGERS),
    Option("dashboard-host", TEXT, "127.0.0.1", "the address at which the dashboard listens;"
           " elsewhere than on loopback everything needs its token", "ADDRESS"),
    Option("dashboard-port", number(1, 65_535), 8900, "the port of the dashboard", "PORT",
           commands=LOGGERS, shown_default="8900, or the next that is free"),
    Option("dashboard-token-file", PATH, None, "read the token of the dashboard from this file,"
           " which only you can read; it is not printed then", "FILE",
           commands=("crawl", "dashboard"), shown_default="one is made in the data directory"),
    Option("dashboard-name", TEXT, (), "a host name by which the dashboard is reached, as that of"
           " a proxy before it; others are refused", "NAME", repeat=True,
           commands=("crawl", "dashboard"), shown_default="localhost and addresses"),
    Option("host", TEXT, "127.0.0.1", "the address to listen at; elsewhere than on loopback"
           " everything needs the token", "ADDRESS", commands=("dashboard",), flag_only=True),
    Option("port", number(1, 65_535), 8900, "the port to listen at", "PORT",
           commands=("dashboard",), flag_only=True, shown_default="8900, or the next that is free"),
    Option("json", SWITCH, False, "print JSON", commands=("check", *READERS, *OF_NODES),
           flag_only=True),
    Option("domain", TEXT, "", "only pages of this domain", "NAME", commands=("retry",),
           flag_only=True),
    Option("outcome", TEXT, "", "only pages with this outcome, such as robots or timeout",
           "NAME", commands=("retry",), flag_only=True),
    Option("domain", TEXT, (), "only pages of this domain", "NAME", commands=CHOOSERS,
           flag_only=True, repeat=True, shown_default="all"),
    Option("status", number(0, 999), 0, "only pages with this HTTP status", "CODE",
           commands=CHOOSERS, flag_only=True, shown_default="any"),
    Option("outcome", TEXT, (), "only pages with this outcome, such as ok, redirect or timeout",
           "NAME", commands=CHOOSERS, flag_only=True, repeat=True, shown_default="any"),
    Option("label", TEXT, (), "only pages with this label, such as content, listing or soft-404",
           "NAME", commands=CHOOSERS, flag_only=True, repeat=True, shown_default="any"),
    Option("language", TEXT, (), "only pages in this language, such as en", "CODE",
           commands=CHOOSERS, flag_only=True, repeat=True, shown_default="any"),
    Option("since", WHEN, None, "only pages of the last 10m, 2h, 1d and so on, or from this day"
           " on", "TIME", commands=CHOOSERS, flag_only=True, shown_default="all"),
    Option("until", WHEN, None, "only pages that are older than that, or from before this day",
           "TIME", commands=CHOOSERS, flag_only=True, shown_default="all"),
    Option("min-depth", number(0, 1 << 16), None, "only pages at least so many links from a seed",
           "N", commands=CHOOSERS, flag_only=True),
    Option("max-depth", number(0, 1 << 16), None, "only pages at most so many links from a seed",
           "N", commands=CHOOSERS, flag_only=True),
    Option("min-chars", number(0, 10**9), None, "only pages with at least so many characters of"
           " text", "N", commands=CHOOSERS, flag_only=True),
    Option("max-chars", number(0, 10**9), None, "only pages with at most so many characters of"
           " text", "N", commands=CHOOSERS, flag_only=True),
    Option("prefix", TEXT, "", "only URLs that begin so", "URL", commands=CHOOSERS,
           flag_only=True),
    Option("count", number(1, 1_000), 5, "how many pages", "N", commands=("sample",),
           flag_only=True),
    Option("seed", number(0, 10**9), None, "draw the same pages again, as long as the crawl is"
           " the same", "N", commands=("sample",), flag_only=True, shown_default="another one"
           " each time"),
    Option("limit", number(1, 10**9), 100, "at most this many", "N", commands=("pages",),
           flag_only=True),
    Option("sort", choice(*SORTS), "pages", "what comes first: the most pages, the most queued"
           " URLs, the most failures, the longest Crawl-delay, the slowest responses", "NAME",
           commands=("domains",), flag_only=True),
    Option("limit", number(1, 1_000), 50, "at most this many", "N", commands=("domains",),
           flag_only=True),
    Option("domain", TEXT, "", "only URLs of this domain, in the order in which they are fetched",
           "NAME", commands=("queue",), flag_only=True),
    Option("pattern", TEXT, "", "only URLs that fit this domain, host or URL pattern, as in"
           " --exclude-file", "PATTERN", commands=("queue",), flag_only=True),
    Option("limit", number(1, 10_000), 50, "at most this many", "N", commands=("queue",),
           flag_only=True),
    Option("domain", TEXT, "", "answer the owner of this domain: when it was visited, what was"
           " asked for, which robots.txt was in force, how long the pauses were", "NAME",
           commands=("audit",), flag_only=True),
    Option("since", WHEN, None, "with --domain: only visits of the last 2h, 1d and so on, or from"
           " this day on", "TIME", commands=("audit",), flag_only=True, shown_default="all"),
    Option("until", WHEN, None, "with --domain: only older visits, or from before this day",
           "TIME", commands=("audit",), flag_only=True, shown_default="all"),
    Option("limit", number(1, 10_000), 20, "with --domain: list at most this many visits, the last",
           "N", commands=("audit",), flag_only=True),
    Option("node", TEXT, "", "change the settings of this node alone (its name, or how that begins,"
           " as the live view shows it), not those of all nodes", "NAME", commands=("set",),
           flag_only=True, shown_default="all nodes, or that of --data-dir"),
    Option("once", SWITCH, False, "print one line and end", commands=("top",), flag_only=True),
    Option("oldest", SWITCH, False, "oldest first", commands=("pages",), flag_only=True),
    Option("list", SWITCH, False, "list the exclusions", commands=("exclude",), flag_only=True),
    Option("remove", SWITCH, False, "take these exclusions back, and queue again what they took"
           " out, as far as it is kept", commands=("exclude",), flag_only=True),
    Option("dry-run", SWITCH, False, "only say what would happen", commands=("exclude", "retry"),
           flag_only=True),
    Option("yes", SWITCH, False, "do not ask before URLs leave the queue or enter it",
           commands=("crawl", "exclude", "retry"), flag_only=True),
    Option("data-dir", PATH, Path("lycosa-demo"), "where the demo is kept; an older demo there is"
           " replaced", "DIR", commands=("demo",), flag_only=True),
    Option("domains", number(1, 100_000), 200,
           "domains of the simulated web", "N", commands=("demo",),
           flag_only=True),
    Option("pages", number(1, 100_000), 10, "pages of each domain", "N", commands=("demo",),
           flag_only=True),
    Option("delay", seconds("1h"), 0.5, "wait this long between visits to a domain", "TIME",
           unit="seconds", commands=("demo",), flag_only=True),
    Option("why", TEXT, "", "what is said of the pause to others who look", "TEXT",
           commands=("pause",), flag_only=True),
    Option("requeue", SWITCH, False, "queue the pages again whose text is gone",
           commands=("verify",), flag_only=True),
    Option("mark-lost", SWITCH, False, "note what is gone, so that nobody looks for it",
           commands=("verify",), flag_only=True),
    Option("moved", SWITCH, False, "you keep these segments elsewhere: they are not missing",
           commands=("verify",), flag_only=True),
    Option("returned", SWITCH, False, "these segments are back in their place",
           commands=("verify",), flag_only=True),
    Option("from", PATH, None, "the data directory of the crawl to move", "DIR",
           commands=("migrate",), flag_only=True),
    Option("to", SERVER, None, "the database to move it to", "postgresql://…",
           commands=("migrate",), flag_only=True),
    Option("overwrite", SWITCH, False, "replace what an earlier export left there",
           commands=("export",), flag_only=True),
    Option("table", choice("text", "index", "edges"), (), "only this table of parquet", "NAME",
           commands=("export",), flag_only=True, repeat=True, shown_default="all"),
    Option("columns", TEXT, "", "only these columns of parquet or jsonl, separated by commas;"
           " visible_text and blocks are there only if they are named", "NAMES",
           commands=("export",), flag_only=True),
    Option("file-size", size_value("100G"), None, "about how large a file becomes", "SIZE",
           commands=("export",), flag_only=True, shown_default="256M, of WARC files 1G"),
    Option("exact-only", SWITCH, False, "mark only exact duplicates in text, no near ones",
           commands=EXPORTERS, flag_only=True),
    Option("name", TEXT, "", "what the crawl is called in tables and files", "NAME",
           commands=EXPORTERS, flag_only=True, shown_default="lycosa and the day it began"),
    Option("csv", SWITCH, False, "print CSV", commands=("query",), flag_only=True),
    Option("name", TEXT, "example.com", "look up this name where no seeds are given", "HOST",
           commands=("check",), flag_only=True),
)
# fmt: on


def options_of(command: str) -> list[Option]:
    """What a command accepts, in the order of the table."""
    return [option for option in OPTIONS if command in option.commands]


def settings() -> list[Option]:
    """What may also come from the environment or a TOML file."""
    found: dict[str, Option] = {}  # one that some commands take several times is one setting
    for option in OPTIONS:
        if not option.flag_only:
            found.setdefault(option.name, option)
    return list(found.values())
