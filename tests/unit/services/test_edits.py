"""Which JournalNodes a NameNode does not write to, and the wait until it writes to all."""

from __future__ import annotations

import json

import pytest

from hopshive.services.edits import addresses, refusing, wait_taken
from hopshive.services.health import NoAnswer


def test_where_no_namenode_answers_no_process_writes_edits() -> None:
    wait_taken(["http://127.0.0.1:1"], 0)


def test_a_standby_alone_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopshive.services.edits.bean", lambda *_: {"State": "standby", "HostAndPort": "one:8020"})
    with pytest.raises(NoAnswer, match=r"no NameNode is active \(http://one:9870 is standby\)"):
        wait_taken(["http://one:9870"], 0)


def test_a_report_of_a_standby_names_no_host() -> None:
    assert refusing(json.dumps([{"manager": "QJM to [127.0.0.1:1]", "stream": "open for read"}])) == []
    assert refusing("") == []


def test_a_name_without_an_address_is_named() -> None:
    with pytest.raises(NoAnswer, match=r"the name nowhere.invalid has no address"):
        addresses("nowhere.invalid")
