"""A network namespace with nothing but loopback, in which a benchmark starts itself again.

Whatever runs in it finds no way out of the machine, and its names are answered by our own server
at port 53. It needs root on Linux.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile

INSIDE = "BENCH_NAMESPACE_INSIDE"
PORTS = (80, 443, 53)  # that can be used inside
_OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))  # for documentation


def enter() -> None:
    """Starts this program again inside; returns if it is inside, or if that is not allowed."""
    if os.environ.get(INSIDE) or os.geteuid() != 0 or not shutil.which("unshare"):
        return
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode:
        return
    with tempfile.NamedTemporaryFile("w", prefix="resolv-", delete=False) as file:
        file.write("nameserver 127.0.0.1\noptions timeout:5 attempts:2\n")
    script = f'ip link set lo up && mount --bind {file.name} /etc/resolv.conf && exec "$@"'
    words = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    code = subprocess.run(
        [*words, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}
    ).returncode
    os.unlink(file.name)
    raise SystemExit(code)


def inside() -> bool:
    """Whether this process was started again by `enter`, and there is no way out. No packet is
    sent: connecting a UDP socket only asks for a route."""
    return bool(os.environ.get(INSIDE)) and not any(_has_route(*each) for each in _OUTSIDE)


def _has_route(family: socket.AddressFamily, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError:
        return False
    return True
