"""docs/glossary.md names places that exist, and the documents keep to its words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/lycosa"
GLOSSARY = (ROOT / "docs/glossary.md").read_text("utf-8")
ENTRIES = re.findall(r"^- \*\*([^*]+)\*\* \(([^)]+)\): (.+)$", GLOSSARY, re.M)
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def classes(module: Path) -> set[str]:
    tree = ast.parse(module.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def test_every_bold_word_is_an_entry() -> None:
    bold = re.findall(r"\*\*([^*]+)\*\*", GLOSSARY)
    assert len(bold) > 50
    assert bold == [word for word, _, _ in ENTRIES], "an entry is: - **word** (`place`): sentence."
    assert len(bold) == len(set(bold)), "each word once"


@pytest.mark.parametrize(("word", "places", "sentence"), ENTRIES, ids=[e[0] for e in ENTRIES])
def test_an_entry_names_what_exists_in_one_sentence(word: str, places: str, sentence: str) -> None:
    module, *names = re.findall(r"`([\w/]+)`", places)
    path = SOURCE / f"{module}.py"
    assert path.is_file(), f"{word}: there is no module {module}"
    assert set(names) <= classes(path), f"{word}: {module} has no class {names}"
    assert sentence.endswith(".") and not re.search(r"[a-z]\. [A-Z]", sentence), word


def discarded() -> list[str]:
    table = GLOSSARY.partition("\n## Words we do not use\n")[2]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table, re.M)
    return [word for row in rows if row not in ("not", "---") for word in row.split(", ")]


def prose(path: Path) -> str:
    """A document without what it quotes from programs, and without the list of discarded words."""
    text = path.read_text("utf-8").partition("\n## Words we do not use\n")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return " ".join(re.sub(r"`[^`\n]*`", "", text).split())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_use_no_discarded_word(path: Path) -> None:
    assert len(discarded()) > 10
    text = prose(path)
    found = [word for word in discarded() if re.search(rf"\b{re.escape(word)}\b", text, re.I)]
    assert not found, "docs/glossary.md has the words to use instead"
