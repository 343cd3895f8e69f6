"""What can go wrong with a NameNode: each message is a sentence for the operator."""

from __future__ import annotations


class NameNodeError(Exception):
    """A NameNode refused, or what answers is none. Asking again does not help."""


class NameNodeUnavailable(NameNodeError):
    """No NameNode can answer now: down, frozen, starting, standby, in safe mode. Asking again later may help."""


class AnotherFileSystem(NameNodeError):
    """What answers is a NameNode, but of another file system than the one that was asked before."""


class MissingEdits(NameNodeError):
    """The edits after a position are not there, or no longer: only a full comparison can tell what happened."""
