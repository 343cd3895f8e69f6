"""Filters over what a task has registered."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

# Place of the start time in what follows the command's name in /proc/PID/stat (proc(5), field 22).
_START_TIME = 19
_ABSENT = object()


def _field(result: Mapping[str, Any], name: str) -> Any:
    """A field of a result by its dotted name (`stat.exists`), or _ABSENT."""
    value: Any = result
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def items_where(results: Iterable[Mapping[str, Any]], field: str, value: Any) -> list[Any]:
    """The items of a loop whose result has this value in a field. A result without the field does not count."""
    return [result["item"] for result in results if _field(result, field) == value]


def items_without(results: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    """The items of a loop that were not skipped and whose result lacks a field, because the module has failed there."""
    return [result["item"] for result in results if "skipped" not in result and _field(result, field) is _ABSENT]


def paths_changed_by(changes: Iterable[Mapping[str, Any]], operation: str) -> list[str]:
    """The paths that existed before and that this operation has changed, of the module hopshive_hdfs's `changes`."""
    return [
        str(change["path"]) for change in changes if change["before"] is not None and operation in change["operations"]
    ]


def last_output(result: Mapping[str, Any], lines: int) -> str:
    """The last lines that a command has written: to stdout, else to stderr, else why it did not start."""
    written = result.get("stdout_lines") or result.get("stderr_lines")
    if not written:
        reason = result.get("exception") or result.get("msg") or "no reason was given"
        written = [f"The command did not start: {reason}"]
    return "\n".join(str(line) for line in list(written)[-lines:])


def engine_identity(results: Iterable[Mapping[str, Any]], pid: int | str) -> str:
    """Which run of an engine this is: the boot's id, the process id and the time at which the process began.

    `results` are those of `slurp` for the boot's id and for the process's `stat`. The identity is empty when the task was
    skipped because there is no such process.
    """
    texts = [base64.b64decode(result["content"]).decode() for result in results if "content" in result]
    if len(texts) != 2:
        return ""
    boot, stat = texts
    # The command's name stands in brackets and may hold spaces.
    return " ".join((boot.strip(), str(pid), stat.rpartition(") ")[2].split()[_START_TIME]))


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "engine_identity": engine_identity,
            "items_where": items_where,
            "items_without": items_without,
            "last_output": last_output,
            "paths_changed_by": paths_changed_by,
        }
