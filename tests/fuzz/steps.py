"""A step: what is done to the warehouse, in full, so that a list of them can be done again without a random generator."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# What writes data with an engine: at least a tenth of all steps.
ENGINE_WRITES = frozenset(
    {
        "hive_insert",
        "hive_overwrite",
        "acid_update",
        "acid_delete",
        "create_mv",
        "spark_create",
        "spark_replace",
        "spark_append",
        "spark_overwrite",
    }
)
# What happens to services; they are of no database.
FAULTS = frozenset(
    {
        "kill_daemon",
        "restart_daemon",
        "kill_all_daemons",
        "freeze_leader",
        "nobody_leads",
        "restart_namenode",
        "kill_namenode",
        "safe_mode",
        "restart_metastore",
        "kill_metastore",
    }
)
QUIET = "quiet"
# Directories without an owner are deleted after a quiet point has reported them.
TIDY = "tidy"


@dataclass(frozen=True)
class Step:
    """`kind` and its arguments: texts, numbers, lists of texts."""

    kind: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.args[name]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument that not every step of the kind has."""
        return self.args.get(name, default)

    @property
    def databases(self) -> set[str]:
        """The databases that it is about."""
        return {str(self.args[name]) for name in ("db", "other_db") if name in self.args}

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(f"{name}={value}" for name, value in self.args.items())


@dataclass
class Outcome:
    """What a step turned out to do, where the model asks and does not know: Hive's locations, and what it left behind."""

    ok: bool = True
    error: str = ""
    # Seconds that it took.
    seconds: float = 0.0
    # Of a table: its location's path; of a database: both.
    location: str = ""
    managed_location: str = ""
    # Partitions that the table has now: values -> (name, path).
    partitions: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict)
    # Of the paths that the step was about, those that are no more.
    gone: set[str] = field(default_factory=set)
    # Where the trash put what: path -> place.
    places: dict[str, str] = field(default_factory=dict)


def write_steps(path: Path, steps: Iterable[Step], **about: object) -> None:
    """Keep steps for `--replay`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join("  " + json.dumps({"kind": step.kind, **step.args}, ensure_ascii=False) for step in steps)
    path.write_text(f'{{"about": {json.dumps(about)},\n "steps": [\n{lines}\n]}}\n')


def read_steps(path: Path) -> list[Step]:
    """The other way."""
    steps = []
    for entry in json.loads(path.read_text())["steps"]:
        kind = entry.pop("kind")
        steps.append(Step(kind, entry))
    return steps
