"""After everything else: nothing is left behind, and file system and metastore agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract import eventually, leftovers

if TYPE_CHECKING:
    from tests.contract import Footprint
    from tests.warehouse import Warehouse

# The cleaner looks twice at what no removal told it of, and sweeps now and then: seconds.
SWEPT = 150


def test_nothing_of_what_was_dropped_is_left(warehouse: Warehouse, dropped: list[Footprint]) -> None:
    assert dropped, "run it with the other tests: it is about what they dropped"
    eventually(lambda: [left for one in dropped if (left := leftovers(warehouse, one))], [], SWEPT)


def test_check_finds_no_difference(warehouse: Warehouse) -> None:
    warehouse.wait_quiet()
    eventually(warehouse.check, [], SWEPT)


def test_every_daemon_is_well(warehouse: Warehouse) -> None:
    assert warehouse.status()["problems"] == []
    assert [cleaner.host.name for cleaner in warehouse.cleaners if not cleaner.is_running()] == []
