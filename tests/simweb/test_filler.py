import gzip
import zlib

import pytest

from lycosa.page.html import parse
from lycosa.simweb.filler import Filler, joined_crc, zero_bomb
from lycosa.simweb.markup import body


@pytest.mark.parametrize("size", [0, 1, 3_000, 65_535, 65_536, 200_000])
def test_head_and_filler_unpack_as_one_gzip_member(size: int) -> None:
    head = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    filler = Filler(body(3, 5_000))
    packed = b"".join(filler.gzip(head))
    assert gzip.decompress(packed) == head + filler.raw
    one = zlib.decompressobj(31)
    assert one.decompress(packed) == head + filler.raw
    assert one.eof and not one.unused_data


def test_joined_crc_equals_the_crc_of_the_whole() -> None:
    a, b = body(1, 1_000), body(2, 3_333)
    assert joined_crc(zlib.crc32(a), zlib.crc32(b), len(b)) == zlib.crc32(a + b)


def test_a_body_is_the_same_for_the_same_seed_and_about_as_long_as_asked() -> None:
    assert body(1, 10_000) == body(1, 10_000) != body(2, 10_000)
    assert 9_000 < len(body(1, 10_000)) <= 10_000


def test_a_body_has_the_mix_of_an_ordinary_page() -> None:
    html = body(1, 80_000)
    text = len(parse(html, "text/html; charset=utf-8").text)
    assert 0.15 < text / len(html) < 0.35
    assert 500 < html.count(b"</") < 1200


def test_bomb_is_small_and_unpacks_to_zeros() -> None:
    bomb = zero_bomb(8 << 20)
    assert len(bomb) < 20_000
    assert gzip.decompress(bomb) == bytes(8 << 20)
