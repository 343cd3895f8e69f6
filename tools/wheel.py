"""`python -m tools.wheel` writes the wheel of the package hopshive into build/: the one that the hosts get.

The wheel comes from the archive of the environment python-hopshive. The cache has that archive, or the locked build tools
make it; only what the cache lacks is fetched.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import click

from hopshive.install.artifacts.catalogue import Catalogue, default_cache
from hopshive.install.artifacts.python_env import PREFIX, distribution


def write(root: Path, cache: Path, output: Path) -> Path:
    """Write the wheel of the package in the repository `root` into the directory `output`, and return its path."""
    built = Catalogue(artifacts=(root / "artifacts").resolve(), cache=cache).build(PREFIX + "hopshive")
    with tarfile.open(built.archive) as archive:
        (member,) = (
            name
            for name in archive.getnames()
            if name.endswith(".whl") and distribution(Path(name).name)[0] == "hopshive"
        )
        stream = archive.extractfile(member)
        if stream is None:
            raise ValueError(f"{member} in {built.archive} is no file")
        output.mkdir(parents=True, exist_ok=True)
        wheel = output / Path(member).name
        wheel.write_bytes(stream.read())
    return wheel


@click.command(help="Write the wheel of the package hopshive.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default="build", help="Where to.")
def main(output: Path) -> None:
    click.echo(write(Path(), default_cache(), output))


if __name__ == "__main__":
    main()
