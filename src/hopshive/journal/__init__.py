"""What is removed, and how it comes back."""

from hopshive.journal.removal import Cause, Progress, Removed, begin_removal, end_removal, remove_next

__all__ = ["Cause", "Progress", "Removed", "begin_removal", "end_removal", "remove_next"]
