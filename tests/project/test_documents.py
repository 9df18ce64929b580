"""What can go stale fails here: README, reference, changelog, decisions, scripts."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lycosa
from lycosa.cli import COMMANDS, main, make_parser
from lycosa.commands.reference import reference_text
from lycosa.options import options_of

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
        "run: .venv/bin/python -m lycosa.commands.reference > docs/reference.md"
    )


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


def test_the_version_is_the_same_everywhere_and_in_the_changelog() -> None:
    assert PROJECT["version"] == lycosa.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(rf"^## {re.escape(lycosa.__version__)}\b.*\n\n\S", changelog, re.M)


@pytest.mark.parametrize("script", ["scripts/lycosa", "scripts/repairs", "scripts/test", ".ci/run"])
def test_scripts_can_be_started(script: str) -> None:
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    shell = path.read_text().splitlines()[0].removeprefix("#!").split()[-1]
    subprocess.run([shell, "-n", path], check=True)


def test_every_slow_test_was_run_and_passed() -> None:
    words = ["-m", "pytest", "-n", "0", "--collect-only", "-q", "-m", "slow", str(ROOT / "tests")]
    found = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, timeout=100
    )
    slow = {line.partition("[")[0] for line in found.stdout.splitlines() if "::" in line}
    assert slow, found.stdout + found.stderr
    record = (ROOT / "docs" / "slow-tests.md").read_text("utf-8")
    recorded = dict(re.findall(r"^\| `(\S+)` \| ([\w ]+) \|", record, re.M))
    never = "run the files of these with: scripts/test --slow FILE"
    assert not slow - set(recorded), never
    assert {test: result for test, result in recorded.items() if result != "passed"} == {}


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
