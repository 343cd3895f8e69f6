"""The collection, built and installed as a site does it, in a directory where nothing of the repository is."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
NAME = "hopshive.warehouse"


@dataclass(frozen=True)
class Installed:
    """An installed collection. `directory` is where its user works: beside `collections/` it has what a test writes."""

    directory: Path

    @property
    def tree(self) -> Path:
        return self.directory / "collections/ansible_collections/hopshive/warehouse"

    def playbook(self, name: str) -> Path:
        """The file of a playbook that is called by its full name."""
        return self.tree / f"playbooks/{name.removeprefix(NAME + '.')}.yml"

    def run(self, program: str, *arguments: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a program of Ansible there, without a setting of the repository or of the person who tests."""
        return subprocess.run(
            [Path(sys.executable).with_name(program), *arguments],
            cwd=self.directory,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        return kept | {
            "ANSIBLE_CONFIG": str(self.directory / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.directory / "ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.directory / "collections"),
            "ANSIBLE_FORCE_COLOR": "0",
            "ANSIBLE_NOCOWS": "1",
            # A package of another version, which the collection passes over.
            "PYTHONPATH": str(self.directory / "another"),
        }


def install(directory: Path) -> Installed:
    """Build the collection of the repository and install it below an empty directory, without any network."""
    installed = Installed(directory)
    build = [sys.executable, "-m", "tools.collection", f"--output={directory}/build"]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # What the collection's README asks of its user.
    readme = (ROOT / "tools/collection/README.md").read_text()
    settings = textwrap.dedent(readme.partition("   ```\n   [defaults]")[2].partition("```")[0])
    (directory / "ansible.cfg").write_text("[defaults]" + settings)
    another = directory / "another/hopshive/__init__.py"
    another.parent.mkdir(parents=True)
    another.write_text("raise ImportError('This is another version of the package hopshive.')\n")
    tarball = directory / f"build/hopshive-warehouse-{VERSION}.tar.gz"
    where = ["-p", str(directory / "collections")]
    done = installed.run("ansible-galaxy", "collection", "install", tarball, *where, "--offline")
    assert done.returncode == 0, done.stdout + done.stderr
    return installed
