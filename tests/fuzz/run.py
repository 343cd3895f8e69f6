"""One run: steps, quiet points between them, and what is told when something is wrong."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fuzz import compare
from tests.fuzz.choose import Chooser, Settings
from tests.fuzz.drive import Driver
from tests.fuzz.effects import apply
from tests.fuzz.model import Model
from tests.fuzz.steps import ENGINE_WRITES, QUIET, TIDY, Step
from tests.warehouse.hdfs import SUPERUSER

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from tests.fuzz.model import Settled
    from tests.warehouse import Warehouse

# Of twenty steps, so many at least write data with an engine.
ENGINE_EVERY = 8
# Draws in a row that found nothing to do.
MOST_VAIN = 100
# Tables whose rows are read at a quiet point, at most.
MOST_READ = 6
TIMEOUT = 90.0
# The sweep looks twice at what it finds, a minute apart, and runs now and then.
SWEPT = 180.0


class Failure(Exception):
    """The warehouse is not what the model says, or refused a step. `lines` say how."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass
class Report:
    """Figures of a run."""

    steps: Counter[str] = field(default_factory=Counter)
    quiet_points: int = 0
    seconds: float = 0.0
    quiet_seconds: float = 0.0
    by_kind: Counter[str] = field(default_factory=Counter)
    removed: int = 0
    restored: int = 0

    @property
    def total(self) -> int:
        """All steps but the quiet points."""
        return sum(self.steps.values())

    @property
    def engine_writes(self) -> int:
        """Steps in which an engine wrote data."""
        return sum(count for kind, count in self.steps.items() if kind in ENGINE_WRITES)


class Run:
    """Steps drawn at random, or read from a file, done one after the other."""

    def __init__(
        self, warehouse: Warehouse, settings: Settings, rng: random.Random, say: Callable[[str], None] = print
    ) -> None:
        self.model = Model()
        self.done: list[Step] = []
        self.report = Report()
        self._warehouse = warehouse
        self._settings = settings
        self._rng = rng
        self._say = say
        self._driver = Driver(warehouse, self.model, settings)
        self._chooser = Chooser(rng, self.model, settings)
        # Tables whose rows are to be read.
        self._unread: set[int] = set()
        # What each object was at the last quiet point; of those that nothing changed since then.
        self._prints: dict[int, compare.Print] = {}
        # What compactions may change at any time.
        self._restless: set[int] = set()
        self._since_engine = 0
        self._checkpoints: set[str] = set()

    def prepare(self) -> None:
        """Remove what an earlier run has left, and wait for quiet."""
        self._driver.prepare()
        self._checkpoints = self._warehouse.hdfs.checkpoints()
        self._warehouse.wait_quiet(TIMEOUT)

    def draw(self, steps: int) -> None:
        """Do so many steps at random, with quiet points between them and one at the end. Raises Failure."""
        until_quiet = self._rng.randint(4, 24)
        vain = 0
        while self.report.total < steps:
            engine = self._since_engine >= ENGINE_EVERY
            step = self._chooser.next(engine=engine)
            vain = vain + 1 if step.kind == "pass" else 0
            if vain > MOST_VAIN:
                raise Failure(["no step is possible any more: all names are taken, or awaited by what is back"])
            self.do(step)
            until_quiet -= 1
            if until_quiet <= 0 or self.report.total >= steps:
                self.do(Step(QUIET))
                until_quiet = self._rng.randint(4, 24)
        self._must_be_swept()

    def replay(self, steps: Iterable[Step]) -> None:
        """Do given steps; those that their predecessors no longer make possible are left out. Raises Failure."""
        for step in steps:
            try:
                self.do(step)
            except (KeyError, AssertionError) as error:
                self._say(f"  left out: {step} ({error!r})")
        if not self.done or self.done[-1].kind != QUIET:
            self.do(Step(QUIET))

    def do(self, step: Step) -> None:
        """Do one. Raises Failure."""
        begin = time.monotonic()
        if step.kind == QUIET:
            self.done.append(step)
            self._quiet()
            return
        if step.kind == "pass":
            return
        self._follow_checkpoints()
        outcome = self._driver.do(step)
        self.done.append(step)
        seconds = time.monotonic() - begin
        self._say(f"{len(self.done):5} {seconds:6.2f} s  {step}")
        if not outcome.ok:
            raise Failure([f"{step.kind} was refused: {outcome.error}"])
        before = self._objects(step)
        apply(self.model, step, outcome)
        self._note(step, before)
        if step.kind != TIDY:
            self.report.steps[step.kind] += 1
        self.report.by_kind[step.kind] += round(seconds * 1000)
        self.report.seconds += seconds
        self._since_engine = 0 if step.kind in ENGINE_WRITES else self._since_engine + 1

    def _follow_checkpoints(self) -> None:
        """Once an hour the trash does what no step asks for."""
        found = self._warehouse.hdfs.checkpoints()
        for name in sorted(found - self._checkpoints):
            self.model.checkpoint(f"/user/{SUPERUSER}/.Trash/Current", name)
        self._checkpoints = found

    def _objects(self, step: Step) -> set[int]:
        """The table that a step is about, and its partitions."""
        table = self.model.table(step.get("db", ""), step.get("table", ""))
        return {table.born, *(one.born for one in table.partitions.values())} if table else set()

    def _note(self, step: Step, before: set[int]) -> None:
        """Rows and metadata of what a step was about are looked at again."""
        born = before | self._objects(step)
        self._unread |= born
        for one in born:
            self._prints.pop(one, None)
        if step.kind == "compact":
            self._restless |= born
        for path in [step.get("path", ""), *step.get("paths", [])]:
            if path:
                self._unread |= {
                    table.born
                    for _, table in self.model.tables()
                    if any(one.startswith(path) or path.startswith(one) for one in table.paths())
                }

    # --- quiet points -----------------------------------------------------------------------------------------------

    def _quiet(self) -> None:
        begin = time.monotonic()
        try:
            self._warehouse.wait_quiet(TIMEOUT)
        except Exception as error:
            raise Failure([f"{type(error).__name__}: {error}"]) from error
        waited = time.monotonic() - begin
        settled = self.model.settle()
        prefix = self._settings.prefix
        lines = compare.differing_objects(self._warehouse, self._driver, self.model, prefix)
        if not lines:
            lines += compare.differing_checks(self._warehouse.check(), self.model)
            lines += compare.differing_lists(self._warehouse, self.model, self._rng, prefix)
            lines += self._differing_prints(settled)
            lines += self._differing_rows(settled)
        seconds = time.monotonic() - begin
        self.report.quiet_points += 1
        self.report.seconds += seconds
        self.report.quiet_seconds += seconds
        self.report.removed += len(settled.removed)
        self.report.restored += len(settled.restored)
        self._say(
            f"      {seconds:6.2f} s  quiet after {waited:.2f} s: {len(settled.removed)} removed,"
            f" {len(settled.restored)} restored, {sum(1 for _ in self.model.tables())} tables"
        )
        if lines:
            raise Failure(lines)
        strangers = sorted(self.model.strangers())
        if strangers:
            self.do(Step(TIDY, {"paths": strangers}))

    def _must_be_swept(self) -> None:
        """All garbage is collected in time."""
        deadline = time.monotonic() + SWEPT
        while garbage := [one.text for one in self._warehouse.check() if one.kind == compare.GARBAGE]:
            if time.monotonic() > deadline:
                raise Failure([f"hopshive check after {SWEPT:.0f} s: {text}" for text in garbage])
            time.sleep(5)

    def _differing_prints(self, settled: Settled) -> list[str]:
        """Whether what came back is what it was, and remember what is."""
        found = compare.prints(self._warehouse, self._settings.prefix)
        lines = []
        for database, table in self.model.tables():
            objects: list[tuple[tuple[str, ...], int]] = [((database.name, table.name), table.born)]
            objects += [((database.name, table.name, one.name), one.born) for one in table.partitions.values()]
            for key, born in objects:
                name = "/".join([".".join(key[:2]), *key[2:]])
                now, known = found.get(key, ()), self._prints.get(born)
                if name in settled.restored and known is not None and now != known and born not in self._restless:
                    lines += [f"{name} came back without {row}" for row in known if row not in now]
                    lines += [f"{name} came back with {row}" for row in now if row not in known]
                self._prints[born] = now
        return lines

    def _differing_rows(self, settled: Settled) -> list[str]:
        lines: list[str] = []
        restored = {name.partition("/")[0] for name in settled.restored}
        candidates = [
            (database, table)
            for database, table in self.model.tables()
            if not table.is_view
            and table.form != "mv"
            and (table.born in self._unread or f"{database.name}.{table.name}" in restored)
        ]
        self._rng.shuffle(candidates)
        for database, table in candidates[:MOST_READ]:
            lines += compare.differing_rows(self._warehouse, self.model, database, table)
            self._unread.discard(table.born)
        return lines
