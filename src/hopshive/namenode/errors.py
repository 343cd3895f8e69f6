"""What can go wrong with a NameNode: each message is a sentence for the operator."""

from __future__ import annotations


class NameNodeError(Exception):
    """A NameNode refused, or what answers is none. Asking again does not help."""


class NameNodeUnavailable(NameNodeError):
    """No NameNode can answer now: down, frozen, starting, standby, in safe mode. Asking again later may help."""


class MissingEdits(NameNodeError):
    """The edits after a position are not there, or no longer: only a full comparison can tell what happened."""
