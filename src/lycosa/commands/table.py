"""Every command with its help: what `lycosa --help`, the reference and `cli` go by. Pure.

Owns the names, words and examples of commands, and which function does each.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `does` names the module in `commands` and the function in it."""

    name: str
    does: str
    help: str
    examples: tuple[str, ...] = ()
    words: str = ""  # what its words are called in the help
    words_count: str = "*"  # argparse's nargs
    words_help: str = ""


COMMANDS = (
    Command(
        "crawl",
        "crawl:crawl",
        "crawl the web from a list of seeds",
        (
            "lycosa crawl seeds.txt --email you@example.org",
            "lycosa crawl seeds.txt --email you@example.org --seeded-urls-only --max-duration 12h",
            "lycosa crawl --resume",
        ),
        "SEEDS",
        "*",
        "files with one domain or URL a line; - is standard input",
    ),
    Command(
        "demo",
        "demo:demo",
        "crawl a small simulated web on this machine, to see how it looks",
        ("lycosa demo",),
    ),
    Command(
        "check",
        "check:check",
        "say whether this machine is ready, and how fast a crawl of these seeds can be",
        ("lycosa check seeds.txt",),
        "SEEDS",
        "*",
        "files with seeds, to tell the politeness ceiling",
    ),
    Command("status", "status:status", "how a crawl stands", ("lycosa status --json",)),
    Command(
        "top",
        "top:top",
        "watch a crawl that runs elsewhere; q or Ctrl-C ends the view, not the crawl",
        ("lycosa top", "lycosa top --once"),
    ),
    Command(
        "domains",
        "domains:domains",
        "list domains: the most pages, the longest queues, the most failures",
        ("lycosa domains", "lycosa domains --sort failing --limit 20"),
    ),
    Command(
        "domain",
        "domains:domain",
        "tell all that is known of a domain: robots.txt, delay, queue, outcomes, visits",
        ("lycosa domain example.org",),
        "NAME",
        "1",
        "a domain that the crawl met",
    ),
    Command(
        "queue",
        "domains:queue",
        "look into the queue: what is fetched next",
        ("lycosa queue", "lycosa queue --domain example.org", "lycosa queue --pattern '*/tag/*'"),
    ),
    Command(
        "pages",
        "pages:pages",
        "list pages, the newest first",
        ("lycosa pages --domain example.org --limit 20", "lycosa pages --outcome timeout --json"),
    ),
    Command(
        "sample",
        "sample:sample",
        "show a few pages by chance, with their labels, languages and main text",
        ("lycosa sample", "lycosa sample --label content --language en --count 20"),
    ),
    Command(
        "show",
        "show:show",
        "print what is kept of a page: its record and its text",
        ("lycosa show https://example.org/",),
        "URL",
        "1",
        "a URL that was fetched",
    ),
    Command(
        "why",
        "why:why",
        "explain what became of a URL, and why",
        ("lycosa why https://example.org/missing",),
        "URL",
        "1",
        "any URL",
    ),
    Command(
        "exclude",
        "exclude:exclude",
        "never visit these again: tells what they hit, and asks; a running crawl obeys in seconds",
        (
            "lycosa exclude example.org --dry-run",
            "lycosa exclude example.org '*/calendar/*' --yes",
            "lycosa exclude --list",
            "lycosa exclude example.org --remove",
        ),
        "PATTERN",
        "*",
        "a domain, host or URL pattern, as in --exclude-file",
    ),
    Command(
        "retry",
        "retry:retry",
        "try pages again that failed for good",
        (
            "lycosa retry --outcome private-address --dry-run",
            "lycosa retry --outcome timeout --domain example.org --yes",
        ),
    ),
    Command(
        "export",
        "export:export",
        "write pages as parquet, jsonl, warc, wacz, cdxj or wet, for other tools",
        (
            "lycosa export parquet pages --label content --language en",
            "lycosa export wacz pages.wacz --domain example.org",
            "lycosa export warc archive --overwrite",
        ),
        "FORMAT OUT",
        "*",
        "parquet, jsonl, warc, wacz, cdxj or wet; and the directory or file to make",
    ),
    Command(
        "query",
        "query:query",
        "run SQL over the crawl (DuckDB): tables text, index (also called pages) and edges",
        (
            "lycosa query 'SELECT language, count(*) FROM text GROUP BY language'",
            "lycosa query 'SELECT url FROM pages WHERE fetch_status = 404' --csv",
        ),
        "SQL",
        "1",
        "one statement, or several, of which the last one answers",
    ),
    Command(
        "dashboard",
        "dashboard:dashboard",
        "show a crawl as a page in a browser, while it runs or afterwards",
        (
            "lycosa dashboard",
            "lycosa dashboard --port 9000",
        ),
    ),
    Command(
        "report",
        "report:report",
        "write the page of a crawl as one HTML file, to keep or to send",
        ("lycosa report > report.html",),
    ),
    Command("stop", "stop:stop", "ask a running crawl to stop; --resume goes on with it"),
    Command(
        "pause",
        "pause:pause",
        "start no more visits, on all nodes and over restarts, until unpause",
        ("lycosa pause", "lycosa pause --why 'the site asked us to'"),
    ),
    Command("unpause", "pause:unpause", "go on with a crawl that is paused"),
    Command(
        "set",
        "set:set_values",
        "change settings of a running or stopped crawl; without words it lists them",
        ("lycosa set", "lycosa set delay=30", "lycosa set max-workers=200 max-pages=none"),
        "NAME=VALUE",
        "*",
        "a setting and its new value; 'none' takes a limit away",
    ),
    Command(
        "seeds",
        "seeds:seeds",
        "add seeds to a running or stopped crawl; those that it knows are passed over",
        ("lycosa seeds add seeds.txt", "lycosa seeds add example.org https://example.net/start"),
        "add SEEDS",
        "*",
        "the word add; then files, - for standard input, domains or URLs",
    ),
    Command(
        "migrate",
        "migrate:migrate",
        "move a stopped crawl to a PostgreSQL server, where many nodes can work on it",
        ("lycosa migrate --from lycosa-data --to postgresql://user@host/database",),
    ),
    Command(
        "audit",
        "audit:audit",
        "prove from the visit ledger that the crawl was polite",
        (
            "lycosa audit",
            "lycosa audit --domain example.org --since 7d",
            "lycosa audit --store postgresql://user@host/database node-1 node-2",
        ),
        "DIR",
        "*",
        "data directories of several nodes; else that of --data-dir",
    ),
    Command(
        "verify",
        "verify:verify",
        "read all that is kept, and name every page that lost something",
        (
            "lycosa verify",
            "lycosa verify --requeue",
            "lycosa verify --moved text/000001-00001.jsonl.zst",
        ),
        "SEGMENT",
        "*",
        "with --moved or --returned: files under the data directory",
    ),
    Command(
        "simweb",
        "simweb:simweb",
        "serve a simulated web on loopback (has its own --help)",
        words="...",
        words_count="...",
    ),
    Command("version", "version:version", "print the version"),
)
