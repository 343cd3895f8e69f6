"""Answers over HTTP: every failure is a NoAnswer, since callers ask again after that alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.services.health.answer import NoAnswer
from hopshive.services.health.http import fetch, fetch_json

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("ask", [fetch, fetch_json])
@pytest.mark.parametrize("port", ["many", "70000"])
def test_a_bad_port_is_named(ask: Callable[[str, float], object], port: str) -> None:
    with pytest.raises(NoAnswer, match=f"^http://namenode:{port}/jmx has no valid port$"):
        ask(f"http://namenode:{port}/jmx", 1.0)
