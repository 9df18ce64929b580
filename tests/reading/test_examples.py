"""The examples of docs/data.md, run as they stand: on the demo's data, and on a made crawl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import lycosa
from lycosa.reading.filters import NAMES
from lycosa.settings.options import options_of
from support.made_crawl import make

DOCUMENT = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
SCRIPTS = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.M | re.S)
# A command and what it prints on the demo of `place`, where the document shows both.
SHOWN = re.findall(r"^```sh\n([^\n]+)\n```\n\n```text\n(.*?)^```", DOCUMENT, re.M | re.S)
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", DOCUMENT, re.M | re.S)
    for line in block.splitlines()
    if line not in dict(SHOWN)
]
DEMO = ["demo", "--domains", "8", "--pages", "4"]
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


@pytest.fixture(scope="module", params=["demo", "made"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which `lycosa-demo` is."""
    root = tmp_path_factory.mktemp("examples")
    if request.param == "made":  # has labels, languages and responses
        make(root / "lycosa-demo")
        return root
    words = [*DEMO, "--delay", "0.05", "--no-view"]
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", *words], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return root


def run(place: Path, words: list[str]) -> str:
    bin_ = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def labelled(place: Path) -> bool:
    """Whether the crawl has labels and responses: then every example prints something."""
    return (place / "lycosa-demo" / "warc").exists()


@pytest.mark.parametrize("number", range(len(SCRIPTS)))
def test_scripts(place: Path, number: int) -> None:
    compile(SCRIPTS[number], "data.md", "exec")
    if SCRIPTS[number].startswith("# search.py\n"):
        (place / "search.py").write_text(SCRIPTS[number])
        assert len(SCRIPTS[number].splitlines()) <= 30
        for _ in range(2):
            said = run(place, [sys.executable, "search.py", "museum"])
            assert "[museum]" in said.lower() and said.count("http") >= 3
        return
    said = run(place, [sys.executable, "-c", SCRIPTS[number]])
    assert said.strip() or not labelled(place)  # the demo keeps no responses


@pytest.mark.parametrize("line", LINES)
def test_lines(place: Path, line: str) -> None:
    for tool in ("jq", "zstdcat"):
        if tool in line and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    for script in SCRIPTS:
        if script.startswith("# search.py\n"):
            (place / "search.py").write_text(script)
    said = run(place, ["bash", "-c", line])
    assert said.strip() or not labelled(place)


def test_there_are_outputs_and_the_demo_is_the_one_they_name() -> None:
    assert any("lycosa sample" in line for line, _ in SHOWN)
    assert f"`lycosa {' '.join(DEMO)}`" in DOCUMENT
    assert len(SHOWN) == DOCUMENT.count("```text\n")


@pytest.mark.parametrize("place", ["demo"], indirect=True)
@pytest.mark.parametrize("line, output", SHOWN)
def test_outputs(place: Path, line: str, output: str) -> None:
    said, again = (run(place, ["bash", "-c", line]) for _ in range(2))
    assert said == again
    assert re.sub(MOMENT, "THEN", said).strip() == re.sub(MOMENT, "THEN", output).strip()


def test_every_filter_is_documented_and_has_its_flag() -> None:
    flags = {option.name.replace("-", "_") for option in options_of("pages")}
    assert set(NAMES) <= flags
    for name in NAMES:
        assert re.search(rf"`{name}[=`]", DOCUMENT), name


def test_every_stable_name_is_documented() -> None:
    for name in lycosa.__all__:
        assert name == "__version__" or re.search(rf"\b{name}\b", DOCUMENT), name
    for call in re.findall(r"`crawl\.(\w+)", DOCUMENT):
        assert hasattr(lycosa.Crawl, call) or call == "missing", call


@pytest.mark.parametrize("kind", [lycosa.Page, lycosa.TextPage, lycosa.PageResponse])
def test_every_field_of_a_page_is_documented(kind: type[lycosa.Page]) -> None:
    names = {each.name for each in fields(kind)}
    names |= {name for name, value in vars(kind).items() if isinstance(value, property)}
    assert names - set(re.findall(r"`(\w+)(?:\(\w*\))?`", DOCUMENT)) == set()
