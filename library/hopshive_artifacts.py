#!/usr/bin/python
"""Ansible module, on the controller: the archives of products are in the cache."""

from __future__ import annotations

DOCUMENTATION = """
module: hopshive_artifacts
author: The hopshive authors
short_description: The archives of products and Python environments are in the controller's cache
description:
  - Fetches the files that a product's lock names, verifies each, and packs them once into an archive that is named by
    its content. A second run finds the archive and fetches nothing.
  - Runs on the controller, with the interpreter that has the package hopshive.
notes:
  - "Role that uses this module: C(artifacts)."
  - The page of documentation is C(docs/artifacts.md).
seealso:
  - module: hopshive_product
  - module: hopshive_venv
options:
  products:
    description: Products (C(hadoop)) and Python environments (C(python-spark)). All of them if empty.
    type: list
    elements: str
    default: []
  artifacts:
    description: The repository's directory of locks.
    type: path
    required: true
  cache:
    description: Where files and archives are kept.
    type: path
    required: true
  mirror:
    description: Base of a mirror that serves C(maven2/) and C(pypi/simple/). A URL or a path; empty for the public repositories.
    type: str
    default: ""
  tarballs:
    description: For each product that is taken from an official tarball its C(source), C(sha256) and C(version).
    type: dict
    default: {}
  python_version:
    description: The hosts' Python.
    type: str
    default: "3.11"
  state:
    description:
      - V(present) builds what is missing.
      - V(listed) only lists the files that a build from an empty cache would fetch, and asks no network.
    type: str
    choices: [present, listed]
    default: present
attributes:
  check_mode:
    description: Says whether something would be built.
    support: full
  diff_mode:
    description: The archives that are built.
    support: full
"""

EXAMPLES = """
- name: Build what is missing in the cache
  hopshive_artifacts:
    products: [hadoop]
    artifacts: "{{ playbook_dir }}/../artifacts"
    cache: ~/.cache/hopshive
  delegate_to: localhost
  run_once: true
"""

RETURN = """
products:
  description: The build of each product.
  type: dict
  returned: when O(state=present)
  contains:
    version:
      description: Upstream's version.
      type: str
    id:
      description: The version and the digest of what the build is made of.
      type: str
    archive:
      description: The archive in the cache.
      type: str
    sha256:
      description: Its checksum; null in check mode if it is not built yet.
      type: str
files:
  description: What would be fetched.
  type: list
  elements: dict
  returned: when O(state=listed)
  contains:
    product:
      description: The product that needs it.
      type: str
    url:
      description: Where it comes from.
      type: str
    sha256:
      description: The checksum that it must have.
      type: str
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from hopshive.install.artifacts.catalogue import Catalogue
from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.mirror import Sources
from hopshive.install.artifacts.tarball import parse_tarballs


def listed(catalogue: Catalogue, names: list[str]) -> dict[str, Any]:
    files = [file for name in names for file in catalogue.list_files(name)]
    return {"changed": False, "files": [{"product": f.product, "url": f.url, "sha256": f.sha256} for f in files]}


def present(catalogue: Catalogue, names: list[str], check_mode: bool) -> dict[str, Any]:
    products: dict[str, dict[str, str | None]] = {}
    new: list[str] = []
    for name in names:
        identity = catalogue.identity(name)
        built = catalogue.find(name) if check_mode else catalogue.build(name)
        if built is None or built.packed:
            new.append(identity.archive)
        products[name] = {
            "version": identity.version,
            "id": identity.id,
            "archive": str(catalogue.archive(identity)),
            "sha256": built.sha256 if built else None,
        }
    diff = {"before": "", "after": "".join(f"{archive}\n" for archive in new)}
    return {"changed": bool(new), "products": products, "diff": diff}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "products": {"type": "list", "elements": "str", "default": []},
            "artifacts": {"type": "path", "required": True},
            "cache": {"type": "path", "required": True},
            "mirror": {"type": "str", "default": ""},
            "tarballs": {"type": "dict", "default": {}},
            "python_version": {"type": "str", "default": "3.11"},
            "state": {"type": "str", "choices": ["present", "listed"], "default": "present"},
        },
        supports_check_mode=True,
    )
    try:
        catalogue = Catalogue(
            artifacts=Path(module.params["artifacts"]).resolve(),
            cache=Path(module.params["cache"]),
            sources=Sources(module.params["mirror"]),
            tarballs=parse_tarballs(module.params["tarballs"]),
            python_version=module.params["python_version"],
        )
        names = module.params["products"] or catalogue.names
        listing = module.params["state"] == "listed"
        result = listed(catalogue, names) if listing else present(catalogue, names, module.check_mode)
    except (ArtifactError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
