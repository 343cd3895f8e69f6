"""Logs for the system log: one line a record on standard error, `<priority>sentence key=value ...`.

Fields come from `extra={"fields": {...}}`, and the logger's part and the thread are added. Outside of systemd, a line
begins with the time in place of the priority.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import TextIO

# sd-daemon(3)
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))


class Lines(logging.Formatter):
    """Formats a record as one line."""

    def __init__(self, to_system_log: bool) -> None:
        super().__init__()
        self._to_system_log = to_system_log

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, without its end."""
        fields = {"part": part_of(record.name), "thread": record.threadName}
        fields |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            fields["exception"] = "".join(traceback.format_exception(record.exc_info[1]))
        begin = (
            f"<{priority(record.levelno)}>" if self._to_system_log else f"{self.formatTime(record)} {record.levelname} "
        )
        pairs = "".join(f" {name}={_quoted(str(value))}" for name, value in fields.items())
        return begin + " ".join(record.getMessage().split()) + pairs


def part_of(logger: str) -> str:
    """A logger's name without the package and the layer: `mirror.loop` of `hopshive.consistency.mirror.loop`."""
    parts = logger.removeprefix("hopshive.").split(".")
    return ".".join(parts[1:] or parts)


def priority(level: int) -> int:
    """syslog's number for a level of logging."""
    return next(number for least, number in _PRIORITIES if level >= least)


def configure(stream: TextIO = sys.stderr, level: int = logging.INFO) -> None:
    """Let all loggers write to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Lines(to_system_log="JOURNAL_STREAM" in os.environ))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"' if not value or any(character in value for character in ' "\n=') else escaped
