"""A thread of the leader: it works in steps, serves requests between them, and survives errors that pass."""

from __future__ import annotations

import logging
import random
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.daemon import request
from hopshive.daemon.lease import monotonic
from hopshive.daemon.request import RequestFailed
from hopshive.database import Contention, DatabaseError, DatabaseUnavailable, LostLease
from hopshive.errors import Refused
from hopshive.hdfs.namenode import AnotherFileSystem, NameNodeError, NameNodeUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hopshive.daemon.lease import Fenced, Term
    from hopshive.daemon.metrics import Metrics
    from hopshive.daemon.request import Doing, Handler, Progress, Request, State
    from hopshive.database import Database

log = logging.getLogger(__name__)

# Seconds between two searches for requests.
REQUEST_INTERVAL = 0.5
# Seconds between two writes of a request's progress.
PROGRESS_INTERVAL = 0.5
# Seconds before the next attempt, first and at most: after errors that pass by themselves, and after unexpected ones.
PASSING = (0.2, 10.0)
UNEXPECTED = (1.0, 60.0)
# Seconds after which the same error is logged again.
REPEAT_INTERVAL = 60.0


class Work(ABC):
    """The work of a duty. A worker creates it for each term, and again after an unexpected error."""

    def start(self) -> None:  # noqa: B027 - most work needs no preparation
        """Prepare. The worker calls it once before the first step, and again if it raised."""

    @abstractmethod
    def step(self) -> bool:
        """Do one step; returns False if there was nothing to do."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers of requests, by kind."""
        return {}

    def close(self) -> None:  # noqa: B027 - not all work has connections of its own
        """Close connections other than the database's."""


@dataclass(frozen=True)
class Duty:
    """A kind of work and its pace. `poll`: seconds to the next step after a step with nothing to do."""

    name: str
    poll: float
    make: Callable[[Database], Work]


class Backoff:
    """Waiting times between attempts: twice as long each time, up to a limit, with a random part."""

    def __init__(self, first: float, most: float) -> None:
        self._first = self._next = first
        self._most = most

    def next(self) -> float:
        """Seconds to wait before the next attempt."""
        wait, self._next = self._next, min(self._most, 2 * self._next)
        return wait * random.uniform(0.5, 1.0)  # noqa: S311 - no secret

    def reset(self) -> None:
        """An attempt succeeded: begin with the shortest wait again."""
        self._next = self._first


@dataclass
class _Running:
    request: Request
    doing: Doing
    progress_at: float
    progress: Progress = (0, 0)
    # The result that must still be written.
    result: tuple[State, str] | None = None


class Worker:
    """Does one duty in a thread of its own until it is stopped, or the term ends.

    `on_end` is called when the thread ends by itself: with None when the term was lost, with Refused when a human must act.
    """

    def __init__(self, duty: Duty, term: Term, metrics: Metrics, on_end: Callable[[Refused | None], None]) -> None:
        self.duty = duty
        # Since when no NameNode answers, by `monotonic`; 0 while one answers.
        self.deaf_since = 0.0
        self._database: Fenced = term.database()
        self._metrics = metrics
        self._on_end = on_end
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=duty.name, daemon=True)
        self._passing = Backoff(*PASSING)
        self._unexpected = Backoff(*UNEXPECTED)
        self._work: Work | None = None
        self._started = False
        self._running: _Running | None = None
        self._ask_at = 0.0
        self._beat = monotonic()
        self._complaint, self._complained = "", 0.0

    @property
    def silent(self) -> float:
        """Seconds since the last sign of life: the end of a step, or the start of a transaction."""
        return monotonic() - max(self._beat, self._database.used)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end after the current step; does not wait for it."""
        self._stopping.set()

    def cut(self) -> None:
        """Cut off the statement that runs."""
        self._database.cut()

    def join(self, seconds: float) -> bool:
        """Wait for the thread's end; returns whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                wait = self._turn()
                self._beat = monotonic()
                if wait:
                    self._stopping.wait(wait)
        except LostLease as error:
            log.warning("%s", error)
            self._on_end(None)
        except Refused as error:
            self._on_end(error)
        finally:
            self._end_work()
            self._database.close()

    def _turn(self) -> float:
        """Do one step; returns the seconds to wait until the next one."""
        try:
            worked = self._step()
            worked = self._serve() or worked
        except (DatabaseUnavailable, Contention) as error:
            return self._patience("database", error)
        except NameNodeUnavailable as error:
            self.deaf_since = self.deaf_since or monotonic()
            return self._patience("namenode", error)
        except AnotherFileSystem as error:
            # The next work is refused at its start, unless the NameNode then serves the right file system again.
            self._end_work()
            return self._patience("namenode", error)
        except (DatabaseError, NameNodeError) as error:
            self._fail(self.duty.name)
            wait = self._unexpected.next()
            log.error("%s Trying again in %.0f s.", error, wait)
            return wait
        except (LostLease, Refused):
            raise
        except Exception:
            # What the work kept in memory may be wrong.
            self._fail("unforeseen")
            wait = self._unexpected.next()
            log.exception("Unexpected error; starting over in %.0f s.", wait)
            self._end_work()
            return wait
        self._metrics.failing.labels(duty=self.duty.name).set(0)
        self.deaf_since = 0.0
        if self._complaint:
            log.info("The error passed: %s", self._complaint)
            self._complaint = ""
        self._passing.reset()
        self._unexpected.reset()
        return 0.0 if worked else self.duty.poll

    def _fail(self, what: str) -> None:
        self._metrics.failing.labels(duty=self.duty.name).set(1)
        self._metrics.errors.labels(what=what).inc()

    def _patience(self, what: str, error: Exception) -> float:
        self._fail(what)
        if str(error) != self._complaint or monotonic() - self._complained > REPEAT_INTERVAL:
            self._complaint, self._complained = str(error), monotonic()
            # A stopped worker's connection is cut off, which is no error.
            if not self._stopping.is_set():
                log.warning("%s Trying again until the error passes.", error)
        return self._passing.next()

    def _step(self) -> bool:
        if self._work is None:
            self._work = self.duty.make(self._database)
        if not self._started:
            self._work.start()
            kinds = list(self._work.handlers())
            if kinds:
                with self._database.transaction() as tx:
                    request.take_up(tx, kinds)
            self._started = True
        return self._work.step()

    def _end_work(self) -> None:
        self._running = None
        self._started = False
        if self._work is not None:
            work, self._work = self._work, None
            work.close()

    # --- requests -----------------------------------------------------------------------------------------------------

    def _serve(self) -> bool:
        """Do a step of a request, if there is one; returns whether it made progress. Without progress, the worker pauses."""
        if self._running is None:
            self._running = self._next_request()
            if self._running is None:
                return False
        running = self._running
        before = running.progress
        if running.result is None:
            self._do_some(running)
        if running.result is not None:
            with self._database.transaction() as tx:
                request.tell(tx, running.request.id, running.progress)
                request.finish(tx, running.request.id, *running.result)
            log.info("%s: %s", *running.result, extra={"fields": {"request": running.request.id}})
            self._running = None
            return True
        if monotonic() - running.progress_at > PROGRESS_INTERVAL:
            running.progress_at = monotonic()
            with self._database.transaction() as tx:
                request.tell(tx, running.request.id, running.progress)
        return running.progress != before

    def _do_some(self, running: _Running) -> None:
        try:
            running.progress = next(running.doing)
        except StopIteration as stop:
            running.result = ("done", str(stop.value or ""))
        except RequestFailed as error:
            running.result = ("failed", str(error))
        except (DatabaseUnavailable, Contention, NameNodeUnavailable, LostLease):
            # The request begins again when the error has passed.
            running.doing = self._begin(running.request)
            raise
        except (DatabaseError, NameNodeError, Refused) as error:
            running.result = ("failed", str(error))
        except Exception as error:
            log.exception("Unexpected error in a request.")
            self._metrics.errors.labels(what="unforeseen").inc()
            running.result = (
                "failed",
                f"Unexpected error: {error!r}. The system log of hopshive-cleaner has its traceback.",
            )

    def _next_request(self) -> _Running | None:
        now = monotonic()
        if now < self._ask_at or self._work is None:
            return None
        self._ask_at = now + REQUEST_INTERVAL
        kinds = list(self._work.handlers())
        if not kinds:
            return None
        with self._database.reading() as tx:
            if not request.waiting(tx, kinds):
                return None
        with self._database.transaction() as tx:
            taken = request.take(tx, kinds)
        if taken is None:
            return None
        log.info("Request of %s: %s %s.", taken.asked_by, taken.kind, dict(taken.argument) or "")
        return _Running(taken, self._begin(taken), now)

    def _begin(self, asked: Request) -> Doing:
        assert self._work is not None  # noqa: S101 - requests are served between steps
        return self._work.handlers()[asked.kind](asked.argument)
