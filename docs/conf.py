"""How Sphinx makes a site of the Markdown files here (scripts/docs, decision 0026).

The source is the whole project, so that links such as `../CHANGELOG.md` lead somewhere on the site
as they do on a code host. The files stay plain Markdown: the navigation is made of the lists of
links in index.md, and the list of decisions of the files that there are.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HOME = "docs/index"
DECISIONS = "docs/decisions/README"

project = "lycosa"
version = release = PROJECT["version"]
project_copyright = "the authors of lycosa"
extensions = ["myst_parser"]
root_doc = HOME
include_patterns = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**.md"]
exclude_patterns = [".*", "bench", "build", "dist", "src", "tests"]  # not even looked into
myst_heading_anchors = 4  # by the rule of code hosts, so that a link with # holds in both
highlight_language = "text"

templates_path = ["_site"]
html_theme = "furo"
html_title = f"lycosa {version}"
html_additional_pages = {"index": "start.html"}  # the address without a file name
html_copy_source = html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}

LINK = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\)", re.M)


def navigation(text: str) -> str:
    """The lists of links below each heading of the home page, as Sphinx wants to be told them."""
    trees = []
    for part in text.split("\n## ")[1:]:
        caption, _, rest = part.partition("\n")
        if pages := LINK.findall(rest):
            entries = [f"{title} <{page}>" for title, page in pages]
            trees.append(tree(entries, f":caption: {caption}\n:hidden:"))
    return "".join(trees)


def tree(entries: list[str], options: str) -> str:
    lines = "\n".join(entries)
    return f"\n```{{toctree}}\n{options}\n\n{lines}\n```\n"


def add_navigation(app: Any, name: str, source: list[str]) -> None:
    if name == HOME:
        source[0] += navigation(source[0])
    elif name == DECISIONS:
        files = sorted(path.stem for path in (ROOT / DECISIONS).parent.glob("[0-9]*.md"))
        source[0] += tree(files, ":maxdepth: 1")


def setup(app: Any) -> None:
    app.connect("source-read", add_navigation)
