"""Replies that are not quite HTTP, and what the fetcher makes of each."""

from __future__ import annotations

from lycosa.records import Failure, Truncated
from support.http_server import reply

PAGE = b"<title>x</title>" * 100
OK = reply(PAGE)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

# (reply, failure, truncated, status, body)
MALFORMED: dict[str, tuple[bytes, str, str, int, bytes | None]] = {
    "no status line": (b"hello\n" * 10, Failure.PROTOCOL, "", 0, b""),
    "icy": (b"ICY 200 OK\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "rtsp": (b"RTSP/1.0 200 OK\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "tls bytes": (b"\x15\x03\x01\x00\x02\x02\x28", Failure.PROTOCOL, "", 0, b""),
    "leading newline": (b"\r\n" + OK, Failure.PROTOCOL, "", 0, b""),
    "http/1.2": (OK.replace(b"1.1", b"1.2"), Failure.PROTOCOL, "", 0, b""),
    "http/2": (OK.replace(b"HTTP/1.1", b"HTTP/2"), Failure.PROTOCOL, "", 0, b""),
    "status 99": (OK.replace(b"200 OK", b"99 OK"), Failure.PROTOCOL, "", 0, b""),
    "status 1000": (OK.replace(b"200 OK", b"1000 OK"), Failure.PROTOCOL, "", 0, b""),
    "status 600": (OK.replace(b"200 OK", b"600 OK"), "", "", 600, PAGE),
    "status 999": (OK.replace(b"200 OK", b"999 OK"), "", "", 999, PAGE),
    "no reason": (OK.replace(b"200 OK", b"200"), "", "", 200, PAGE),
    "http/3.0": (OK.replace(b"1.1", b"3.0"), "", "", 200, PAGE),
    "lower case": (OK.replace(b"HTTP", b"http"), "", "", 200, PAGE),
    "negative length": (HEAD + b"Content-Length: -1\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "length NaN": (HEAD + b"Content-Length: x\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "two lengths": (
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "no colon": (HEAD + b"nonsense\r\nContent-Length: 1\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "nul": (HEAD + b"X: a\0b\r\nContent-Length: 1\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "length 10^25": (HEAD + b"Content-Length: 1%s\r\n\r\nx" % (b"0" * 25), "", "", 200, b"x"),
    "length 9e9": (
        HEAD + b"Content-Length: 9000000000\r\n\r\nx",
        *("", Truncated.DISCONNECT, 200, b"x"),
    ),
    "same length twice": (
        HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        *("", "", 200, b"hello"),
    ),
    "length list": (HEAD + b"Content-Length: 5, 5\r\n\r\nhello", "", "", 200, b"hello"),
    "bare newlines": (OK.replace(b"\r\n", b"\n"), "", "", 200, PAGE),
    "length and chunks": (
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        *("", "", 200, b"hello"),
    ),
    "space before colon": (HEAD + b"Content-Length : 5\r\n\r\nhello", "", "", 200, b"hello"),
    "closed in the status line": (b"HTTP/1.1 20", Failure.RESET, "", 0, b""),
    "closed in the headers": (HEAD, Failure.RESET, "", 0, b""),
    "closed in a header": (HEAD + b"Content-Le", Failure.RESET, "", 0, b""),
    "nothing": (b"", Failure.RESET, "", 0, b""),
    "short body": (
        HEAD + b"Content-Length: 10\r\n\r\nhello",
        *("", Truncated.DISCONNECT, 200, b"hello"),
    ),
    "no body at all": (HEAD + b"Content-Length: 10\r\n\r\n", Failure.RESET, "", 0, b""),
    "short chunks": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe",
        *("", Truncated.DISCONNECT, 200, b"hellohe"),
    ),
    "bad chunk size": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
        *("", Truncated.DISCONNECT, 200, b"hello"),
    ),
    "bad first chunk": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        *(Failure.RESET, "", 0, b""),
    ),
    "header of 110 KB": (
        HEAD + b"X: " + b"a" * 110_000 + b"\r\n\r\nx",
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "header of 90 KB": (HEAD + b"X: " + b"a" * 90_000 + b"\r\n\r\nx", "", "", 200, b"x"),
    "400 KB of headers": (
        HEAD + (b"X: " + b"a" * 9_000 + b"\r\n") * 45 + b"\r\nx",
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "6,000 headers": (HEAD + b"X: a\r\n" * 6_000 + b"\r\nx", Failure.PROTOCOL, "", 0, b""),
    "unknown coding": (
        HEAD + b"Transfer-Encoding: wat\r\n\r\nx",
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "gzip coding": (HEAD + b"Transfer-Encoding: gzip\r\n\r\nx", Failure.PROTOCOL, "", 0, b""),
    "broken gzip": (HEAD + b"Content-Encoding: gzip\r\n\r\nnope", "", "", 200, b"nope"),
    "unknown encoding": (HEAD + b"Content-Encoding: wat\r\n\r\nnope", "", "", 200, b"nope"),
    "101": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nbytes",
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "101 without more": (b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n", Failure.PROTOCOL, "", 0, b""),
    "100 and 103": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK,
        *("", "", 200, PAGE),
    ),
    "100 and no more": (b"HTTP/1.1 100 Continue\r\n\r\n", Failure.RESET, "", 0, b""),
    "2,000 x 100": (
        b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000 + OK,
        *(Failure.PROTOCOL, "", 0, b""),
    ),
    "404 cut short": (
        b"HTTP/1.1 404 No\r\nContent-Length: 10\r\n\r\n",
        *("", Truncated.DISCONNECT, 404, b""),
    ),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", "", "", 204, b""),
    "http/1.0 until close": (b"HTTP/1.0 200 OK\r\n\r\nhello", "", "", 200, b"hello"),
}
