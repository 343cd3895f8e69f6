"""Which step comes next: drawn from those that the model allows. What is pending is left alone, as a prudent user would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.hdfs.paths import is_below
from tests.fuzz.objects import MANAGED
from tests.fuzz.steps import Step

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from tests.fuzz.model import Model
    from tests.fuzz.objects import Database, Form, Partition, Table

# Names for partition values, among them what Hive escapes in paths, and what HDFS and the metastore might fold.
VALUES = ("1", "2", "3", "x y", "a/b", "ü", "A", "a", "%41", "50%")
PLAIN_VALUES = ("1", "2", "3", "4")
TABLES = ("t0", "t1", "t2", "t3", "t4")
VIEWS = ("v0", "v1")
FUNCTIONS = ("f0", "f1")
MOST_PARTITIONS = 12


@dataclass(frozen=True)
class Settings:
    """What the run may do. `prefix` of databases; `root` on HDFS for what lies outside of the warehouse."""

    prefix: str = "fz"
    root: str = "/fuzz"
    databases: int = 4
    faults: bool = True
    spark: bool = True
    # The daemon's waits are short: moves to other places and locations without a directory can be waited for.
    short_waits: bool = True
    leaders: int = 2


# How often each kind is drawn, as far as it is possible.
WEIGHTS: Mapping[str, float] = {
    "create_database": 5,
    "drop_database": 0.6,
    "create_table": 10,
    "drop_table": 2.5,
    "rename_table": 2.5,
    "set_location": 1.2,
    "widen": 1,
    "add_partitions": 9,
    "drop_partition": 3,
    "rename_partition": 1.5,
    "set_partition_location": 1,
    "create_view": 1.5,
    "drop_view": 0.5,
    "create_function": 1,
    "drop_function": 0.4,
    "add_primary_key": 1,
    "add_foreign_key": 1.2,
    "drop_constraint": 0.4,
    "set_statistics": 3,
    "set_property": 1.5,
    "grant": 1.5,
    "create_mv": 0.4,
    "drop_mv": 0.3,
    "compact": 0.6,
    "hive_insert": 5,
    "hive_overwrite": 2,
    "acid_update": 1,
    "acid_delete": 0.8,
    "truncate": 0.5,
    "spark_create": 2.5,
    "spark_replace": 0.8,
    "spark_append": 2,
    "spark_overwrite": 2,
    "delete_table": 5,
    "delete_partition": 8,
    "delete_database": 1.5,
    "delete_one_location": 1.5,
    "delete_outside": 1.5,
    "come_and_go": 4,
    "delete_files": 2,
    "shell_rm": 0.3,
    "move_away": 2.5,
    "bring_back": 9,
    "remake": 4,
    "kill_daemon": 0.8,
    "restart_daemon": 0.4,
    "kill_all_daemons": 0.4,
    "freeze_leader": 0.3,
    "nobody_leads": 0.4,
    "restart_namenode": 0.25,
    "kill_namenode": 0.15,
    "safe_mode": 0.25,
    "restart_metastore": 0.25,
    "kill_metastore": 0.15,
}


class Chooser:
    """Draws steps for one run."""

    def __init__(self, rng: random.Random, model: Model, settings: Settings) -> None:
        self._rng = rng
        self._model = model
        self._settings = settings
        self._databases = [f"{settings.prefix}_{'abcdefgh'[number]}" for number in range(settings.databases)]
        self._constraints = 0
        self._users = 0

    def next(self, *, engine: bool = False, among: Sequence[str] = ()) -> Step:
        """A step; with `engine`, one that writes data; of some kinds only."""
        from tests.fuzz.steps import ENGINE_WRITES, FAULTS

        kinds = [
            kind
            for kind in WEIGHTS
            if (not engine or kind in ENGINE_WRITES)
            and (not among or kind in among)
            and (self._settings.faults or kind not in FAULTS)
            and (self._settings.spark or not kind.startswith("spark"))
        ]
        for _ in range(300):
            (kind,) = self._rng.choices(kinds, [WEIGHTS[kind] for kind in kinds])
            step = self._propose(kind)
            if step is not None:
                return step
        # Nothing of the kind is possible yet.
        return self._propose("create_database") or self._propose("create_table") or Step("pass")

    def _propose(self, kind: str) -> Step | None:
        make: Callable[[], Step | None] | None = getattr(self, f"_{kind}", None)
        return make() if make else Step(kind)

    # --- drawing --------------------------------------------------------------------------------------------------

    def _database(self, *, awaited: bool = False) -> Database | None:
        """One that is steady; with `awaited`, perhaps one whose name another one waits for."""
        found = [
            one
            for one in self._model.databases.values()
            if self._model.is_steady(one) and (awaited or not self._model.is_awaited(one))
        ]
        return self._rng.choice(found) if found else None

    def _table(
        self,
        forms: Sequence[Form] = ("plain", "external", "acid", "spark"),
        *,
        keys: bool | None = None,
        awaited: bool = False,
    ) -> tuple[Database, Table] | None:
        """One that is calm, of some forms, partitioned or not or either; with `awaited`, as for a database."""
        found = [
            (database, table)
            for database, table in self._model.tables()
            if table.form in forms
            and (keys is None or bool(table.keys) == keys)
            and self._model.is_calm(database, table)
            and (awaited or not self._model.is_awaited(database, table))
        ]
        return self._rng.choice(found) if found else None

    def _partition(
        self, forms: Sequence[Form] = ("plain", "external", "acid", "spark"), *, awaited: bool = False
    ) -> tuple[Database, Table, Partition] | None:
        """One that is steady, and what it is in; with `awaited`, as for a database."""
        found = [
            (database, table, one)
            for database, table in self._model.tables()
            if table.form in forms
            for one in table.partitions.values()
            if self._model.is_steady(database, table, one)
            and (awaited or not self._model.is_awaited(database, table, one))
        ]
        return self._rng.choice(found) if found else None

    def _outside(self) -> str:
        return f"{self._settings.root}/o{next(self._model.outside)}"

    def _values(self, table: Table) -> list[str]:
        pool = PLAIN_VALUES if table.form == "spark" else VALUES
        return [self._rng.choice(pool) for _ in table.keys]

    def _fresh_values(self, table: Table) -> list[str] | None:
        """Values that no partition has, nor one that is about to come back."""
        back = {
            entry.content.values
            for entry in self._model.returning()
            if entry.kind == "partition" and entry.table == table.born and hasattr(entry.content, "values")
        }
        if len(table.partitions) >= MOST_PARTITIONS:
            return None
        for _ in range(8):
            values = self._values(table)
            if tuple(values) not in table.partitions and tuple(values) not in back:
                return values
        return None

    def _rows(self, most: int = 3) -> list[int]:
        return [next(self._model.values) for _ in range(self._rng.randint(1, most))]

    # --- Hive's definitions ---------------------------------------------------------------------------------------

    def _create_database(self) -> Step | None:
        # Hive makes no database where its managed directory is already there: a user may have brought one back.
        free = [
            name
            for name in self._databases
            if self._model.is_free(name) and not self._model.files.exists(f"{MANAGED}/{name}.db")
        ]
        if not free:
            return None
        name = self._rng.choice(free)
        path = self._outside() if self._rng.random() < 0.25 else ""
        return Step("create_database", {"db": name, "path": path})

    def _drop_database(self) -> Step | None:
        database = self._database()
        if database is None or not all(
            self._model.is_calm(database, table) for table in database.tables.values() if table.path
        ):
            return None
        return Step("drop_database", {"db": database.name})

    def _free_table(self, database: Database) -> str | None:
        """A name that nothing has, nor its place: what was to go would stay, or not."""
        places = list(self._model.places())
        free = [
            name
            for name in TABLES
            if self._model.is_free(database.name, name)
            and not any(is_below(one, f"{location}/{name}") for location in database.locations for one in places)
        ]
        return self._rng.choice(free) if free else None

    def _create_table(self) -> Step | None:
        database = self._database()
        name = self._free_table(database) if database else None
        if database is None or name is None:
            return None
        form = self._rng.choice(("plain", "external", "external", "acid", "acid"))
        keys: list[str] = self._rng.choice(([], [], ["p"], ["p"], ["p", "q"]))
        place = database.locations[1 if form == "acid" else 0] + "/" + name
        path = ""
        if form == "external" and self._rng.random() < 0.35:
            path = self._outside()
            other = self._table(("external",), keys=False)
            if not keys and other and self._rng.random() < 0.5:
                path = other[1].path
        elif self._model.files.exists(place) and (form != "external" or keys):
            # What lies there is no table of this form.
            return None
        if not path and form == "external":
            node = self._model.files.get(place)
            if node and node.children:
                return None
        return Step("create_table", {"db": database.name, "table": name, "form": form, "keys": keys, "path": path})

    def _drop_table(self) -> Step | None:
        found = self._table()
        if found is None or self._is_base(*found):
            return None
        database, table = found
        tidy = self._rng.random() < 0.8
        return Step("drop_table", {"db": database.name, "table": table.name, "tidy": tidy and not self._shares(table)})

    def _shares(self, table: Table) -> bool:
        """Whether another table has one of its directories, or one above or below."""
        mine = table.paths()
        return any(
            other is not table and any(a == b or a.startswith(b + "/") or b.startswith(a + "/") for b in mine)
            for _, other in self._model.tables()
            for a in other.paths()
        )

    def _is_base(self, database: Database, table: Table) -> bool:
        """Whether there is a materialized view that may be of it: Hive does not let go of it then."""
        return table.form == "acid" and any(one.form == "mv" for one in database.tables.values())

    def _rename_table(self) -> Step | None:
        found = self._table()
        if found is None or self._is_base(*found) or found[1].form == "spark":
            return None
        database, table = found
        target = database
        if self._rng.random() < 0.25:
            target = self._database() or database
        name = self._free_table(target)
        if name is None or (table.form == "spark" and target is not database):
            return None
        # Where that directory of the other database is gone, Hive renames the table and its files stay.
        if target is not database and not all(map(self._model.files.exists, target.locations)):
            return None
        # What Hive moves must have a free place.
        if any(self._model.files.exists(f"{location}/{name}") for location in target.locations):
            return None
        return Step("rename_table", {"db": database.name, "table": table.name, "other_db": target.name, "name": name})

    def _set_location(self) -> Step | None:
        found = self._table(("external",))
        if found is None:
            return None
        directory = not self._settings.short_waits or self._rng.random() < 0.7
        args = {"db": found[0].name, "table": found[1].name, "path": self._outside(), "directory": directory}
        return Step("set_location", args)

    def _widen(self) -> Step | None:
        found = self._table(("plain", "external", "acid"))
        if found is None or found[1].widened or self._is_base(*found):
            return None
        # It is unknown whether a partition that is about to come back gets the column too.
        if any(entry.kind == "partition" and entry.table == found[1].born for entry in self._model.returning()):
            return None
        return Step("widen", {"db": found[0].name, "table": found[1].name})

    def _add_partitions(self) -> Step | None:
        found = self._table(("external", "acid", "plain"), keys=True)
        if found is None:
            return None
        database, table = found
        wanted: list[list[str]] = []
        for _ in range(self._rng.choice((1, 1, 2, 4))):
            values = self._fresh_values(table)
            if values and values not in wanted and not self._is_littered(table, values):
                wanted.append(values)
        if not wanted:
            return None
        path = ""
        if table.form == "external" and len(wanted) == 1 and self._rng.random() < 0.3:
            path = self._outside()
        return Step("add_partitions", {"db": database.name, "table": table.name, "partitions": wanted, "path": path})

    def _is_littered(self, table: Table, values: Sequence[str]) -> bool:
        """Whether a dropped partition has left its directory: it would bring its rows along, in ways of Hive's own."""
        return self._model.files.exists(
            "/".join([table.path, *(f"{k}={v}" for k, v in zip(table.keys, values, strict=True))])
        )

    def _drop_partition(self) -> Step | None:
        found = self._partition()
        if found is None:
            return None
        database, table, one = found
        tidy = self._rng.random() < 0.8 and not self._is_shared(one.path)
        args = {"db": database.name, "table": table.name, "values": list(one.values), "tidy": tidy}
        return Step("drop_partition", args)

    def _is_shared(self, path: str) -> bool:
        return sum(path in table.paths() for _, table in self._model.tables()) > 1

    def _rename_partition(self) -> Step | None:
        found = self._partition(("external", "acid", "plain"))
        if found is None or not self._model.is_calm(found[0], found[1]):
            return None
        database, table, one = found
        values = self._fresh_values(table)
        if values is None or self._is_littered(table, values):
            return None
        args = {"db": database.name, "table": table.name, "values": list(one.values), "new_values": values}
        return Step("rename_partition", args)

    def _set_partition_location(self) -> Step | None:
        found = self._partition(("external",))
        if found is None:
            return None
        database, table, one = found
        directory = not self._settings.short_waits or self._rng.random() < 0.7
        args = {"db": database.name, "table": table.name, "values": list(one.values)}
        return Step("set_partition_location", {**args, "path": self._outside(), "directory": directory})

    def _create_view(self) -> Step | None:
        found = self._table()
        if found is None:
            return None
        free = [name for name in VIEWS if self._model.is_free(found[0].name, name)]
        if not free:
            return None
        return Step("create_view", {"db": found[0].name, "table": self._rng.choice(free), "base": found[1].name})

    def _drop_view(self) -> Step | None:
        views = [
            (database, table)
            for database, table in self._model.tables()
            if table.is_view and self._model.is_steady(database) and not self._model.is_awaited(database, table)
        ]
        if not views:
            return None
        database, table = self._rng.choice(views)
        return Step("drop_table", {"db": database.name, "table": table.name, "tidy": False, "what": "VIEW"})

    def _create_function(self) -> Step | None:
        database = self._database()
        free = [name for name in FUNCTIONS if database and name not in database.functions]
        return (
            Step("create_function", {"db": database.name, "function": self._rng.choice(free)})
            if database and free
            else None
        )

    def _drop_function(self) -> Step | None:
        database = self._database()
        if database is None or not database.functions:
            return None
        return Step("drop_function", {"db": database.name, "function": self._rng.choice(sorted(database.functions))})

    def _constraint(self) -> str:
        self._constraints += 1
        return f"{self._settings.prefix}_key_{self._constraints}"

    def _add_primary_key(self) -> Step | None:
        found = self._table(("plain", "external", "acid"))
        if found is None or any(key.child == key.parent == found[1].born for key in self._model.constraints):
            return None
        return Step("add_primary_key", {"db": found[0].name, "table": found[1].name, "constraint": self._constraint()})

    def _add_foreign_key(self) -> Step | None:
        child = self._table(("plain", "external", "acid"))
        parents = [
            table
            for table in (child[0].tables.values() if child else ())
            if child
            and table is not child[1]
            and self._model.is_calm(child[0], table)
            and any(key.child == key.parent == table.born for key in self._model.constraints)
        ]
        if child is None or not parents:
            return None
        parent = self._rng.choice(parents)
        args = {"db": child[0].name, "table": child[1].name, "parent": parent.name, "constraint": self._constraint()}
        return Step("add_foreign_key", args)

    def _drop_constraint(self) -> Step | None:
        found = self._table(("plain", "external", "acid"))
        mine = [key for key in self._model.constraints if found and key.child == found[1].born]
        # A primary key that others refer to stays.
        mine = [
            key
            for key in mine
            if key.child != key.parent
            or not any(o.parent == key.parent and o is not key for o in self._model.constraints)
        ]
        if found is None or not mine:
            return None
        return Step(
            "drop_constraint",
            {"db": found[0].name, "table": found[1].name, "constraint": self._rng.choice(mine).name},
        )

    def _set_statistics(self) -> Step | None:
        number = self._rng.randint(1, 99)
        if self._rng.random() < 0.5:
            one = self._partition(("external", "acid", "plain"))
            if one is not None:
                args = {"db": one[0].name, "table": one[1].name, "values": list(one[2].values), "number": number}
                return Step("set_statistics", args)
        found = self._table(("external", "acid", "plain"), keys=False)
        return (
            Step("set_statistics", {"db": found[0].name, "table": found[1].name, "number": number}) if found else None
        )

    def _set_property(self) -> Step | None:
        found = self._table(("external", "acid", "plain"))
        if found is None:
            return None
        return Step("set_property", {"db": found[0].name, "table": found[1].name, "number": self._rng.randint(1, 99)})

    def _grant(self) -> Step | None:
        # Only an owner grants: the tables of Spark belong to another user.
        found = self._table(("plain", "external", "acid"))
        if found is None:
            return None
        # The metastore refuses to grant what a user has already.
        self._users += 1
        return Step("grant", {"db": found[0].name, "table": found[1].name, "user": f"user{self._users}"})

    def _create_mv(self) -> Step | None:
        found = self._table(("acid",), keys=False)
        if found is None or self._is_base(*found) or not self._model.is_free(found[0].name, "m0"):
            return None
        if self._model.files.exists(f"{found[0].locations[1]}/m0"):
            return None
        return Step("create_mv", {"db": found[0].name, "table": "m0", "base": found[1].name})

    def _drop_mv(self) -> Step | None:
        found = self._table(("mv",))
        if found is None:
            return None
        args = {"db": found[0].name, "table": found[1].name, "tidy": False, "what": "MATERIALIZED VIEW"}
        return Step("drop_table", args)

    def _compact(self) -> Step | None:
        found = self._table(("acid",))
        if found is None:
            return None
        values = []
        if found[1].keys:
            if not found[1].partitions:
                return None
            values = list(self._rng.choice(list(found[1].partitions)))
        args = {
            "db": found[0].name,
            "table": found[1].name,
            "values": values,
            "how": self._rng.choice(("minor", "major")),
        }
        return Step("compact", args)

    # --- engines --------------------------------------------------------------------------------------------------

    def _target(self, forms: Sequence[Form]) -> tuple[Database, Table, list[str]] | None:
        found = self._table(forms)
        if found is None:
            return None
        database, table = found
        values: list[str] = []
        if table.keys:
            values = self._values(table)
            if self._rng.random() < 0.6 and table.partitions:
                values = list(self._rng.choice(list(table.partitions)))
            if tuple(values) not in table.partitions and (
                self._is_littered(table, values) or len(table.partitions) > MOST_PARTITIONS
            ):
                return None
        return database, table, values

    def _hive_insert(self) -> Step | None:
        found = self._target(("plain", "external", "acid"))
        if found is None:
            return None
        database, table, values = found
        return Step("hive_insert", {"db": database.name, "table": table.name, "values": values, "rows": self._rows()})

    def _hive_overwrite(self) -> Step | None:
        found = self._target(("plain", "external"))
        if found is None:
            return None
        database, table, values = found
        return Step(
            "hive_overwrite", {"db": database.name, "table": table.name, "values": values, "rows": self._rows()}
        )

    def _acid_with_rows(self) -> tuple[Database, Table, int] | None:
        found = self._table(("acid",))
        rows = self._model.rows(found[1]) if found else []
        if found is None or not rows:
            return None
        value = self._rng.choice(rows)[0]
        assert isinstance(value, int)
        return found[0], found[1], value

    def _acid_update(self) -> Step | None:
        found = self._acid_with_rows()
        if found is None:
            return None
        args = {"db": found[0].name, "table": found[1].name, "old": found[2], "new": next(self._model.values)}
        return Step("acid_update", args)

    def _acid_delete(self) -> Step | None:
        found = self._acid_with_rows()
        return Step("acid_delete", {"db": found[0].name, "table": found[1].name, "old": found[2]}) if found else None

    def _truncate(self) -> Step | None:
        found = self._table(("plain", "acid"))
        if found is None or (found[1].keys and not found[1].partitions) or self._shares(found[1]):
            return None
        return Step("truncate", {"db": found[0].name, "table": found[1].name})

    def _spark_rows(self, keys: Sequence[str]) -> list[list[object]]:
        return [[value, *(self._rng.choice(PLAIN_VALUES) for _ in keys)] for value in self._rows(4)]

    def _spark_create(self) -> Step | None:
        database = self._database()
        name = self._free_table(database) if database else None
        if database is None or name is None or self._model.files.exists(f"{database.locations[0]}/{name}"):
            return None
        keys: list[str] = self._rng.choice(([], ["p"]))
        args = {"db": database.name, "table": name, "form": "spark", "keys": keys, "rows": self._spark_rows(keys)}
        return Step("spark_create", args)

    def _spark_table(self) -> tuple[Database, Table] | None:
        found = self._table(("spark",))
        if found is None or any(
            not self._model.is_steady(found[0], found[1], one) for one in found[1].partitions.values()
        ):
            return None
        return found

    def _spark_replace(self) -> Step | None:
        found = self._spark_table()
        if found is None:
            return None
        database, table = found
        keys = list(table.keys)
        args = {"db": database.name, "table": table.name, "form": "spark", "keys": keys, "rows": self._spark_rows(keys)}
        return Step("spark_replace", args)

    def _spark_append(self) -> Step | None:
        return self._spark_write("spark_append")

    def _spark_overwrite(self) -> Step | None:
        return self._spark_write("spark_overwrite")

    def _spark_write(self, kind: str) -> Step | None:
        found = self._spark_table()
        if found is None:
            return None
        database, table = found
        rows = self._spark_rows(table.keys)
        if any(
            tuple(values) not in table.partitions and self._is_littered(table, [str(v) for v in values])
            for _, *values in rows
        ):
            return None
        return Step(kind, {"db": database.name, "table": table.name, "keys": list(table.keys), "rows": rows})

    # --- HDFS -----------------------------------------------------------------------------------------------------

    def _delete(self, database: str, path: str, kind: str = "delete") -> Step:
        return Step(kind, {"db": database, "path": path, "trash": self._rng.random() < 0.6})

    def _delete_table(self) -> Step | None:
        found = self._table(("plain", "external", "acid", "spark", "mv"), awaited=True)
        return self._delete(found[0].name, found[1].path) if found else None

    def _delete_partition(self) -> Step | None:
        found = self._partition(awaited=True)
        if found is None:
            return None
        database, table, one = found
        path = one.path
        if len(table.keys) == 2 and self._rng.random() < 0.4 and path.startswith(table.path + "/"):
            # All partitions of one value.
            path = path.rpartition("/")[0]
        return self._delete(database.name, path)

    def _delete_database(self) -> Step | None:
        """Both directories, or the one that is left."""
        database = self._database(awaited=True)
        if database is None:
            return None
        paths = [path for path in database.locations if self._model.files.exists(path)]
        return Step("delete_database", {"db": database.name, "paths": paths, "trash": self._rng.random() < 0.7})

    def _delete_one_location(self) -> Step | None:
        database = self._database(awaited=True)
        paths = [path for path in database.locations if self._model.files.exists(path)] if database else []
        return self._delete(database.name, self._rng.choice(paths)) if database and len(paths) > 1 else None

    def _delete_outside(self) -> Step | None:
        """A directory that lies outside of the warehouse."""
        found = [
            (database.name, path)
            for database, table in self._model.tables()
            for path in table.paths()
            if path.startswith(self._settings.root + "/") and self._model.files.exists(path)
        ]
        if not found:
            return None
        return self._delete(*self._rng.choice(found))

    def _come_and_go(self) -> Step | None:
        """A directory goes to the trash and comes back, a few times, at once; at last it is there, or not."""
        one = self._partition()
        if one is not None and self._rng.random() < 0.5:
            name, path = one[0].name, one[2].path
        else:
            found = self._table(("plain", "external", "acid", "spark"))
            if found is None:
                return None
            name, path = found[0].name, found[1].path
        back = self._rng.random() < 0.5
        return Step("come_and_go", {"db": name, "path": path, "times": self._rng.randint(1, 3), "back": back})

    def _leaf(self) -> tuple[Database, str] | None:
        """A directory with files: of a partition or an unpartitioned table that is no ACID table."""
        one = self._partition(("plain", "external", "spark"))
        if one is not None and self._rng.random() < 0.6:
            return one[0], one[2].path
        found = self._table(("plain", "external", "spark"), keys=False)
        return (found[0], found[1].path) if found else None

    def _delete_files(self) -> Step | None:
        found = self._leaf()
        return Step("delete_files", {"db": found[0].name, "path": found[1]}) if found else None

    def _shell_rm(self) -> Step | None:
        found = self._table(("plain", "external", "acid", "spark"), awaited=True)
        return self._delete(found[0].name, found[1].path, "shell_rm") if found else None

    def _move_away(self) -> Step | None:
        if not self._settings.short_waits:
            return None
        place = f"{self._settings.root}/away/a{next(self._model.outside)}"
        one = self._partition(awaited=True)
        if one is not None and self._rng.random() < 0.5:
            return Step("move_away", {"db": one[0].name, "path": one[2].path, "place": place})
        found = self._table(("plain", "external", "acid", "spark"), awaited=True)
        return Step("move_away", {"db": found[0].name, "path": found[1].path, "place": place}) if found else None

    def _bring_back(self) -> Step | None:
        possible = [paths for path in sorted(self._model.kept) if (paths := self._model.back_with(path))]
        if not possible:
            return None
        paths = self._rng.choice(possible)
        return Step("bring_back", {"paths": self._rng.sample(paths, len(paths))})

    def _remake(self) -> Step | None:
        """A directory is made again in the place of one that is deleted; at last it is there, or in the trash."""
        found = self._leaf()
        if found is None:
            return None
        back = self._rng.random() < 0.6
        return Step("remake", {"db": found[0].name, "path": found[1], "times": self._rng.randint(1, 2), "back": back})
