"""One archive of a directory of jars, as `spark.yarn.archive` wants it: `python -m hopshive.install.jars DIRECTORY ARCHIVE`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def pack(directory: Path, archive: Path) -> int:
    """Write the jars of `directory` flat into the zip file `archive`; return how many there were.

    Jars are compressed already, so they are stored. The archive appears under its name only when it is whole.
    Raises FileNotFoundError when there is no jar in the directory.
    """
    jars = sorted(directory.glob("*.jar"))
    if not jars:
        raise FileNotFoundError(f"{directory}: no jar files there")
    partial = archive.with_name(archive.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as target:
        for jar in jars:
            target.write(jar, jar.name)
    partial.replace(archive)
    return len(jars)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m hopshive.install.jars DIRECTORY ARCHIVE", file=sys.stderr)
        return 64
    try:
        count = pack(Path(arguments[0]), Path(arguments[1]))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} jars packed into {arguments[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
