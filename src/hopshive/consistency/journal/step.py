"""What one transaction brings back: entries of the journal, and the rows that they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hopshive.consistency.journal.content import Content
from hopshive.consistency.journal.record import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hopshive.consistency.journal.batch import ObjectKind
    from hopshive.database import Row
    from hopshive.metastore.closure import Table


KINDS: tuple[ObjectKind, ...] = ("database", "table", "partition")


@dataclass(slots=True)
class Back:
    """An entry that is to come back. `names`: those that it has then."""

    entry: Entry
    content: Content
    names: tuple[str, ...]
    waiting: list[Wanted] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Wanted:
    """A row that entries want to have there."""

    table: Table
    columns: tuple[str, ...]
    row: Row
    users: list[int]
    present: bool = False
    waits: bool = False

    def value(self, column: str) -> Any:
        return self.row[self.columns.index(column)]


@dataclass(slots=True)
class Step:
    """Entries of one kind, by id; those that are refused, with the reason."""

    kind: ObjectKind
    backs: dict[int, Back]
    refused: dict[int, str] = field(default_factory=dict)
    wanted: dict[str, dict[Row, Wanted]] = field(default_factory=dict)

    def refuse(self, users: Iterable[int], why: str) -> None:
        """The first reason counts."""
        for user in users:
            self.refused.setdefault(user, f"{self.backs[user].entry.kind} {self.backs[user].entry.name}: {why}")

    def rows(self, table: str) -> Iterator[Wanted]:
        """Rows that are to be inserted: not there yet, and wanted by an entry that is not refused."""
        for one in self.wanted.get(table, {}).values():
            if not one.present and not one.waits and not (self.refused and self.refused.keys() >= set(one.users)):
                yield one
