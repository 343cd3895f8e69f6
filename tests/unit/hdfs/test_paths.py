"""Paths of HDFS."""

from __future__ import annotations

import pytest

from hopshive.hdfs.paths import has_twin


@pytest.mark.parametrize(
    ("path", "twin"),
    [
        ("/.reserved", True),
        ("/.reserved/raw/a", True),
        ("/a/.snapshot", True),
        ("/a/.snapshot/s1/b", True),
        ("/.reservedfoo", False),
        ("/a/.snapshots", False),
    ],
)
def test_only_reserved_names_and_snapshots_have_a_twin(path: str, *, twin: bool) -> None:
    assert has_twin(path) is twin
