"""The controls of the page: each is one verb of the wheel, asked for in JSON.

Owns which words a control takes and how they are checked; what they do is decided in `steering`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import orjson

from lycosa.dashboard.answers import Json
from lycosa.errors import UserError
from lycosa.steering.wheel import Wheel

LINES = 1_000  # of patterns or seeds in one request
LONG = 2_000  # characters of one of them


def asked(body: bytes) -> Json:
    """The words of a request; UserError for what is none."""
    try:
        found = orjson.loads(body or b"{}")
    except ValueError as error:
        raise UserError("A control is asked for with a JSON object.") from error
    if not isinstance(found, dict):
        raise UserError("A control is asked for with a JSON object.")
    return found


def pause(wheel: Wheel, words: Json) -> Json:
    wheel.pause(_text(words, "why", needed=False))
    return {"said": "The crawl pauses: engines finish what is in flight."}


def unpause(wheel: Wheel, words: Json) -> Json:
    wheel.unpause()
    return {"said": "The crawl goes on."}


def stop(wheel: Wheel, words: Json) -> Json:
    wheel.stop()
    return {"said": "The crawl finishes what is in flight and stops; --resume goes on with it."}


def hits(wheel: Wheel, words: Json) -> Json:
    """What patterns would take out, before they do."""
    found = wheel.hits(_lines(words, "lines"))
    told = {line: asdict(each) for line, each in found.by_line.items()}
    return {"hits": told, "total": asdict(found.total)}


def exclude(wheel: Wheel, words: Json) -> Json:
    total = wheel.exclude(_lines(words, "lines"))
    return {"said": f"The crawl now has {_count(total, 'exclusion')}."}


def take_back(wheel: Wheel, words: Json) -> Json:
    again = wheel.take_back(_lines(words, "lines"))
    return {"said": f"{_count(again, 'URL')} queued again."}


def seeds(wheel: Wheel, words: Json) -> Json:
    added = wheel.add_seeds(_lines(words, "lines"))
    known = f", {added.known:,} known already" if added.known else ""
    refused = [{"line": line, "why": why} for line, why in added.refused]
    return {"said": f"{_count(added.taken, 'seed')} added{known}.", "refused": refused}


def change(wheel: Wheel, words: Json) -> Json:
    name = _text(words, "name")
    old, new = wheel.set(name, _text(words, "value"))
    return {"said": f"{name} is {new} now, and was {old}."}


def steering(wheel: Wheel) -> Json:
    """What the controls show: exclusions, and what may be set."""
    return {
        "exclusions": list(wheel.exclusions()),
        "settable": [
            {"name": each.name, "value": each.value, "meaning": each.meaning}
            for each in wheel.settable()
        ],
    }


CONTROLS: dict[str, Callable[[Wheel, Json], Json]] = {
    "pause": pause,
    "unpause": unpause,
    "stop": stop,
    "hits": hits,
    "exclude": exclude,
    "take-back": take_back,
    "seeds": seeds,
    "set": change,
}


def _text(words: Json, name: str, needed: bool = True) -> str:
    found = words.get(name, "")
    if not isinstance(found, str) or len(found) > LONG or (needed and not found.strip()):
        raise UserError(f"'{name}' is a text of at most {LONG:,} characters.")
    return found.strip()


def _lines(words: Json, name: str) -> list[str]:
    found = words.get(name)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UserError(f"'{name}' is a list of texts.")
    lines = [each.strip() for each in found if each.strip()]
    if not lines:
        raise UserError("Write at least one line.")
    if len(lines) > LINES or any(len(each) > LONG for each in lines):
        raise UserError(f"At most {LINES:,} lines of {LONG:,} characters at once.")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
