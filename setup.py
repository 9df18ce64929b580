"""Builds the compiled modules, each beside the Python that it replaces. Without a compiler the
package works all the same, only slower: `page.html` then reads pages with `page.html_scan`,
`fetch.receive` collects responses and `urls.links` joins all links in Python."""

from glob import glob
from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            ".".join(Path(source).with_suffix("").parts[1:]),
            [source],
            depends=glob("src/lycosa/**/*.h", recursive=True),
            optional=True,
            extra_compile_args=["-O3"],
        )
        for source in sorted(glob("src/lycosa/**/_*.c", recursive=True))
    ]
)
