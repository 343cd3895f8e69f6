"""Words of sentences for humans."""

from __future__ import annotations


def counted(number: float, one: str, many: str = "") -> str:
    """`1 object`, `2 objects`; `many` for a word whose plural has more than an s."""
    return f"{number:.0f} {one if number == 1 else many or one + 's'}"
