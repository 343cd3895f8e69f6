"""Errors that more than one part of the package raises."""

from __future__ import annotations


class Refused(Exception):
    """Something is wrong that does not pass by itself; the message is a sentence that says what a human must do.

    A daemon that meets it ends, having changed nothing.
    """
