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
        with pytest.raises(SystemExit) as caught:
            main(["serve", str(tmp_path / "log"), flag, "100000"])
        assert caught.value.code == 2
