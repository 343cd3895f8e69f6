"""Log records as lines: one a record, with priority and fields."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hopshive.daemon import logs


@contextmanager
def logged(monkeypatch: pytest.MonkeyPatch, journal: bool) -> Iterator[io.StringIO]:
    if journal:
        monkeypatch.setenv("JOURNAL_STREAM", "8:1")
    else:
        monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    stream = io.StringIO()
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    # Those of pytest would be closed.
    root.handlers = []
    logs.configure(stream)
    try:
        yield stream
    finally:
        root.handlers, root.level = before, level


def test_a_record_is_one_line_with_its_priority_and_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    log = logging.getLogger("hopshive.consistency.mirror.loop")
    with logged(monkeypatch, journal=True) as stream:
        log.info("Removed\n%s.", "a table", extra={"fields": {"path": '/a "b"', "n": 3}})
        try:
            raise ValueError("x")
        except ValueError:
            log.exception("Oh.")
        log.debug("Unheard.")
    first, second = stream.getvalue().splitlines()
    assert first == r'<6>Removed a table. part=mirror.loop thread=MainThread path="/a \"b\"" n=3'
    assert second.startswith(
        r'<3>Oh. part=mirror.loop thread=MainThread exception="Traceback (most recent call last):\n'
    )


def test_without_a_journal_there_is_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with logged(monkeypatch, journal=False) as stream:
        logging.getLogger("hopshive.x").warning("Hm.")
    assert stream.getvalue()[:3] == time.strftime("%Y")[:3]
    assert "WARNING Hm. part=x" in stream.getvalue()
