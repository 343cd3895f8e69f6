"""What came of asking an engine: rows or a refusal, and the tally of many statements."""

from __future__ import annotations

import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.answers.compare import Expected, Row, difference
from tests.answers.statements import HIVE, SPARK, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

GUARD = "Answer guard:"
# The guard met an error of its own.
UNREAD = f"{GUARD} this statement cannot be read"
# What HiveServer2 says before the reason, of statements that it has planned and run as well.
COMPILING = "Error while compiling statement: "
# The second as hopshive's failure hook writes it.
RUNNING = ("Execution Error, return code", "hopshive.Reason(")
# What Spark's errors begin with that are none of its own sentences.
CALLING = "An error occurred while calling "
# What engines say of random statements that they do not answer: words of `Refused.reason`. Anything else is a fault.
KNOWN: Mapping[Dialect, Sequence[str]] = {
    HIVE: (
        # HAVING over a SELECT whose aggregates stand below an expression.
        "HAVING specified without GROUP BY",
        # What the planner without CBO, or the one with it, does not know: the guard leaves CBO out for some statements.
        "Unsupported SubQuery Expression",
        "operator SubQuery must be Correlated",
        # A correlated scalar subquery with an aggregate of a DECIMAL: an AssertionError of CBO (docs/troubleshooting.md).
        "Error running query",
        # EXISTS over a join beside subtotals, whatever the planner.
        "NullPointerException",
        # GROUPING() of a single grouping set beside them: CBO fails, and only CBO plans them (docs/troubleshooting.md).
        "EXCEPT and INTERSECT operations are only supported with Cost Based Optimizations",
    ),
    SPARK: (
        # A subquery's HAVING or ORDER BY that names a column of the query around it.
        "[UNRESOLVED_COLUMN",
        # A DECIMAL of ORC compared with a NULL of a scalar subquery (docs/troubleshooting.md).
        "[FAILED_READ_FILE",
    ),
}


class Refused(Exception):
    """An engine has no answer. `reason` is its sentence without names and numbers; `lost` that the engine went away.

    `guarded`: the guard of answers refused. `failed`: the statement was planned and did not run to its end, or in time.
    """

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.reason = reason(message)
        self.guarded = GUARD in message
        self.lost = lost
        self.failed = lost or any(words in message for words in RUNNING) or message.startswith(CALLING)


def one_line(refused: Refused) -> str:
    """What an engine said, for a line of a report."""
    return " ".join(str(refused).split())[:500]


def reason(message: str) -> str:
    """The sentence that many refusals share."""
    lines = [line for line in message.strip().splitlines() if not line.startswith(CALLING)]
    line = lines[0].removeprefix(": ") if lines else "no message"
    for prefix in (COMPILING, "Error running query: "):
        line = line.removeprefix(prefix)
    line = re.sub(r"vertexName=.*?diagnostics=\[|vertexId=.*?diagnostics=\[|taskId=.*?diagnostics=\[", "", line)
    line = re.sub(r"line \d+:\d+\b", "line", line)
    line = re.sub(r"0x[0-9a-f]+|\b[\w.]*\d[\w.]*\b|'[^']*'|`[^`]*`", "~", line)
    return line[:160]


@dataclass
class Tally:
    """What came of the statements of one engine."""

    asked: int = 0
    equal: int = 0
    different: int = 0
    guarded: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    # Answered only when they were asked again, alone: a loaded machine, or an engine that does not always answer.
    late: int = 0
    seconds: float = 0.0

    @property
    def refusals(self) -> int:
        """Statements without an answer, but for those that the guard of answers refuses: that is what it is for."""
        return sum(self.refused.values()) - self.guarded


@dataclass(frozen=True)
class Outcome:
    """An engine's rows, or why there are none."""

    rows: Sequence[Row] = ()
    refused: Refused | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the engine may answer when it is asked again."""
        return self.refused is not None and self.refused.failed


@contextmanager
def askers(number: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads that ask. A run that is ended waits for what they ask, and not for all that they were to ask."""
    pool = ThreadPoolExecutor(number)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def ask(answer: Callable[[], Sequence[Row]]) -> Outcome:
    """Rows or the refusal, and how long it took."""
    begin = time.monotonic()
    try:
        rows = answer()
    except Refused as error:
        return Outcome(refused=error, seconds=time.monotonic() - begin)
    return Outcome(rows, seconds=time.monotonic() - begin)


def ask_again(
    outcomes: Mapping[Dialect, Outcome],
    answers: Mapping[Dialect, Callable[[], Sequence[Row]]],
    tallies: Mapping[Dialect, Tally],
    name: str,
    say: Callable[[str], None],
) -> dict[Dialect, Outcome]:
    """The outcomes; those that failed or ran out of time are asked again, alone."""
    settled = dict(outcomes)
    for engine, outcome in outcomes.items():
        if outcome.refused and outcome.failed:
            say(f"{name}: {engine} failed after {outcome.seconds:.0f} s, asked again: {one_line(outcome.refused)}")
            settled[engine] = ask(answers[engine])
            tallies[engine].late += not settled[engine].refused
    return settled


def judge(tally: Tally, wanted: Expected, outcome: Outcome) -> str:
    """Count an outcome; what is wrong with it, or nothing."""
    tally.asked += 1
    tally.seconds += outcome.seconds
    if outcome.refused:
        tally.refused[outcome.refused.reason] += 1
        tally.guarded += outcome.refused.guarded
        tally.lost += outcome.refused.lost
        return ""
    wrong = difference(wanted, outcome.rows)
    tally.different += bool(wrong)
    tally.equal += not wrong
    return wrong
