"""Garbage: what foreign keys cannot take along when an object goes. See garbage.collector for when it is collected."""

from hopshive.consistency.garbage.collector import GUARD, Collector, counts
from hopshive.consistency.garbage.references import ReferencesError

__all__ = ["GUARD", "Collector", "ReferencesError", "counts"]
