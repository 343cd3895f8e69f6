"""Random statements, each answered by all engines: what differs, made small; what was refused, and why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.answers.compare import Expected, difference
from tests.answers.engines import PATIENT, Hive, Reference, Spark
from tests.answers.generate import statement
from tests.answers.outcome import Outcome, Refused, Tally, ask, ask_again, askers, judge, one_line
from tests.answers.reduce import reduced
from tests.answers.statements import DUCKDB, HIVE, SPARK, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from tests.answers.compare import Row
    from tests.answers.generate import Statement
    from tests.answers.statements import Dialect, Query
    from tests.warehouse import Warehouse

# What a reduction costs at most: statements on each engine that is wrong.
TRIES = 150
# Settings of Hive that may make a wrong answer right: they say which part of it is wrong.
CURES = (
    ("hive.vectorized.execution.enabled", "false"),
    ("hive.vectorized.execution.ptf.enabled", "false"),
    ("hive.vectorized.complex.types.enabled", "false"),
    ("hive.auto.convert.join", "false"),
    ("hive.optimize.topnkey", "false"),
    ("hive.cbo.rule.exclusion.regex", ".*(ReduceExpressions|PullUpConstants|PushTransitivePredicates|Empty).*"),
    ("hive.optimize.shared.work", "false"),
    ("hive.optimize.ppd", "false"),
    ("hive.optimize.constant.propagation", "false"),
    ("hive.optimize.semijoin.conversion", "false"),
    ("hive.tez.dynamic.semijoin.reduction", "false"),
    ("hive.auto.convert.anti.join", "false"),
    ("hive.optimize.joinreducededuplication", "false"),
    ("hive.optimize.reducededuplication", "false"),
    ("hive.map.aggr", "false"),
    ("hive.stats.fetch.column.stats", "false"),
    ("hive.compute.query.using.stats", "false"),
    ("hive.optimize.metadataonly", "false"),
    ("hive.cbo.enable", "false"),
)


class Run:
    """Statements of one seed."""

    def __init__(
        self,
        warehouse: Warehouse,
        server: tuple[str, int],
        database: str,
        seed: int,
        *,
        without: frozenset[str] = frozenset(),
        settings: Mapping[str, str] | None = None,
        sessions: int = 2,
        reduce: bool = True,
        say: Callable[[str], None] = print,
    ) -> None:
        self.tallies: dict[Dialect, Tally] = {HIVE: Tally(), SPARK: Tally(), DUCKDB: Tally()}
        self.different: list[int] = []
        self._seed = seed
        self._without = without
        self._settings = dict(settings or {})
        self._reduce = reduce
        self._say = say
        self._reference = Reference()
        self._reference.make()
        self._spark = Spark(warehouse, database)
        self._hives = [Hive(server, database, self._settings) for _ in range(sessions)]
        self._patient_spark = Spark(warehouse, database, PATIENT)
        self._patient_hive = Hive(server, database, self._settings, PATIENT)

    def do(self, numbers: Iterable[int]) -> None:
        """Ask all engines, compare, and say what differs."""
        free = list(self._hives)
        statements = [statement(self._seed, number, self._without) for number in numbers]

        def hive(one: Statement) -> Outcome:
            session = free.pop()
            try:
                return ask(lambda: session.answer(one.query, one.settings))
            finally:
                free.append(session)

        def spark(one: Statement) -> Outcome:
            return ask(lambda: self._spark.answer(one.query))

        wrong: list[tuple[Statement, dict[str, str]]] = []
        with askers(len(free)) as hives, askers(1) as sparks:
            asked: list[tuple[Statement, dict[Any, Future[Outcome]]]] = []
            for one in statements:
                futures = {HIVE: hives.submit(hive, one)}
                if one.spark:
                    futures[SPARK] = sparks.submit(spark, one)
                asked.append((one, futures))
            failed = []
            for one, futures in asked:
                outcomes = {engine: future.result() for engine, future in futures.items()}
                if any(outcome.failed for outcome in outcomes.values()):
                    failed.append((one, outcomes))
                elif found := self._compare(one, outcomes):
                    wrong.append((one, found))
        self._spark.close()
        for one, outcomes in failed:
            patient: dict[Any, Callable[[], Sequence[Row]]] = {
                HIVE: lambda one=one: self._patient_hive.answer(one.query, one.settings),  # type: ignore[misc]
                SPARK: lambda one=one: self._patient_spark.answer(one.query),  # type: ignore[misc]
            }
            outcomes = ask_again(outcomes, patient, self.tallies, f"statement {one.number}", self._say)
            if found := self._compare(one, outcomes):
                wrong.append((one, found))
        self._patient_spark.close()
        for one, found in wrong:
            self.different.append(one.number)
            self._report(one, found)

    def close(self) -> None:
        """End the sessions of Hive."""
        for hive in (*self._hives, self._patient_hive):
            hive.close()
        for spark in (self._spark, self._patient_spark):
            spark.close()

    def _compare(self, one: Statement, outcomes: dict[Any, Outcome]) -> dict[str, str]:
        """What is wrong, by engine."""
        begin = time.monotonic()
        try:
            wanted = self._reference.expect(one.query)
        except Refused as error:
            judge(self.tallies[DUCKDB], Expected((), ()), Outcome(refused=error))
            return {}
        mine = self.tallies[DUCKDB]
        mine.asked += 1
        mine.equal += 1
        mine.seconds += time.monotonic() - begin
        found = {}
        for engine, outcome in outcomes.items():
            if outcome.refused:
                self._say(f"statement {one.number}: {engine} refused: {one_line(outcome.refused)}")
            if wrong := judge(self.tallies[engine], wanted, outcome):
                self._say(f"statement {one.number}: {engine}: {wrong[:300]}")
                found[engine] = wrong
        return found

    # --- what differs ----------------------------------------------------------------------------------------------

    def _report(self, one: Statement, found: dict[str, str]) -> None:
        engines = list(found)
        query, settings = one.query, one.settings
        if self._reduce:
            query = reduced(query, lambda smaller: self._is_wrong(smaller, settings, engines[0]), TRIES)
            if HIVE in engines:
                settings = self._needed(query, settings)
        lines = ["", f"DIFFERENT: statement {one.number} of seed {self._seed}: {', '.join(engines)}"]
        lines += [f"  SET {name}={value};" for name, value in {**self._settings, **settings}.items()]
        lines.append(f"  {text(query, HIVE)}")
        if text(query, SPARK) != text(query, HIVE):
            lines.append(f"  in Spark: {text(query, SPARK)}")
        if text(query, DUCKDB) != text(query, HIVE):
            lines.append(f"  in DuckDB: {text(query, DUCKDB)}")
        wanted = self._reference.expect(query)
        lines.append(f"  duckdb: {_shown(wanted.rows)}")
        lines.append(f"  hive:   {self._shown(lambda: self._hives[0].answer(query, settings))}")
        lines.append(
            f"  spark:  {self._shown(lambda: self._spark.answer(query)) if one.spark else 'does not read full ACID'}"
        )
        if HIVE in engines and self._reduce:
            cures = [f"{name}={value}" for name, value in CURES if self._is_right(query, {**settings, name: value})]
            lines.append(f"  right with: {', '.join(cures) or 'none of the settings that were tried'}")
        without = f" --without {','.join(sorted(self._without))}" if self._without else ""
        lines.append(f'  again: make answers SEED={self._seed} ARGS="--statement {one.number}{without}"')
        self._say("\n".join(lines))

    def _is_wrong(self, query: Query, settings: Mapping[str, str], engine: str) -> bool:
        """Whether an engine has an answer that is not DuckDB's."""
        try:
            wanted = self._reference.expect(query)
            rows = self._hives[0].answer(query, settings) if engine == HIVE else self._spark.answer(query)
        except Refused:
            return False
        return bool(difference(wanted, rows))

    def _is_right(self, query: Query, settings: Mapping[str, str]) -> bool:
        """Whether Hive has DuckDB's answer."""
        outcome = ask(lambda: self._hives[0].answer(query, settings))
        return not outcome.refused and not difference(self._reference.expect(query), outcome.rows)

    def _needed(self, query: Query, settings: Mapping[str, str]) -> dict[str, str]:
        """The settings without which the answer is right."""
        needed = dict(settings)
        for name in settings:
            fewer = {other: value for other, value in needed.items() if other != name}
            if self._is_wrong(query, fewer, HIVE):
                needed = fewer
        return needed

    def _shown(self, answer: Callable[[], Sequence[Row]]) -> str:
        outcome = ask(answer)
        return f"refused: {outcome.refused}" if outcome.refused else _shown(outcome.rows)


def _shown(rows: Sequence[Row], most: int = 12) -> str:
    return f"{len(rows)} rows: " + " ".join(map(str, rows[:most])) + (" ..." if len(rows) > most else "")
