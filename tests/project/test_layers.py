"""The rooms, the direction of imports between them, and what pure means."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lycosa"

# Each room may import from itself and from those before it, and from the words that stand beside
# the rooms. The last row is the command line, and `lycosa` itself, which names what is stable.
ROOMS = (
    *("urls", "page", "politeness", "archive", "frontier", "fetch", "settings", "engine", "node"),
    *("reading", "steering", "export", "dashboard", "simweb", "commands"),
)
WORDS = (
    *("errors", "clock", "records", "metrics", "log", "called", "terminal"),
    *("outcomes", "what_limits", "ownfiles", "shifts", "units"),
)
COMMAND_LINE = ("cli", "reference", "__main__", "__init__")
RANK = {
    **dict.fromkeys(WORDS, 0),
    **{room: rank for rank, room in enumerate(ROOMS, 1)},
    **dict.fromkeys(COMMAND_LINE, len(ROOMS) + 1),
}

# Decisions take `now` as a parameter and return values: they can't wait, ask or roll dice.
PURE = {
    *("errors", "records", "outcomes", "metrics", "what_limits", "units"),
    *("urls", "page", "politeness"),
    *("settings/options", "settings/values", "settings/stored", "fetch/addresses", "fetch/sharing"),
    *("settings/amounts", "settings/steered"),
    *("frontier/states", "frontier/answers", "frontier/tally", "frontier/summary"),
    *(
        "frontier/columns",
        "frontier/values",
        "frontier/rules",
        "frontier/formats",
        "frontier/filters",
    ),
    *("frontier/log/values", "frontier/log/format", "frontier/log/texts", "frontier/log/rule"),
    *(
        "frontier/log/twin",
        "frontier/log/folding",
        "frontier/log/new_chunk",
        "frontier/log/planning",
    ),
    *("frontier/log/domain_log", "frontier/log/checked", "frontier/log/compiled"),
    *("engine/core", "engine/visit", "engine/visit_result", "engine/scheduler", "engine/harvest"),
    *("engine/errands", "engine/backlog", "engine/turns", "engine/open_files", "engine/orders"),
    *("engine/actions", "engine/address_gate", "engine/outbox", "engine/store_clock"),
    *("engine/visit_origins", "engine/repeats", "engine/one_page_sites", "engine/page_rows"),
    *("engine/notes", "engine/top_domains", "engine/summaries", "engine/sent_links"),
    *("node/seed_file", "node/first_visits", "node/deaths", "node/rollup", "node/figures"),
    *("node/alarms", "node/end", "dashboard/exposition"),
    *("export/surt", "export/tables", "export/cdxj", "export/card"),
    *("export/warc_records", "steering/settable"),
}
NOT_PURE = {
    *("time", "random", "socket", "sqlite3", "asyncio", "threading", "subprocess", "curl_cffi"),
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with its room, or with its own name if it stands beside the rooms."""
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


def test_every_module_has_its_room() -> None:
    unplaced = {name for name, _ in modules()} - set(RANK)
    assert not unplaced, f"put them into a room, or into ROOMS or WORDS: {sorted(unplaced)}"
    assert {name for name, _ in modules()} == set(RANK), "a room or a word is gone"


def test_imports_go_one_way() -> None:
    wrong = []
    for name, path in modules():
        for target in imported(path):
            parts = target.split(".")
            if parts[0] != "lycosa" or len(parts) == 1 or parts[1] == "__version__":
                continue
            if RANK[parts[1]] > RANK[name]:
                wrong.append(f"{path.relative_to(SOURCE)} imports {target}")
    assert not wrong


def test_pure_modules_do_no_input_or_output() -> None:
    places = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for _, path in modules()}
    pure = {place for place in places if PURE & {place, place.partition("/")[0]}}
    assert {each for each in PURE if not any(place.startswith(each) for place in pure)} == set()
    wrong = [
        f"{place} imports {target}"
        for place in sorted(pure)
        for target in imported(places[place])
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
    files = sorted(SOURCE.glob("frontier/*/*.sql"))
    assert files
    for path in files:
        first, *rest = path.read_text("utf-8").splitlines()
        assert re.match(r"-- \w+: \S", first), f"{path.name} begins with a line on its purpose"
        heads = [line for line in rest if re.match(r"-- \w+:", line)]
        assert all(re.match(r"-- \w+: \S.{5,}", line) for line in heads), path.name


def test_no_two_classes_share_a_name() -> None:
    """A class or a type has one name in the whole source, so that a reader need not ask which. The
    two stores are one thing said twice: a part of one has the name of that part of the other."""
    homes: dict[str, set[str]] = {}
    for room, path in modules():
        if room == "simweb":  # the world around us, which knows nothing of our words
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else _targets(node)
            for name in names:
                if name[0].isupper() and not name.isupper() and len(name) > 1:
                    place = path.relative_to(SOURCE).as_posix()
                    homes.setdefault(name, set()).add(re.sub("(sqlite|postgres)/", "*/", place))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def _targets(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
