"""Servers that crawls are tested with."""

from net.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
