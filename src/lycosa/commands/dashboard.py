"""`lycosa dashboard`: serves the page of a crawl until Ctrl-C."""

from __future__ import annotations

import sys
from contextlib import suppress

from lycosa.commands.which_crawl import opened_nodes
from lycosa.dashboard.beside import bound, missing
from lycosa.dashboard.orders import DashboardOrders, address
from lycosa.dashboard.token_file import new_token, own_token, token_from
from lycosa.errors import UserError
from lycosa.settings.collect import Values


def dashboard(values: Values, _: list[str]) -> int:
    """Show a crawl."""
    if why := missing():
        raise UserError(f"There is {why}.")
    with opened_nodes(values) as crawl:
        paths = [path.absolute() for path in crawl.directories.paths]
    file = values["dashboard-token-file"]
    token = token_from(file) if file else own_token(paths[0]) if paths else new_token()
    host = values["host"]
    listening = bound(host, values["port"], given="port" in values.given)
    orders = DashboardOrders(
        data_dirs=tuple(map(str, paths)),
        store=values["store"],
        token=token,
        host=host,
        port=listening.getsockname()[1],
        names=values["dashboard-name"],
    )
    # Loading takes a while in which Ctrl-C could be lost: nobody has been told of it by then.
    from lycosa.dashboard.serving import serve

    with suppress(KeyboardInterrupt):  # from the moment in which somebody can have read of it
        print(f"dashboard: {address(host, orders.port, '' if file else token)}", flush=True)
        print("Ctrl-C ends it; the crawl goes on.", file=sys.stderr)
        serve(orders, listening, lambda _: None)
    return 0
