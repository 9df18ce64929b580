"""One engine, a process: its decisions (`core`, `visit`, `scheduler`, `harvest`, pure) and its loop.

`python -m lycosa.engine` is how a supervisor starts one.
"""
