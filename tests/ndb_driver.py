"""Java programs that use the driver between Hive and Connector/J, for tests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.servers import ROOT, require_java_compiler

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = ROOT / "roles" / "ndb" / "files" / "NdbDriver.java"
OPTIONS = "?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectTimeout=2000"


def compile_driver(connector_home: Path, directory: Path) -> str:
    """The class path with the compiled driver; skips the test without a compiler."""
    require_java_compiler()
    build_driver(connector_home, directory)
    return f"{directory}:{connector_home}/*"


def build_driver(connector_home: Path, directory: Path) -> None:
    """Compile the driver, its classes into that directory."""
    subprocess.run(["javac", "-cp", f"{connector_home}/*", "-d", str(directory), str(DRIVER)], check=True)


def java(classpath: str, directory: Path, program: str, *arguments: str) -> list[str]:
    """What starts a program of one file with its main class in it."""
    source = directory / "Probe.java"
    source.write_text(program)
    return ["java", "-cp", classpath, str(source), *arguments]
