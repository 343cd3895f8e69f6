"""Resolve a product's pom.xml with Maven and write its lock: for `update` only, never for an installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.lock import LockedFile, format_lock, sha256_of
from hopshive.install.artifacts.product import Product

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_KINDS = (".jar", ".tar.gz")
# Every repository that a dependency's pom names is replaced by the one that installations fetch from.
_SETTINGS = """<settings><mirrors><mirror>
<id>hopshive</id><mirrorOf>*</mirrorOf><url>{url}</url>
</mirror></mirrors></settings>
"""


def update_lock(product: Product, repository_url: str, local_repository: Path, files: Path) -> tuple[LockedFile, ...]:
    """Resolve the pom from one repository, put the files into the cache and rewrite the product's lock."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise ArtifactError("`mvn` is not on the PATH: an update of a product's lock needs Maven 3.8 and a JDK.")
    with tempfile.TemporaryDirectory(prefix="hopshive-maven-") as temporary:
        settings = Path(temporary, "settings.xml")
        settings.write_text(_SETTINGS.format(url=repository_url), encoding="utf-8")
        resolved = Path(temporary, "resolved")
        command = [
            mvn, "--batch-mode", "--quiet", f"--settings={settings}", f"--file={product.pom}",
            f"-Dmaven.repo.local={local_repository}", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true",
            f"-DoutputDirectory={resolved}", _PLUGIN,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"MAVEN_ARGS": ""})
        if done.returncode != 0:
            reasons = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")] or [done.stderr]
            raise ArtifactError(f"Maven cannot resolve {product.pom}: {reasons[0]}")
        locked = _locked(product, resolved)
        for file in locked:
            destination = files / file.path
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(resolved / file.path, destination)
    product.lock_path.write_text(format_lock(locked), encoding="utf-8")
    return locked


def _locked(product: Product, resolved: Path) -> tuple[LockedFile, ...]:
    paths = [path for path in resolved.rglob("*") if path.name.endswith(_KINDS)]
    names = {path: path.relative_to(resolved).as_posix() for path in paths}
    return tuple(sorted(LockedFile(names[p], sha256_of(p)) for p in paths if not product.excludes(names[p])))
