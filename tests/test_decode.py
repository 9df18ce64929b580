"""decode: every encoding, its broken forms, and bombs that must not cost more than the limit."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib

import brotli
import pytest
import zstandard

from lycosa.decode import ACCEPT_ENCODING, MAX_MEMBERS, decode

TEXT = b"".join(b"line %d of a page that is worth compressing\n" % i for i in range(5_000))
LIMIT = 10_000_000


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", PACKERS)
def test_round_trip(name: str) -> None:
    assert decode(PACKERS[name](TEXT), name, LIMIT) == (TEXT, False, "")
    assert decode(PACKERS[name](b""), name, LIMIT) == (b"", False, "")


def test_raw_deflate_is_understood() -> None:
    assert decode(raw_deflate(TEXT), "deflate", LIMIT) == (TEXT, False, "")


@pytest.mark.parametrize("name", ["", "identity", " Identity ", ","])
def test_nothing_to_undo(name: str) -> None:
    assert decode(TEXT, name, LIMIT) == (TEXT, False, "")


def test_everything_we_accept_is_decoded() -> None:
    assert set(ACCEPT_ENCODING.split(", ")) <= set(PACKERS)


def test_layers_are_undone_from_the_last() -> None:
    body = brotli.compress(gzip.compress(TEXT))
    assert decode(body, "gzip, BR", LIMIT) == (TEXT, False, "")
    assert decode(TEXT, "gzip,gzip,gzip,gzip", LIMIT) == (TEXT, False, "too-many-encodings")


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("limit", [0, 1, 1_000, len(TEXT) - 1])
def test_limit_cuts(name: str, limit: int) -> None:
    assert decode(PACKERS[name](TEXT), name, limit) == (TEXT[:limit], True, "")


@pytest.mark.parametrize("name", PACKERS)
def test_exactly_the_limit_is_not_cut(name: str) -> None:
    assert decode(PACKERS[name](TEXT), name, len(TEXT)) == (TEXT, False, "")


@pytest.mark.parametrize("name", PACKERS)
def test_truncated_stream_yields_its_beginning(name: str) -> None:
    packed = PACKERS[name](TEXT)
    body, cut, problem = decode(packed[: len(packed) * 3 // 4], name, LIMIT)
    assert TEXT.startswith(body)
    assert len(body) > len(TEXT) // 3
    assert not cut
    assert problem == "truncated"


def test_wrong_checksum_loses_nothing() -> None:
    packed = gzip.compress(TEXT)
    assert decode(packed[:-8] + b"\0" * 8, "gzip", LIMIT) == (TEXT, False, "broken")
    assert decode(packed[:-8] + b"\0" * 8, "gzip", 100) == (TEXT[:100], True, "")


@pytest.mark.parametrize("name", ["br", "deflate", "gzip", "zstd"])
def test_garbage_is_a_problem_not_an_exception(name: str) -> None:
    magic = {"gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\3", "zstd": b"\x28\xb5\x2f\xfd"}.get(name, b"")
    _, cut, problem = decode(magic + b"\xff\xfe\xfd" * 100, name, LIMIT)
    assert not cut
    assert problem == "broken"


def test_plain_text_announced_as_gzip() -> None:
    assert decode(b"<html>", "gzip", LIMIT) == (b"<html>", False, "not-gzip")
    assert decode(b"<html>", "zstd", LIMIT) == (b"<html>", False, "not-zstd")


def test_unknown_encoding_leaves_the_body() -> None:
    assert decode(b"abc", "sdch", LIMIT) == (b"abc", False, "unknown-encoding")


def test_members_are_joined_and_trailing_garbage_is_ignored() -> None:
    body = b"".join(gzip.compress(b"%d " % i) for i in range(40))
    expected = b"".join(b"%d " % i for i in range(40))
    assert decode(body, "gzip", LIMIT) == (expected, False, "")
    assert decode(body + b"\0\0\0", "gzip", LIMIT) == (expected, False, "")
    assert decode(body, "gzip", 20) == (expected[:20], True, "")
    assert decode(body[:-3], "gzip", LIMIT) == (expected, False, "truncated")


def test_members_without_end() -> None:
    _, cut, problem = decode(gzip.compress(b"") * (MAX_MEMBERS + 10), "gzip", LIMIT)
    assert (cut, problem) == (False, "too-many-members")


def test_zstd_window_is_bounded() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = stream.compress(TEXT) + stream.flush()
    assert decode(packed, "zstd", LIMIT) == (b"", False, "broken")


BOMB = """
import sys, time
from lycosa.decode import decode
body = sys.stdin.buffer.read()
decode(b"", "gzip", 1)
def peak():
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024
before, start = peak(), time.process_time()
out, cut, problem = decode(body, sys.argv[1], 10 << 20)
print(len(out), cut, problem or "-", peak() - before, int((time.process_time() - start) * 1000))
"""


def bomb(name: str, layers: int) -> bytes:
    """Zeros that unpack to 1 GiB."""
    block = bytes(1 << 24)
    if name == "gzip":
        packer = zlib.compressobj(9, wbits=-15)
        sixteen = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
        body = b"\x1f\x8b\x08" + bytes(7) + sixteen * 64
    elif name == "br":
        stream = brotli.Compressor(quality=1)
        body = b"".join(stream.process(block) for _ in range(64)) + stream.finish()
    else:
        frames = zstandard.ZstdCompressor().compressobj()
        body = b"".join(frames.compress(block) for _ in range(64)) + frames.flush()
    return body if layers == 1 else bomb_again(body, name, layers - 1)


def bomb_again(body: bytes, name: str, layers: int) -> bytes:
    for _ in range(layers):
        body = PACKERS[name](body)
    return body


@pytest.mark.parametrize(("name", "layers"), [("gzip", 1), ("gzip", 2), ("br", 1), ("zstd", 1)])
def test_bomb_of_one_gigabyte_costs_little(name: str, layers: int) -> None:
    encoding = ", ".join([name] * layers)
    done = subprocess.run(
        [sys.executable, "-c", BOMB, encoding],
        input=bomb(name, layers),
        capture_output=True,
        check=True,
        timeout=60,
    )
    size, cut, problem, megabytes, milliseconds = done.stdout.decode().split()
    assert (int(size), cut, problem) == (10 << 20, "True", "-")
    assert int(megabytes) < 48  # the output, its parts before they are joined, one window
    assert int(milliseconds) < 250
