"""Puts the collection's own Python package hopshive before any that is installed: its version is the collection's."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.errors import AnsibleError

COLLECTION = Path(__file__).parents[2]
SOURCE = str(COLLECTION / "src")

if SOURCE not in sys.path:
    sys.path.insert(0, SOURCE)
try:
    import hopshive.config  # noqa: F401
except ImportError as error:
    raise AnsibleError(
        f"The Python that runs Ansible lacks a package that hopshive.warehouse needs ({error}). Install what is missing: "
        f"{sys.executable} -m pip install -r {COLLECTION / 'requirements.txt'}"
    ) from error
