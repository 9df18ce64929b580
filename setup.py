"""Builds the compiled modules. Without a compiler the package works all the same, only slower:
`parse` then reads pages over a tree, `inbox` collects responses and `urls` joins all links in
Python."""

from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"lycosa.{name}",
            [f"src/lycosa/{name}.c"],
            depends=glob("src/lycosa/*.h"),
            optional=True,
            extra_compile_args=["-O3"],
        )
        for name in ("_inbox", "_links", "_scan")
    ]
)
