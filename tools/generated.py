"""The command of a program that generates a file of the repository: writes it, or tells whether it is up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable


def command(place: str, text: Callable[[Path], str], help: str) -> click.Command:
    """Writes `text` of the repository's directory to `place` below it; with --check ends with 1 where they differ."""

    @click.command(help=help)
    @click.option("--check", is_flag=True, help=f"Write nothing; fail if {place} is not up to date.")
    @click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=".",
        help="The repository.",
    )
    def main(check: bool, root: Path) -> None:
        file = root / place
        wanted = text(root)
        if not check:
            file.write_text(wanted)
        elif not file.is_file() or file.read_text() != wanted:
            raise click.ClickException(f"{place} is not up to date: run `make docs`.")

    return main
