"""Builds the compiled modules, each beside the Python that it replaces. Without a compiler the
package works all the same, only slower: `page.html` then reads pages with `page.html_scan`,
`page.simhash` hashes texts, `fetch.receive` collects responses, `urls.links` joins all links and
`frontier.log.twin` keeps the logs of domains in Python.

The modules keep to the limited API of Python 3.11, so that one build serves every later version
(docs/decisions/0015-one-wheel.md). A Python without the GIL has no limited API: there they are
built for that version alone."""

import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup

LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            ".".join(Path(source).with_suffix("").parts[1:]),
            [source],
            depends=glob("src/lycosa/**/*.h", recursive=True),
            optional=True,
            # What is not in the limited API is not declared, and would be found out at import only.
            extra_compile_args=["-O3", "-Werror=implicit-function-declaration"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
        )
        for source in sorted(glob("src/lycosa/**/_*.c", recursive=True))
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
