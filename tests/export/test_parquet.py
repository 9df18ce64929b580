"""Files of Parquet are written in the memory of one row group."""

import subprocess
import sys
from pathlib import Path

from lycosa.export.parquet import GROUP_BYTES

WRITE = """
import base64, random, sys
from pathlib import Path
from lycosa.export.parquet import ParquetFile, need_pyarrow

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

need_pyarrow()
path, chance = Path(sys.argv[1]), random.Random(1)
said = base64.b64encode(chance.randbytes(1 << 20)).decode()
file = ParquetFile(path, {"id": "string", "text": "string"})
begin, size, groups = resident(), 0, 0
while groups < 4:
    for _ in range(500):
        at, length = chance.randrange(1 << 20), chance.choice((100, 1_000, 3_000))
        file.add({"id": "", "text": said[at : at + length]})
    if path.stat().st_size > size + (4 << 20):
        size, groups = path.stat().st_size, groups + 1
        print(resident() - begin)
file.abort()
"""


def test_memory_of_a_row_group_is_given_back_when_it_is_written(tmp_path: Path) -> None:
    """What is kept of it for later would be added to all that an export holds besides."""
    words = [sys.executable, "-c", WRITE, str(tmp_path / "x.parquet")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    kept = [int(line) for line in done.stdout.split()]
    assert len(kept) == 4
    assert max(kept) < 2.5 * GROUP_BYTES, kept  # 3.5 to 4.5 times if Arrow keeps it
