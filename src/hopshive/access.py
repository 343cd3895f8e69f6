"""Why a file cannot be opened, and as whom it can: the end of a sentence about it."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ROOT = 0


def denial(path: Path, mode: int = os.R_OK) -> str:
    """`Permission denied for the user u; ...`: who may open `path`, by the first directory or file on the way that says no.

    `mode`: what was tried, as for os.access.
    """
    said = f"Permission denied for the user {user()}"
    if os.geteuid() == ROOT:
        return said
    group = _group(path, mode)
    return f"{said}; run the command with sudo" + (f", or as a member of the group {group}" if group else "")


def user() -> str:
    """As whom this process opens files; a number that has no name as it is."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(path: Path, mode: int) -> str:
    """Whose members may do what this process may not; empty if there is none."""
    for place in (*reversed(path.absolute().parents), path):
        wanted = mode if place == path else os.X_OK
        if os.access(place, wanted, effective_ids=True):
            continue
        try:
            found = place.stat()
        except OSError:
            return ""
        # The bits of a group stand three above those of all others, which os.access has.
        if stat.S_IMODE(found.st_mode) >> 3 & wanted != wanted or found.st_gid == ROOT:
            return ""
        try:
            return grp.getgrgid(found.st_gid).gr_name
        except KeyError:
            return str(found.st_gid)
    return ""
