"""Why a file cannot be opened, and which user or group can open it, as the end of a sentence."""

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
    """`Permission denied for the user u; ...`, with the way to get access to `path`.

    The first directory or file on the way that denies access decides. `mode`: the access that was tried, as for
    os.access.
    """
    said = f"Permission denied for the user {user()}"
    if os.geteuid() == ROOT:
        return said
    group = _group(path, mode)
    return f"{said}; run the command with sudo" + (f", or as a member of the group {group}" if group else "")


def user() -> str:
    """The user that this process opens files as; its number if it has no name."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(path: Path, mode: int) -> str:
    """The group that has the access which this process lacks; empty if there is none."""
    for place in (*reversed(path.absolute().parents), path):
        wanted = mode if place == path else os.X_OK
        if os.access(place, wanted, effective_ids=True):
            continue
        try:
            found = place.stat()
        except OSError:
            return ""
        # os.access takes the bits of others; those of the group are three bits higher.
        if stat.S_IMODE(found.st_mode) >> 3 & wanted != wanted or found.st_gid == ROOT:
            return ""
        try:
            return grp.getgrgid(found.st_gid).gr_name
        except KeyError:
            return str(found.st_gid)
    return ""
