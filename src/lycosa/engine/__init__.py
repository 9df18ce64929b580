"""One engine, a process: what it decides (`core`, `visit`, `scheduler`, `harvest`), and its loop.

`python -m lycosa.engine` is how a supervisor starts one.
"""
