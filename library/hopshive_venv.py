#!/usr/bin/python
"""Ansible module: a Python environment is installed from an archive of wheels on this host and in use."""

from __future__ import annotations

DOCUMENTATION = """
module: hopshive_venv
author: The hopshive authors
short_description: A virtual environment stands in a directory of its version, and C(current) points to it
description:
  - Verifies an archive of wheels, makes the virtual environment C(<dest>/<id>) and installs the wheels into it without
    a network, each checked against the archive's own list of checksums, then switches the link C(<dest>/current).
  - The environment is made in its place, because its scripts name it. An environment that an interrupted run left lacks the
    file C(.complete) and is made again.
  - If C(<dest>/<id>) is complete the archive is not read and need not be there.
requirements:
  - The C(venv) module of the interpreter (python3-venv).
notes:
  - "Role that uses this module: C(artifacts)."
  - The page of documentation is C(docs/artifacts.md).
seealso:
  - module: hopshive_artifacts
  - module: hopshive_product
options:
  archive:
    description: The archive on this host, with C(wheels/) and C(requirements.txt).
    type: path
    required: true
  sha256:
    description: Its checksum. An archive with another one fails, and nothing is changed.
    type: str
    required: true
  dest:
    description: The directory that holds the versions of this environment.
    type: path
    required: true
  id:
    description: The name of this version's directory.
    type: str
    required: true
  python:
    description: The interpreter that the environment is made from.
    type: path
    default: /usr/bin/python3
  keep:
    description: How many versions to keep besides the one that is in use and the one that was until now.
    type: int
    default: 1
attributes:
  check_mode:
    description: The archive is verified if it is there; nothing is changed.
    support: full
  diff_mode:
    description: The id that C(current) points to, before and after, and the removed versions.
    support: full
"""

EXAMPLES = """
- name: Install the package that the modules import
  hopshive_venv:
    archive: /var/cache/hopshive/python-hopshive-0.1.0-0123abcd.tar
    sha256: 82785a2aef64e7314531ff923b0220b5a70f058e9711994b60bbd4391d586328
    dest: /opt/hopshive/python
    id: 0.1.0-0123abcd
"""

RETURN = """
home:
  description: The directory of this version.
  type: str
  returned: always
previous:
  description: The id that C(current) pointed to before; null if there was none.
  type: str
  returned: always
installed:
  description: Whether the environment was (or in check mode would be) made.
  type: bool
  returned: always
removed:
  description: The versions that were (or in check mode would be) removed.
  type: list
  elements: str
  returned: always
"""

import shutil
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.hopshive_install import (
    InstallError,
    current_id,
    installed,
    remove,
    superseded,
    switch,
    unpack,
    verify,
)

COMPLETE = ".complete"


def make(module: AnsibleModule, archive: Path, home: Path) -> None:
    """Make the environment in its place; it counts only with the file COMPLETE in it."""
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".unpacking-") as wheelhouse:
        unpack(archive, Path(wheelhouse))
        run(module, [module.params["python"], "-m", "venv", str(home)], "install python3-venv on this host")
        pip = [str(home / "bin" / "python"), "-m", "pip", "--isolated", "--disable-pip-version-check", "install"]
        pip += ["--no-index", f"--find-links={wheelhouse}/wheels", "--no-deps", "--no-cache-dir", "--require-hashes"]
        run(module, [*pip, f"--requirement={wheelhouse}/requirements.txt"], "is artifacts_python_version this host's?")
    (home / COMPLETE).touch()


def run(module: AnsibleModule, command: list[str], remedy: str) -> None:
    code, out, err = module.run_command(command)
    if code != 0:
        raise InstallError(f"{' '.join(command[:4])} failed ({remedy}): {(err or out).strip()[-2000:]}")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "archive": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "dest": {"type": "path", "required": True},
            "id": {"type": "str", "required": True},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "keep": {"type": "int", "default": 1},
        },
        supports_check_mode=True,
    )
    dest, build_id, archive = Path(module.params["dest"]), module.params["id"], Path(module.params["archive"])
    before = current_id(dest)
    builds = installed(dest, marker=COMPLETE)
    missing = build_id not in builds
    changed = missing or before != build_id
    old = superseded(builds, {build_id, before or build_id}, module.params["keep"]) if changed else []
    try:
        # What check mode would copy first is not here yet.
        if missing and (archive.exists() or not module.check_mode):
            verify(archive, module.params["sha256"])
        if changed and not module.check_mode:
            if missing:
                make(module, archive, dest / build_id)
            switch(dest, build_id)
            remove(dest, old)
    except (InstallError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=changed,
        home=str(dest / build_id),
        previous=before,
        installed=missing,
        removed=old,
        diff={
            "before": {"current": before, "versions": sorted(builds)},
            "after": {"current": build_id, "versions": sorted({*builds, build_id} - set(old))},
        },
    )


if __name__ == "__main__":
    main()
