"""Who came first with a key."""

import subprocess
import sys
from pathlib import Path

from lycosa.export.firsts import Firsts

FILL = """
import sys
from pathlib import Path
from lycosa.export.firsts import Firsts

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

firsts = Firsts(Path(sys.argv[1]))
for number in range(250_000):
    firsts.before(f"{number * 0x9E3779B97F4A7C15 % (1 << 63):019}", str(number))
    if number == 60_000:
        few = resident()
print(resident() - few)
"""


def test_the_first_bearer_of_a_key_is_told_to_the_others(tmp_path: Path) -> None:
    firsts = Firsts(tmp_path)
    assert firsts.before("a key", "one") is None
    assert firsts.before("another", "two") is None
    assert firsts.before("a key", "three") == "one"
    assert firsts.before("a key", "four") == "one"
    firsts.close()
    assert not list(tmp_path.iterdir())


def test_memory_is_the_same_for_four_times_the_keys(tmp_path: Path) -> None:
    """A process of its own: what tests before it freed would be used again."""
    words = [sys.executable, "-c", FILL, str(tmp_path)]
    grown = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert grown < 1 << 20
