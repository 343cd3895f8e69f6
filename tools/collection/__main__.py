"""`python -m tools.collection` builds build/hopshive-warehouse-<version>.tar.gz, a collection as Ansible Galaxy takes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from tools.collection.tree import make

# Also a place for ANSIBLE_COLLECTIONS_PATH.
TREE = "collection/ansible_collections/hopshive/warehouse"


@click.command(help="Build the collection of this repository.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default="build", help="Where to.")
def main(output: Path) -> None:
    directory = output / TREE
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    make(Path(), directory)
    galaxy = str(Path(sys.executable).with_name("ansible-galaxy"))
    command = [galaxy, "collection", "build", "--force", f"--output-path={output}", str(directory)]
    done = subprocess.run(command, check=False)
    sys.exit(done.returncode)


main()
