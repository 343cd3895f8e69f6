"""Words of sentences for humans."""

from __future__ import annotations

from hopshive.wording import size

BLOCK = 128 << 20


def test_sizes_are_in_the_largest_unit_of_which_there_is_one() -> None:
    shown = [size(number) for number in (0, 1023, 1024, BLOCK, 1536 << 20, 1010 << 20, 5 << 50)]
    assert shown == ["0 B", "1023 B", "1 KiB", "128 MiB", "1.5 GiB", "1010 MiB", "5120 TiB"]
