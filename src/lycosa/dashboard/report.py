"""The page of a crawl as one file: its scripts, its styles and all that it can be asked, inlined.

The file asks nobody for anything: its content security policy allows the scripts and styles that
are in it, by their hashes, and nothing else. The modules of the page become one script, so their
names at the top are all different (a test keeps it so).
"""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from lycosa.dashboard.answers import SORTS, Answers, words
from lycosa.errors import LycosaError
from lycosa.reading.crawl import Crawl

STATIC = Path(__file__).parent / "static"
DOMAINS = 40  # whose own pages are in a report
URLS = 300  # whose answers of `why` are
_IMPORT = re.compile(r'^import \{([\w, ]*)\} from "\./([a-z]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.M)
_LINK = re.compile(r"^<(?:link|script)\b[^>]*>(?:</script>)?\n", re.M)


def report_page(crawl: Crawl) -> bytes:
    """A crawl as an HTML file."""
    styles = [_text(name) for name in ("uplot.css", "page.css")]
    scripts = [_text("uplot.js"), bundle()]
    data = orjson.dumps(gathered(crawl)).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)};"
        " base-uri 'none'; form-action 'none'"
    )
    head = [
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        *(f"<style>{style}</style>" for style in styles),
    ]
    body = [
        f'<script type="application/json" id="report-data">{data}</script>',
        *(f"<script>{script}</script>" for script in scripts),
    ]
    page = _LINK.sub("", _text("index.html"))
    # Not `re.sub`: what is put in has backslashes.
    page = page.replace("</head>", "\n".join([*head, "</head>"]), 1)
    before, _, after = page.rpartition("</body>")
    return "".join([before, "\n".join(body), "\n</body>", after]).encode()


def bundle() -> str:
    """All modules of the page as one script, each after those that it imports."""
    found: dict[str, str] = {}

    def add(name: str) -> None:
        if name in found:
            return
        text = _text(name)
        found[name] = ""  # its place is taken by those that it imports
        for _, other in _IMPORT.findall(text):
            add(other)
        del found[name]
        found[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add("main.js")
    return '(() => {\n"use strict";\n' + "\n".join(found.values()) + "})();\n"


def gathered(crawl: Crawl) -> dict[str, Any]:
    """The answers to everything that the page may ask, by the question."""
    answers = Answers()
    now = answers.overview(crawl)
    found: dict[str, Any] = {
        "made": time.time(),
        "/api/words": words(),
        "/api/overview": {**now, "stale": False},
        "/api/history": answers.history(crawl, None, None),
    }
    for sort in SORTS:
        found[f"/api/domains?sort={sort}"] = answers.domains(crawl, sort)
    for outcome in now.get("outcomes", {}):
        _put(found, f"/api/examples?outcome={outcome}", partial(answers.examples, crawl, outcome))
    for url in list(dict.fromkeys(_urls(found)))[:URLS]:
        _put(found, f"/api/why?url={url}", partial(answers.why, crawl, url))
    for name in list(dict.fromkeys(_names(found)))[:DOMAINS]:
        _put(found, f"/api/domain?name={name}", partial(answers.domain, crawl, name))
    return found


def _put(found: dict[str, Any], question: str, ask: Callable[[], Any]) -> None:
    """What can't be answered is not in a report."""
    try:
        found[question] = ask()
    except LycosaError:
        pass


def _urls(found: dict[str, Any]) -> Iterable[str]:
    now = found["/api/overview"]
    for question, answer in found.items():
        if question.startswith("/api/examples"):
            yield from (page["url"] for page in answer["pages"])
    for pages in (now.get("latest", ()), *now.get("examples", {}).values()):
        yield from (page["url"] for page in pages)
    for urls in now.get("dropped", {}).values():
        yield from urls


def _names(found: dict[str, Any]) -> Iterable[str]:
    for top in found["/api/overview"].get("top", {}).values():
        yield from (name for name, _ in top[:10])
    for question, answer in found.items():
        if question.startswith("/api/domains"):
            yield from (each["name"] for each in (answer["domains"] or ())[:10] if "name" in each)
        elif question.startswith("/api/why"):
            yield answer["domain"]


def _text(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def _hashes(texts: Iterable[str]) -> str:
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
