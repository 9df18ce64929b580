"""`lycosa set`: changes settings of a crawl that runs or rests, or lists what can be changed."""

from __future__ import annotations

from dataclasses import asdict

from lycosa.commands.change import wheel_of_nodes
from lycosa.commands.printing import print_json
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line


def set_values(values: Values, words: list[str]) -> int:
    """Change settings, or list those that may change while a crawl runs."""
    pairs = [_pair(word) for word in words]
    if not pairs:
        return _list(values)
    from lycosa.steering.settable import read_value

    for name, text in pairs:
        read_value(name, text)  # all or nothing: a slip in the second must not leave the first
    with wheel_of_nodes(values) as wheel:
        done = [(name, *wheel.set(name, text)) for name, text in pairs]
        running = wheel.running()
        heard = wheel.wait_until_heard()
    if values["json"]:
        changes = {name: {"before": before, "now": now} for name, before, now in done}
        print_json({"changed": changes, "running": running, "heard": heard})
        return 0
    for name, before, now in done:
        print(
            one_line(f"{name} is {now}" + (f", it was {before}" if now != before else " already"))
        )
    if running and not heard:
        print("Not every engine has heard of it yet; each does with its next commit.")
    return 0


def _pair(word: str) -> tuple[str, str]:
    name, sign, text = word.partition("=")
    if not sign or not name:
        raise UserError(f"Write NAME=VALUE, such as delay=30, not '{word}'.")
    return name.removeprefix("--").replace("_", "-"), text


def _list(values: Values) -> int:
    with wheel_of_nodes(values) as wheel:
        found = wheel.settable()
    if values["json"]:
        print_json({"settings": [asdict(each) for each in found]})
        return 0
    width = max(len(f"{each.name}={each.value}") for each in found)
    for each in found:
        print(one_line(f"{each.name + '=' + each.value:<{width}}  {each.meaning}"))
    return 0
