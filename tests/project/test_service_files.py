"""The files in contrib/ for services: systemd, cron and logrotate take them, and what they start is
a crawl."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.cli import parse_command_line
from lycosa.errors import EXIT_STOPPED
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.debian_program import program

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib"
UNIT = CONTRIB / "systemd/lycosa.service"
CLUSTER = CONTRIB / "systemd/lycosa.service.d/cluster.conf"
SETTINGS = CONTRIB / "systemd/lycosa.toml"
CRON = CONTRIB / "cron/lycosa"
LOGROTATE = CONTRIB / "logrotate/lycosa"
MISTAKE = 2  # exit code of a user's mistake
PROGRAM = "/opt/lycosa/bin/lycosa"
EXPOSED = 20  # tenths, of 100: by what systemd-analyze counts as exposed; the file has 13


def unit(path: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path, "utf-8")
    return parser["Service"]


def cron_line() -> tuple[list[str], str, str]:
    """The five fields of the time, the user, the command."""
    lines = [line for line in CRON.read_text("utf-8").splitlines() if line]
    (line,) = (line for line in lines if not line.startswith("#"))
    *when, user, command = line.split(maxsplit=6)
    return when, user, command


def placed(line: str, root: Path) -> str:
    """The same command where the files of a machine lie below `root`."""
    (root / "etc").mkdir(exist_ok=True)
    shutil.copy2(SETTINGS, root / "etc/lycosa.toml")
    line = line.replace(PROGRAM, f"{shlex.quote(sys.executable)} -m lycosa")
    for there, here in (
        ("/etc/lycosa", root / "etc"),
        ("%S/lycosa", root),
        ("/var/lib/lycosa", root),
        ("/var/log/lycosa", root),
    ):
        line = line.replace(there, str(here))
    return line


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimWeb]:
    spec = WorldSpec(seed=5, domains=3, pages=3, page_bytes=3000, plain=True, https=0)
    with SimWeb(spec, tmp_path_factory.mktemp("web")) as web:
        yield web


def simulated(web: SimWeb) -> dict[str, str]:
    """Variables that lead a crawl into the simulated web, and no further."""
    return {
        **os.environ,
        "LYCOSA_NAMESERVER": web.nameserver,
        "LYCOSA_PORT_MAP": web.port_map,
        "LYCOSA_ALLOW_PRIVATE_ADDRESSES": "true",
        "LYCOSA_ONLY_NETWORK": "127.0.0.0/8",
        "LYCOSA_DELAY": "0.05",
        "LYCOSA_ENGINES": "1",
    }


def commands() -> dict[str, str]:
    return {"systemd": unit(UNIT)["ExecStart"], "cron": cron_line()[2]}


@pytest.mark.parametrize("whose", ["systemd", "cron"])
def test_what_they_start_is_understood(whose: str, tmp_path: Path) -> None:
    words = shlex.split(placed(commands()[whose].partition(" >>")[0], tmp_path))
    assert words[1:3] == ["-m", "lycosa"], "the program is the first word"
    command, values, seeds = parse_command_line(words[3:])
    assert command.name == "crawl" and len(seeds) == 1
    assert values["start-or-resume"] and values["email"] == "you@example.org"
    assert values["log-interval"] == 60.0, "the settings beside it are read"


@pytest.mark.parametrize("whose", ["systemd", "cron"])
def test_what_they_start_is_a_crawl_and_goes_on(whose: str, web: SimWeb, tmp_path: Path) -> None:
    line = placed(commands()[whose], tmp_path)
    web.write_seeds(tmp_path / "etc/seeds.txt")
    for _ in range(2):  # the same at every start
        done = subprocess.run(
            ["sh", "-c", line], env=simulated(web), capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "crawl/crawl.sqlite").exists()
    if whose == "cron":
        assert (tmp_path / "crawl.log").read_text().count("finished") >= 2, "both runs are in it"


def test_systemd_is_told_what_our_exit_codes_mean() -> None:
    told = unit(UNIT)
    assert told["Restart"] == "on-failure"
    assert told["SuccessExitStatus"].split() == [str(EXIT_STOPPED)]
    assert told["RestartPreventExitStatus"].split() == [str(MISTAKE)]
    assert unit(CLUSTER)["RestartPreventExitStatus"] == "", "a node waits for its server"


def systemd_analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    try:
        path, environment = program("systemd-analyze", "systemd")
    except LookupError as absent:
        pytest.skip(str(absent))
    return subprocess.run(
        [path, *words], capture_output=True, text=True, env=environment, timeout=60
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit with its drop-in, and a program that exists on this machine."""
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text("utf-8").replace(PROGRAM, shutil.which("true") or "/bin/true"))
    shutil.copytree(CLUSTER.parent, tmp_path / CLUSTER.parent.name)
    return path


def test_systemd_takes_the_unit(installed: Path) -> None:
    done = systemd_analyze("verify", installed)
    assert (done.returncode, done.stderr) == (0, "")
    with installed.open("a") as file:
        file.write("\n[Service]\nProtectSistem=strict\n")
    done = systemd_analyze("verify", installed)
    assert "ProtectSistem" in done.stderr, "it would say what it does not know"


def test_the_service_can_do_little_else_than_crawl(installed: Path) -> None:
    done = systemd_analyze("security", "--offline=true", f"--threshold={EXPOSED}", installed)
    assert done.returncode == 0, done.stdout[-300:]


def test_the_time_of_cron_is_one() -> None:
    when, user, command = cron_line()
    most = (59, 23, 31, 12, 7)
    for field, high in zip(when, most, strict=True):
        assert field == "*" or int(field) <= high
    assert user == "lycosa"
    assert "%" not in command, "which cron takes for the end of a line"
    assert ">> " in command, "logrotate cuts the file: it has to be appended to"


WRITER = """
import sys, time
for n in range(10_000):
    print("line", n, file=sys.stderr, flush=True)
    time.sleep(0.005)
"""


def test_logrotate_cuts_a_log_that_is_being_written(tmp_path: Path) -> None:
    try:
        path, environment = program("logrotate", "logrotate")
    except LookupError as absent:
        pytest.skip(str(absent))
    log = tmp_path / "crawl.log"
    text = LOGROTATE.read_text("utf-8").replace("/var/log/lycosa", str(tmp_path))
    config = tmp_path / "logrotate.conf"
    config.write_text(re.sub(r"^\s*su .*\n", "", text, flags=re.M))  # no such user here
    config.chmod(0o644)
    with subprocess.Popen(["sh", "-c", f"exec {sys.executable} -c '{WRITER}' 2>> {log}"]) as writer:
        try:
            while not log.exists() or log.stat().st_size < 500:
                time.sleep(0.02)
            words = [str(path), "--force", "--state", str(tmp_path / "state"), str(config)]
            done = subprocess.run(words, capture_output=True, text=True, env=environment)
            assert (done.returncode, done.stderr) == (0, "")
            while log.stat().st_size == 0:
                time.sleep(0.02)
        finally:
            writer.kill()
    assert (tmp_path / "crawl.log.1").read_bytes().startswith(b"line 0\n")
    assert log.read_bytes().startswith(b"line "), "no hole where the old lines were"


def test_the_unit_is_as_the_document_says() -> None:
    document = (ROOT / "docs/service.md").read_text("utf-8")
    for path in (UNIT, SETTINGS, CLUSTER, CRON, LOGROTATE):
        assert path.relative_to(ROOT).as_posix() in document, path.name
    assert unit(UNIT)["StateDirectory"] == "lycosa" and "/var/lib/lycosa" in document
