"""The metrics of a cleaner: it leads or waits, and one of all leads."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hopshive.services import health
from hopshive.services.health import (
    NoAnswer,
    Target,
    daemon,
)


def metrics(leader: int, failing: int | None = None) -> bytes:
    text = f"# HELP hopshive_leader x\n# TYPE hopshive_leader gauge\nhopshive_leader {leader}.0\nhopshive_epoch 3.0\n"
    if failing is not None:
        text += f'hopshive_failing{{duty="mirror"}} {failing}.0\n'
    return text.encode()


def ask_cleaner(monkeypatch: pytest.MonkeyPatch, own: bytes, other: bytes | None) -> dict[str, Any]:
    def fetch(url: str, _: float, *, authority: str) -> bytes:
        assert authority == ""
        if "other" in url and other is None:
            raise NoAnswer("connection refused")
        return other if "other" in url and other is not None else own

    monkeypatch.setattr(daemon, "fetch", fetch)
    return daemon.ask_cleaner(Target("cleaner", "own", 1, cleaners=["http://own:1", "http://other:1"]), 1)


def test_a_cleaner_leads_or_waits_and_one_of_all_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask_cleaner(monkeypatch, metrics(1, 0), metrics(0)) == {"state": "leading", "epoch": 3}
    assert ask_cleaner(monkeypatch, metrics(1), None)["state"] == "leading"
    assert ask_cleaner(monkeypatch, metrics(0), metrics(1))["state"] == "standby"
    for own, other, sentence in (
        (metrics(0), metrics(0), "none of http://own:1, http://other:1 lead; exactly one must"),
        (metrics(0), None, "none of http://own:1, http://other:1 lead; exactly one must"),
        (metrics(1), metrics(1), "2 of http://own:1, http://other:1 lead; exactly one must"),
        (metrics(1, 1), metrics(0), 'it leads, but cannot do its work: hopshive_failing{duty="mirror"}'),
    ):
        with pytest.raises(NoAnswer, match=re.escape(sentence)):
            ask_cleaner(monkeypatch, own, other)
    with pytest.raises(health.WrongAnswer, match="something else listens there"):
        ask_cleaner(monkeypatch, b"<html>", None)


def test_a_cleaner_without_others_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "fetch", lambda *_, **__: metrics(0))
    assert daemon.ask_cleaner(Target("cleaner", "own", 1), 1)["state"] == "standby"
