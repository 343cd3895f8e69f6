"""Java programs that use the drivers between Hive and Connector/J, for tests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.support.servers import ROOT, require_java_compiler

if TYPE_CHECKING:
    from pathlib import Path

DRIVERS = ["StrictDriver", "NdbDriver"]
OPTIONS = "?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectTimeout=2000"


def compile_driver(connector_home: Path, directory: Path) -> str:
    """The class path with the compiled drivers; skips the test without a compiler."""
    require_java_compiler()
    build_driver(connector_home, directory)
    return f"{directory}:{connector_home}/*"


def build_driver(connector_home: Path, directory: Path) -> None:
    """Compile the drivers into that directory, as the role does. The directory belongs on the class path."""
    sources = [str(ROOT / "roles" / "jdbc" / "files" / f"{name}.java") for name in DRIVERS]
    subprocess.run(["javac", "-cp", f"{connector_home}/*", "-d", str(directory), *sources], check=True)
    services = directory / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "java.sql.Driver").write_text("".join(f"hopshive.{name}\n" for name in DRIVERS))


def java(classpath: str, directory: Path, program: str, *arguments: str) -> list[str]:
    """What starts a program of one file with its main class in it."""
    source = directory / "Probe.java"
    source.write_text(program)
    return ["java", "-cp", classpath, str(source), *arguments]
