"""Commands in messages are written as the user called the program."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.commands.table import COMMANDS
from support.typed import PYTHON

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "lycosa"
NAMES = "|".join(command.name for command in COMMANDS)
# The names under which a database's administrator sees our connections.
CONNECTIONS = {"lycosa check", "lycosa migrate", "lycosa verify", "lycosa seeds"}


def texts(path: Path) -> list[str]:
    """Every text of a module that is no documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    documents = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }  # an expression by itself is a docstring
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documents
    ]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_message_names_a_command_by_itself(path: Path) -> None:
    if path.name in (
        "cli.py",
        "table.py",
        "reference.py",
    ):  # examples are rewritten, see below; a document
        return
    command = re.compile(rf"(?<!`)\blycosa (?:--|{NAMES})\b")  # between `` it is for a document
    found = [text for text in texts(path) if command.search(text) and text not in CONNECTIONS]
    assert not found, "write it with called()"


@pytest.mark.parametrize(
    ("told", "path", "typed", "name"),
    [
        ("scripts/lycosa", "/x/lycosa/__main__.py", ["python", "-m", "lycosa"], "scripts/lycosa"),
        ("../a b/lycosa", "/x/lycosa/__main__.py", ["python"], "'../a b/lycosa'"),
        ("", "/srv/venv/bin/lycosa", ["/srv/venv/bin/python"], "/srv/venv/bin/lycosa"),
        ("", "venv/bin/lycosa", ["venv/bin/python"], "venv/bin/lycosa"),
        ("", "/x/lycosa/__main__.py", ["py/python3", "-m", "lycosa"], "py/python3 -m lycosa"),
        ("", "/usr/bin/pytest", ["python"], "lycosa"),
    ],
)
def test_the_name(told: str, path: str, typed: list[str], name: str) -> None:
    from lycosa.called import program

    assert program(told, path, typed) == name


def test_a_bare_name_stays_bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lycosa.called import program

    script = tmp_path / "lycosa"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program("", str(script), ["python"]) == "lycosa"


WAYS = [
    ([str(ROOT / "scripts" / "lycosa")], str(ROOT / "scripts" / "lycosa")),
    ([sys.executable, "-m", "lycosa"], f"{PYTHON} -m lycosa"),
]


@pytest.mark.parametrize(("way", "name"), WAYS, ids=["script", "module"])
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["status"], "or start one with '{} crawl'."),
        (["crawl"], "'{} crawl --resume' goes on"),
        (["crawl", "--dely", "1"], "'{} crawl' has no option --dely"),
        (["status", "more"], "(see '{} status --help')."),
        (["show"], "(see '{} show --help')."),
        (["--help"], "  {} demo\n"),
        (["crawl", "--help"], "usage: {} crawl "),
        (["simweb", "--help"], "usage: {} simweb "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_hints(way: list[str], name: str, words: list[str], hint: str, tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if "LYCOSA" not in key}
    environ["COLUMNS"] = "500"
    done = subprocess.run(
        [*way, *words], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environ
    )
    said = done.stdout + done.stderr
    assert hint.format(name) in said
