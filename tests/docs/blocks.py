"""The commands and examples in the documents, as a reader would type them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SHELL = ("sh", "console")
RUN = (*SHELL, "python", "sql")  # kinds of blocks that are run
SHOWN = ("", "ini", "json", "py", "text", "toml")  # kinds that only show something
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.M | re.S)
_SPAN = re.compile(r"(?<!`)`(?!`)([^`]+)`(?!`)")


@dataclass(frozen=True)
class Example:
    """One line of a shell block, or a whole block of another kind."""

    document: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}: {self.text}"


def examples(path: Path) -> Iterator[Example]:
    """Everything between fences, in the order of the document."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        first = text[: found.start(3)].count("\n") + 1
        indent, kind, body = len(found[1]), found[2], found[3]
        lines = [line[indent:] for line in body.splitlines()]
        if kind not in SHELL:
            yield Example(name, first, kind, "\n".join(lines) + "\n")
            continue
        for number, line in enumerate(lines, first):
            if kind == "console":
                if not line.startswith("$ "):
                    continue  # what the command prints
                line = line[2:]
            if line.strip() and not line.startswith("#"):
                yield Example(name, number, kind, line)


def spans(path: Path) -> Iterator[Example]:
    """Commands of lycosa within sentences."""
    name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
    prose = _BLOCK.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in _SPAN.finditer(prose):
        words = " ".join(found[1].split())
        if re.match(r"(?:scripts/|\S*/bin/)?lycosa [a-z]", words):
            yield Example(name, prose[: found.start()].count("\n") + 1, "span", words)


def lycosa_words(line: str) -> list[list[str]]:
    """What each call of lycosa in a line of a shell is given."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    calls: list[list[str]] = []
    call: list[str] | None = None
    first = True  # of its command
    for word in lexer:
        if set(word) <= set("();<>|&"):
            call, first = None, True
            continue
        if call is not None:
            call.append(word)
        elif (first and word == "lycosa") or word.endswith(("scripts/lycosa", "bin/lycosa")):
            calls.append(call := [])
        first = False
    return [words for words in calls if words]
