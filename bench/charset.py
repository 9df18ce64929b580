"""How often the encoding of an undeclared page is guessed right, and what the guess costs.

    pip download --no-deps --no-binary :all: chardet==5.2.0
    python bench/charset.py chardet-5.2.0.tar.gz [--tld] [--list] [--quick]

The pages are the test files in chardet's source archive, a directory per encoding, without their
<meta> and XML declarations, whole and cut to 4 KB. Files in an encoding that chardetng has no name
for are left out and counted. Right is a guess by which the same text comes out. Without --tld the
host's ending is not known; with it, it is that of the country where the language is spoken.
Without an archive, a few sentences in own encodings are guessed: too few to say more than that it
works.
"""

from __future__ import annotations

import argparse
import re
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lycosa.page import charset
from lycosa.page.encoding import codec, label, text_of

# What chardetng can answer; a page in KOI8-R is read as KOI8-U.
NAMED = (
    "big5 euc-jp euc-kr gb18030 ibm866 iso-2022-jp iso-8859-2 iso-8859-4 iso-8859-5 iso-8859-6"
    " iso-8859-7 iso-8859-8 iso-8859-13 koi8-r koi8-u shift_jis utf-8 windows-874 windows-1250"
    " windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257"
    " windows-1258"
)
# Names of chardet's directories that are no labels; UTF-16 says nothing without its byte order.
DIRECTORIES = {"cp932": "shift_jis", "cp949": "euc-kr", "utf-8-sig": "utf-8", "utf-16": ""}
LANGUAGES = {
    "arabic": "sa", "bulgarian": "bg", "croatian": "hr", "czech": "cz", "greek": "gr",
    "hebrew": "il", "hungarian": "hu", "polish": "pl", "romanian": "ro", "russian": "ru",
    "slovak": "sk", "slovene": "si", "turkish": "tr",
}  # fmt: skip
PLACES = {
    "big5": "tw", "cp932": "jp", "shift_jis": "jp", "euc-jp": "jp", "iso-2022-jp": "jp",
    "cp949": "kr", "euc-kr": "kr", "gb2312": "cn", "tis-620": "th", "koi8-r": "ru", "ibm866": "ru",
}  # fmt: skip
DECLARATION = re.compile(rb"<meta[^<>]*charset[^<>]*>|<\?xml[^<>]*\?>", re.I)
CUT = 4_096
SENTENCES = {
    "windows-1251": "Привет, это обычная страница на русском языке, без объявления кодировки. ",
    "shift_jis": "これは日本語のページです。検索のためのテキスト。",
    "gb18030": "这是一个中文网页，用于测试编码检测。",
    "windows-1250": "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl starý muž. ",
    "windows-1252": "Où est la bibliothèque ? L’élève a déjà été à l’école. ",
}


@dataclass(frozen=True)
class Page:
    """One file."""

    name: str
    encoding: str
    tld: str
    body: bytes


def archived(path: Path) -> Iterator[Page]:
    """The test files of chardet's source archive; without an encoding what chardetng can't name."""
    with tarfile.open(path) as archive:
        for member in archive:
            parts = Path(member.name).parts
            if not member.isfile() or len(parts) != 4 or parts[1] != "tests":
                continue
            directory = parts[2].lower()
            name, _, language = directory.rpartition("-")
            tld = LANGUAGES.get(language, PLACES.get(directory, ""))
            name = name if language in LANGUAGES else directory
            encoding = label(DIRECTORIES.get(name, name))
            file = archive.extractfile(member)
            assert file is not None
            body = DECLARATION.sub(b"", file.read())
            yield Page(
                "/".join(parts[2:]), encoding if encoding in NAMED.split() else "", tld, body
            )


def own() -> Iterator[Page]:
    for name, sentence in SENTENCES.items():
        yield Page(name, name, "", (sentence * 40).encode(codec(name)))


def measure(pages: list[Page], cut: int | None, *, hinted: bool, listed: bool) -> None:
    wrong: Counter[str] = Counter()
    costs = []
    for page in pages:
        body = page.body[:cut]
        begin = time.process_time_ns()
        name = charset.sniff(body, "text/html", page.tld if hinted else "")
        costs.append((time.process_time_ns() - begin) / 1000)
        if name != page.encoding and text_of(body, name) != text_of(body, page.encoding):
            wrong[page.encoding] += 1
            if listed:
                print(f"  {page.name}: {name}")
    share = 1 - wrong.total() / len(pages)
    hint = "with the ending" if hinted else "no ending"
    print(
        f"{len(pages)} pages, {f'{cut:,} bytes' if cut else 'whole':<11} {hint:<15}"
        f" {share:7.2%} right, {median(costs):5.0f} us (median), {max(costs):6,.0f} us (most)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("archive", nargs="?", type=Path, help="chardet-5.2.0.tar.gz")
    parser.add_argument("--tld", action="store_true", help="also with the host's ending")
    parser.add_argument("--list", action="store_true", help="name the pages that went wrong")
    parser.add_argument("--quick", action="store_true", help="small, for the test run")
    given = parser.parse_args()
    pages = list(archived(given.archive) if given.archive else own())
    left = Counter(page.name.partition("/")[0] for page in pages if not page.encoding)
    pages = [page for page in pages if page.encoding]
    if left:
        print("left out:", ", ".join(f"{name} {count}" for name, count in sorted(left.items())))
    charset.detector()
    for hinted in (False, True) if given.tld else (False,):
        for cut in (None, CUT):
            measure(pages, cut, hinted=hinted, listed=given.list)


if __name__ == "__main__":
    main()
