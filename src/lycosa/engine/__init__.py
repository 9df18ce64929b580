"""One engine, a process: what it decides (`core`, `visit`, `scheduler`, `harvest`), and the loop
that carries it out (`loop`, `dispatch`, `store_link`).

A supervisor starts one as `python -m lycosa.engine`.
"""
