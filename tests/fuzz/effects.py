"""What each step does to the model at once. What the mirror makes of it comes with `Model.settle`."""

from __future__ import annotations

from posixpath import dirname
from typing import TYPE_CHECKING

from tests.fuzz.objects import Constraint, Database, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fuzz.model import Model
    from tests.fuzz.steps import Outcome, Step


def apply(model: Model, step: Step, outcome: Outcome) -> None:
    """Change the model as a step that succeeded has changed the warehouse."""
    effect = EFFECTS.get(step.kind)
    if effect is not None:
        effect(model, step, outcome)


def _database(model: Model, step: Step) -> Database:
    return model.databases[step["db"]]


def _table(model: Model, step: Step, name: str = "table") -> Table:
    return _database(model, step).tables[step[name]]


# --- Hive's definitions -----------------------------------------------------------------------------------------------


def create_database(model: Model, step: Step, outcome: Outcome) -> None:
    locations = (outcome.location, outcome.managed_location)
    model.databases[step["db"]] = Database(step["db"], locations, model.born())
    if not step["path"]:
        model.roots.update(map(dirname, locations))
    for path in locations:
        model.files.make(path)


def drop_database(model: Model, step: Step, outcome: Outcome) -> None:
    database = model.databases.pop(step["db"])
    for table in database.tables.values():
        model.drop_constraints(table.born)
    model.forget(outcome.gone)
    for path in database.locations:
        model.forget_kept(path)


def create_table(model: Model, step: Step, outcome: Outcome) -> None:
    """A table that Hive or Spark has made."""
    table = Table(step["table"], step["form"], outcome.location, model.born(), tuple(step.get("keys", ())))
    _database(model, step).tables[step["table"]] = table
    if table.path:
        model.files.make(table.path)
    model.learn_partitions(table, outcome.partitions)


def drop_table(model: Model, step: Step, outcome: Outcome) -> None:
    table = _database(model, step).tables.pop(step["table"])
    model.drop_constraints(table.born)
    model.forget(outcome.gone)
    for path in table.paths():
        model.forget_kept(path)


def rename_table(model: Model, step: Step, outcome: Outcome) -> None:
    database = _database(model, step)
    table = database.tables.pop(step["table"])
    target = model.databases[step["other_db"]]
    old, table.name, table.path = table.path, step["name"], outcome.location
    target.tables[table.name] = table
    if old != table.path:
        model.files.make(table.path.rpartition("/")[0])
        model.files.move(old, table.path)
        model.forget_kept(old)
    model.learn_partitions(table, outcome.partitions)


def set_location(model: Model, step: Step, _: Outcome) -> None:
    if step["directory"]:
        model.files.make(step["path"])
    _table(model, step).path = step["path"]


def widen(model: Model, step: Step, _: Outcome) -> None:
    _table(model, step).widened = True


def add_partitions(model: Model, step: Step, outcome: Outcome) -> None:
    model.learn_partitions(_table(model, step), outcome.partitions)


def drop_partition(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    one = table.partitions.pop(tuple(step["values"]))
    model.forget(outcome.gone)
    model.forget_kept(one.path)


def rename_partition(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    one = table.partitions.pop(tuple(step["values"]))
    values = tuple(step["new_values"])
    name, path = outcome.partitions[values]
    if path != one.path:
        model.files.make(path.rpartition("/")[0])
        model.files.move(one.path, path)
        model.forget_kept(one.path)
    one.values, one.name, one.path = values, name, path
    table.partitions[values] = one


def set_partition_location(model: Model, step: Step, _: Outcome) -> None:
    if step["directory"]:
        model.files.make(step["path"])
    _table(model, step).partitions[tuple(step["values"])].path = step["path"]


def create_view(model: Model, step: Step, _: Outcome) -> None:
    _database(model, step).tables[step["table"]] = Table(step["table"], "view", "", model.born())


def create_mv(model: Model, step: Step, outcome: Outcome) -> None:
    rows = list(model.files.make(_table(model, step, "base").path).rows)
    _database(model, step).tables[step["table"]] = Table(step["table"], "mv", outcome.location, model.born())
    model.files.make(outcome.location).rows = rows


def create_function(model: Model, step: Step, _: Outcome) -> None:
    _database(model, step).functions.add(step["function"])


def drop_function(model: Model, step: Step, _: Outcome) -> None:
    _database(model, step).functions.discard(step["function"])


def add_primary_key(model: Model, step: Step, _: Outcome) -> None:
    born = _table(model, step).born
    model.constraints.append(Constraint(step["constraint"], born, born))


def add_foreign_key(model: Model, step: Step, _: Outcome) -> None:
    child, parent = _table(model, step).born, _table(model, step, "parent").born
    model.constraints.append(Constraint(step["constraint"], child, parent))


def drop_constraint(model: Model, step: Step, _: Outcome) -> None:
    model.constraints = [key for key in model.constraints if key.name != step["constraint"]]


# --- rows -------------------------------------------------------------------------------------------------------------


def _place(table: Table, step: Step) -> str:
    return table.partitions[tuple(step["values"])].path if table.keys else table.path


def insert(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    if table.keys:
        model.learn_partitions(table, outcome.partitions)
    model.write(_place(table, step), step["rows"])


def overwrite(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    if table.keys:
        model.learn_partitions(table, outcome.partitions)
    model.write(_place(table, step), step["rows"], overwrite=True)


def acid_update(model: Model, step: Step, _: Outcome) -> None:
    for path in _row_places(_table(model, step)):
        node = model.files.get(path)
        if node:
            node.rows = [step["new"] if value == step["old"] else value for value in node.rows]


def acid_delete(model: Model, step: Step, _: Outcome) -> None:
    for path in _row_places(_table(model, step)):
        node = model.files.get(path)
        if node:
            node.rows = [value for value in node.rows if value != step["old"]]


def truncate(model: Model, step: Step, _: Outcome) -> None:
    for path in _row_places(_table(model, step)):
        node = model.files.get(path)
        if node:
            node.rows = []


def _row_places(table: Table) -> list[str]:
    return [one.path for one in table.partitions.values()] if table.keys else [table.path]


def spark_create(model: Model, step: Step, outcome: Outcome) -> None:
    create_table(model, step, outcome)
    _write_groups(model, step, overwrite=False)


def spark_replace(model: Model, step: Step, outcome: Outcome) -> None:
    """saveAsTable with mode overwrite drops the table and makes another."""
    database = _database(model, step)
    old = database.tables.pop(step["table"])
    model.drop_constraints(old.born)
    for path in old.paths():
        if model.files.exists(path):
            model.delete(path)
        model.forget_kept(path)
    spark_create(model, step, outcome)


def spark_append(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    if table.keys:
        model.learn_partitions(table, outcome.partitions)
    _write_groups(model, step, overwrite=False)


def spark_overwrite(model: Model, step: Step, outcome: Outcome) -> None:
    table = _table(model, step)
    if table.keys:
        model.learn_partitions(table, outcome.partitions)
    _write_groups(model, step, overwrite=True)


def _write_groups(model: Model, step: Step, *, overwrite: bool) -> None:
    """Rows are [value, *partition values]."""
    table = _table(model, step)
    groups: dict[tuple[str, ...], list[int]] = {}
    for value, *values in step["rows"]:
        groups.setdefault(tuple(values), []).append(value)
    for values, rows in groups.items():
        path = table.partitions[values].path if table.keys else table.path
        if overwrite and table.keys and model.files.exists(path):
            # Spark deletes the directory of a partition that it overwrites.
            model.remake(path)
        model.write(path, rows, overwrite=overwrite)


# --- HDFS -------------------------------------------------------------------------------------------------------------


def delete(model: Model, step: Step, outcome: Outcome) -> None:
    if step["path"] in outcome.places:
        model.keep(step["path"], outcome.places[step["path"]])
    else:
        model.delete(step["path"])


def come_and_go(model: Model, step: Step, outcome: Outcome) -> None:
    if step["path"] in outcome.places:
        model.keep(step["path"], outcome.places[step["path"]])
    else:
        model.return_at_once(step["path"])


def delete_database(model: Model, step: Step, outcome: Outcome) -> None:
    for path in step["paths"]:
        if path in outcome.places:
            model.keep(path, outcome.places[path])
        elif model.files.exists(path):
            model.delete(path)


def delete_files(model: Model, step: Step, _: Outcome) -> None:
    model.files.make(step["path"]).rows = []


def move_away(model: Model, step: Step, _: Outcome) -> None:
    model.keep(step["path"], step["place"])


def bring_back(model: Model, step: Step, _: Outcome) -> None:
    for path in step["paths"]:
        model.bring_back(path)


def remake(model: Model, step: Step, outcome: Outcome) -> None:
    model.remake(step["path"])
    if step["path"] in outcome.places:
        model.keep(step["path"], outcome.places[step["path"]])


def tidy(model: Model, step: Step, _: Outcome) -> None:
    for path in step["paths"]:
        model.delete(path)
        model.forget_kept(path)


EFFECTS: dict[str, Callable[[Model, Step, Outcome], None]] = {
    "create_database": create_database,
    "drop_database": drop_database,
    "create_table": create_table,
    "drop_table": drop_table,
    "rename_table": rename_table,
    "set_location": set_location,
    "widen": widen,
    "add_partitions": add_partitions,
    "drop_partition": drop_partition,
    "rename_partition": rename_partition,
    "set_partition_location": set_partition_location,
    "create_view": create_view,
    "create_mv": create_mv,
    "create_function": create_function,
    "drop_function": drop_function,
    "add_primary_key": add_primary_key,
    "add_foreign_key": add_foreign_key,
    "drop_constraint": drop_constraint,
    "hive_insert": insert,
    "hive_overwrite": overwrite,
    "acid_update": acid_update,
    "acid_delete": acid_delete,
    "truncate": truncate,
    "spark_create": spark_create,
    "spark_replace": spark_replace,
    "spark_append": spark_append,
    "spark_overwrite": spark_overwrite,
    "delete": delete,
    "shell_rm": delete,
    "come_and_go": come_and_go,
    "delete_files": delete_files,
    "delete_database": delete_database,
    "move_away": move_away,
    "bring_back": bring_back,
    "remake": remake,
    "tidy": tidy,
}
