"""Log lines for people and for machines. Owns their shape; knows nothing of what is logged.

A line is a UTC time, a level, a short sentence and key=value fields, as text or as one JSON
object. Underneath is the standard library's logging, so that other libraries' lines come out the
same way. A line below the level costs one comparison. Passwords in URLs are blanked out.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from lycosa.terminal import in_json, redact

_LEVELS = {name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")}


class Logger:
    """`log.info("sentence", key=value, ...)`."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, message: str, **fields: Any) -> None:
        if self._logger.isEnabledFor(logging.DEBUG):
            self._logger.debug(message, extra={"fields": fields})

    def info(self, message: str, **fields: Any) -> None:
        if self._logger.isEnabledFor(logging.INFO):
            self._logger.info(message, extra={"fields": fields})

    def warning(self, message: str, **fields: Any) -> None:
        self._logger.warning(message, extra={"fields": fields})

    def error(self, message: str, **fields: Any) -> None:
        self._logger.error(message, extra={"fields": fields})

    def exception(self, message: str, **fields: Any) -> None:
        """An error with the traceback of the exception being handled."""
        self._logger.error(message, extra={"fields": fields}, exc_info=True)


def get_logger(name: str) -> Logger:
    return Logger(name if name.startswith("lycosa") else f"lycosa.{name}")


def setup(level: str = "info", fmt: str = "text", stream: TextIO | None = None) -> None:
    """Send all log lines of this process to `stream` (standard error); replaces earlier calls."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Json() if fmt == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS["warning"])
    logging.getLogger("lycosa").setLevel(_LEVELS[level])
    # A full disk or a closed pipe under the log must not end or clutter a crawl.
    logging.raiseExceptions = False


def _stamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return fields


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        words = [f"{key}={_plain(value)}" for key, value in _fields(record).items()]
        line = " ".join([record.getMessage(), *words])
        # One event is one line, whatever a site put into a field.
        line = line.replace("\n", "\\n").replace("\r", "\\r")
        trace = "\n" + self.formatException(record.exc_info) if record.exc_info else ""
        return redact(f"{_stamp(record)} {record.levelname:<7} {line}{trace}")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            event["traceback"] = self.formatException(record.exc_info)
        clean = {key: redact(v) if isinstance(v, str) else v for key, v in event.items()}
        return in_json(json.dumps(clean, default=lambda v: redact(str(v)), ensure_ascii=False))


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    if isinstance(value, dict):
        return ",".join(f"{key}:{_plain(each)}" for key, each in value.items()) or "-"
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or " " in text else text
