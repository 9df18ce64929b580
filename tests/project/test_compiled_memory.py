"""The compiled modules under AddressSanitizer: no byte that is not theirs is touched."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "lycosa"
SCAN = r"""
import importlib.util, random, sys, time
from html.entities import html5
from importlib.machinery import ExtensionFileLoader
loader = ExtensionFileLoader("lycosa.page._scan", sys.argv[1])
scan = importlib.util.module_from_spec(importlib.util.spec_from_loader("lycosa.page._scan", loader))
loader.exec_module(scan)
units = ["<", "<a ", "<a href='", '<a b="', "<!--", "-->", "<!-", "&", "&a", "&#1", "&#x", "&nbsp;",
    "<svg>", "</svg>", "<svg/>", "<p>", "</", "<script>", "</script>", "<title>", "</title>",
    "<select>", "<b><p>", "=", "<a =", "<x y='z'", "\xc2", "</svg", "<meta a=b", "content='", '"',
    "'", ">", "/", "a", "\xe9", "\0", " ", "\n", "&copy=", "&notin;", "&am", "<iframe src=",
    "<template>", "</template>", "<base href", "--!>", "<html lang=en>", "\x1e", "<table>", "<tr>",
    "<td>", "</td>", "</table>", "<b>", "</b>", "<a>", "</a>", "<li>", "<dd>", "<h1>", "<button>",
    "<form>", "</form>", "<nobr>", "<select>", "</select>", "<input>", "<option>", "<rt>", "<math>",
    "<mi>", "<annotation-xml encoding=", "text/html>", "<desc>", "<font color>", "<![CDATA[", "]]>",
    "<noscript>", "</noscript>", "<script><!--", "<script ", "<plaintext>", "<frameset>", "<frame>",
    "<video>", "</video>", "<object>", "</object>", "<foreignObject>", "</p>", "</br>", "</x>",
    "<span>" * 600, "<svg>" * 600, "<b><p>" * 30, "<noscript>" * 40]
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
    scan.small_words(page, chance.randbytes(1024))
    runs += 1
print("runs", runs)
"""


LINKS = r"""
import random, sys, time
from array import array
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader("lycosa.urls._links", sys.argv[1])
links = module_from_spec(spec_from_loader("lycosa.urls._links", loader))
loader.exec_module(links)
units = ["/", "//", "a", ".", "/.", "%", "/%2", "/%", "?", ";", ":", "http", "#", " ", ".pdf",
    "&ab", ".appimage", "x" * 700, "\xe9", "\u20ac", "-", "[", "", ".", "..........", "/.a"]
chance = random.Random(int(sys.argv[2]))
print("seed", sys.argv[2])
end = time.monotonic() + 15
runs = 0
while time.monotonic() < end:
    hrefs = ["".join(chance.choices(units, k=chance.randrange(6))) for _ in range(50)]
    found = []
    rules = (2, 4, chance.choice([0, 5, 1000]), frozenset(["pdf", "appimage"]),
        lambda url: hash(url) & (2**64 - 1), hash,
        lambda origin: chance.choice([(1, "a"), (2, "b")]), chance.randbytes(4096))
    directory = "http://a" + chance.choice(["/", "/b;c/", "/" * 9])
    sent = array("q", bytes(8 * chance.choice([1, 2, 64])))
    page = hrefs, "http://a", directory, (1, "a"), 1, 0, found, sent, rules
    left, _, count, _ = links.join(*page)
    assert len(found) + len(left) + count <= len(hrefs)
    def fails(origin):
        raise ArithmeticError
    try:
        links.join([*hrefs, "//b.test/"], *page[1:-1], (*rules[:6], fails, rules[7]))
    except ArithmeticError:
        pass
    runs += 1
print("runs", runs)
"""
SIMHASH = r"""
import random, sys, time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader("lycosa.page._simhash", sys.argv[1])
module = module_from_spec(spec_from_loader("lycosa.page._simhash", loader))
loader.exec_module(module)
units = ["word", "a", " ", "The", "\xe9", "\xd7", "\u0416", "\u65e5", "\u672c", "\u3002", "\ud800",
    "\0", "\U00020000", "\U0010ffff", "\U0001f600", "x" * 500, "\u0e01" * 90, "word " * 300,
    "9" * 99_990]
chance = random.Random(int(sys.argv[2]))
print("seed", sys.argv[2])
end = time.monotonic() + 15
runs = 0
while time.monotonic() < end:
    text = "".join(chance.choices(units, k=chance.randrange(60)))
    assert module.simhash(text) == module.simhash(text)
    runs += 1
print("runs", runs)
"""
RECEIVE = r"""
import random, sys, time, ctypes
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader("lycosa.fetch._receive", sys.argv[1])
inbox = module_from_spec(spec_from_loader("lycosa.fetch._receive", loader))
loader.exec_module(inbox)
piece = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t,
    ctypes.c_void_p)
connected = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p,
    ctypes.c_int, ctypes.c_int)
on_header, on_body = piece(inbox.ON_HEADER), piece(inbox.ON_BODY)
on_connected = connected(inbox.ON_CONNECTED)
chance = random.Random(int(sys.argv[2]))
print("seed", sys.argv[2])
class Receiver:
    def on_connected(self, peer):
        return chance.random() < 0.5
    def on_body(self, first):
        return chance.choice([0, 1, 5000, 10**9])
end = time.monotonic() + 15
runs = 0
quota = inbox.Quota(10**7)
boxes = []
while time.monotonic() < end:
    runs += 1
    boxes.append(inbox.Inbox(Receiver(), quota))
    for box in boxes:
        data = chance.randbytes(chance.choice([0, 1, 100, 3000, 70_000]))
        chance.choice([on_header, on_body])(data, 1, len(data), id(box))
        on_connected(id(box), b"127.0.0.1", b"", 1, 2)
        box.head(), box.body(), box.heard, box.size, box.cut, box.refused
        if chance.random() < 0.2:
            box.empty()
    if chance.random() < 0.5:
        boxes.pop(chance.randrange(len(boxes)))
assert quota.used == sum(box.size for box in boxes)
boxes.clear()
del box
assert quota.used == 0
print("runs", runs)
"""

DOMAIN_LOG = r"""
import random, struct, sys, time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from xxhash import xxh3_64_intdigest
from lycosa.frontier.log import packers, texts
from lycosa.frontier.log.new_chunk import NewRecords
from lycosa.records import QueuedUrl
from lycosa.urls.fingerprint import errand_fingerprint, fingerprint
loader = ExtensionFileLoader("lycosa.frontier.log._domain_log", sys.argv[1])
module = module_from_spec(spec_from_loader("lycosa.frontier.log._domain_log", loader))
loader.exec_module(module)
module.use(xxh3_64_intdigest, fingerprint, errand_fingerprint, QueuedUrl,
    texts.unpack_block, texts.pack_block, packers.known_dictionary, 5)
chance = random.Random(int(sys.argv[2]))
print("seed", sys.argv[2])
urls = ["https://a.test/" + chance.choice(["", "x", "?a;b", "y" * 1900]) + str(n)
    for n in range(300)]
fps = [fingerprint(url) for url in urls]
def some(count):
    return [chance.choice(fps) for _ in range(chance.randrange(count))]
def made_links(found):
    return [(7, fp, urls[fps.index(fp)], chance.randrange(4), "a", chance.choice([0, 4, 40, 256]))
        for fp in found]
def block(found):
    texts = [(fp, urls[fps.index(fp)].encode()) for fp in found]
    data = b"".join(struct.pack("=qH", fp, len(text)) + text for fp, text in texts)
    return 7, "a", chance.randrange(-1, 4), len(found), data
def made():
    links = made_links(some(chance.choice([3, 90, 200])))
    waits = [(fp, chance.randrange(9), chance.randrange(2**48), 3) for fp in some(5)]
    kills = [(fp, chance.randrange(999), chance.randrange(70)) for fp in some(5)]
    new = NewRecords(links, some(20), some(6), waits, kills)
    return module.new_chunks(7, chance.randrange(2**48), 1, 2, new, chance.choice([1, 900, 10**6]))
def spoiled(blob):
    data = bytearray(blob[:-8])
    for _ in range(chance.choice([0, 0, 1, 3])):
        data[chance.randrange(len(data))] = chance.choice([0, 255, chance.randrange(256)])
    data = bytes(data)[:chance.choice([len(data), chance.randrange(len(data))])]
    return data + xxh3_64_intdigest(data, 7).to_bytes(8, "little")
end = time.monotonic() + 30
runs = 0
while time.monotonic() < end:
    index = module.Index(7, 1000)
    for seq in range(chance.randrange(9)):
        for blob in made()[:3]:
            index.add(chance.randrange(30), blob if chance.random() < 0.7 else spoiled(blob))
        index.next(chance.randrange(2**48), 9, 999), index.counts(), index.lanes(), index.memory()
        index.tell(some(9)), index.is_waiting(some(9))
        index.unseen([(7, fp, "", 0, "", 0) for fp in some(99)])
        visit = [(fp, True) for fp in some(9)], [block(some(99))], made_links(some(9))
        index.visit(*visit, chance.choice([5, 10**6]), 2**47, chance.choice([300, 10**6]))
        try:
            cut = block(some(9))
            spoilt = (*cut[:4], cut[4][:chance.randrange(len(cut[4]) + 1)])
            index.visit([], [spoilt], [], 10**6, 5, 10**6)
        except ValueError:
            pass
        index.first_wait(frozenset(some(3))), index.find(chance.choice(fps)), index.newest_stamp()
        index.part(chance.randrange(99), 50), index.part(0, 10**6)
        seqs = [each[0] for each in index.chunks()]
        part = chance.sample(seqs, chance.randrange(len(seqs) + 1))
        if part:
            blobs = index.fold(part, 1, chance.randrange(2**48), chance.choice([300, 10**6]))
            index.remove(part)
            for number, blob in enumerate(blobs):
                assert index.add(100 * runs + number + 40, blob) == ""
    module.by_domain([(fp % 5, fp, "", 0, "", 0) for fp in some(99)])
    for wrong in ((), (1,), ("x", b""), (1, "x"), (2**70, b"")):
        try:
            some_links = [wrong * chance.randrange(6)]
            chance.choice([index.unseen, module.by_domain])(some_links)
            index.visit(some_links, some_links, some_links, 9, 9, 9)
            index.add(*wrong)
            index.fold(*wrong)
        except (TypeError, OverflowError, KeyError):
            pass
    runs += 1
print("runs", runs)
"""


EMPTY = r"""
import ctypes, sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader("lycosa.fetch._receive", sys.argv[1])
inbox = module_from_spec(spec_from_loader("lycosa.fetch._receive", loader))
loader.exec_module(inbox)
kind = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t,
    ctypes.c_void_p)
on_header, on_body = kind(inbox.ON_HEADER), kind(inbox.ON_BODY)
class Receiver:
    def on_body(self, first): return 5
for data in (b"", None):
    box = inbox.Inbox(Receiver(), inbox.Quota(100))
    assert box.head() == box.body() == b""
    on_header(data, 1, 0, id(box))
    on_body(data, 1, 0, id(box))
    assert on_body(b"12345", 1, 5, id(box)) == 5
    on_body(b"6", 1, 1, id(box))
    on_header(data, 0, 1, id(box))
    assert (box.head(), box.body(), box.cut) == (b"", b"12345", True)
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed")
def test_pieces_of_nothing_are_no_memory(tmp_path: Path) -> None:
    """memcpy(NULL, ..., 0) is undefined: a compiler may take it as a promise."""
    built = tmp_path / "_receive.so"
    subprocess.run(
        ["gcc", "-g", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", "-shared", "-fPIC",
         f"-I{sysconfig.get_paths()['include']}", SOURCES / "fetch" / "_receive.c", "-o", built],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", EMPTY, built], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-3000:]


BUFFER = r"""
#include <assert.h>
#include <stddef.h>
static void *none(void *data, size_t size) { (void)data, (void)size; return NULL; }
static void kept(void *data) { (void)data; }
#define BUFFER_REALLOC none
#define BUFFER_RELEASE kept
#include "_buffer.h"
int main(void) {
    char room[4] = "ab";
    Buffer buffer = {room, 2, 4};
    assert(buffer_add(&buffer, "cd", 2, 16) == 0 && buffer.size == 4);
    assert(buffer_add(&buffer, "e", 1, 16) == -1);
    assert(buffer_add(&buffer, "e", PY_SSIZE_T_MAX, 16) == -1);
    assert(buffer_add(&buffer, NULL, 0, 16) == 0);
    assert(buffer.data == room && buffer.size == 4 && buffer.room == 4);
    assert(memcmp(room, "abcd", 4) == 0);
    buffer_free(&buffer);
    assert(buffer.data == NULL && buffer.size == 0 && buffer.room == 0);
    assert(buffer_add(&buffer, NULL, 0, 16) == 0 && buffer.data == NULL);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed")
def test_a_buffer_without_memory_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "test.c").write_text(BUFFER)
    include = [f"-I{sysconfig.get_paths()['include']}", f"-I{SOURCES}"]
    undefined = ["-fsanitize=undefined", "-fno-sanitize-recover"]
    words = ["gcc", "-Wall", "-Wextra", "-Werror", *undefined, *include, "test.c", "-o", "test"]
    subprocess.run(words, check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "test"], check=True)


def test_memory_that_grows_is_that_of_the_shared_buffer() -> None:
    for path in SOURCES.rglob("*.c"):
        own = re.findall(r"\b(?:[mc]alloc|realloc|free|PyMem_\w+)\(", path.read_text("utf-8"))
        assert own == [], path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed")
@pytest.mark.parametrize(
    ("name", "fuzz"),
    [
        ("page/_scan", SCAN),
        ("page/_simhash", SIMHASH),
        ("urls/_links", LINKS),
        ("fetch/_receive", RECEIVE),
        ("frontier/log/_domain_log", DOMAIN_LOG),
    ],
)
def test_no_byte_outside_is_touched(name: str, fuzz: str, tmp_path: Path) -> None:
    built = tmp_path / f"{Path(name).name}.so"
    subprocess.run(
        ["gcc", "-g", "-O1", "-Wall", "-Wextra", "-fsanitize=address,undefined",
         "-fno-sanitize-recover", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}",
         SOURCES / f"{name}.c", "-o", built],
        check=True,
    )  # fmt: skip
    libraries = [
        subprocess.check_output(["gcc", f"-print-file-name={library}.so"], text=True).strip()
        for library in ("libasan", "libubsan")
    ]
    done = subprocess.run(
        [sys.executable, "-c", fuzz, built, os.environ.get("LYCOSA_SEED", "1")],
        env={**os.environ, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc",
             "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
