"""Restart one replica of a service so that its clients do not notice: not while another is down, and to its end.

Who restarts all replicas calls this for one after the other. The second one refuses if the first did not come back, so
whatever broke it stops there.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from hopshive.services.health import NoAnswer, WrongAnswer, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hopshive.services.health import Answer, Target

    # Runs a command: its exit code, its output, and what it said on standard error.
    Run = Callable[[Sequence[str]], tuple[int, str, str]]
    Wait = Callable[[Target, float], Answer]
    Check = Callable[[float], None]

# How long another replica may take to answer, in seconds: it may have been started just before.
OTHERS_TIMEOUT = 60.0
# How long this one may take to answer, before it is restarted as one that does not, in seconds.
OWN_TIMEOUT = 10.0


class RollError(Exception):
    """The replica was not restarted, or did not come back; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Rolled:
    """What was done: a unit that did not run was `started` and not waited for; else `answer` is what it said afterwards."""

    started: bool
    answer: Answer | None = None


class Drain(Protocol):
    """How the work of a replica ends before its restart. No method raises: the drain itself keeps what the operator must know."""

    def leave(self) -> bool:
        """Send no client to this replica until it was restarted, if that can be; only called if there are others."""

    def wait(self) -> None:
        """Wait, as long as it may take, for the end of what it runs."""

    def stopping(self) -> None:
        """Watch the replica stop: note which work is cut off."""

    def stopped(self) -> None:
        """Clear up what the process left open, now that it is gone."""


@dataclass(frozen=True)
class Questions:
    """What tells that a replica answers, and that the others do.

    Either `own` and `others` are asked, or commands are run that exit with 0: `own_command` for this replica,
    `others_command` for all others. Commands bound their time themselves. Afterwards come the checks, each with the seconds that
    it may take; they raise NoAnswer. `unused` waits, as long as it likes, until nobody works with this replica who can work with
    another one. `drain` brings what this replica runs to its end.
    """

    own: Target | None = None
    others: Sequence[Target] = ()
    own_command: Sequence[str] = ()
    others_command: Sequence[str] = ()
    own_check: Check | None = None
    others_check: Check | None = None
    unused: Callable[[], None] | None = None
    drain: Drain | None = None


def restart(
    unit: str,
    questions: Questions,
    run: Run,
    timeout: float,
    *,
    users: Mapping[str, Questions] = MappingProxyType({}),
    may_be_down: int = 0,
    degraded: bool = False,
    wait: Wait = wait_for,
) -> Rolled:
    """Restart a systemd unit of this host, and wait up to `timeout` seconds until it answers.

    A unit that does not run is only started: nobody uses it, and a new service of several replicas answers when all run. If it
    does run, all the others but `may_be_down` must answer first, unless `degraded`. `users` are units of this host that work
    with it, replicas too: those that run and have others are stopped before and started afterwards, since what they were asked
    would fail when what they ask ends; if `degraded` they go on, since theirs may be the only one. Raises RollError.
    """
    # After many failed starts systemd refuses another; a unit that was never loaded has nothing to forget.
    run(["systemctl", "reset-failed", f"{unit}.service"])
    _must(run, ["systemctl", "daemon-reload"])
    running = _runs(run, unit)
    if not running:
        _must(run, ["systemctl", "restart", f"{unit}.service"])
        return Rolled(started=True)
    if degraded:
        users = {}
    else:
        users = {user: asked for user, asked in users.items() if asked.others and _runs(run, user)}
        _spare(unit, [questions, *users.values()], run, wait, min(timeout, OTHERS_TIMEOUT), may_be_down)
        _leave(unit, questions, wait)
    if questions.drain:
        left = bool(questions.others) and not degraded and questions.drain.leave()
        questions.drain.wait()
        # The wait may have taken an hour. A replica that has left the discovery returns to it only by its restart, so that
        # restart does not depend on the others again.
        if not left and not degraded:
            _spare(unit, [questions], run, wait, min(timeout, OTHERS_TIMEOUT), may_be_down)
    try:
        for user in users:
            _must(run, ["systemctl", "stop", f"{user}.service"])
        _end(unit, questions.drain, run)
        answer = _back(unit, run, questions, wait, timeout)
    finally:
        # Whatever became of it: they may work with another one.
        for user in users:
            run(["systemctl", "start", f"{user}.service"])
    for user, asked in users.items():
        _back(user, run, asked, wait, timeout)
    return Rolled(started=False, answer=answer)


def _end(unit: str, drain: Drain | None, run: Run) -> None:
    """Restart it, and wait until its new process runs; with a drain there is something to be done meanwhile."""
    if not drain:
        _must(run, ["systemctl", "restart", f"{unit}.service"])
        return
    # All that follows is systemd's, whatever becomes of who asked for it.
    _must(run, ["systemctl", "restart", "--no-block", f"{unit}.service"])
    drain.stopping()
    # Becomes part of that restart, if it still goes on.
    _must(run, ["systemctl", "start", f"{unit}.service"])
    drain.stopped()


def _spare(unit: str, asked: Sequence[Questions], run: Run, wait: Wait, timeout: float, may_be_down: int) -> None:
    """Return if the others of the unit work, and those of its users. Raises RollError."""
    own, *users = asked
    try:
        _others(own, run, wait, timeout, may_be_down)
        for user in users:
            _others(user, run, wait, timeout)
    except (NoAnswer, WrongAnswer, RollError) as error:
        raise RollError(
            f"{unit} was not restarted, because another replica is down. {error} Bring that one back first, or"
            " say -e cluster_roll_degraded=true."
        ) from None


def _others(questions: Questions, run: Run, wait: Wait, timeout: float, may_be_down: int = 0) -> None:
    """Return if all of them work but `may_be_down`, which are not waited for."""
    left = questions.others
    if may_be_down:
        left = [other for other in left if not _answers(wait, other)]
    down = 0
    for other in left if len(left) > may_be_down else ():
        try:
            wait(other, timeout)
        except (NoAnswer, WrongAnswer):
            down += 1
            if down > may_be_down:
                raise
    if questions.others_command:
        _must(run, questions.others_command)
    if questions.others_check:
        questions.others_check(timeout)


def _leave(unit: str, questions: Questions, wait: Wait) -> None:
    """Return if nobody of another host works with it any more.

    One that runs and does not answer cannot be asked, and only a restart mends it: it is not waited for.
    """
    if not questions.unused or (questions.own and not _answers(wait, questions.own, OWN_TIMEOUT)):
        return
    try:
        questions.unused()
    except (NoAnswer, WrongAnswer) as error:
        raise RollError(
            f"{unit} was not restarted, because others work with it who would see failed calls. {error} They return to their own"
            " replica by themselves, if that answers; or say -e cluster_roll_degraded=true."
        ) from None


def _answers(wait: Wait, target: Target, timeout: float = 0) -> bool:
    try:
        wait(target, timeout)
    except (NoAnswer, WrongAnswer):
        return False
    return True


def _back(unit: str, run: Run, questions: Questions, wait: Wait, timeout: float) -> Answer | None:
    try:
        if questions.own_command:
            _must(run, questions.own_command)
        answer = wait(questions.own, timeout) if questions.own else None
        if questions.own_check:
            questions.own_check(timeout)
        return answer
    except (NoAnswer, WrongAnswer, RollError) as error:
        raise RollError(f"{unit} was restarted and did not come back. {error}") from None


def _runs(run: Run, unit: str) -> bool:
    return run(["systemctl", "is-active", "--quiet", f"{unit}.service"])[0] == 0


def _must(run: Run, command: Sequence[str]) -> None:
    code, output, error = run(command)
    if code:
        lines = (error.strip() or output.strip() or f"exit code {code}").splitlines()
        raise RollError(f"{' '.join(command)} failed: {lines[-1]}")
