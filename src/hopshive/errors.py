"""Errors that more than one part of the package raises."""

from __future__ import annotations


class Refused(Exception):
    """An error that only a human can fix; the message is a sentence that says how.

    A daemon that raises it changes nothing and ends.
    """
