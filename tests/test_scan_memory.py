"""The compiled reader under AddressSanitizer: no byte outside of the page is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "lycosa" / "_scan.c"
FUZZ = r"""
import importlib.util, random, sys, time
from html.entities import html5
from importlib.machinery import ExtensionFileLoader
loader = ExtensionFileLoader("lycosa._scan", sys.argv[1])
scan = importlib.util.module_from_spec(importlib.util.spec_from_loader("lycosa._scan", loader))
loader.exec_module(scan)
units = ["<", "<a ", "<a href='", '<a b="', "<!--", "-->", "<!-", "&", "&a", "&#1", "&#x", "&nbsp;",
    "<svg>", "</svg>", "<svg/>", "<p>", "</", "<script>", "</script>", "<title>", "</title>",
    "<select>", "<b><p>", "=", "<a =", "<x y='z'", "\xc2", "</svg", "<meta a=b", "content='", '"',
    "'", ">", "/", "a", "\xe9", "\0", " ", "\n", "&copy=", "&notin;", "&am", "<iframe src=",
    "<template>", "</template>", "<base href", "--!>", "<html lang=en>", "\x1e"]
seed = int(sys.argv[2])
print("seed", seed)
chance = random.Random(seed)
end = time.monotonic() + 30
runs = 0
while time.monotonic() < end:
    page = "".join(chance.choices(units, k=chance.randrange(60))).encode()
    if chance.random() < 0.3:
        page = bytes(b if chance.random() > 0.05 else chance.randrange(256) for b in page)
    scan.scan(page, html5, chance.choice([0, 1, 3, 1000]), chance.choice([0, 1, 5, 100_000]))
    runs += 1
print("runs", runs)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed")
def test_no_byte_outside_of_the_page_is_touched(tmp_path: Path) -> None:
    built = tmp_path / "scan.so"
    subprocess.run(
        ["gcc", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover", "-shared",
         "-fPIC", f"-I{sysconfig.get_paths()['include']}", SOURCE, "-o", built],
        check=True,
    )  # fmt: skip
    libraries = [
        subprocess.check_output(["gcc", f"-print-file-name={name}.so"], text=True).strip()
        for name in ("libasan", "libubsan")
    ]
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, built, os.environ.get("LYCOSA_SEED", "1")],
        env={**os.environ, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc",
             "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
