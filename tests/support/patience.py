"""How long a test may wait on this machine: each bound is chosen on an idle machine, and scaled to a slow or busy one."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

# Processor seconds that `_work` takes on the machine on which the bounds were chosen.
REFERENCE = 0.010
# Larger factors would let a bound pass what hangs.
LARGEST = 10.0
# Seconds between two questions of `until`.
LOOK = 0.01
# Seconds from an interrupt of `within` to another one.
INTERRUPT_AGAIN = 1.0


def _work() -> None:
    """What Python programs do: objects, dictionaries, bytes."""
    found: dict[str, list[int]] = {}
    for number in range(40_000):
        found.setdefault(str(number % 1000), []).append(number)
    hashlib.sha256(repr(found).encode() * 4).digest()


@cache
def slowness() -> float:
    """How many times as long as on the reference machine a piece of work takes here, without other load; measured once."""
    took = []
    for _ in range(3):
        began = time.thread_time()
        _work()
        took.append(time.thread_time() - began)
    return min(took) / REFERENCE


def crowding() -> float:
    """How many threads want each processor: those of now, or the mean of the last minute."""
    running = int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[0])
    return max(os.getloadavg()[0], running) / len(os.sched_getaffinity(0))


def factor() -> float:
    """What a bound is multiplied with now: at least 1, at most LARGEST."""
    return min(LARGEST, max(1.0, slowness()) * max(1.0, crowding()))


def scaled(seconds: float) -> float:
    """A bound for this machine as it is loaded now."""
    return seconds * factor()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail when the block takes longer than `scaled(seconds)`. A block of the main thread that hangs is interrupted.

    Blocks do not nest. A test with such a block has the marker `wall_time`.
    """
    began = time.monotonic()

    def check() -> None:
        took = time.monotonic() - began
        if took > (bound := scaled(seconds)):
            raise AssertionError(
                f"not done after {took:.1f} s; the bound is {seconds:g} s, on this machine {bound:.1f} s"
            )

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        # Asked again, in case the machine has become busier, or something drops the exception.
        signal.setitimer(signal.ITIMER_REAL, INTERRUPT_AGAIN)
        check()

    if threading.current_thread() is not threading.main_thread():
        yield
        check()
        return
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, scaled(seconds) + LOOK)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    check()


def until(
    what: Callable[[], object], seconds: float = 10, otherwise: Callable[[], object] | str = "", *, look: float = LOOK
) -> None:
    """Ask every `look` seconds until the answer is true.

    After `scaled(seconds)` fail with `otherwise`: a text, or a call that makes one.
    """
    began = time.monotonic()
    while not what():
        took = time.monotonic() - began
        if took > scaled(seconds):
            text = otherwise() if callable(otherwise) else otherwise
            raise AssertionError(f"not so after {took:.1f} s. {text}".rstrip())
        time.sleep(look)
