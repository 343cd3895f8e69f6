"""What must be there: the file system, the metastore and the journal as the contract of hopshive wants them.

Steps change the file system and, through Hive and Spark, the metastore at once. What the mirror must make of it is computed
at a quiet point only (`settle`), because it is unknown when exactly it comes to it: what has no directory is removed into
the journal, what came back as it was is restored.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from posixpath import dirname
from typing import TYPE_CHECKING

from hopshive.hdfs.paths import is_below
from tests.fuzz.files import Files
from tests.fuzz.objects import Constraint, Database, Entry, Partition, Table, Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = tuple[object, ...]
# The identity of a directory that was never there.
UNSEEN = -1


@dataclass
class Expected:
    """All objects, as they can be asked for: sets of tuples of names and paths."""

    databases: set[tuple[str, ...]] = field(default_factory=set)
    tables: set[tuple[str, ...]] = field(default_factory=set)
    partitions: set[tuple[str, ...]] = field(default_factory=set)
    functions: set[tuple[str, ...]] = field(default_factory=set)
    constraints: set[tuple[str, ...]] = field(default_factory=set)


@dataclass
class Settled:
    """What became of objects at a quiet point, for the log: their names."""

    removed: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)


class Model:
    """The state after the steps so far."""

    def __init__(self) -> None:
        self.files = Files()
        self.databases: dict[str, Database] = {}
        # Where databases lie that are made without a place, as far as some were.
        self.roots: set[str] = set()
        self.journal: list[Entry] = []
        self.constraints: list[Constraint] = []
        # What the trash or another place has of a directory: original path -> place.
        self.kept: dict[str, str] = {}
        # Places of external tables and partitions outside of the warehouse.
        self.outside = itertools.count(1)
        self.values = itertools.count(1)
        self._born = itertools.count(1)
        self._removals = itertools.count(1)
        self._arrivals: set[str] = set()
        # What was back at the last quiet point, and waits: something else has its name, or what it was in is not there.
        self._waiting: list[Entry] = []
        # The directories of all objects at the last quiet point, or those that went last since.
        self._seen: dict[str, int | None] = {}

    def born(self) -> int:
        """A number for a new object."""
        return next(self._born)

    # --- looking --------------------------------------------------------------------------------------------------

    def table(self, db: str, name: str) -> Table | None:
        """A table or a view."""
        database = self.databases.get(db)
        return database.tables.get(name) if database else None

    def tables(self) -> Iterator[tuple[Database, Table]]:
        """All tables and views."""
        for database in self.databases.values():
            for table in database.tables.values():
                yield database, table

    def is_steady(self, database: Database, table: Table | None = None, partition: Partition | None = None) -> bool:
        """Whether something, and what it is in, has a directory: nothing is pending about it. Of a database's two one will do.

        What went and came back since the last quiet point may be on its way out, or back.
        """
        paths = [table.path] if table is not None and table.path else []
        if partition is not None:
            paths.append(partition.path)
        if any(is_below(path, arrival) for arrival in self._arrivals for path in (*database.locations, *paths)):
            return False
        return any(map(self.files.exists, database.locations)) and all(map(self.files.exists, paths))

    def is_calm(self, database: Database, table: Table) -> bool:
        """The same of a table with all its partitions."""
        return self.is_steady(database, table) and all(self.files.exists(one.path) for one in table.partitions.values())

    def returning(self) -> list[Entry]:
        """The entries that come back at the next quiet point if they can, whole removals of them: databases first."""
        removals = {entry.removal for entry in self._waiting if self._is_back(entry)} | {
            entry.removal
            for entry in self.journal
            for path in entry.nodes
            if any(is_below(path, arrival) for arrival in self._arrivals) and self._is_back(entry)
        }
        found = [entry for entry in self.journal if entry.removal in removals and self._is_back(entry)]
        order = {"database": 0, "table": 1, "partition": 2}
        return sorted(found, key=lambda entry: order[entry.kind])

    def _is_back(self, entry: Entry) -> bool:
        """Whether one of an entry's directories is there as it was; a view has none, and goes with the others."""
        return not entry.nodes or any(self.files.id(path) == node for path, node in entry.nodes.items())

    def awaited(self) -> set[tuple[object, ...]]:
        """The names that entries want which come back."""
        return {_place(entry) for entry in self.returning()}

    def is_awaited(self, database: Database, table: Table | None = None, partition: Partition | None = None) -> bool:
        """Whether something is back that waits for the name of the object, of what it is in, or of a partition of it.

        When that comes back is known only if the name is free because a directory went.
        """
        names: set[tuple[object, ...]] = {(database.name,)}
        if table:
            some = [partition] if partition else table.partitions.values()
            names |= {(database.born, table.name), *((database.born, table.born, one.values) for one in some)}
        return not names.isdisjoint(self.awaited())

    def is_free(self, db: str, table: str = "") -> bool:
        """Whether a name can be given: nothing bears it, and nothing that is about to come back does."""
        if table:
            database = self.databases.get(db)
            return database is None or (table not in database.tables and (database.born, table) not in self.awaited())
        return db not in self.databases and (db,) not in self.awaited()

    def rows(self, table: Table) -> list[Row]:
        """What a query of column `a` and the partition columns answers, sorted."""
        if not table.keys:
            node = self.files.get(table.path)
            return sorted((value,) for value in (node.rows if node else ()))
        found: list[Row] = []
        for one in table.partitions.values():
            node = self.files.get(one.path)
            found += [(value, *one.values) for value in (node.rows if node else ())]
        return sorted(found, key=repr)

    def expected(self) -> Expected:
        """All objects that the metastore must have now, if now is a quiet point."""
        found = Expected()
        names: dict[int, str] = {}
        for database in self.databases.values():
            found.databases.add((database.name, *database.locations))
            found.functions |= {(database.name, name) for name in database.functions}
            for table in database.tables.values():
                names[table.born] = f"{database.name}.{table.name}"
                found.tables.add((database.name, table.name, table.path))
                for one in table.partitions.values():
                    found.partitions.add((database.name, table.name, one.name, one.path))
        for key in self.constraints:
            if key.child in names and key.parent in names:
                found.constraints.add((key.name, names[key.child], names[key.parent]))
        return found

    def strangers(self) -> set[str]:
        """Directories in a database's or a partitioned table's directory that no metadata is about: `hopshive check` tells.

        The directories of all databases lie in those of the database `default`.
        """
        at = set(self.places())
        found = set()
        for location in self.roots.union(*(database.locations for database in self.databases.values())):
            found |= {child for child in self._visible(location) if not any(is_below(path, child) for path in at)}
        for _, table in self.tables():
            if table.keys:
                found |= set(self._stray_partitions(table.path, len(table.keys), at))
        return found

    def _visible(self, path: str) -> Iterator[str]:
        for child in self.files.children(path):
            if not child.rpartition("/")[2].startswith((".", "_")):
                yield child

    def _stray_partitions(self, path: str, depth: int, at: set[str]) -> Iterator[str]:
        for child in self._visible(path):
            if "=" not in child.rpartition("/")[2]:
                continue
            if depth > 1:
                yield from self._stray_partitions(child, depth - 1, at)
            elif child not in at and not any(is_below(one, child) for one in at):
                yield child

    # --- the file system ------------------------------------------------------------------------------------------

    def delete(self, path: str) -> None:
        """A directory is deleted past the trash."""
        self._leaving(path)
        self.files.delete(path)

    def keep(self, path: str, place: str) -> None:
        """A directory is moved to the trash, or elsewhere, whether the mirror has seen it or not."""
        self._leaving(path)
        self.files.make(place.rpartition("/")[0])
        if not self.files.move(path, place):
            raise AssertionError(f"{path} cannot be kept at {place}")
        self.kept[path] = place

    def checkpoint(self, current: str, name: str) -> None:
        """The trash gives its directory Current a name; what is deleted from now on lies in another one."""
        place = f"{dirname(current)}/{name}"
        if self.files.move(current, place):
            self.kept = {
                path: place + kept[len(current) :] if is_below(kept, current) else kept
                for path, kept in self.kept.items()
            }

    def return_at_once(self, path: str) -> None:
        """A directory went and came back, as often as it may: no step builds on it before the next quiet point."""
        self._leaving(path)
        self._arrivals.add(path)

    def places(self) -> Iterator[str]:
        """All directories that metadata is about."""
        for database in self.databases.values():
            yield from database.locations
            for table in database.tables.values():
                yield from table.paths()

    def bring_back(self, path: str) -> None:
        """What was kept is moved to where it was."""
        if not self.files.move(self.kept.pop(path), path):
            raise AssertionError(f"{path} cannot be brought back")
        self._arrivals.add(path)

    def back_with(self, path: str) -> list[str]:
        """What is to be moved back together with what was kept of a path; nothing if it cannot be.

        Of a database that went with both of its directories only the mirror knows which of them it was bound to at last.
        Where one of both is gone again, with a later database of the name, it is unknown which of these comes back.
        """
        wanted = {path: self.files.id(self.kept[path])}
        for entry in self.journal:
            if entry.kind == "database" and entry.nodes.get(path, UNSEEN) == self.files.id(self.kept[path]):
                wanted.update(entry.nodes)
        for database in self.databases.values():
            # It is unknown whether the mirror has seen in the meantime that both are gone.
            if path in database.locations and not any(map(self.files.exists, database.locations)):
                wanted |= {one: self.files.id(self.kept.get(one, "")) for one in database.locations}
        if any(one not in self.kept or self.files.id(self.kept[one]) != node for one, node in wanted.items()):
            return []
        return sorted(wanted) if all(map(self._can_bring_back, wanted)) else []

    def _can_bring_back(self, path: str) -> bool:
        place = self.kept.get(path)
        if place is None or self.files.exists(path):
            return False
        # Engines read directories in that of an unpartitioned table, or do not.
        coming_back = [entry.content for entry in self.returning() if isinstance(entry.content, Table)]
        flat = [one.path for one in [*coming_back, *(t for _, t in self.tables())] if one.path and not one.keys]
        if any(is_below(path, one) and path != one for one in flat):
            return False
        for one in self.places():
            # About to be removed, but another directory may come in time.
            if is_below(one, path) and self.files.id(place + one[len(path) :]) not in (None, self._seen.get(one)):
                return False
        # Whose name something has that is about to go, and may come back before, or another one that is about to come back:
        # it is unknown which of them gets it.
        coming = self.awaited()
        if any(
            is_below(one, path)
            for database, table in self.tables()
            if self.is_awaited(database, table)
            for one in (*database.locations, *table.paths())
        ):
            return False
        wanted = [entry for entry in self.journal for one in entry.nodes if is_below(one, path)]
        if any(self._is_going(entry) or _place(entry) in coming for entry in wanted):
            return False
        return self.files.exists(place) and self.files.exists(path.rpartition("/")[0])

    def _is_going(self, entry: Entry) -> bool:
        """Whether something has an entry's name, and no directory any more."""
        match entry.content:
            case Database() as database:
                other = self.databases.get(database.name)
                return other is not None and not self.is_steady(other)
            case Table() as table:
                parent = next((one for one in self.databases.values() if one.born == entry.database), None)
                twin = parent.tables.get(table.name) if parent else None
                return parent is not None and twin is not None and not self.is_steady(parent, twin)
            case Partition() as partition:
                owner = next(((d, t) for d, t in self.tables() if t.born == entry.table), None)
                same = owner[1].partitions.get(partition.values) if owner else None
                return owner is not None and same is not None and not self.is_steady(*owner, same)

    def remake(self, path: str) -> None:
        """A directory is deleted and made again at once."""
        self.files.replace(path)

    def _leaving(self, path: str) -> None:
        """Remember which directories go: they are what may come back."""
        self._seen |= {
            one: node for one in self.places() if is_below(one, path) and (node := self.files.id(one)) is not None
        }
        for database in self.databases.values():
            for location in database.locations:
                self._see(database.nodes, location, path)
            for table in database.tables.values():
                if table.path and is_below(table.path, path):
                    table.node = self.files.id(table.path) or table.node
                for one in table.partitions.values():
                    if is_below(one.path, path):
                        one.node = self.files.id(one.path) or one.node

    def _see(self, nodes: dict[str, int], location: str, path: str) -> None:
        node = self.files.id(location)
        if is_below(location, path) and node is not None:
            nodes[location] = node

    # --- quiet points ---------------------------------------------------------------------------------------------

    def settle(self) -> Settled:
        """What the mirror has made of it when nothing waits any more."""
        done = Settled()
        self._restore(done)
        self._arrivals.clear()
        self._remove(done)
        if done.removed:
            # Names are free.
            self._restore(done)
        for database in self.databases.values():
            database.nodes = {path: node for path in database.locations if (node := self.files.id(path)) is not None}
            for table in database.tables.values():
                table.node = self.files.id(table.path) if table.path else None
                for one in table.partitions.values():
                    one.node = self.files.id(one.path)
        self._seen = {path: self.files.id(path) for path in self.places()}
        return done

    def _restore(self, done: Settled) -> None:
        waiting = []
        for entry in self.returning():
            match entry.content:
                case Database() as database:
                    if database.name in self.databases:
                        waiting.append(entry)
                        continue
                    self.databases[database.name] = database
                    name = database.name
                case Table() as table:
                    parent = next((one for one in self.databases.values() if one.born == entry.database), None)
                    if parent is None or table.name in parent.tables:
                        waiting.append(entry)
                        continue
                    parent.tables[table.name] = table
                    name = f"{parent.name}.{table.name}"
                case Partition() as partition:
                    owner = next(((d, t) for d, t in self.tables() if t.born == entry.table), None)
                    if owner is None or partition.values in owner[1].partitions:
                        waiting.append(entry)
                        continue
                    owner[1].partitions[partition.values] = partition
                    name = f"{owner[0].name}.{owner[1].name}/{partition.name}"
            self.journal.remove(entry)
            done.restored.append(name)
        self._waiting = [entry for entry in waiting if entry.nodes and self._has_hope(entry)]

    def _has_hope(self, entry: Entry) -> bool:
        """Whether what an entry was in is there, or may come back."""
        gone = {one.content.born for one in self.journal if not isinstance(one.content, Partition)}
        there = {database.born for database in self.databases.values()} | {table.born for _, table in self.tables()}
        owners = {entry.database, entry.table} - {entry.content.born}
        return entry.kind == "database" or owners <= gone | there

    def _remove(self, done: Settled) -> None:
        for database in list(self.databases.values()):
            if not any(self.files.exists(path) for path in database.locations):
                number = next(self._removals)
                for table in list(database.tables.values()):
                    self._remove_table(number, database, table, done)
                del self.databases[database.name]
                self.journal.append(Entry(number, "database", database.born, 0, database, dict(database.nodes)))
                done.removed.append(database.name)
                continue
            for table in list(database.tables.values()):
                if table.path and not self.files.exists(table.path):
                    self._remove_table(next(self._removals), database, table, done)
                    continue
                for one in list(table.partitions.values()):
                    if not self.files.exists(one.path):
                        self._remove_partition(next(self._removals), database, table, one, done)

    def _remove_table(self, number: int, database: Database, table: Table, done: Settled) -> None:
        for one in list(table.partitions.values()):
            self._remove_partition(number, database, table, one, done)
        del database.tables[table.name]
        nodes = {table.path: self.files.id(table.path) or table.node or UNSEEN} if table.path else {}
        self.journal.append(Entry(number, "table", database.born, table.born, table, nodes))
        done.removed.append(f"{database.name}.{table.name}")

    def _remove_partition(self, number: int, database: Database, table: Table, one: Partition, done: Settled) -> None:
        del table.partitions[one.values]
        node = self.files.id(one.path) or one.node or UNSEEN
        self.journal.append(Entry(number, "partition", database.born, table.born, one, {one.path: node}))
        done.removed.append(f"{database.name}.{table.name}/{one.name}")

    # --- what Hive and Spark do -----------------------------------------------------------------------------------

    def forget(self, paths: Iterable[str]) -> None:
        """Directories that an engine has removed."""
        for path in paths:
            if self.files.exists(path):
                self.delete(path)

    def forget_kept(self, path: str) -> None:
        """Forget what was kept of a path or of something below it: it cannot come back any more."""
        for one in [one for one in self.kept if is_below(one, path)]:
            del self.kept[one]

    def drop_constraints(self, born: int) -> None:
        """Those of a table that is dropped."""
        self.constraints = [key for key in self.constraints if born not in (key.child, key.parent)]

    def write(self, path: str, rows: Iterable[int], *, overwrite: bool = False) -> None:
        """An engine writes files into a directory, and makes it if it is not there."""
        node = self.files.make(path)
        node.rows = [*([] if overwrite else node.rows), *rows]

    def learn_partitions(self, table: Table, found: dict[Values, tuple[str, str]]) -> None:
        """Take what Hive says of a table's partitions: new ones are added, paths follow, others are dropped."""
        for values, (name, path) in found.items():
            known = table.partitions.get(values)
            if known is None:
                table.partitions[values] = Partition(values, name, path, self.born())
                self.files.make(path)
            else:
                known.name, known.path = name, path
        for values in [values for values in table.partitions if values not in found]:
            del table.partitions[values]


def _place(entry: Entry) -> tuple[object, ...]:
    """The name that an object had, and in what."""
    match entry.content:
        case Database() as database:
            return (database.name,)
        case Table() as table:
            return (entry.database, table.name)
        case Partition() as partition:
            return (entry.database, entry.table, partition.values)
