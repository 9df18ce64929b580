"""WARC records, judged by two independent readers: warcio and fastwarc."""

import base64
import contextlib
import gzip
import io
import os
import random
import uuid
from pathlib import Path

import brotli
import pytest
import warcio.cli
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecord
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from lycosa.archive.segments import SegmentWriter
from lycosa.archive.warc import base32, record_ids, response_records, stored_head, warcinfo
from lycosa.records import Response, Truncated
from support.made import made_request

REQUEST_HEAD = b"GET /a HTTP/1.1\r\nHost: example.com\r\nUser-Agent: lycosa/0.1\r\n\r\n"
NOW = 1_767_225_600_007

HTML = b"<html><body>" + b"words and more words " * 300 + b"</body></html>"


def response(head: bytes, body: bytes = b"", url: str = "http://example.com/a") -> Response:
    return Response(made_request(url), int(head.split()[1]), head, body, address="192.0.2.7")


def ok(extra: bytes, body: bytes) -> Response:
    return response(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + extra + b"\r\n", body)


def truncated(reason: str, extra: bytes, body: bytes) -> Response:
    made = ok(extra, body)
    made.truncated = reason
    return made


ZIPPED = gzip.compress(HTML, mtime=0)

CASES = {
    "plain": ok(b"Content-Length: %d\r\n" % len(HTML), HTML),
    "no length": ok(b"Connection: close\r\n", HTML),
    "gzip": ok(b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(ZIPPED), ZIPPED),
    "gzip, was chunked": ok(b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", ZIPPED),
    "empty": ok(b"Content-Length: 0\r\n", b""),
    "nothing but a status": response(b"HTTP/1.0 204 \r\n\r\n"),
    "redirect": response(
        b"HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 3\r\n\r\n", b"/b\n"
    ),
    "error": response(b"HTTP/1.1 503 Busy\r\nRetry-After: 9\r\n\r\n", b"later"),
    "8-bit headers": ok(b"X-Name: caf\xe9 \xff\xfe\r\nX-Utf: caf\xc3\xa9\r\n", HTML),
    "line feeds only": response(b"HTTP/1.1 200 OK\nContent-Type: text/plain\n\n", b"hello"),
    "cut by length": truncated(Truncated.LENGTH, b"Content-Length: 99999\r\n", HTML),
    "cut by time": truncated(Truncated.TIME, b"", HTML[:100]),
    "disconnected": truncated(Truncated.DISCONNECT, b"Content-Length: 99999\r\n", b""),
    "not a text": truncated(Truncated.TYPE, b"Content-Length: 123456\r\n", b""),
    "looks like a record": ok(b"", b"\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n"),
    "binary": ok(b"", random.Random(1).randbytes(80_000)),
    "long URL": response(b"HTTP/1.1 200 OK\r\n\r\n", b"x", "http://example.com/" + "a" * 1900),
}


def write(root: Path, responses: list[Response], max_bytes: int = 1 << 30) -> list[Path]:
    ids = record_ids()

    def head(name: str) -> bytes:
        return warcinfo(
            name,
            NOW,
            ids,
            software="lycosa/0.1",
            operator="a@example.com",
            user_agent="lycosa (+x)",
            part_of="crawl\r\nX: y",
        )

    writer = SegmentWriter(root, "warc", 3, max_bytes, head=head)
    for one in responses:
        _, offset = writer.append(*response_records(one, REQUEST_HEAD, NOW, ids))
        assert offset > 0
    return [root / state.name for state in writer.sync(closing=True)]


def fast_records(path: Path) -> list[tuple[WarcRecord, bytes]]:
    """Every record with its block, after its digests were found right."""
    found = []
    with path.open("rb") as file:
        for record in FastIterator(file, parse_http=False):
            assert record.verify_block_digest()
            found.append((record, record.reader.read()))
    return found


@pytest.mark.parametrize("case", CASES)
def test_warcio_reads_each_case_and_agrees_on_its_digests(tmp_path: Path, case: str) -> None:
    [path] = write(tmp_path, [CASES[case]])
    kinds = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests=True):
            record.content_stream().read()
            assert record.digest_checker.passed is True, record.digest_checker.problems
            kinds.append(record.rec_type)
    assert kinds == ["warcinfo", "response", "request"]


@pytest.mark.parametrize("case", CASES)
def test_warcio_gets_status_headers_and_body_back(tmp_path: Path, case: str) -> None:
    given = CASES[case]
    [path] = write(tmp_path, [given])
    with path.open("rb") as file:
        [record] = [
            record
            for record in ArchiveIterator(file, check_digests="raise")
            if record.rec_type == "response" and (body := record.raw_stream.read()) is not None
        ]
    assert body == given.body
    assert record.http_headers.get_statuscode() == str(given.status)
    assert record.rec_headers["WARC-Target-URI"] == given.request.url
    assert record.rec_headers["WARC-Truncated"] == (given.truncated or None)


@pytest.mark.parametrize("case", CASES)
def test_fastwarc_reads_each_case_and_agrees_on_its_digests(tmp_path: Path, case: str) -> None:
    given = CASES[case]
    [path] = write(tmp_path, [given])
    (_, info), (record, block), (request, request_block) = fast_records(path)
    assert b"crawl X: y\r\n" in info
    assert block.endswith(b"\r\n\r\n" + given.body)
    assert request_block == REQUEST_HEAD
    assert request.headers["WARC-Concurrent-To"] == record.headers["WARC-Record-ID"]
    with path.open("rb") as file:
        # A record is to be read before the iterator moves on.
        parsed = next(r for r in FastIterator(file) if str(r.record_type) == "response")
        assert parsed.verify_payload_digest()
        assert parsed.http_headers.status_code == given.status
        assert parsed.reader.read() == given.body


def test_all_cases_over_many_files_pass_the_command_line_check(tmp_path: Path) -> None:
    paths = write(tmp_path, list(CASES.values()) * 3, max_bytes=60_000)
    assert len(paths) > 3
    output = io.StringIO()
    with contextlib.redirect_stdout(output), pytest.raises(SystemExit) as ended:
        warcio.cli.main(["check", "-v", *map(str, paths)])
    assert ended.value.code == 0, output.getvalue()
    assert output.getvalue().count("digest pass") == len(CASES) * 3 * 2 + len(paths)
    for path in paths:
        names = [str(record.record_type) for record, _ in fast_records(path)]
        assert names[0] == "warcinfo"
        assert names[1:] == ["response", "request"] * ((len(names) - 1) // 2)


def test_the_checks_can_fail(tmp_path: Path) -> None:
    [path] = write(tmp_path, [CASES["plain"]])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"words and", b"Words and", 1))
    with pytest.raises(AssertionError):
        fast_records(path)


def test_a_record_is_found_at_its_offset(tmp_path: Path) -> None:
    ids = record_ids()
    writer = SegmentWriter(tmp_path, "warc", 1, 1 << 20, head=lambda name: b"WARC-INFO\r\n")
    offsets = [
        writer.append(*response_records(one, REQUEST_HEAD, NOW, ids))[1] for one in CASES.values()
    ]
    [state] = writer.sync(closing=True)
    with (tmp_path / state.name).open("rb") as file:
        for offset, given in zip(offsets, CASES.values(), strict=True):
            file.seek(offset)
            record = next(iter(FastIterator(file)))
            assert record.headers["WARC-Target-URI"] == given.request.url
            assert record.reader.read() == given.body


def test_the_headers_of_a_response_record(tmp_path: Path) -> None:
    [path] = write(tmp_path, [CASES["cut by length"]])
    headers = dict(fast_records(path)[1][0].headers.items())
    assert headers["WARC-Date"] == "2026-01-01T00:00:00.007Z"
    assert headers["WARC-IP-Address"] == "192.0.2.7"
    assert headers["WARC-Truncated"] == "length"
    assert headers["Content-Type"] == "application/http; msgtype=response"
    assert len(headers["WARC-Payload-Digest"]) == len("sha1:") + 32


def test_the_warcinfo_record_says_who_crawled(tmp_path: Path) -> None:
    [path] = write(tmp_path, [CASES["plain"]])
    record, block = fast_records(path)[0]
    assert record.headers["WARC-Filename"] == "000003-00001.warc"
    fields = dict(line.split(": ", 1) for line in block.decode().splitlines())
    assert fields["software"] == "lycosa/0.1"
    assert fields["format"] == "WARC File Format 1.1"
    assert fields["operator"] == "a@example.com"
    assert fields["robots"] == "RFC 9309"
    assert fields["isPartOf"] == "crawl X: y"  # a line end in it can't begin a field


def test_an_unknown_address_is_left_out() -> None:
    made = ok(b"", b"x")
    made.address = ""
    assert b"WARC-IP-Address" not in b"".join(response_records(made, b"", NOW, record_ids()))


def test_where_nothing_was_received_nothing_is_recorded() -> None:
    nothing = Response(made_request("http://x/"), failure="reset")
    assert response_records(nothing, REQUEST_HEAD, NOW, record_ids()) == ()


def test_the_body_is_not_copied() -> None:
    given = CASES["binary"]
    assert response_records(given, REQUEST_HEAD, NOW, record_ids())[1] is given.body


S = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("head", "length", "stored"),
    [
        (S + b"A: b\r\n\r\n", 5, S + b"A: b\r\n\r\n"),
        (S + b"Content-Length: 5\r\n\r\n", 5, S + b"Content-Length: 5\r\n\r\n"),
        (
            S + b"content-length:7\r\nA: b\r\n\r\n",
            5,
            S + b"X-Crawler-content-length:7\r\nA: b\r\nContent-Length: 5\r\n\r\n",
        ),
        (
            S + b"TRANSFER-ENCODING: chunked\r\n\r\n",
            0,
            S + b"X-Crawler-TRANSFER-ENCODING: chunked\r\nContent-Length: 0\r\n\r\n",
        ),
        (  # both, and the length happens to be right
            S + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
            5,
            S + b"X-Crawler-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        ),
        (  # two lengths, one of them right
            S + b"Content-Length: 9\r\nContent-Length: 5\r\n\r\n",
            5,
            S + b"X-Crawler-Content-Length: 9\r\nContent-Length: 5\r\n\r\n",
        ),
        (S + b"Content-Length : 5\r\n\r\n", 5, S + b"Content-Length : 5\r\n\r\n"),
        (  # more digits than an int takes
            S + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
            5,
            S + b"X-Crawler-Content-Length: " + b"9" * 5000 + b"\r\nContent-Length: 5\r\n\r\n",
        ),
        (b"HTTP/1.0 200\nA: b\nC: d\n\n", 5, b"HTTP/1.0 200\r\nA: b\r\nC: d\r\n\r\n"),
        (S + b"A: b\r\n\r\nTrailer: x\r\n\r\n", 5, S + b"A: b\r\n\r\n"),
        (S + b"A: b\r\n", 5, S + b"A: b\r\n\r\n"),  # the blank line never came
        (S + b"A: b\r\n  folded\r\n\r\n", 5, S + b"A: b\r\n  folded\r\n\r\n"),
        (S + b"Content-Lengthy: 1\r\nTE: x\r\n\r\n", 5, S + b"Content-Lengthy: 1\r\nTE: x\r\n\r\n"),
    ],
)
def test_the_stored_head_is_true_of_the_stored_body(
    head: bytes, length: int, stored: bytes
) -> None:
    assert stored_head(head, length) == stored


def long_heads() -> dict[str, bytes]:
    plain = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
    last = b"Content-Length: %d\r\n\r\n" % len(HTML)
    one = b"X-Long: %s\r\n"
    return {
        "many": plain + b"".join(b"X-%d: %s\r\n" % (i, b"v" * 90) for i in range(1_000)) + last,
        "one long": plain + one % (b"a" * 90_000) + last,
        "long at last": plain + last[:-2] + one % (b"a" * 90_000) + b"\r\n",
        "just too long": plain + (one % (b"a" * 8_000)) * 3 + one % (b"b" * 900) + last,
        "nearly": plain + (one % (b"a" * 7_000)) * 3 + last,
        "long type": b"HTTP/1.1 200 OK\r\nContent-Type: text/html;%s\r\n" % (b" " * 40_000) + last,
        "long cookies": plain + b"Set-Cookie: a=%s\r\n" % (b"b" * 4_000) * 60 + last,
        "many types": plain + b"Content-Type: text/html; a=%s\r\n" % (b"b" * 4_000) * 60 + last,
        "folded": plain + b"X: a\r\n" + b" more\r\n" * 9_000 + last,
        "long status": b"HTTP/1.1 200 " + b"O" * 50_000 + b"\r\nContent-Type: text/html\r\n" + last,
        "short lines": plain + b"a:\r\n" * 40_000 + last,
    }


@pytest.mark.parametrize("case", long_heads())
def test_heads_are_never_longer_than_readers_take(tmp_path: Path, case: str) -> None:
    """fastwarc gives up at 32 KiB, and reads nothing that follows."""
    [path] = write(tmp_path, [response(long_heads()[case], HTML), CASES["plain"]])
    with path.open("rb") as file:
        found = [
            (record.http_headers.status_code, record.http_content_type, record.reader.read())
            for record in FastIterator(file)
            if str(record.record_type) == "response"
        ]
    assert found == [(200, "text/html", HTML)] * 2 or case in ("long type",)
    assert [(status, body) for status, _, body in found] == [(200, HTML)] * 2
    with path.open("rb") as file:
        records = [r for r in ArchiveIterator(file, check_digests="raise") if _is_response(r)]
    assert len(records) == 2
    _, (_, block), *_ = fast_records(path)
    head = block[: block.index(b"\r\n\r\n")]
    assert len(head) <= 30_000
    if case != "nearly":
        assert b"X-Crawler-Left-Out: " in head or case == "long status"


def _is_response(record: ArcWarcRecord) -> bool:
    body = record.content_stream().read()
    is_response: bool = record.rec_type == "response"
    assert not is_response or body == HTML
    return is_response


PAYLOADS = [
    (b"<!doctype html><p>x", b"", "text/html"),
    (gzip.compress(b"<html>" + HTML, mtime=0), b"Content-Encoding: gzip\r\n", "text/html"),
    (brotli.compress(HTML), b"Content-Encoding: br\r\n", "text/html"),
    (b"User-agent: *\nDisallow: /x\n", b"", "text/plain"),
    (b"<?xml version='1.0'?><urlset>", b"", "text/xml"),
    (b"\x89PNG\r\n\x1a\n\0\0\0", b"", "image/png"),
    (b"%PDF-1.4 x", b"", "application/pdf"),
    (bytes(range(256)), b"", "application/octet-stream"),
    (b"", b"", None),
    (b"\x1f\x8b", b"Content-Encoding: gzip\r\n", None),
]


@pytest.mark.parametrize(("body", "extra", "kind"), PAYLOADS)
def test_the_type_of_the_payload_is_told(
    tmp_path: Path, body: bytes, extra: bytes, kind: str | None
) -> None:
    """By what it is, not by what the server says."""
    [path] = write(tmp_path, [ok(extra, body)])
    headers = dict(fast_records(path)[1][0].headers.items())
    assert headers.get("WARC-Identified-Payload-Type") == kind
    with path.open("rb") as file:
        [read] = [r for r in ArchiveIterator(file) if r.rec_type == "response"]
    assert read.rec_headers["WARC-Identified-Payload-Type"] == kind


def test_record_ids_are_distinct_random_uuids() -> None:
    ids = record_ids()
    made = [next(ids) for _ in range(2000)]
    assert len(set(made)) == len(made)
    for one in made:
        parsed = uuid.UUID(one[len("<urn:uuid:") : -1])
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)
        assert one == f"<{parsed.urn}>"


def test_base32_is_the_standard_one() -> None:
    for digest in (bytes(20), b"\xff" * 20, *(os.urandom(20) for _ in range(200))):
        assert base32(digest) == base64.b32encode(digest).decode()
