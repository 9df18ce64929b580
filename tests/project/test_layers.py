"""The import direction: words <- pure <- edges <- engine <- command line, and what pure means."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lycosa"

# A module may import from its own layer and from those above it in this table.
LAYERS = {
    "words": "__init__ errors records clock called terminal",
    "pure": "addresses options config urls scope seeds robots robotstag politeness retry"
    " scheduler parse sitemaps decode dedup metrics charset encoding media elements htmlscan"
    " htmlstack references _links _scan visit visit_result ports errands robots_reply"
    " turns address_turns backlog sharing files firstvisits",
    "edges": "archive frontier ares dns fetch transfer multis trust curl inbox _inbox poller"
    " log view sandbox ownfiles",
    "engine": "datadir dbfile original verify mending mark patience opening seeding"
    " harvest core exchange diary engine upkeep memory worker node control pipe gauges"
    " machine address_table commons whole",
    "simulated web": "simweb",
    "command line": "commands reference cli __main__",
}
RANK = {name: rank for rank, names in enumerate(LAYERS.values()) for name in names.split()}

# The store's protocol and the values that go through it are words, though they live at the edge.
PROTOCOL = ("lycosa.frontier.protocol", "lycosa.frontier.protocol.states")

# Decisions take `now` as a parameter and return values: they can't wait, ask or roll dice.
PURE = (*LAYERS["pure"].split(), "errors", "records", "harvest", "core")
NOT_PURE = {
    *("time", "random", "socket", "sqlite3", "asyncio", "threading", "subprocess", "curl_cffi"),
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with the first part of its name."""
    for path in sorted(SOURCE.rglob("*.py")):
        first = path.relative_to(SOURCE).parts[0]
        yield first.removesuffix(".py"), path


def imported(path: Path) -> Iterator[str]:
    """The full names of what a module imports, wherever in it that happens."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: imports are absolute"
            if node.module == "lycosa":
                yield from (f"lycosa.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def test_every_module_has_its_layer() -> None:
    unplaced = {name for name, _ in modules()} - set(RANK)
    assert not unplaced, f"put them into LAYERS: {sorted(unplaced)}"


def test_imports_go_one_way() -> None:
    wrong = []
    for name, path in modules():
        for target in imported(path):
            parts = target.split(".")
            if parts[0] != "lycosa" or len(parts) == 1 or parts[1].startswith("__version"):
                continue
            if target not in PROTOCOL and RANK.get(parts[1], 0) > RANK.get(name, 0):
                wrong.append(f"{path.relative_to(SOURCE)} imports {target}")
    assert not wrong


def test_pure_modules_do_no_input_or_output() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {target}"
        for name, path in modules()
        if name in PURE
        for target in imported(path)
        if target.split(".")[0] in NOT_PURE
    ]
    assert not wrong


def test_only_the_command_line_knows_the_simulated_web() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {target}"
        for name, path in modules()
        if name not in ("simweb", "commands")
        for target in imported(path)
        if target.startswith("lycosa.simweb")
    ]
    assert not wrong


@pytest.mark.parametrize("path", [path for _, path in modules()], ids=lambda path: path.stem)
def test_modules_are_small_and_say_what_they_own(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") < 500, "split it"
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "its head says what it owns"


def test_every_query_has_a_purpose() -> None:
    files = sorted(SOURCE.glob("frontier/sql/*/*.sql"))
    assert files
    for path in files:
        first, *rest = path.read_text("utf-8").splitlines()
        assert re.match(r"-- \w+: \S", first), f"{path.name} begins with a line on its purpose"
        heads = [line for line in rest if re.match(r"-- \w+:", line)]
        assert all(re.match(r"-- \w+: \S.{5,}", line) for line in heads), path.name
