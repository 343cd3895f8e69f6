"""Lookup: which build of a product the repository asks for, and where a host has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError, AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from hopshive.install.artifacts.catalogue import DEFAULT_PYTHON, Catalogue, default_cache
from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.python_env import PREFIX
from hopshive.install.artifacts.tarball import parse_tarballs

# Of the repository, or of the collection that is made of it.
ARTIFACTS = next(path for directory in Path(__file__).parents if (path := directory / "artifacts").is_dir())
DOCUMENTATION = """
name: hopshive_product
author: The hopshive authors
short_description: Which build of a product is asked for, and its directory on the hosts
description:
  - Computed from the files in C(artifacts/) and a few variables alone. No build must have run, no fact is gathered.
options:
  _terms:
    description: Names of products (C(hadoop)) or of Python environments (C(python-spark)).
    required: true
    type: list
    elements: str
notes:
  - Reads the variables C(artifacts_tarballs), C(artifacts_python_version), C(artifacts_cache_dir) and C(cluster_prefix).
"""

EXAMPLES = """
- name: A class path with the directory of the version
  ansible.builtin.debug:
    msg: "{{ lookup('hopshive_product', 'hadoop').home }}/share/hadoop/common/*"
"""

RETURN = """
_raw:
  description: For each name, its build.
  type: list
  elements: dict
  contains:
    product:
      description: The name that was asked for.
      type: str
    version:
      description: Upstream's version.
      type: str
    id:
      description: The version and the digest of what the build is made of, C(3.3.6-0123abcd).
      type: str
    dest:
      description: The directory on a host that holds the builds of this product.
      type: str
    home:
      description: The directory of this build on a host.
      type: str
    current:
      description: The link on a host that points to the build in use.
      type: str
    archive:
      description: The file name of the archive, in the cache and where it is staged.
      type: str
    archive_path:
      description: The archive on the controller, whether it has been built or not.
      type: str
    python_version:
      description: The hosts' Python, which the path of a Python environment's packages has in it.
      type: str
"""


class LookupModule(LookupBase):  # type: ignore[misc]
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **_: Any) -> list[dict[str, str]]:
        self._variables = variables or {}
        try:
            catalogue = Catalogue(
                artifacts=ARTIFACTS,
                cache=Path(self._value("artifacts_cache_dir", str(default_cache()))).expanduser(),
                tarballs=parse_tarballs(self._value("artifacts_tarballs", {})),
                python_version=str(self._value("artifacts_python_version", DEFAULT_PYTHON)),
            )
            return [self._build(catalogue, str(term)) for term in terms]
        except ArtifactError as error:
            raise AnsibleLookupError(str(error)) from error

    def _build(self, catalogue: Catalogue, name: str) -> dict[str, str]:
        identity = catalogue.identity(name)
        env = name.removeprefix(PREFIX)
        # The package's own environment is /opt/hopshive/python, the one of the cluster's interpreter.
        directory = "python" if name == PREFIX + "hopshive" else env
        dest = f"{self._value('cluster_prefix', '/opt/hopshive')}/{directory}"
        return {
            "product": name,
            "version": identity.version,
            "id": identity.id,
            "dest": dest,
            "home": f"{dest}/{identity.id}",
            "current": f"{dest}/current",
            "archive": identity.archive,
            "archive_path": str(catalogue.archive(identity)),
            "python_version": catalogue.python_version,
        }

    def _value(self, name: str, default: Any) -> Any:
        try:
            value = self._templar.template(self._variables.get(name, default))
        except AnsibleError as error:
            raise AnsibleLookupError(f"{name}: {error}") from error
        return default if value in (None, "") else value
