"""What is removed, and how it comes back."""

from hopshive.consistency.journal.record import (
    Entry,
    Removal,
    expire,
    history,
    latest,
    objects,
    one_removal,
    restorable,
    sample,
)
from hopshive.consistency.journal.removal import (
    Cause,
    Progress,
    Removed,
    Unknown,
    begin_removal,
    end_removal,
    remove_next,
)
from hopshive.consistency.journal.restore import RestoreProgress, restore_next

__all__ = [
    "Cause",
    "Entry",
    "Progress",
    "Removal",
    "Removed",
    "RestoreProgress",
    "Unknown",
    "begin_removal",
    "end_removal",
    "expire",
    "history",
    "latest",
    "objects",
    "one_removal",
    "remove_next",
    "restorable",
    "restore_next",
    "sample",
]
