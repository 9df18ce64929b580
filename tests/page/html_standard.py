"""What the HTML standard says of html5lib's public cases, worked out from their expected results.

The cases are those of html5lib 1.1 (tests/data/html5lib.tar.xz, with their licence, MIT). Each tree
of `tree-construction` is written down by their authors; here it is only walked: which text is in no
element that hides it, which links are in no template. Nothing of lycosa is used, so that both of
its readers are judged by the standard and not by each other.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

CASES = Path(__file__).parents[1] / "data" / "html5lib.tar.xz"

# What a reader does not see, and what only scripts or other programs make something of.
RAW = frozenset(("script", "style", "title", "iframe", "noframes", "noembed"))
HIDDEN = RAW | frozenset(
    ("template", "select", "object", "audio", "video", "canvas", "datalist", "dialog", "rp")
)

# Soft hyphens, what has no width, marks of direction, joiners.
_UNSEEN = "\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"

_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<[^>]*(?:>|\Z)", re.DOTALL)

_SECTIONS = ("#data", "#errors", "#new-errors", "#document", "#document-fragment", "#script-on")


@dataclass
class Node:
    """An element of an expected tree, or a text (whose name is '')."""

    name: str
    space: str = ""  # 'svg', 'math' or '' for HTML
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """One page and what the standard makes of it."""

    name: str  # file and number in it, from 1
    page: str
    tree: Node


@cache
def _files() -> dict[str, str]:
    with tarfile.open(CASES) as archive:
        members = {
            member.name: archive.extractfile(member) for member in archive if member.isfile()
        }
        return {name: file.read().decode() for name, file in members.items() if file is not None}


def trees() -> Iterator[Case]:
    """Whole pages, read as by somebody who runs scripts; fragments are not for us."""
    for path, text in _files().items():
        if not path.endswith(".dat"):
            continue
        for number, chunk in enumerate(re.split(r"(?:\A|\n)(?=#data\n)", text)[1:], 1):
            sections = _sections(chunk)
            if "#document-fragment" in sections or "#script-off" in sections:
                continue
            page = "\n".join(sections["#data"])
            name = path.removeprefix("tree-construction/").removesuffix(".dat")
            yield Case(f"{name}-{number}", page, _tree(sections["#document"]))


def _sections(chunk: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in chunk.rstrip("\n").split("\n"):
        if line in (*_SECTIONS, "#script-off"):
            lines = sections.setdefault(line, [])
        else:
            lines.append(line)
    return sections


def _tree(lines: list[str]) -> Node:
    entries: list[str] = []
    for line in lines:
        if line.startswith("| "):
            entries.append(line[2:])
        elif entries:  # a text of several lines
            entries[-1] += "\n" + line
    root = Node("#document")
    path = [(-1, root)]
    for entry in entries:
        body = entry.lstrip(" ")
        indent = len(entry) - len(body)
        while path[-1][0] >= indent:
            path.pop()
        _add(path, indent, body)
    return root


def _add(path: list[tuple[int, Node]], indent: int, body: str) -> None:
    parent = path[-1][1]
    if body.startswith('"'):
        parent.children.append(Node("", text=body[1:-1]))
    elif body.startswith(("<!", "<?")):
        return
    elif body.startswith("<") or body == "content":
        space, _, name = body.strip("<>").rpartition(" ")
        node = Node(name, space)
        parent.children.append(node)
        path.append((indent, node))
    else:
        name, _, value = body.partition("=")
        parent.attributes[name] = value[1:-1]


def visible(case: Case) -> str:
    """The text that is seen, without white space.

    An element that nothing closes but the end of the page hides nothing (raw text does): whether
    one is closed is told by the tags of its name, if it is the last in the tree.
    """
    return squeeze("".join(_visible(case.tree, case.page.lower(), True)))


def _visible(node: Node, page: str, last: bool) -> Iterator[str]:
    if not node.name:
        yield node.text
    elif node.name == "noscript":  # raw text in the tree, markup for us
        yield _MARKUP.sub("", "".join(child.text for child in node.children))
    elif not _hides(node, page, last):
        for number, child in enumerate(node.children, 1):
            yield from _visible(child, page, last and number == len(node.children))


def _hides(node: Node, page: str, last: bool) -> bool:
    name = node.name
    if node.space == "math" and name.startswith("annotation"):
        return not last or f"</{name}" in page
    if name == "rp" and "</ruby" in page:
        return True
    if (name, node.space) != ("svg", "svg") and (node.space or name not in HIDDEN):
        return False
    opened = len(re.findall(rf"<{name}(?=[\s/>])", page))
    closed = len(re.findall(rf"</{name}(?=[\s/>])", page))
    if name == "select":  # another start tag ends it too
        return not last or (opened + closed) % 2 == 0
    return name in RAW or not last or opened <= closed


def links(case: Case) -> set[str]:
    """Where <a>, <area>, <frame> and <iframe> lead."""
    return {link for node in _elements(case.tree) if (link := _link(node))}


def title(case: Case) -> str:
    """The first title's text, white space folded."""
    for node in _elements(case.tree):
        if node.name == "title" and not node.space:
            return " ".join("".join(child.text for child in node.children).split())
    return ""


def _elements(node: Node) -> Iterator[Node]:
    """All elements but those in templates."""
    if node.name != "content":
        yield node
        for child in node.children:
            yield from _elements(child)


def _link(node: Node) -> str:
    if node.name == "a" and node.space != "math":
        return node.attributes.get("href", "")
    if node.space:
        return ""
    wanted = {"area": "href", "frame": "src", "iframe": "src"}.get(node.name, "")
    return node.attributes.get(wanted, "")


def squeeze(text: str) -> str:
    """Without white space, and without what can't be read."""
    return re.sub(r"[\s\x00-\x1f\xa0\ufffd" + _UNSEEN + "]", "", text)


def tokens() -> Iterator[tuple[str, str, str]]:
    """Name, page and text of the tokenizer's cases; tags in them open nothing that hides text."""
    for path, text in _files().items():
        if not path.endswith(".test"):
            continue
        for number, test in enumerate(json.loads(text).get("tests", []), 1):
            if "Data state" not in test.get("initialStates", ["Data state"]):
                continue
            page, output = test["input"], test["output"]
            if test.get("doubleEscaped"):
                page, output = _unescaped(page), json.loads(_unescaped(json.dumps(output)))
            name = path.removeprefix("tokenizer/").removesuffix(".test")
            if not any(token[0] == "StartTag" and token[1] in HIDDEN for token in output):
                yield f"{name}-{number}", page, _characters(output)


def _characters(output: list[list[str]]) -> str:
    return squeeze("".join(token[1] for token in output if token[0] == "Character"))


def _unescaped(text: str) -> str:
    return re.sub(r"\\+u([0-9A-Fa-f]{4})", lambda found: chr(int(found[1], 16)), text)
