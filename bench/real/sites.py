"""HTML files of Debian's documentation packages, and the sites that are made of them.

Owns the download, and the cut into sites: each directory of a package is one, under as many names
as copies are asked for. Links that leave the directory lead to the other site, of the same copy;
links to the real web stay as they are, which is why nothing here may run outside of a namespace.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

PACKAGES = ("python3.11-doc", "postgresql-doc-15", "debian-handbook", "openjdk-17-doc")
SCHEME, COPY = b"@@scheme@@", b"@@copy@@"  # stand for what is known when a page is asked for
_HREF = re.compile(rb'(<a\s[^>]*?href=")([^"#?:]+)(?=["#?])', re.IGNORECASE)
_LABEL = re.compile(r"[^a-z0-9]+")


def download(folder: Path) -> None:
    """Fetches and unpacks the packages that are not there; nothing is installed."""
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    for name in PACKAGES:
        target = folder / "files" / name
        if target.is_dir():
            continue
        (folder / "packages").mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", name], cwd=folder / "packages", check=True)
        package = next((folder / "packages").glob(f"{name}_*.deb"))
        part = target.with_suffix(".part")
        subprocess.run(["dpkg", "-x", package, part], check=True)
        part.rename(target)


@dataclass(eq=False)
class Site:
    """A directory with its files, by name."""

    label: str  # of its host names
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The file that '/' stands for."""
        return "index.html" if "index.html" in self.files else min(self.files)

    def host(self, copy: int) -> str:
        return f"{self.label}-c{copy}.test"


class Sites:
    """All sites of a folder of files, each under `copies` names."""

    def __init__(self, folder: Path, copies: int) -> None:
        self.copies = copies
        self._by_directory: dict[str, Site] = {}
        for path in sorted(folder.rglob("*.html")):
            if path.is_file() and not path.is_symlink():
                directory = str(path.parent.relative_to(folder))
                site = self._by_directory.get(directory)
                if site is None:
                    words = _LABEL.sub("-", directory.lower()).strip("-")[-30:].strip("-")
                    site = Site(f"{words or 'root'}-{len(self._by_directory)}")
                    self._by_directory[directory] = site
                site.files[path.name] = path
        self._directories = {site.label: d for d, site in self._by_directory.items()}
        self._by_label = {site.label: site for site in self._by_directory.values()}

    @property
    def files(self) -> int:
        return sum(len(site.files) for site in self._by_label.values())

    def hosts(self) -> list[str]:
        return [s.host(copy) for copy in range(self.copies) for s in self._by_label.values()]

    def find(self, host: str) -> tuple[Site, int] | None:
        """The site and the copy that a host name stands for."""
        label, _, copy = host.removesuffix(".test").rpartition("-c")
        site = self._by_label.get(label)
        if site is None or not copy.isdecimal() or int(copy) >= self.copies:
            return None
        return (site, int(copy)) if host == site.host(int(copy)) else None

    def page(self, site: Site, name: str) -> bytes:
        """A file, its links to other directories turned into links to their hosts."""
        directory = self._directories[site.label]

        def turned(match: re.Match[bytes]) -> bytes:
            return match[1] + self._href(directory, match[2])

        return _HREF.sub(turned, site.files[name].read_bytes())

    def _href(self, directory: str, href: bytes) -> bytes:
        target = unquote(href.decode("utf-8", "replace"))
        path = posixpath.normpath(posixpath.join(directory, target))
        other = self._by_directory.get(posixpath.dirname(path))
        name = posixpath.basename(path)
        if path in self._by_directory:  # a directory by its own name
            other, name = self._by_directory[path], ""
        if target.startswith("/") or other is None or (name and name not in other.files):
            return href
        if other is self._by_directory[directory]:  # '../here/page.html' would lead elsewhere now
            return name.encode() if "/" in target else href
        host = other.host(0).removesuffix("0.test").encode() + COPY + b".test"
        return SCHEME + b"://" + host + b"/" + name.encode()
