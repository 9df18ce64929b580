"""A small HTTP server on loopback: a script for each path says how it behaves, well or badly."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Gets the socket after the request was read. Returns whether the connection stays open.
Script = Callable[[socket.socket], object]


def reply(body: bytes = b"", status: str = "200 OK", *headers: str) -> bytes:
    """A well-formed response with a length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    if not any(h.lower().startswith("content-type") for h in headers):
        lines.append("Content-Type: text/html")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def say(data: bytes, stay: bool = False) -> Script:
    """Send some bytes, then close or go on."""

    def script(sock: socket.socket) -> bool:
        sock.sendall(data)
        return stay

    return script


def say_and_wait(data: bytes) -> Script:
    """Send some bytes, then nothing until the client is gone."""

    def script(sock: socket.socket) -> None:
        sock.sendall(data)
        with contextlib.suppress(OSError):
            sock.recv(1)

    return script


def say_and_reset(data: bytes) -> Script:
    """Send some bytes, then reset the connection."""

    def script(sock: socket.socket) -> None:
        sock.sendall(data)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return script


def say_for_ever(head: bytes, piece: bytes) -> Script:
    """Send the head, then the same piece until the client is gone."""

    def script(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.sendall(head)
            while True:
                sock.sendall(piece)

    return script


class Tls(Protocol):
    """What a server needs of an `ssl.SSLContext`."""

    def wrap_socket(self, sock: socket.socket, server_side: bool) -> socket.socket: ...


class HttpServer:
    """One thread per connection. `paths` may be changed while it runs."""

    def __init__(self, host: str = "127.0.0.1", tls: Tls | None = None) -> None:
        self.paths: dict[str, Script] = {}
        self.requests: list[bytes] = []  # heads, as received
        self.connections = 0
        self.received = 0  # bytes of requests
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host, 0))
        self._listener.listen(2048)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            while self._one(sock):
                pass
        except OSError:
            pass
        finally:
            sock.close()

    def _one(self, sock: socket.socket) -> bool:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            data = sock.recv(65536)
            if not data:
                return False
            self.received += len(data)
            head += data
        self.requests.append(head)
        path = head.split(b" ")[1].decode().partition("?")[0]
        script = self.paths.get(path, say(reply(b"nothing here", "404 Not Found"), stay=True))
        return bool(script(sock))


class Backlog:
    """A listener that never accepts: connections get no further than the kernel."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(2048)
        self.port: int = self._listener.getsockname()[1]

    def received(self) -> list[bytes]:
        """Accept everything now, and say what each connection has sent."""
        self._listener.setblocking(False)
        got = []
        with contextlib.suppress(BlockingIOError):
            while True:
                sock, _ = self._listener.accept()
                with sock, contextlib.suppress(OSError):
                    sock.settimeout(1)
                    got.append(sock.recv(4096))
        return got

    def close(self) -> None:
        self._listener.close()


def self_signed(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """A server's TLS context with a new certificate for `names`, and the certificate's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    alternatives: list[x509.GeneralName] = []
    for name in names:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            alternatives.append(x509.DNSName(name))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "cert.pem").write_bytes(pem)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context, str(folder / "cert.pem")
