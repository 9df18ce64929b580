"""What can go stale fails here: README, reference, changelog, decisions, scripts."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

import lycosa
from lycosa.cli import main, make_parser
from lycosa.commands.table import COMMANDS
from lycosa.outcomes import DROPS, OUTCOMES
from lycosa.reference import drop_rows, label_rows, outcome_rows, reference_text
from lycosa.settings.options import options_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def commands() -> list[list[str]]:
    """Every `scripts/lycosa ...` in the README, without its comment."""
    found = re.findall(r"scripts/lycosa ([^`\n#]+)", README)
    return [shlex.split(line) for line in found]


def test_the_readme_opens_with_a_sentence_and_two_commands() -> None:
    title, sentence = README.split("\n\n")[:2]
    assert title == "# lycosa"
    assert sentence.startswith("lycosa crawls")
    first_block = README.split("```sh\n")[1].split("```")[0]
    assert [line.split("#")[0].strip() for line in first_block.splitlines()] == [
        "scripts/lycosa demo",
        "scripts/test",
    ]
    assert "![" not in README  # no badges


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_readme_commands_exist(words: list[str]) -> None:
    found, extra = make_parser().parse_known_args(words)
    assert not extra
    assert found.command == words[0]


def test_readme_flags_exist() -> None:
    known = {o.flag for command in COMMANDS for o in options_of(command.name)}
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", README):
        assert flag in known, flag


def test_readme_links_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("command", [c.name for c in COMMANDS if c.name != "simweb"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"usage: lycosa {command}" in capsys.readouterr().out


def test_the_reference_is_what_would_be_generated() -> None:
    stored = (ROOT / "docs" / "reference.md").read_text("utf-8")
    assert stored == reference_text(), (
        "run: .venv/bin/python -m lycosa.reference > docs/reference.md"
    )


def test_the_words_for_what_becomes_of_a_url_are_those_of_the_code() -> None:
    rows = "(make them anew with: lycosa.reference.outcome_rows, label_rows and drop_rows)"
    usage = (ROOT / "docs/usage.md").read_text("utf-8")
    assert f"| outcome | meaning |\n| --- | --- |\n{outcome_rows()}\n" in usage, rows
    assert f"| label | such a page |\n| --- | --- |\n{label_rows()}\n" in usage, rows
    assert f"| reason | limit |\n| --- | --- |\n{drop_rows()}\n" in usage, rows


OUTCOME_WORDS = {name for name in (*OUTCOMES, *DROPS) if "-" in name} | {"poison", "undecodable"}


def test_they_are_written_nowhere_else() -> None:
    """Those that mean nothing else: 'ok' or 'depth' are words of their own."""
    source = ROOT / "src/lycosa"
    wrong = [
        f"{path.relative_to(source)}:{node.lineno}: {node.value}"
        for path in source.rglob("*.py")
        if path.name not in ("outcomes.py", "records.py") and "simweb" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in OUTCOME_WORDS
    ]
    assert wrong == []


def test_every_dependency_has_its_reason() -> None:
    decision = (ROOT / "docs/decisions/0001-dependencies.md").read_text("utf-8")
    for requirement in PROJECT["dependencies"]:
        name = re.split(r"[<>=!~\[; ]", requirement)[0]
        row = re.search(rf"^\| {re.escape(name)} \|[^|]+\|([^|]+)\|$", decision, re.M)
        assert row, f"{name} has no row"
        assert len(row[1]) > 30, f"{name} has no reason"
    rows = re.findall(r"^\| ([a-z][\w-]+) \|", decision, re.M)
    names = {re.split(r"[<>=!~\[; ]", each)[0] for each in PROJECT["dependencies"]}
    assert set(rows) - {"package"} == names, "the table names what is not a dependency"


def test_linters_have_exact_versions_and_are_those_installed() -> None:
    """A new one must not fail a change that has nothing to do with it (CONTRIBUTING.md)."""
    wanted = PROJECT["optional-dependencies"]["test"]
    for name in ("mypy", "ruff"):
        assert f"{name}=={version(name)}" in wanted
    stubs = [each for each in wanted if re.match(r"types-|.*-stubs\b", each)]
    assert all("==" in each for each in stubs)


def test_the_version_is_the_same_everywhere_and_in_the_changelog() -> None:
    assert PROJECT["version"] == lycosa.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(lycosa.__version__)}\b.*\n\n\S", changelog, re.M)


SCRIPTS = [".ci/run", *sorted(f"scripts/{path.name}" for path in ROOT.glob("scripts/[!_]*"))]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_started(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    shell = path.read_text().splitlines()[0].removeprefix("#!").split()[-1]
    subprocess.run([shell, "-n", path], check=True)


def test_every_slow_test_is_in_the_table_and_none_failed() -> None:
    marked = [path for path in ROOT.glob("tests/**/test_*.py") if "mark.slow" in path.read_text()]
    words = ["-m", "pytest", "-n", "0", "--collect-only", "-m", "slow", *map(str, marked)]
    found = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, timeout=100
    )
    slow = {line.partition("[")[0] for line in found.stdout.splitlines() if "::" in line}
    assert slow, found.stdout + found.stderr
    record = (ROOT / "docs" / "slow-tests.md").read_text("utf-8")
    recorded = dict(re.findall(r"^\| `(\S+)` \| ([\w ]+) \|", record, re.M))
    never = "run the files of these with: scripts/test --slow FILE"
    assert not slow - set(recorded), never
    fine = ("passed", "not run")  # which the table says of new ones, until their turn has come
    assert {test: result for test, result in recorded.items() if result not in fine} == {}


def test_ci_runs_what_people_run() -> None:
    assert "scripts/test" in (ROOT / ".ci/run").read_text()


def test_help_is_quick() -> None:
    # What is imported is what takes the time, and unlike a time it is the same on any machine.
    code = (
        "import sys; from lycosa.cli import make_parser; make_parser().format_help();"
        "print(*sorted(set(m.split('.')[0] for m in sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"orjson", "curl_cffi", "sqlite3", "asyncio", "selectolax", "logging", "tomllib", "ssl"}
    assert not heavy & set(run.stdout.split())


# One figure in one place: what is said twice is compared.

PAGES = {path.name: path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")}
PACKAGE = ROOT / "src/lycosa"
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")
}


def flat(text: str) -> str:
    return " ".join(text.split())


def test_what_a_kill_costs_is_said_once() -> None:
    assert "since its last commit" in PAGES["architecture.md"]
    for name, text in {**PAGES, "README.md": README}.items():
        said = re.findall(r"[^.|]*(?:one or two seconds|about the last second)[^.|]*", flat(text))
        assert name == "architecture.md" or not said, (name, said)
    assert "about the last second" not in PAGES["architecture.md"]
    assert "only what was in flight" not in flat(README)
    for text in (README, PAGES["performance.md"]):
        assert "architecture.md#what-survives-what" in text
    assert "\n## What survives what\n" in PAGES["architecture.md"]


def test_when_an_idle_domain_is_looked_at_again() -> None:
    from lycosa.frontier.postgres.tokens import RECHECK_MS

    decision = flat(PAGES["0006-postgresql.md"])
    said = re.findall(r"looks again (\S+ \S+) later", decision)
    assert said == [f"{RECHECK_MS // 1000} s"]


def test_what_it_costs_to_have_no_compiler() -> None:
    words = r"\b(\w+) times (?:the (?:CPU|cost)|as much)"
    found = {
        "check.py": re.findall(words, flat(SOURCES["commands/check.py"])),
        "html.py": re.findall(words, flat(SOURCES["page/html.py"])),
        "0007": re.findall(words, flat(PAGES["0007-compiled-reader.md"])),
    }
    assert {word for words in found.values() for word in words} == {"twenty"}, found
    slow, quick = re.findall(r"page takes (\d\.\d+) ms instead of (\d\.\d+)", flat(README))[0]
    assert round(float(slow) / float(quick)) == 20


def test_it_is_for_linux() -> None:
    assert "elsewhere" not in README
    assert "Linux only" in README


def test_the_servers_cpu_is_what_was_measured() -> None:
    """cluster.md plans with the figures of performance.md."""
    performance, plan = PAGES["performance.md"], PAGES["cluster.md"]
    states = ("warm", "after a checkpoint", "cold")
    rows = {
        (size, state): int(us)
        for size, state, us in re.findall(
            rf"^\| PostgreSQL (\d+) M, ({'|'.join(states)}) \|[^|]+\|[^|]*?(\d+) \|",
            performance,
            re.M,
        )
    }
    for size in ("1", "10"):
        figures = " | ".join(f"{rows[size, state]} µs" for state in states)
        assert f"| {size} million | {figures} |" in plan
    cold, warm = (round(8e6 * 0.7 / rows["10", state], -3) for state in ("cold", "warm"))
    assert f"carries {cold:,.0f} pages a second cold and {warm:,.0f} warm" in flat(plan)


def test_how_many_rules_a_robots_txt_may_have() -> None:
    from lycosa.politeness.robots import MAX_RULES

    changelog = flat((ROOT / "CHANGELOG.md").read_text("utf-8"))
    for text in (changelog, flat(PAGES["0003-html-in-pieces.md"])):
        assert re.findall(r"more than ([\d,]+) rules", text) == [f"{MAX_RULES:,}"]


def test_every_module_has_its_place_in_the_architecture() -> None:
    """By its name, or by its room and its name; and none that is gone is named."""
    source = ROOT / "src/lycosa"
    named = set(re.findall(r"`((?:\w+/)*\w+)`", PAGES["architecture.md"]))
    modules = {
        path.relative_to(source).with_suffix("").as_posix()
        for path in source.rglob("[!_]*.py")
        if path.relative_to(source).parts[0] not in ("simweb", "commands")
    }
    ends = {"/".join(parts[at:]) for parts in (m.split("/") for m in modules) for at in range(3)}
    unnamed = {m for m in modules if not {m, m.partition("/")[2], m.split("/")[-1]} & named}
    assert unnamed == set()
    folders = {p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_dir()}
    compiled = {p.relative_to(source).with_suffix("").as_posix() for p in source.rglob("_*.c")}
    rooms = {name.split("/")[-1] for name in folders}
    places = {each for each in named if "/" in each and each.partition("/")[0] in rooms}
    assert places - ends - compiled - folders == set()


def test_what_the_ip_delay_holds_for() -> None:
    """Across nodes it does not hold, and whoever reads of either is told so."""
    (option,) = (each for each in options_of("crawl") if each.flag == "--ip-delay")
    assert "holds for the engines of one node" in option.help
    plan = flat(PAGES["cluster.md"])
    said = re.search(r"`--ip-delay` holds among the engines of one node:[^.]*\. ([^.]*\.)", plan)
    assert said and said[1].startswith("Nodes do not:")


def test_what_tests_import_comes_with_the_environment() -> None:
    """As wheels, without root: nothing that a test needs has to be on the machine."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["test"], *extras["simweb"], *extras["postgres"]]
    named = {re.split(r"[<>=!~\[; ]", each)[0].lower().replace("_", "-") for each in wanted}
    provided = packages_distributions()
    for path in (ROOT / "tests").rglob("*.py"):
        if path.name == "one.py":  # the fuzzer comes by scripts/fuzz
            continue
        tree = ast.parse(path.read_text("utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        words = [alias.name for node in imports for alias in node.names]
        words += [node.module or "" for node in froms if node.level == 0]
        for word in {word.partition(".")[0] for word in words} & set(provided):
            names = {name.lower().replace("_", "-") for name in provided[word]}
            assert names & (named | {"lycosa"}), f"{path.name} imports {word}"


def test_every_invariant_that_the_source_names_is_explained() -> None:
    explained = set(re.findall(r"^\| ([PFS]\d) \| ", PAGES["architecture.md"], re.M))
    named = {each for text in SOURCES.values() for each in re.findall(r"\b[PFS][1-9]\b", text)}
    assert named and named <= explained
    rows = re.findall(r"^\| [PFS]\d \|.*$", PAGES["architecture.md"], re.M)
    for place in re.findall(r"`((?:tests|bench)/[\w/.]+)`", "\n".join(rows)):
        assert (ROOT / place).exists(), place


def test_tests_that_decisions_name_are_there() -> None:
    """A decision that says which tests hold it names tests that exist."""
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.M)
    }
    files = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        named = set(re.findall(r"`(test_\w+)`", path.read_text("utf-8")))
        assert named <= known | files, f"{path.name}: {sorted(named - known - files)}"
