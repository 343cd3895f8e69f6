"""Restart one replica of a service so that its clients do not notice: only while the others work, and until it answers.

A rolling restart calls this for one replica after the other. If a replica does not come back, the next restart is
refused, so a fault stops at one replica.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from hopshive.services.health import NoAnswer, WrongAnswer, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hopshive.services.health import Answer, Target

    # Runs a command; returns its exit code, standard output and standard error.
    Run = Callable[[Sequence[str]], tuple[int, str, str]]
    Wait = Callable[[Target, float], Answer]
    Check = Callable[[float], None]

# Seconds to wait for the other replicas: one may have been started just before.
OTHERS_TIMEOUT = 60.0
# Seconds to wait for this replica before the restart. Without an answer it counts as broken.
OWN_TIMEOUT = 10.0


class RollError(Exception):
    """The replica was not restarted, or did not come back; the message is a sentence for the operator."""


@dataclass(frozen=True)
class Rolled:
    """What was done. `started`: the unit did not run, and was only started. Otherwise `answer` is its answer afterwards."""

    started: bool
    answer: Answer | None = None


class Drain(Protocol):
    """How the work of a replica ends before its restart. No method raises; the drain itself notes errors for the operator."""

    def leave(self) -> bool:
        """Keep new clients away until the restart; returns whether that worked. Called only if there are other replicas."""

    def wait(self) -> None:
        """Wait for the end of the replica's work, up to the drain's own limit."""

    def stopping(self) -> None:
        """Watch the replica stop, and note which work is cut off."""

    def stopped(self) -> None:
        """Clean up what the ended process left open."""


@dataclass(frozen=True)
class Questions:
    """How to find out whether a replica answers, and whether the others do.

    Either `own` and `others` are asked, or commands must exit with 0: `own_command` for this replica, `others_command`
    for all others. Commands limit their time themselves. Then the checks run, each with the seconds that it may take;
    a check raises NoAnswer. `unused` waits, up to a limit of its own, until clients that can use another replica have
    left this one. `drain` ends the work of this replica.
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

    A unit that does not run is only started: it has no clients, and a new service may answer only when all replicas run.
    Before a running unit is restarted, all others except `may_be_down` must answer, unless `degraded`.

    `users`: units of this host that use this unit and are replicas themselves. Those that run and have other replicas
    are stopped before and started afterwards: their own clients would see failed calls. If `degraded`, they continue,
    since they may be the only ones. Raises RollError.
    """
    # After many failed starts systemd refuses another. The command fails for a unit without a past, which is fine.
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
    if questions.drain and not _drained(questions, questions.drain, degraded=degraded) and not degraded:
        # The wait may have taken an hour, so ask the others again.
        _spare(unit, [questions], run, wait, min(timeout, OTHERS_TIMEOUT), may_be_down)
    try:
        for user in users:
            _must(run, ["systemctl", "stop", f"{user}.service"])
        _end(unit, questions.drain, run)
        answer = _back(unit, run, questions, wait, timeout)
    finally:
        # Also after an error: the users may work with another replica.
        for user in users:
            run(["systemctl", "start", f"{user}.service"])
    for user, asked in users.items():
        _back(user, run, asked, wait, timeout)
    return Rolled(started=False, answer=answer)


def _drained(questions: Questions, drain: Drain, *, degraded: bool) -> bool:
    """Wait until a unit has no clients; whether the unit has left the discovery.

    A replica that left the discovery returns to it only by a restart: then the restart must not depend on the others.
    """
    left = bool(questions.others) and not degraded and drain.leave()
    drain.wait()
    return left


def _end(unit: str, drain: Drain | None, run: Run) -> None:
    """Restart the unit, and wait until its new process runs; a drain works meanwhile."""
    if not drain:
        _must(run, ["systemctl", "restart", f"{unit}.service"])
        return
    # From here systemd completes the restart, even if this process ends.
    _must(run, ["systemctl", "restart", "--no-block", f"{unit}.service"])
    drain.stopping()
    # This start joins the restart if that is still running, and waits for it.
    _must(run, ["systemctl", "start", f"{unit}.service"])
    drain.stopped()


def _spare(unit: str, asked: Sequence[Questions], run: Run, wait: Wait, timeout: float, may_be_down: int) -> None:
    """Return if the other replicas of the unit and of its users work. Raises RollError."""
    own, *users = asked
    try:
        _others(own, run, wait, timeout, may_be_down)
        for user in users:
            _others(user, run, wait, timeout)
    except (NoAnswer, WrongAnswer, RollError) as error:
        raise RollError(
            f"{unit} was not restarted, because another replica is down. {error} Repair that replica first, or"
            " set -e cluster_roll_degraded=true."
        ) from None


def _others(questions: Questions, run: Run, wait: Wait, timeout: float, may_be_down: int = 0) -> None:
    """Return if all other replicas work, except `may_be_down` of them, which are not waited for."""
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
    """Return when no client of another host uses the replica. Raises RollError.

    A replica that does not answer cannot be asked about its clients, and only a restart repairs it: no wait.
    """
    if not questions.unused or (questions.own and not _answers(wait, questions.own, OWN_TIMEOUT)):
        return
    try:
        questions.unused()
    except (NoAnswer, WrongAnswer) as error:
        raise RollError(
            f"{unit} was not restarted, because clients of other hosts use it and would see failed calls. {error} They return"
            " to their own replica by themselves when that answers. To restart anyway, set -e cluster_roll_degraded=true."
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
