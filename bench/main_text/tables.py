"""Writes the model as tables: a header for the compiled reader, a module for its twin in Python.

Also has the words of classes and ids that say something of an element: both tables name them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

from main_text import model

PAGE = Path(__file__).parents[2] / "src/lycosa/page"
TOOLS = PAGE.parents[2] / ".venv/bin"  # where the project keeps its own
HEADER, MODULE = PAGE / "_main_model.h", PAGE / "main_model.py"
MAIN_SCORE = 40  # from here on a line is main text
HINT_SLOTS = 1024  # of the table of words: a power of two, far above their number
HINTS = (
    "comment comments commentlist disqus respond reply replies discussion",
    "related recommended recommendations recommend recommendation similar more suggested"
    " suggestions trending popular latest recent also",
    "nav navbar navigation menu submenu megamenu dropdown menubar menus",
    "cookie cookies consent gdpr ccpa privacy onetrust",
    "share sharing social follow addthis sharedaddy facebook twitter socials",
    "promo promotion ad ads advert advertisement advertising sponsor sponsored banner cta"
    " offer offers adsense dfp",
    "sidebar side aside widget widgets rail complementary secondary",
    "content contents body copy text rte richtext wysiwyg prose markdown",
    "article articlebody post posts story entry blog news single",
    "footer foot bottom colophon contentinfo copyright legal",
    "header head top topbar masthead toolbar",
    "breadcrumb breadcrumbs crumb crumbs",
    "pagination pager paging next prev previous pages",
    "tag tags category categories topic topics taxonomy",
    "meta byline author date time published posted timestamp info bio avatar",
    "newsletter subscribe subscription signup optin mailchimp",
    "modal popup overlay lightbox dialog drawer offcanvas toast tooltip",
    "search searchform filter filters facet facets sort refine",
    "login signin account register auth cart basket checkout minicart wishlist",
    "hidden hide visually sr reader skip invisible offscreen mobile collapsed",
    "product products sku shop",
    "price prices pricing",
    "review reviews rating ratings testimonial testimonials",
    "description desc summary excerpt intro lead abstract teaser subtitle",
    "title headline heading",
    "caption figure image images img media gallery photo video slider carousel slide swiper slick",
    "toc tableofcontents outline index",
    "card cards tile tiles grid list listing results result feed archive items item",
    "message msg thread forum postbody answer answers question quote signature",
    "doc docs documentation api chapter",
    "main primary maincontent",
    "language languages lang locale country region translate",
    "contact address phone email location map hours",
    "faq accordion tab tabs panel collapse toggle",
    "feature features service services benefits",
    "table spec specs specification specifications detail details attributes",
    "code highlight pre",
    "alert notice notification announcement warning",
    "profile user users member members team",
    "btn button buttons link links",
    "hero jumbotron",
    "section block row column col container wrapper wrap",
    "event events schedule calendar",
)
GOOD = (7, 8, 23, 28, 29, 30)  # hints that mostly mean main text
BAD = (0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 15, 16, 17, 18, 19, 31)  # that mostly mean none
# Hints that say what a page is (a shop, a forum): by the share of its text in products, reviews,
# messages, and by the number of lines about a basket and prices.
PAGE_SHARES = (20, 22, 28)
PAGE_COUNTS = (18, 21)
SOURCE = """Made by bench/main_text/train.py from the development part of WCXB (Web Content
Extraction Benchmark, Murrough Foley, 2026, CC BY 4.0). Not written by hand: train again instead."""


def write(made: model.Model) -> None:
    first = _columns(made, range(made.first))
    later = _columns(made, range(made.first, len(made.leaves)))
    columns = first + [each for each in later if each not in first]
    HEADER.write_text(_header(made, columns, len(first)), "utf-8")
    MODULE.write_text(_module(made), "utf-8")
    path = f"{TOOLS}:{os.environ.get('PATH', '')}"
    for name, rest in (("ruff", ["format", "-q", MODULE]), ("clang-format", ["-i", HEADER])):
        if program := shutil.which(name, path=path):
            subprocess.run([program, *map(str, rest)], check=True)


def _columns(made: model.Model, trees: range) -> list[int]:
    return sorted({column for tree in trees for column, _, _ in made.questions[tree]})


def _bits(numbers: tuple[int, ...]) -> int:
    return sum(1 << number for number in numbers)


def _header(made: model.Model, columns: list[int], first: int) -> str:
    place = {column: at for at, column in enumerate(columns)}
    questions = ",\n".join(
        "{" + ", ".join(f"{{{place[c]}, {shift}, {more}}}" for c, shift, more in tree) + "}"
        for tree in made.questions
    )
    leaves = ",\n".join("{" + ", ".join(map(str, tree)) + "}" for tree in made.leaves)
    hints = ",\n".join(f'"{words}"' for words in HINTS)
    return f"""/* {SOURCE} */

/* clang-format off */
#ifndef LYCOSA_MAIN_MODEL_H
#define LYCOSA_MAIN_MODEL_H

#define HINT_SLOTS {HINT_SLOTS}
#define GOOD_HINTS {_bits(GOOD):#x}u
#define BAD_HINTS {_bits(BAD):#x}u
#define MAIN_SCORE {MAIN_SCORE}
#define PAGE_SHARES {len(PAGE_SHARES)}
#define PAGE_COUNTS {len(PAGE_COUNTS)}
#define SUM_UNIT {model.UNIT}
#define SCORE_RANGE {model.RANGE}
#define SCORE_STEP {model.STEP}
#define MODEL_BIAS {made.bias}
#define MODEL_DEPTH {model.DEPTH}
#define FIRST_TREES {made.first}
#define MODEL_TREES {len(made.leaves)}
#define FIRST_COLUMNS {first}
#define MODEL_COLUMNS {len(columns)}

/* Words of classes and ids, by hint. */
static const char *const hint_names[] = {{{hints}}};

/* Hints that say what a page is: those of which the share of text counts, and those of lines. */
static const unsigned char page_shares[PAGE_SHARES] = {{{", ".join(map(str, PAGE_SHARES))}}};
static const unsigned char page_counts[PAGE_COUNTS] = {{{", ".join(map(str, PAGE_COUNTS))}}};

/* Scores by step of the sum. */
static const unsigned char score_steps[] = {{{", ".join(map(str, model.score_steps()))}}};

/* The columns that are asked for; those of the first trees come first. */
static const unsigned char model_columns[MODEL_COLUMNS] = {{{", ".join(map(str, columns))}}};

/* A column, of a line before or behind, and the value that must be exceeded. */
typedef struct {{
    unsigned char column;
    signed char offset;
    unsigned char more;
}} Question;

static const Question questions[MODEL_TREES][MODEL_DEPTH] = {{{questions}}};

static const short leaves[MODEL_TREES][1 << MODEL_DEPTH] = {{{leaves}}};

#endif
"""


def _module(made: model.Model) -> str:
    """Numbers in strings: as lists they would fill a thousand lines."""
    questions = "\n".join(
        " ".join(f"{c},{shift},{more}" for c, shift, more in tree) for tree in made.questions
    )
    leaves = "\n".join(textwrap.fill(" ".join(map(str, tree)), 99) for tree in made.leaves)
    hints = ";\n".join(textwrap.fill(words, 96) for words in HINTS)
    return f'''"""The model of the main text: what `main_text` asks of lines and what follows.

{SOURCE}
"""

from __future__ import annotations

from operator import methodcaller

MAIN_SCORE = {MAIN_SCORE}  # from here on a line is main text
UNIT = {model.UNIT}  # of a sum: a factor of e in the odds
SCORE_RANGE = {model.RANGE}
SCORE_STEP = {model.STEP}
BIAS = {made.bias}
FIRST = {made.first}  # trees that do not ask what others think

# Words of classes and ids, by hint; and hints that mostly mean main text, or none.
_HINTS = """
{hints}
"""
HINTS = [" ".join(words.split()) for words in _HINTS.split(";")]
GOOD_HINTS = {_bits(GOOD):#x}
BAD_HINTS = {_bits(BAD):#x}

# Hints that say what a page is: those of which the share of text counts, and those of lines.
PAGE_SHARES = {PAGE_SHARES}
PAGE_COUNTS = {PAGE_COUNTS}

# Scores by step of the sum.
SCORE_STEPS = bytes.fromhex(
    {_hex(bytes(model.score_steps().tolist()))}
)

# A tree a line; each question: a column, of a line before or behind, the value to be exceeded.
_QUESTIONS = """
{questions}
"""
# Of all trees, one after the other.
_LEAVES = """
{leaves}
"""
_comma = methodcaller("split", ",")
QUESTIONS = [
    [(int(c), int(shift), int(more)) for c, shift, more in map(_comma, tree.split())]
    for tree in _QUESTIONS.strip().splitlines()
]
_numbers = [int(number) for number in _LEAVES.split()]
_SIZE = len(_numbers) // len(QUESTIONS)
LEAVES = [_numbers[at : at + _SIZE] for at in range(0, len(_numbers), _SIZE)]
'''


def _hex(data: bytes) -> str:
    text = data.hex()
    return "\n    ".join(f'"{text[at : at + 80]}"' for at in range(0, len(text), 80))
