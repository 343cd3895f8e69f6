"""Garbage: what foreign keys cannot take along when an object goes. See hopshive.garbage.cleaner for when it is collected."""

from hopshive.garbage.cleaner import GUARD, Cleaner, counts
from hopshive.garbage.references import ReferencesError

__all__ = ["GUARD", "Cleaner", "ReferencesError", "counts"]
