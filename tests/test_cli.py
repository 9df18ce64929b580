"""The command line: one sentence for every mistake, the right exit code, no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lycosa
from lycosa.cli import main, parse_command_line
from lycosa.commands.table import COMMANDS
from lycosa.errors import UserError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lycosa", *words], capture_output=True, text=True, timeout=60
    )


def complaint(capsys: pytest.CaptureFixture[str], *words: str, code: int = 2) -> str:
    assert main(list(words)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("lycosa: ")
    assert err.count("\n") == 1
    return err.removeprefix("lycosa: ").strip()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"lycosa {lycosa.__version__}\n"


def test_help_names_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"\n    {command.name} " in done.stdout.replace(
            "\n", " \n"
        )  # a long name has a line


def test_without_words_there_is_help() -> None:
    done = run()
    assert done.returncode == 2
    assert "lycosa demo" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["crwl"], "There is no command 'crwl'; did you mean crawl?"),
        (["frob"], "There is no command 'frob' (see 'lycosa --help')."),
        (["crawl", "--dely", "5"], "'lycosa crawl' has no option --dely; did you mean --delay?"),
        (["crawl", "--warcs"], "'lycosa crawl' has no option --warcs; did you mean --warc?"),
        (["crawl", "--delay"], "expected one argument (see 'lycosa crawl --help')."),
        (["crawl", "--delay", "-5", "x"], "--delay must be a time of at least 0 seconds"),
        (["crawl", "--del", "5"], "'lycosa crawl' has no option --del"),
        (["show"], "URL (see 'lycosa show --help')."),
        (
            ["status", "more"],
            "'lycosa status' does not take the word 'more' (see 'lycosa status --help').",
        ),
        (["--nope"], "'lycosa' has no option --nope (see 'lycosa --help')."),
        (["retry", "--nonsens"], "no option --nonsens (see 'lycosa retry --help')."),
        (["exclude", "--nonsens"], "no option --nonsens (see 'lycosa exclude --help')."),
        (["exclude", "--ye"], "no option --ye; did you mean --yes?"),
        (["--versoin"], "'lycosa' has no option --versoin; did you mean --version?"),
        (["--delay", "5"], "see 'lycosa --help'"),
        (["crawl"], "A crawl needs seeds"),
        (["crawl", "none.txt", "--email", "you@example.org"], "none.txt does not exist"),
        (["crawl", ".", "--email", "you@example.org"], ". is a directory: name a file in it"),
        (["migrate", "--from", ".", "--to", "sqlite"], "--to must be a URL that begins with"),
        (["migrate", "--from", ".", "--to", "postgresql://u@127.0.0.1:1/d"], "with --from."),
        (["crawl", "-"], "add --email you@example.org"),
        (["status", "--store", "postgresql://u:secret@127.0.0.1:1/d"], "can't be reached"),
        (["status", "--store", "postgresql://u:sec/ret@h/d"], "can't be read"),
        (["crawl", "--resume"], "There is no crawl in lycosa-data"),
        (["status"], "There is no crawl in lycosa-data"),
        (["pages", "--data-dir", "nowhere", "--json"], "There is no crawl in nowhere"),
        (["show", "https://example.org/"], "There is no crawl"),
        (["why", "https://example.org/"], "There is no crawl"),
        (["stop"], "There is no crawl"),
        (["audit"], "There is no crawl"),
        (["exclude", "example.org"], "There is no crawl"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    said = complaint(capsys, *words)
    assert sentence in said
    assert "secret" not in said
    assert "Traceback" not in said


def test_flags_reach_the_options() -> None:
    typed = (
        "crawl a.txt - --email you@example.org --warc --no-view --delay 1m"
        " --nameserver 192.0.2.1 --nameserver 192.0.2.2:5353"
    )
    command, values, words = parse_command_line(typed.split())
    assert command.name == "crawl"
    assert words == ["a.txt", "-"]
    assert (values["warc"], values["view"], values["delay"]) == (True, False, 60.0)
    assert values["nameserver"] == (("192.0.2.1", 53), ("192.0.2.2", 5353))
    assert parse_command_line(["crawl", "--warc", "--no-warc"])[1]["warc"] is False


def test_what_follows_simweb_is_left_to_it() -> None:
    command, _, words = parse_command_line(["simweb", "--help", "--domains", "5"])
    assert (command.name, words) == ("simweb", ["--help", "--domains", "5"])


def test_passwords_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LYCOSA_STORE", "mysql://me:secret@host/db")
    with pytest.raises(UserError) as caught:
        parse_command_line(["status"])
    assert "secret" not in str(caught.value)


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)  # it is gone before the first word
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", "crawl", "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
