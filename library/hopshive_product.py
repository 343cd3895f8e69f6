#!/usr/bin/python
"""Ansible module: a product is unpacked on this host and in use."""

from __future__ import annotations

DOCUMENTATION = """
module: hopshive_product
author: The hopshive authors
short_description: A product is unpacked in a directory of its version, and C(current) points to it
description:
  - Verifies an archive, unpacks it beside and renames it to C(<dest>/<id>), then switches the link C(<dest>/current).
    Both steps are atomic, so that an interrupted run is repeated by the next one.
  - If C(<dest>/<id>) exists the archive is not read and need not be there.
  - Needs nothing but Python 3.10 on the host.
notes:
  - "Role that uses this module: C(artifacts)."
  - The page of documentation is C(docs/artifacts.md).
seealso:
  - module: hopshive_artifacts
  - module: hopshive_venv
options:
  archive:
    description: The archive on this host.
    type: path
    required: true
  sha256:
    description: Its checksum. An archive with another one fails, and nothing is changed.
    type: str
    required: true
  dest:
    description: The directory that holds the versions of this product.
    type: path
    required: true
  id:
    description: The name of this version's directory.
    type: str
    required: true
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
- name: Unpack Hadoop and use it
  hopshive_product:
    archive: /var/cache/hopshive/hadoop-3.3.6-982ada3c.tar
    sha256: 82785a2aef64e7314531ff923b0220b5a70f058e9711994b60bbd4391d586328
    dest: /opt/hopshive/hadoop
    id: 3.3.6-982ada3c
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
unpacked:
  description: Whether the archive was (or in check mode would be) unpacked.
  type: bool
  returned: always
removed:
  description: The versions that were (or in check mode would be) removed.
  type: list
  elements: str
  returned: always
"""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.hopshive_install import (
    InstallError,
    current_id,
    installed,
    remove,
    superseded,
    switch,
    unpack_to,
    verify,
)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "archive": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "dest": {"type": "path", "required": True},
            "id": {"type": "str", "required": True},
            "keep": {"type": "int", "default": 1},
        },
        supports_check_mode=True,
    )
    dest, build_id, archive = Path(module.params["dest"]), module.params["id"], Path(module.params["archive"])
    before = current_id(dest)
    builds = installed(dest)
    missing = build_id not in builds
    changed = missing or before != build_id
    old = superseded(builds, {build_id, before or build_id}, module.params["keep"]) if changed else []
    try:
        # What check mode would copy first is not here yet.
        if missing and (archive.exists() or not module.check_mode):
            verify(archive, module.params["sha256"])
        if changed and not module.check_mode:
            if missing:
                unpack_to(archive, dest, build_id)
            switch(dest, build_id)
            remove(dest, old)
    except (InstallError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=changed,
        home=str(dest / build_id),
        previous=before,
        unpacked=missing,
        removed=old,
        diff={
            "before": {"current": before, "versions": sorted(builds)},
            "after": {"current": build_id, "versions": sorted({*builds, build_id} - set(old))},
        },
    )


if __name__ == "__main__":
    main()
