"""No regular expression is superlinear: every one in the source is found and timed by itself.

A new one needs no entry here: its own characters make the attacks. What must be listed is a module
whose expressions never see what strangers wrote.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lycosa"
CALLS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}

# Modules whose expressions see only what we or the operator wrote. All others are timed.
OURS = {
    "settings.options": "the operator's command line",
    "settings.amounts": "the operator's command line",
    "fetch.certificates": "the machine's own certificates",
    "frontier.postgres.connection": "the operator's --store",
    "frontier.sqlite.store": "our SQL",
    "frontier.queries": "our SQL",
    "archive.segments": "names of our own files",
    "simweb.check": "requests of the crawler under test",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def uses(path: Path) -> list[str]:
    """The functions of `re` that a module calls."""
    text = path.read_text("utf-8")
    calls = ast.walk(ast.parse(text)) if "re." in text else ()
    return [
        node.func.attr
        for node in calls
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in CALLS
    ]


USES = {module_name(path): found for path in SOURCE.rglob("*.py") if (found := uses(path))}


@dataclass(frozen=True)
class Expression:
    """One expression and what is done with it."""

    pattern: re.Pattern[Any]
    methods: tuple[str, ...] = ("fullmatch", "finditer")

    def cost(self, text: Any) -> float:
        """CPU seconds of what is done with it."""
        begin = time.thread_time()
        for method in self.methods:
            if method in ("match", "fullmatch", "search"):
                getattr(self.pattern, method)(text)
            else:
                for _ in self.pattern.finditer(text):
                    pass
        return time.thread_time() - begin


def methods_of(path: Path) -> dict[str, tuple[str, ...]]:
    """Which methods a module calls, by the name of the variable."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in CALLS:
            base = node.value.value if isinstance(node.value, ast.Subscript) else node.value
            if isinstance(base, ast.Name):
                found.setdefault(base.id, set()).add(node.attr)
    return {name: tuple(methods) for name, methods in found.items()}


def held(value: object, methods: tuple[str, ...], depth: int = 2) -> Iterator[Expression]:
    """The expressions in a module's variable: itself, its method, those in a collection."""
    engine_id = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield Expression(value, methods)
    elif isinstance(engine_id, re.Pattern):
        yield Expression(engine_id, (getattr(value, "__name__", ""),))
    elif depth and isinstance(value, dict | list | tuple | set | frozenset):
        for each in value.values() if isinstance(value, dict) else value:
            yield from held(each, methods, depth - 1)


def expressions(name: str) -> Iterator[tuple[str, Expression]]:
    module = importlib.import_module(f"lycosa.{name}")
    methods = methods_of(Path(str(module.__file__)))
    for variable, value in vars(module).items():
        used = methods.get(variable, Expression.methods)
        for number, expression in enumerate(held(value, used)):
            yield f"{name}:{variable}:{number}", expression


ALL = dict(each for name in sorted(set(USES) - set(OURS)) for each in expressions(name))


def test_every_expression_over_foreign_input_is_found() -> None:
    """One inside of a function could not be: they are to stand in variables of the module."""
    for name in set(USES) - set(OURS):
        assert set(USES[name]) == {"compile"}, f"{name}: compile it in a variable of the module"
        found = {id(each.pattern) for key, each in ALL.items() if key.startswith(f"{name}:")}
        assert len(found) >= len(USES[name]), f"{name}: put all expressions into variables"
    assert set(OURS) <= set(USES), "take out what has no expression any more"
    assert len(ALL) > 40


def repeats_a_group(parsed: Any) -> bool:
    """Whether an expression has a group that gives nothing back: `(?:...)*+`, `(?>...)`."""
    found = False
    for op, value in parsed:
        name = str(op)
        if name == "ATOMIC_GROUP":
            return True
        if name == "POSSESSIVE_REPEAT":
            (inner,) = value[2:]
            found |= len(inner) > 1 or str(inner[0][0]) not in SINGLE
        for part in value if isinstance(value, tuple | list) else ():
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, parser.SubPattern):
                    found |= repeats_a_group(each)
    return found


SINGLE = {"LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY", "RANGE"}


@pytest.mark.parametrize("key", ALL)
def test_no_group_gives_nothing_back(key: str) -> None:
    """Python before 3.11.5, Debian 12's among them, matches such groups wrong: rules of robots.txt
    were read as others. Where one is much cheaper, it is used only if it works."""
    if key.startswith("page.html_scan:"):
        return
    pattern = ALL[key].pattern
    assert not repeats_a_group(parser.parse(pattern.pattern, pattern.flags)), pattern.pattern


def test_such_a_group_is_told() -> None:
    for text in ("(?:ab)*+c", "(?:a|bc)++", "(?>ab)", "x(?:(?:a?b)?+)y", "(?=(?:ab)*+)"):
        assert repeats_a_group(parser.parse(text)), text
    for text in ("[ab]*+c", "a++", r"\s*+(?:ab)*", ".?+", "(?:ab)*", "(a*+b)+"):
        assert not repeats_a_group(parser.parse(text)), text


# -- attacks --------------------------------------------------------------------------------------

SPECIMENS = {
    codes.CATEGORY_SPACE: " \t\n",
    codes.CATEGORY_NOT_SPACE: "x",
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_NOT_DIGIT: "x",
    codes.CATEGORY_WORD: "a0_",
    codes.CATEGORY_NOT_WORD: " -",
}
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def pieces_of(tree: Any) -> Iterator[str]:
    """Texts that the parts of an expression match: runs of letters, some of each class."""
    run = ""
    for op, argument in tree:
        if op is codes.LITERAL:
            run += chr(argument)
            continue
        if run:
            yield run
            run = ""
        if op in (codes.NOT_LITERAL, codes.ANY):
            yield "x"
        elif op is codes.IN:
            yield from members(argument)
        elif op in REPEATS:
            yield from pieces_of(argument[2])
        elif op is codes.SUBPATTERN:
            yield from pieces_of(argument[3])
        elif op is codes.ATOMIC_GROUP:
            yield from pieces_of(argument)
        elif op is codes.BRANCH:
            for branch in argument[1]:
                yield from pieces_of(branch)
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            yield from pieces_of(argument[1])
    if run:
        yield run


def members(items: Any) -> Iterator[str]:
    """Some characters of a class, and of what it leaves out."""
    if items[0][0] is codes.NEGATE:
        yield from "x 0\xe9"
    for op, argument in items:
        if op is codes.LITERAL:
            yield chr(argument)
        elif op is codes.RANGE:
            yield chr(argument[0])
            yield chr(argument[1])
        elif op is codes.CATEGORY:
            yield from SPECIMENS.get(argument, "")


def shortest(tree: Any) -> str:
    """A short text that an expression matches, its assertions aside."""
    made = ""
    for op, argument in tree:
        if op is codes.LITERAL:
            made += chr(argument)
        elif op in (codes.NOT_LITERAL, codes.ANY):
            made += "x"
        elif op is codes.IN:
            made += next(members(argument), "")
        elif op in REPEATS:
            made += shortest(argument[2]) * argument[0]
        elif op is codes.SUBPATTERN:
            made += shortest(argument[3])
        elif op is codes.ATOMIC_GROUP:
            made += shortest(argument)
        elif op is codes.BRANCH:
            made += shortest(argument[1][0])
    return made


def repeats(tree: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """What leads to each repeat of an expression, and what it repeats."""
    items = list(tree)
    for at, (op, argument) in enumerate(items):
        here = before + shortest(items[:at])
        if op in REPEATS:
            for unit in dict.fromkeys(pieces_of(argument[2])):
                yield here, unit
            yield from repeats(argument[2], here)
        elif op is codes.SUBPATTERN:
            yield from repeats(argument[3], here)
        elif op is codes.ATOMIC_GROUP:
            yield from repeats(argument, here)
        elif op is codes.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch, here)


MOST = 60  # units of one kind
Attack = Callable[[int], Any]


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Texts of any size, made of what the expression looks for, again and again."""
    binary = isinstance(pattern.pattern, bytes)
    text = pattern.pattern.decode("latin-1") if binary else pattern.pattern
    tree = parser.parse(text, pattern.flags & ~re.UNICODE if binary else pattern.flags)
    chance = random.Random(1)
    led = list(dict.fromkeys(repeats(tree)))
    for before, unit in chance.sample(led, min(MOST, len(led))):
        yield partial(filled, before, unit, "", binary)
        yield partial(filled, before, unit, "\n\x01", binary)
        yield partial(filled, "", before + unit, "\x01", binary)
    pieces = list(dict.fromkeys(pieces_of(tree)))
    pairs = ["".join(chance.choices(pieces, k=2)) for _ in range(20)]
    mixed = ["".join(chance.choices([*pieces, " "], k=5)) for _ in range(10)]
    for unit in [*chance.sample(pieces, min(MOST, len(pieces))), *pairs, *mixed]:
        yield partial(filled, chance.choice(pieces), unit, "\x01", binary)


def filled(before: str, unit: str, after: str, binary: bool, size: int) -> Any:
    made = before + unit * (size // len(unit) + 1) + after
    return made.encode("latin-1", "replace") if binary else made


SIZES = (9, 18, 200, 1_600, 12_800)
SLOW = 0.004  # seconds: 12,800 characters at 0.3 us


def superlinear(expression: Expression) -> str:
    """An attack that makes the expression slow, '' if none does."""
    for attack in attacks(expression.pattern):
        for small, large in itertools.pairwise(SIZES):
            if expression.cost(attack(large)) < SLOW:
                continue
            fast, slow = (
                min(expression.cost(attack(size)) for _ in range(3)) for size in (small, large)
            )
            if slow > SLOW and slow > 3 * fast * (large / small):
                return f"{attack(40)!r}: {fast:.6f} s, then {slow:.6f} s"
    return ""


@pytest.mark.parametrize("key", ALL)
def test_eight_times_the_text_takes_about_eight_times_as_long(key: str) -> None:
    assert superlinear(ALL[key]) == ""


@pytest.mark.parametrize(
    "bad",
    [
        r"charset\s*=\s*[\"']?\s*([^\s\"';,>]+)",
        rb"<meta[\s/][^<>]*?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})",
        r"(?:a+)+b",
        r"[^\s<>]*\Z",
        r"\s+$",
        r"(?s)<!--.*?-->",
        r"(\w+)@(\w+)",
    ],
)
def test_the_attacks_find_what_is_superlinear(bad: str) -> None:
    assert superlinear(Expression(re.compile(bad))) != ""
