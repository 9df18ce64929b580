"""A reader who tries everything that a document shows, in its order, on a small simulated web.

Owns the directory in which the reader works, and what stands for the reader's own things: the
seeds, `example.org`, the database servers. The commands run as they are written; what is different
here (the name server, the delay) is said by variables."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from docs.blocks import SHELL, Example, lycosa_words
from lycosa.simweb.serve import SimWeb

SECONDS = 60.0  # for one line
# Commands that run until somebody ends them: they are, by Ctrl-C, as soon as they said something.
ENDLESS = (["simweb", "serve"], ["dashboard"], ["top"])
SMALL = "--domains 8 --pages 4 --delay 0.05"  # scripts/fresh-machine runs it as it is
START = "lycosa crawl seeds.txt --email you@example.org"
WRAPPER = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lycosa "$@"\n'


class Session:
    """`site` takes the place of example.org; `new_store` gives the URL of an empty database."""

    def __init__(self, web: SimWeb, site: str, root: Path, new_store: Callable[[], str]) -> None:
        self._root, self._site, self._new_store = root, site, new_store
        self._stores: dict[str, str] = {}
        self._lycosa(root / "scripts/lycosa")
        for name in ("seeds.txt", "more-seeds.txt", "seeds-0.txt", "seeds-1.txt"):
            web.write_seeds(root / name)
        self._environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("LYCOSA_")},
            "PATH": f"{self._lycosa(root / 'bin/lycosa').parent}:{os.environ['PATH']}",
            "HOME": str(root),
            "HF_HUB_OFFLINE": "1",
            "PYTHONIOENCODING": "utf-8",
            "LYCOSA_NAMESERVER": web.nameserver,
            "LYCOSA_PORT_MAP": web.port_map,
            "LYCOSA_ALLOW_PRIVATE_ADDRESSES": "true",
            "LYCOSA_ONLY_NETWORK": "127.0.0.0/8",
            "LYCOSA_DELAY": "0.05",
            "LYCOSA_ENGINES": "1",
            "LYCOSA_WARC": "true",
        }

    @staticmethod
    def _lycosa(path: Path) -> Path:
        """The program under another name: the Python of these tests runs it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(WRAPPER)
        path.chmod(0o755)
        return path

    def run(self, example: Example) -> str:
        """What it prints; fails if it does not end well."""
        text = self._here(example.text)
        if "lycosa-data" in text:
            self._have_crawl()
        if example.kind == "python":
            return self._done([sys.executable, "-c", text], example)
        if example.kind == "sql":
            ask = "import duckdb, sys; print(duckdb.sql(sys.argv[1]).fetchall())"
            return self._done([sys.executable, "-c", ask, text], example)
        assert example.kind in SHELL
        if found := re.fullmatch(r"export (\w+)=(.*)", text):
            self._environment[found[1]] = shlex.split(found[2])[0]
            return found[0]
        self._prepare(lycosa_words(text))
        for node in sorted({*re.findall(r"\bnode-\d\b", text)}):
            self._have_node(node, lycosa_words(text))
        if any(words[: len(each)] == each for words in lycosa_words(text) for each in ENDLESS):
            return self._until_it_speaks(text, example)
        said = self._done(["bash", "-c", text], example)
        if any(words[0] == "migrate" for words in lycosa_words(text)):
            shutil.rmtree(self._root / "lycosa-data")  # a node's from now on, not a crawl's
        return said

    def _here(self, text: str) -> str:
        text = re.sub(r"(['\"]?)(postgresql://[^\s'\"]+)", self._store, text)
        text = text.replace("lycosa demo", f"lycosa demo {SMALL}")
        return re.sub(r"(?<![@\w.-])example\.org\b", self._site, text)

    def _store(self, found: re.Match[str]) -> str:
        """Each address in a document is a database of its own."""
        if found[2] not in self._stores:
            self._stores[found[2]] = self._new_store()
        url = self._stores[found[2]]
        return found[1] + url if found[1] else shlex.quote(url)

    def _prepare(self, calls: list[list[str]]) -> None:
        """A crawl that is begun finds no other in its place, one that is looked at is there."""
        data = self._root / "lycosa-data"
        for words in calls:
            begins = words[0] == "crawl" and not {"--resume", "--start-or-resume"} & {*words}
            if begins and data.exists():
                shutil.rmtree(data)
            reads = words[0] not in ("crawl", "demo", "check", "simweb", "version")
            if reads or "--resume" in words:
                self._have_crawl()

    def _have_crawl(self) -> None:
        if not (self._root / "lycosa-data").exists():
            self._done(["bash", "-c", START], None)

    def _have_node(self, name: str, calls: list[list[str]]) -> None:
        """The directory of a node that took part in the crawl on a server."""
        store = next(words[words.index("--store") + 1] for words in calls if "--store" in words)
        more = f"--start-or-resume --data-dir {name} --store {shlex.quote(store)}"
        if not (self._root / name).exists():
            self._done(["bash", "-c", f"{START} {more}"], None)

    def _done(self, command: list[str], example: Example | None) -> str:
        """Ended with 0; whoever asks on the terminal is answered yes."""
        ours, theirs = os.openpty()
        os.write(ours, b"y\n" * 5)
        try:
            done = subprocess.run(
                command, cwd=self._root, env=self._environment, stdin=theirs, timeout=SECONDS,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
        assert done.returncode == 0, f"{example}\nended with {done.returncode}: {done.stdout}"
        return done.stdout

    def _until_it_speaks(self, text: str, example: Example) -> str:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {text}"], cwd=self._root, env=self._environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout
        try:
            said = process.stdout.readline()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        assert process.returncode in (0, 130), f"{example}\n{said}{rest}"
        return said + rest
