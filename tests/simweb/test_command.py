import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.simweb import WorldSpec
from lycosa.simweb.command import main
from lycosa.simweb.reqlog import SPEC_FILE, LogWriter, read_log

AGENT = "lycosa/1.0 (mailto:crawl@example.org)"


def write(log_dir: Path, times: list[tuple[float, str]]) -> None:
    log_dir.mkdir()
    (log_dir / SPEC_FILE).write_text(WorldSpec(domains=2, plain=True, https=0).dump())
    log = LogWriter(log_dir, "0")
    for at, target in times:
        start = int(at * 1e9)
        number = log.begin(start, start, "http", "d000000.test", target, AGENT)
        log.end(number, start + 1_000_000, 200, 0, "")
    log.close()


def test_check_prints_the_counts_and_its_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "good", [(1, "/robots.txt"), (1.1, "/"), (2, "/a")])
    assert main(["check", str(tmp_path / "good"), "--delay", "0.5"]) == 0
    assert "requests 3, domains 1, visits 2" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "good"), "--delay", "5"]) == 1
    assert "VIOLATION P1 second-page: 1" in capsys.readouterr().out
    assert main(["check", str(tmp_path), "--delay", "5"]) == 2


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "log", [(1, "/robots.txt"), (1.1, "/")])
    path = next((tmp_path / "log").glob("*.log"))
    path.write_bytes(path.read_bytes()[:-3])
    entries = read_log(tmp_path / "log")
    assert [e.end for e in entries] == [1.001, float("inf")]


def test_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seeds", "--domains", "3"]) == 0
    assert capsys.readouterr().out.split() == ["d000000.test", "d000001.test", "d000002.test"]
    assert main(["seeds", "--mix", "nonsense=1"]) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "COMMAND (see 'lycosa simweb -h')."),
        (["serve"], "LOGDIR (see 'lycosa simweb serve -h')."),
        (["seeds", "--domains", "x"], "'x' (see 'lycosa simweb seeds -h')."),
        (["seeds", "--nope"], "--nope (see 'lycosa simweb -h')."),
    ],
)
def test_mistakes_get_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.endswith(f"{says}\n")


def test_what_a_web_leaves_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Also the seeds that it says to crawl, which lie in its directory if no file is named."""
    log = tmp_path / "log"
    before = os.umask(0)
    try:
        command = [sys.executable, "-m", "lycosa.simweb", "serve", str(log), "--domains", "2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            told = "".join(process.stdout.readline() for _ in range(5))
            process.send_signal(signal.SIGINT)
    finally:
        os.umask(before)
    assert str(log / "seeds.txt") in told
    found = [log, *log.iterdir()]
    assert [path.name for path in found if path.stat().st_mode & 0o077] == []
    assert len((log / "seeds.txt").read_text().split()) == 2


def test_serve_until_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lycosa.simweb", "serve", str(tmp_path / "log")]
    seeds = tmp_path / "seeds.txt"
    options = ["--domains", "2", "--https", "0", "--addresses", "1", "--seeds", str(seeds)]
    with subprocess.Popen(command + options, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        told = "".join(process.stdout.readline() for _ in range(5))
        assert "--port-map 80=" in told and "--nameserver 127.0.0.1:" in told
        assert str(seeds) in told
        assert seeds.read_text().split() == ["d000000.test", "d000001.test"]
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_so_many_processes_are_a_slip(tmp_path: Path) -> None:
    for flag in ("--processes", "--addresses"):
        assert main(["serve", str(tmp_path / "log"), flag, "100000"]) == 2
