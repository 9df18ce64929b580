"""The documents as a site: it is built without a warning, whole, and asks no other host for
anything; and the same files hold together as plain Markdown on a code host."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
MAKE = ROOT / "scripts/_docs.py"
FILES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SECONDS = 60.0  # it takes 6, of which 4 are CPU; this machine may be busy


def build(target: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, MAKE, target], capture_output=True, text=True, timeout=110
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site") / "html"
    begin = time.monotonic()
    done = build(place)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < SECONDS
    return place


class Page(HTMLParser):
    """What a browser asks for by itself when it shows a page, and where its links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.asks: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self._in: str = ""
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self._in = tag
        self.ids.add(found.get("id", ""))
        if tag == "a":
            self.links.append(found.get("href", ""))
        elif tag in ("link", "base"):
            self.asks.append(found.get("href", ""))
        self.asks += [found[name] for name in ("src", "data", "poster", "action") if name in found]
        self.asks += [each.split()[0] for each in found.get("srcset", "").split(",") if each]
        self.asks += addresses(found.get("style", ""))
        if found.get("http-equiv", "").lower() == "refresh":
            self.asks.append(found.get("content", "").rpartition("=")[2])

    def handle_data(self, data: str) -> None:
        if self._in in ("style", "script"):
            self.asks += addresses(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


def addresses(code: str) -> list[str]:
    """Addresses in a style or a script, but for its comments."""
    code = re.sub(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", "", code, flags=re.S)
    return re.findall(r"(?:\w+:)?//[\w.-]+[^\s\"'`)]*|url\([^)]*\)", code)


def elsewhere(address: str) -> bool:
    address = re.sub(r"^url\([\"']?|[\"']?\)$", "", address)
    return bool(re.match(r"(?!data:)\w+:|//", address)) and not address.startswith(NAMES)


NAMES = ("http://www.w3.org/",)  # of name spaces, which nobody asks for


def test_the_pages_ask_no_other_host_for_anything(site: Path) -> None:
    asked = {path: Page(path).asks for path in site.rglob("*.html")}
    code = [path for kind in ("css", "js") for path in site.rglob(f"*.{kind}")]
    asked |= {path: addresses(path.read_text("utf-8")) for path in code}
    assert len(asked) > 50
    wrong = {
        (path.name, each) for path, found in asked.items() for each in found if elsewhere(each)
    }
    assert wrong == set()


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/css">',
        '<img srcset="a.png 1x, http://img.example/b.png 2x">',
        "<style>@import 'https://fonts.example/css';</style>",
        '<p style="background: url(https://img.example/a.png)">',
        '<script>fetch("https://count.example/")</script>',
        '<meta http-equiv="refresh" content="0; url=https://example.org/">',
    ],
)
def test_a_request_to_another_host_would_be_found(planted: str, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(f'<a href="https://example.org/">a link is no request</a>{planted}')
    assert [each for each in Page(page).asks if elsewhere(each)]


def test_every_document_is_a_page_and_every_link_leads_to_one(site: Path) -> None:
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    for file in FILES[1:]:  # the README is the front page of the project, not of the site
        assert (site / file.relative_to(ROOT)).with_suffix(".html") in pages, file.name
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or not link:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target not in pages or unquote(parts.fragment) not in pages[target].ids | {""}:
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []


def test_the_first_page_leads_to_all_documents() -> None:
    """On a code host there is no navigation but this."""
    home = (ROOT / "docs/index.md").read_text("utf-8")
    listed = set(re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", home, re.M))
    there = {f"{path.name}" for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    outside = {"../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md"}
    assert listed == there | outside | {"decisions/README.md"}


def anchors(text: str) -> set[str]:
    """Those that a code host makes of headings."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    heads = re.findall(r"^#+ +(.+)$", text, re.M)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", head).lower() for head in heads)
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in words}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_files_hold_without_the_site(file: Path) -> None:
    text = re.sub(r"^(```|~~~).*?^\1", "", file.read_text("utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"<!--.*?-->", "", text, flags=re.S)):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = file.parent / unquote(parts.path) if parts.path else file
        assert target.is_file(), f"{link}: there is no such file"
        if parts.fragment:
            assert parts.fragment in anchors(target.read_text("utf-8")), f"{link}: no such heading"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_are_plain_markdown(file: Path) -> None:
    """Without what only Sphinx understands; and a picture that has come is shown."""
    text = file.read_text("utf-8")
    assert not re.search(r"^(```|:::)\{|\{(?:doc|ref|py:\w+)\}`", text, re.M)
    waiting = re.findall(r"<!-- !\[[^\]]+\]\(([^)]+)\) -->", text)
    assert not [each for each in waiting if (file.parent / each).exists()], "show it"


def test_a_warning_is_an_error(tmp_path: Path) -> None:
    """Shown on a small project with the same settings: a link leads nowhere."""
    for name in ("scripts", "docs", "docs/_site", "docs/decisions"):
        (tmp_path / name).mkdir()
    for name in ("docs/conf.py", "docs/_site/start.html", "scripts/_docs.py", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    home = tmp_path / "docs/index.md"
    home.write_text("# Home\n\n## Guides\n\n- [A](a.md): it is there\n")
    (tmp_path / "docs/a.md").write_text("# A\n\n[home](index.md#guides)\n")
    make = [sys.executable, str(tmp_path / "scripts/_docs.py"), str(tmp_path / "site")]
    fine = subprocess.run(make, capture_output=True, text=True)
    assert (fine.returncode, fine.stderr) == (0, "")
    for text, said in (
        ("# A\n\n[nowhere](b.md)\n", "b.md"),
        ("# A\n\n[nowhere](index.md#glides)\n", "glides"),
    ):
        (tmp_path / "docs/a.md").write_text(text)
        for _ in range(2):  # also if it has been read before
            done = subprocess.run(make, capture_output=True, text=True)
            assert done.returncode == 1 and said in done.stderr
    (tmp_path / "docs/a.md").write_text("# A\n")
    home.write_text("# Home\n")
    done = subprocess.run(make, capture_output=True, text=True)
    assert done.returncode == 1 and "isn't included in any toctree" in done.stderr
