"""Which lab a command means by its label."""

from __future__ import annotations

import pytest

from tests.warehouse.hosts import UnknownLab, find_lab


def test_a_label_that_no_inventory_has_is_one_line() -> None:
    with pytest.raises(UnknownLab) as caught:
        find_lab("nope")
    assert caught.value.format_message().startswith(
        "LABEL=nope: no inventory has this lab_label; looked in inventories/"
    )
    assert "\n" not in caught.value.format_message()
