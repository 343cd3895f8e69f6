"""How long a worker waits between attempts."""

from __future__ import annotations

from hopshive.daemon.worker import Backoff


def test_waiting_grows_to_a_bound() -> None:
    backoff = Backoff(0.2, 1.0)
    waits = [backoff.next() for _ in range(6)]
    for wait, most in zip(waits, (0.2, 0.4, 0.8, 1.0, 1.0, 1.0), strict=True):
        assert most / 2 <= wait <= most
    backoff.reset()
    assert backoff.next() <= 0.2
