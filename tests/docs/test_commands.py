"""Every command and example in the documents works: it is run as a reader would run it, or, where
it can't be run in a test, it is named here with the reason, and its words are understood."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from docs.blocks import DOCUMENTS, ROOT, RUN, SHELL, SHOWN, Example, examples, lycosa_words, spans
from docs.session import Session
from lycosa.cli import make_parser
from lycosa.commands.table import COMMANDS
from lycosa.simweb import command as simweb_command
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.postgres import in_schema

SPEC = WorldSpec(seed=3, domains=4, pages=4, page_bytes=3000, plain=True, https=0)

# By how a line begins: why it is not run here, and who runs it instead.
NOT_RUN = {
    "scripts/test": "these tests are part of it",
    ".ci/run": "these tests are part of it",
    "scripts/fix": "tests/project/test_scripts.py runs it",
    "scripts/docs": "tests/project/test_site.py builds the same",
    "scripts/fuzz": "it takes an hour; tests/fuzz runs a part",
    "scripts/fresh-machine": "it needs root and half an hour",
    "python3 -m venv": "it installs from the network; tests/project/test_installed.py looks at it",
    "venv/bin/pip": "it installs from the network",
    "venv/bin/lycosa": "the environment of the line before is not made here",
    "lycosa pause": "the crawl of the page has ended; tests/commands/test_steering.py runs it",
    "sudo": "it needs root; tests/project/test_service_files.py runs what the files say",
    "useradd": "it changes the machine",
    "install": "it changes the machine",
    "systemctl": "it needs a machine that systemd has started",
    "journalctl": "it needs a machine that systemd has started",
    "createuser": "it needs a database server of the machine",
    "createdb": "it needs a database server of the machine",
    "mkdir -p collections/": "tests/export/test_replay.py does all of it",
    "mv out/": "tests/export/test_replay.py does all of it",
    "wayback": "tests/export/test_replay.py does all of it",
}
SESSIONS = {"supervisor", "seeds", "reader", "command"}  # `lycosa seeds`: of a database
OURS = re.compile(r"(?<![\w/.])(?:contrib|scripts|bench|tests)/[\w./-]+")
ELSEWHERE = {"docs/data.md": "tests/reading/test_examples.py"}
TOOLS = ("jq", "zstdcat")
ALL = {path.relative_to(ROOT).as_posix(): list(examples(path)) for path in DOCUMENTS}
DONE_HERE = [
    name
    for name, found in ALL.items()
    if name not in ELSEWHERE and any(each.kind in RUN for each in found)
]


def why_not(example: Example) -> str:
    """Why a line is not run; '' if it is."""
    if example.kind not in SHELL:
        return ""
    return next((why for begin, why in NOT_RUN.items() if example.text.startswith(begin)), "")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    with SimWeb(SPEC, tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.fixture
def session(web: SimWeb, tmp_path: Path, postgres_server: str) -> Iterator[Session]:
    made: list[str] = []

    def new_store() -> str:
        made.append(f"t_{uuid.uuid4().hex[:12]}")
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {made[-1]}")
        return in_schema(postgres_server, made[-1])

    site = web.world.seeds()[1]
    yield Session(web, site, tmp_path, new_store)
    with psycopg.connect(postgres_server, autocommit=True) as db:
        for name in made:
            db.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document", DONE_HERE)
def test_a_reader_can_do_what_it_says(document: str, session: Session) -> None:
    todo = [each for each in ALL[document] if each.kind in RUN and not why_not(each)]
    needed = {tool for each in todo for tool in TOOLS if f"{tool} " in each.text}
    if missing := [tool for tool in sorted(needed) if shutil.which(tool) is None]:
        pytest.skip(f"{' and '.join(missing)} not on this machine")
    for example in todo:
        session.run(example)


def understood(words: list[str]) -> None:
    """Raises or exits if the command line does not take them. A command alone is only its name."""
    if len(words) == 1:
        assert words[0] in {command.name for command in COMMANDS} | SESSIONS, words
    elif words[0] == "simweb" and len(words) > 2:
        simweb_command._parser().parse_args(words[1:])
    elif words[0] != "simweb":
        found, extra = make_parser().parse_known_args(words)
        assert not extra and found.command == words[0]


@pytest.mark.parametrize("document", ALL)
def test_what_is_not_run_is_at_least_understood(document: str) -> None:
    """Commands within sentences, which have words such as URL in them, too."""
    kinds = {example.kind for example in ALL[document]}
    assert kinds <= {*RUN, *SHOWN}, "say what kind of block it is"
    lines = [each for each in ALL[document] if each.kind in SHELL and why_not(each)]
    for example in [*lines, *spans(ROOT / document)]:
        for words in lycosa_words(example.text):
            understood(["1" if word == "SECONDS" else word for word in words])


@pytest.mark.parametrize("document", ALL)
def test_files_that_commands_name_exist(document: str) -> None:
    for example in ALL[document]:
        if example.kind in SHELL:
            for name in OURS.findall(example.text):
                assert (ROOT / name).exists(), example


def test_every_reason_is_needed() -> None:
    lines = [each.text for found in ALL.values() for each in found if each.kind in SHELL]
    for begin in NOT_RUN:
        assert any(line.startswith(begin) for line in lines), f"nobody shows {begin}"


def bench_lines() -> list[str]:
    """The commands that measure, which are shown as indented lines, and within sentences."""
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    return sorted({*re.findall(r"python (bench/[\w/.]+\.py[^\n`#]*)", text)})


@pytest.mark.parametrize("line", bench_lines())
def test_benchmarks_take_the_flags_that_the_documents_name(line: str) -> None:
    """They run in tests/project/test_benches.py, small; here: that each flag exists."""
    path, *words = line.split()
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    source = (ROOT / path).read_text("utf-8")
    shared = "".join(each.read_text("utf-8") for each in (ROOT / "bench/measure").glob("*.py"))
    for flag in flags:
        assert f'"{flag}"' in source + shared, flag
