"""The demo as a user runs it, and every reading command on what it left."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lycosa.cli import main
from support.typed import PYTHON


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "demo"
    words = f"demo --domains 4 --pages 4 --delay 0.3 --data-dir {root}".split()
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", *words], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none too soon" in done.stdout
    assert f"{PYTHON} -m lycosa status --data-dir {root}" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr  # no terminal, no drawing
    assert [str(each) for each in root.rglob("*") if each.stat().st_mode & 0o077] == []
    return root


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def some_page(capsys: pytest.CaptureFixture[str], root: Path, outcome: str) -> dict[str, object]:
    words = ["pages", "--data-dir", str(root), "--outcome", outcome, "--limit", "1", "--json"]
    found: dict[str, object] = json.loads(answer(capsys, *words))
    return found


def test_status(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(answer(capsys, "status", "--data-dir", str(crawled), "--json"))
    assert found["finished"]
    assert found["pages"] >= found["ok"] > 10
    assert answer(capsys, "status", "--data-dir", str(crawled)).startswith("finished, started ")


def test_pages(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pages", "--data-dir", str(crawled), "--outcome", "ok", "--limit", "5"]
    lines = answer(capsys, *words).splitlines()
    assert len(lines) == 5
    assert all(" 200 ok " in line for line in lines)
    objects = [json.loads(line) for line in answer(capsys, *words, "--json").splitlines()]
    assert [each["url"] for each in objects] == [line.split()[-1] for line in lines]
    oldest = answer(capsys, *words, "--oldest").splitlines()
    assert oldest[0] <= lines[0]
    assert oldest != lines
    recent = answer(capsys, "pages", "--data-dir", str(crawled), "--since", "0.001s")
    assert recent == ""


def test_show(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = some_page(capsys, crawled, "ok")
    shown = json.loads(
        answer(capsys, "show", str(page["url"]), "--data-dir", str(crawled), "--json")
    )
    assert shown["url"] == page["url"]
    assert len(shown["text"]) == page["text_chars"]
    plain = answer(capsys, "show", str(page["url"]), "--data-dir", str(crawled))
    assert plain.endswith(shown["text"] + "\n")


def test_show_of_what_was_not_fetched(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "https://never.example/", "--data-dir", str(crawled)]) == 2
    assert "was not fetched" in capsys.readouterr().err
    assert main(["show", "not a url", "--data-dir", str(crawled)]) == 2


def test_why(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = some_page(capsys, crawled, "ok")
    text = answer(capsys, "why", str(page["url"]), "--data-dir", str(crawled))
    assert "ok, status 200" in text
    assert "robots.txt   allows it" in text
    unknown = answer(capsys, "why", "https://never.example/", "--data-dir", str(crawled))
    assert "never seen, and neither was its domain" in unknown


def test_why_excluded(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exclude", "unwanted.example", "--data-dir", str(crawled)]) == 0
    assert capsys.readouterr().out.endswith("The crawl now has 1 exclusion.\n")
    text = answer(capsys, "why", "https://www.unwanted.example/x", "--data-dir", str(crawled))
    assert "state        refused: excluded, by the line unwanted.example" in text


def test_audit(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Every visit was polite." in answer(capsys, "audit", "--data-dir", str(crawled))
    found = json.loads(answer(capsys, "audit", "--data-dir", str(crawled), "--json"))
    assert found["ok"]
    assert found["report"]["smallest_gap_ms"] >= 300


def test_an_audit_says_that_a_ledger_is_missing(
    crawled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(crawled, tmp_path / "copy")
    for ledger in (copy / "visits").iterdir():
        ledger.unlink()
    told = answer(capsys, "audit", "--data-dir", str(copy))
    assert f"files of its ledger are missing from {copy}/visits ('lycosa verify " in told


def test_stop_of_what_does_not_run(crawled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "--data-dir", str(crawled)]) == 0
    assert capsys.readouterr().err == "The crawl is not running.\n"


def test_a_second_crawl_may_not_overwrite_it(
    crawled: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("example.org\n")
    words = ["crawl", str(seeds), "--email", "you@example.org", "--data-dir", str(crawled)]
    assert main(words) == 2
    assert "--resume" in capsys.readouterr().err
