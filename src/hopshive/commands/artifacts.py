"""`hopshive artifacts`: the archives that hosts get, in the controller's cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hopshive.install.artifacts.catalogue import DEFAULT_PYTHON, Catalogue, default_artifacts, default_cache
from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.mirror import Sources
from hopshive.install.artifacts.python_env import BUILD_ENV, PREFIX
from hopshive.install.artifacts.tarball import OfficialTarball, parse_tarballs


@click.group(short_help="On the controller: archives for hosts, cache, mirror, locks.")
@click.option("--artifacts", type=click.Path(path_type=Path, file_okay=False), help="Directory of the locks.")
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False), help="Default: HOPSHIVE_CACHE, or ~/.cache/hopshive."
)
@click.option("--mirror", default="", envvar="HOPSHIVE_MIRROR", help="Base of a mirror: a URL or a path.")
@click.option("--python-version", default=DEFAULT_PYTHON, show_default=True, help="The hosts' Python.")
@click.option(
    "--tarballs", type=click.Path(path_type=Path, exists=True), help="YAML file with the variable artifacts_tarballs."
)
@click.pass_context
def artifacts(
    ctx: click.Context,
    artifacts: Path | None,
    cache: Path | None,
    mirror: str,
    python_version: str,
    tarballs: Path | None,
) -> None:
    """List the archives that hosts get, build them in the cache, update a lock, fill a mirror."""
    locks = (artifacts or default_artifacts()).resolve()
    if not locks.is_dir():
        raise click.ClickException(
            f"{locks} does not exist. Run this command in the repository of hopshive, or give --artifacts."
        )
    ctx.obj = Catalogue(
        artifacts=locks,
        cache=(cache or default_cache()).expanduser(),
        sources=Sources(mirror),
        tarballs=read_tarballs(tarballs) if tarballs else {},
        python_version=python_version,
    )


@artifacts.command("list")
@click.argument("products", nargs=-1)
@click.pass_obj
def list_(catalogue: Catalogue, products: tuple[str, ...]) -> None:
    """Print checksum and URL of every file that a build from an empty cache fetches. Uses no network."""
    for name in products or catalogue.names:
        for file in catalogue.list_files(name):
            click.echo(f"{file.sha256}  {file.url}")


@artifacts.command()
@click.argument("products", nargs=-1)
@click.pass_obj
def build(catalogue: Catalogue, products: tuple[str, ...]) -> None:
    """Fetch, verify and pack what the cache lacks; print checksum and path of each archive."""
    with Bars() as bars:
        built = [catalogue.build(name, bars.advance) for name in products or catalogue.names]
    for archive in built:
        click.echo(f"{archive.sha256}  {archive.archive}")


@artifacts.command()
@click.argument("product")
@click.pass_obj
def update(catalogue: Catalogue, product: str) -> None:
    """Resolve PRODUCT again and rewrite its lock. Needs Maven and a JDK, or uv for python-<environment>."""
    if product.startswith(PREFIX):
        path = catalogue.artifacts / "python" / product.removeprefix(PREFIX) / "lock.txt"
    else:
        path = catalogue.artifacts / product / "lock.txt"
    before = path.read_bytes() if path.exists() else b""
    files = catalogue.update(product)
    state = "unchanged" if path.read_bytes() == before else "rewritten"
    click.echo(f"{path}: {state}, {len(files)} files")
    if product == PREFIX + BUILD_ENV and state == "rewritten":
        click.echo(
            "Wheels that other tools built stay in the cache. To build them again, remove the cache's directory wheels."
        )


@artifacts.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.pass_obj
def mirror(catalogue: Catalogue, directory: Path) -> None:
    """Fill DIRECTORY with all files that a build needs: a mirror for a site without the Internet."""
    with Bars() as bars:
        added = catalogue.fill_mirror(directory, bars.advance)
    click.echo(f"{directory}: {added} files added")


def read_tarballs(path: Path) -> dict[str, OfficialTarball]:
    """The variable artifacts_tarballs in a YAML file, with or without its name as the top key. Raises ArtifactError."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArtifactError(f"{path} is not YAML: {' '.join(str(error).split())}.") from None
    entries = data.get("artifacts_tarballs", data) if isinstance(data, dict) else data
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise ArtifactError(f"{path} must hold artifacts_tarballs: for each product its source, sha256 and version.")
    return parse_tarballs(entries)


class Bars:
    """Progress bars on standard error, one for each product; none unless standard error is a terminal."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, name: str, done: int, total: int) -> None:
        """Show that `done` of `total` files of a product are in the cache."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done)
