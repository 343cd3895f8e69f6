"""Numbers and sentences that several messages share."""

from __future__ import annotations


def counted(number: float, one: str, many: str = "") -> str:
    """`1 object`, `2 objects`. `many`: a plural that is not `one` with an s."""
    return f"{number:.0f} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    """Bytes in the largest unit that gives 1 or more: `512 B`, `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            break
        number /= 1024
    return f"{number:.3g} {unit}" if number < 1000 else f"{number:.0f} {unit}"


def unknown_removal(number: int) -> str:
    """A sentence for a removal that the journal does not have."""
    return f"The journal has no removal {number}. Look: hopshive journal"


def nothing_to_restore(removal: int | None = None, name: str | None = None, path: str | None = None) -> str:
    """A sentence for a restore without a match: what was asked for, and where to look."""
    parts = (
        f"the removal {removal}" if removal is not None else "",
        name or "",
        f"{path}, or of anything below it," if path else "",
    )
    sought = " and ".join(part for part in parts if part)
    return f"The journal has nothing to restore of {sought}. Look: hopshive journal"
