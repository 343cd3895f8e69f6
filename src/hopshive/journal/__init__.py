"""What is removed, and how it comes back."""

from hopshive.journal.record import (
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
from hopshive.journal.removal import Cause, Progress, Removed, Unknown, begin_removal, end_removal, remove_next
from hopshive.journal.restore import RestoreProgress, restore_next

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
