"""Builds the one compiled module. Without a compiler the package works all the same, only slower:
`parse` then reads pages over a tree."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension("lycosa._scan", ["src/lycosa/_scan.c"], optional=True, extra_compile_args=["-O3"])
    ]
)
