"""The model: trees that ask the same questions of all lines, in whole numbers, in two parts.

The first part sees what the page has of a line and its neighbours; the second one also what the
first thinks of the lines around and of the containers they are in.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from catboost import CatBoost, Pool

from main_text import gold

UNIT = 4096  # of a sum: the logarithm of the odds by which a score changes by a factor of e
DEPTH = 6
FIRST, SECOND = 22, 14  # trees
RATE = 0.33
# Columns that are worth their time, by the numbers of `page/main_text`: of the line, of its
# containers, of the lines around, of the page; then kinds of containers and hints, and hints of
# the whole page.
COLUMNS = (
    0, 2, 3, 6, 8, 9, 10, 11, 13, 15, 16, 17, 18, 20, 23, 25, 34, 40, 43, 44, 47,
    53, 54, 57, 58, 59, 61, 62, 63, 65, 66, 67, 68, 80, 90, 92, 95, 96,
    110, 115, 116, 123, 126, 127, 129, 130, 132, 140, 142, 171,
    235, 236, 237, 238, 239,
)  # fmt: skip
SCORES = (70, 71, 72, 73, 75, 76)  # columns that come from the first trees
SHIFTED = (0, 2, 3, 6, 8, 16, 17, 18, 25)  # columns that are looked at in other lines too
SHIFTED_LATER = (70, 71)
SHIFTS = (-2, -1, 1, 2)
IDEOGRAPHS_EACH = 4  # of so many pages one is trained in ideographs too
DRAWN = 0.03  # weight of a line from which on it is surely trained on
# Weights of types of pages: most pages are articles, and those of products differ most.
TYPES = {"article": 1.0, "product": 3.0}
OTHERS = 1.5

Question = tuple[int, int, int]  # column, line before or behind, the value that must be exceeded


@dataclass(slots=True)
class Model:
    bias: int = 0
    first: int = 0  # trees of the first part
    questions: list[list[Question]] = field(default_factory=list)
    leaves: list[list[int]] = field(default_factory=list)


def shifted(columns: np.ndarray, shift: int) -> np.ndarray:
    """Columns of the lines before or behind; 0 where there is none."""
    out = np.zeros_like(columns)
    if shift > 0:
        out[:-shift] = columns[shift:]
    elif shift < 0:
        out[-shift:] = columns[:shift]
    else:
        out[:] = columns
    return out


def sums(model: Model, columns: np.ndarray, trees: range, start: np.ndarray) -> np.ndarray:
    """What some trees add, exactly as the C does it."""
    total = start.copy()
    for tree in trees:
        leaf = np.zeros(len(columns), int)
        for level, (column, shift, more) in enumerate(model.questions[tree]):
            leaf |= (shifted(columns[:, column], shift) > more).astype(int) << level
        total += np.array(model.leaves[tree])[leaf]
    return total


def first_sums(model: Model, columns: np.ndarray) -> np.ndarray:
    start = np.full(len(columns), model.bias, np.int64)
    return sums(model, columns, range(model.first), start)


def with_scores(page: gold.Page, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """All columns of a page, and the sums of the first trees."""
    start = first_sums(model, page.columns)
    return gold.features(page.html, start.astype(np.int32).tobytes())[1], start


def predicted(page: gold.Page, model: Model) -> np.ndarray:
    """Scores of a page's lines, 0 to 100."""
    columns, start = with_scores(page, model)
    trees = range(model.first, len(model.leaves))
    scores: np.ndarray = score_steps()[step_of(sums(model, columns, trees, start))]
    return scores


STEP = UNIT // 16
RANGE = 128 * STEP


def step_of(total: np.ndarray) -> np.ndarray:
    step: np.ndarray = np.clip((total + RANGE) // STEP, 0, 255)
    return step


def score_steps() -> np.ndarray:
    odds = (np.arange(256) - 128 + 0.5) / 16
    return np.rint(100 / (1 + np.exp(-odds))).astype(int)


# -- training -----------------------------------------------------------------------------------


def weights(page: gold.Page) -> np.ndarray:
    """A page counts by the root of its words: long ones do not decide alone."""
    words = max(float(page.labels @ page.sizes), 60.0)
    kind = TYPES.get(page.type, OTHERS)
    weight: np.ndarray = np.minimum((page.sizes + 1) / (words * 500) ** 0.5, 1.0) * kind
    return weight


def fit(pages: list[gold.Page]) -> Model:
    """Trains both parts on some pages."""
    pages = [page for page in pages if page.lines]
    kept, scale = _drawn(np.concatenate([weights(page) for page in pages]))
    labels = np.concatenate([page.labels for page in pages])[kept]
    asked = [(column, 0) for column in COLUMNS]
    asked += [(column, shift) for column in SHIFTED for shift in SHIFTS]
    model = Model(first=FIRST)
    tables = [page.columns for page in pages]
    _boost(model, _asked(tables, asked, kept), asked, labels, scale, FIRST, None)
    made = [with_scores(page, model) for page in pages]
    start = np.concatenate([each for _, each in made])[kept]
    asked += [(column, 0) for column in SCORES]
    asked += [(column, shift) for column in SHIFTED_LATER for shift in (-3, *SHIFTS, 3)]
    data = _asked([table for table, _ in made], asked, kept)
    _boost(model, data, asked, labels, scale, SECOND, start)
    return model


def _drawn(scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lines that are trained on: of those that hardly count a part, which then counts for all."""
    chance = np.minimum(scale / DRAWN, 1)
    kept = np.flatnonzero(np.random.default_rng(1).random(len(scale)) < chance)
    return kept, scale[kept] / chance[kept]


def _asked(tables: list[np.ndarray], asked: list[tuple[int, int]], kept: np.ndarray) -> np.ndarray:
    """The columns in question, with those of lines before and behind."""
    whole = np.concatenate(tables)
    pages = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    data = np.empty((len(kept), len(asked)), np.float32)
    for place, (column, shift) in enumerate(asked):
        if shift == 0:
            data[:, place] = whole[kept, column]
            continue
        other = np.clip(kept + shift, 0, len(whole) - 1)
        same = (pages[other] == pages[kept]) & (other == kept + shift)
        data[:, place] = np.where(same, whole[other, column], 0)
    return data


def _boost(
    model: Model,
    data: np.ndarray,
    asked: list[tuple[int, int]],
    labels: np.ndarray,
    scale: np.ndarray,
    trees: int,
    start: np.ndarray | None,
) -> None:
    baseline = None if start is None else start / UNIT
    pool = Pool(data, labels, weight=scale, baseline=baseline)
    boosted = CatBoost(
        {
            "loss_function": "CrossEntropy", "iterations": trees, "depth": DEPTH,
            "learning_rate": RATE, "l2_leaf_reg": 20, "border_count": 32, "thread_count": 2,
            "verbose": 0, "allow_writing_files": False, "random_seed": 1,
            "bootstrap_type": "No", "leaf_estimation_iterations": 3, "random_strength": 0,
        }
    )  # fmt: skip
    boosted.fit(pool)
    _take(model, boosted, asked, first=start is None)


def _take(model: Model, boosted: CatBoost, asked: list[tuple[int, int]], *, first: bool) -> None:
    """Adds the trees of a trained part in whole numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        boosted.save_model(str(path), format="json")
        made = json.loads(path.read_text())
    scale, bias = made["scale_and_bias"]
    assert scale == 1
    if first:
        model.bias = round(bias[0] * UNIT)
    for tree in made["oblivious_trees"]:
        questions = [
            (*asked[split["float_feature_index"]], int(split["border"])) for split in tree["splits"]
        ]
        leaves = [round(value * UNIT) for value in tree["leaf_values"]]
        while len(questions) < DEPTH:  # a tree that needed fewer
            questions.append((0, 0, 255))
            leaves += leaves
        assert len(leaves) == 1 << DEPTH and max(map(abs, leaves)) < 1 << 15
        model.questions.append(questions)
        model.leaves.append(leaves)
