"""What another session has locked is left alone, longer each time. tests/ndb_cluster/test_locked.py has real locks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import pytest

from hopshive.database import Contention, Database, Transaction
from hopshive.database.locked import FIRST_PAUSE, LONGEST_PAUSE, Locked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class World:
    """Time, and a database in which the rows of `held` are locked."""

    skips_locked = False

    def __init__(self) -> None:
        self.now = 100.0
        self.held: set[int] = set()
        self.locked = Locked[int](lambda: self.now)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        yield cast("Transaction", None)

    def spare(self, *keys: int) -> list[int]:
        """Those of them that were done."""

        def work(_: Transaction, some: Sequence[int]) -> list[int]:
            if self.held & set(some):
                raise Contention("locked")
            return list(some)

        done = self.locked.spare(cast("Database", self), self.locked.free(keys), work)
        return sorted(key for some in done for key in some)


@pytest.fixture
def world() -> World:
    return World()


def test_a_row_is_left_alone_for_twice_as_long_each_time(world: World) -> None:
    world.held = {2}
    pauses = []
    for _ in range(6):
        assert world.spare(1, 2, 3) == [1, 3]
        began = world.now
        while world.locked.free([2]) == []:
            assert len(world.locked) == 1
            world.now += 0.5
        pauses.append(world.now - began)
    assert pauses == [FIRST_PAUSE, 2, 4, 8, LONGEST_PAUSE, LONGEST_PAUSE]


def test_what_was_done_starts_over(world: World) -> None:
    world.held = {2}
    for _ in range(3):
        world.spare(2)
        world.now += LONGEST_PAUSE
    world.held = set()
    assert world.spare(2) == [2]
    world.held = {2}
    assert world.spare(2) == []
    world.now += FIRST_PAUSE
    assert world.locked.free([2]) == [2]


def test_what_was_due_long_ago_is_forgotten(world: World) -> None:
    world.held = {2}
    for _ in range(3):
        world.spare(2)
        world.now += LONGEST_PAUSE
    world.now += LONGEST_PAUSE
    assert world.spare(2) == []
    world.now += FIRST_PAUSE
    assert world.locked.free([2]) == [2]
