"""Java programs that ask the hooks of HiveServer2 beside Hive's own classes, for tests."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.support.servers import OPENS, ROOT, hadoop_classpath, require_java_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOOKS = ROOT / "roles/server2/files"


def run_probe(
    program: str, directory: Path, homes: tuple[Path, Path], arguments: Sequence[Path], *jvm: str
) -> list[str]:
    """The lines that a program prints whose main class is `hopshive.Probe`; `homes`: of Hive and Hadoop.

    Skips without a compiler. `directory` is for the program and the classes.
    """
    require_java_compiler()
    hive, hadoop = homes
    source = directory / "Probe.java"
    source.write_text(program)
    classpath = os.pathsep.join([str(directory), f"{hive}/lib/*", *hadoop_classpath(hadoop, logging=False)])
    sources = [str(file) for file in (*sorted(HOOKS.glob("*.java")), source)]
    compiled = ["javac", "-proc:none", "-cp", classpath, "-d", str(directory), *sources]
    subprocess.run(compiled, check=True, capture_output=True)
    argv = ["java", *OPENS, *jvm, "-cp", classpath, "hopshive.Probe", *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
