"""Building in a cache, listing, mirroring: the whole way of a product and of a Python environment, over files."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.install.artifacts.catalogue import Catalogue
from hopshive.install.artifacts.errors import ArtifactError, ChecksumError
from hopshive.install.artifacts.mirror import Sources
from hopshive.install.artifacts.tarball import parse_tarballs

JAR = b"classes"
JAR_PATH = "org/thing/1/thing-1.jar"
WHEEL = "tool-1.0-py3-none-any.whl"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """A repository with the product `thing` and the environment `python-env`."""
    thing, env = tmp_path / "repo/artifacts/thing", tmp_path / "repo/artifacts/python/env"
    thing.mkdir(parents=True)
    env.mkdir(parents=True)
    (thing / "pom.xml").touch()
    (thing / "product.yml").write_text("version: 1\nlayout:\n  - {files: ['*.jar'], to: lib}\n")
    (thing / "lock.txt").write_text(f"{sha256(JAR)}  {JAR_PATH}\n")
    (env / "product.yml").write_text("version: 1.0\n")
    return tmp_path / "repo/artifacts"


@pytest.fixture
def mirror(tmp_path: Path, artifacts: Path) -> Path:
    """A mirror that serves both, with the layout of a repository manager for Python files."""
    jar = tmp_path / "mirror/maven2" / JAR_PATH
    jar.parent.mkdir(parents=True)
    jar.write_bytes(JAR)
    wheel = tmp_path / "mirror/pypi/anywhere" / WHEEL
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tool.py", "")
    page = tmp_path / "mirror/pypi/simple/tool/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="../../anywhere/{WHEEL}">{WHEEL}</a>')
    (artifacts / "python/env/lock.txt").write_text(f"{sha256(wheel.read_bytes())}  packages/ab/{WHEEL}\n")
    return tmp_path / "mirror"


@pytest.fixture
def catalogue(tmp_path: Path, artifacts: Path, mirror: Path) -> Catalogue:
    return Catalogue(artifacts, tmp_path / "cache", Sources(str(mirror)))


def members(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return [member.name for member in tar if member.isfile()]


def files_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file() and path.name != ".lock")


def test_a_product_is_built_from_a_mirror_by_path(catalogue: Catalogue) -> None:
    assert members(catalogue.build("thing").archive) == ["lib/thing-1.jar"]


def test_an_environment_is_built_from_a_mirror_by_path(catalogue: Catalogue) -> None:
    assert members(catalogue.build("python-env").archive) == ["requirements.txt", f"wheels/{WHEEL}"]


def test_the_second_build_packs_nothing(catalogue: Catalogue) -> None:
    first = catalogue.build("thing")
    assert (first.packed, catalogue.build("thing").packed) == (True, False)


def test_the_second_build_needs_no_source(catalogue: Catalogue, mirror: Path) -> None:
    catalogue.build("thing")
    mirror.rename(mirror.with_name("unplugged"))
    assert catalogue.build("thing").archive.is_file()


def test_two_caches_build_the_same_archive(catalogue: Catalogue, tmp_path: Path) -> None:
    other = Catalogue(catalogue.artifacts, tmp_path / "other", catalogue.sources)
    assert catalogue.build("thing").sha256 == other.build("thing").sha256


def test_a_wrong_checksum_leaves_the_cache_empty(catalogue: Catalogue, mirror: Path) -> None:
    (mirror / "maven2" / JAR_PATH).write_bytes(b"tampered")
    with pytest.raises(ChecksumError, match=f"{JAR_PATH}.*{sha256(JAR)}.*{sha256(b'tampered')}"):
        catalogue.build("thing")
    assert files_below(catalogue.cache) == []


def test_listing_needs_no_network_and_writes_nothing(catalogue: Catalogue, mirror: Path) -> None:
    mirror.rename(mirror.with_name("unplugged"))
    listed = [file.sha256 for name in catalogue.names for file in catalogue.list_files(name)]
    assert (len(listed), catalogue.cache.exists()) == (2, False)


def test_without_a_mirror_files_come_from_the_public_repositories(catalogue: Catalogue) -> None:
    public = Catalogue(catalogue.artifacts, catalogue.cache)
    assert [file.url for name in public.names for file in public.list_files(name)] == [
        f"https://repo.maven.apache.org/maven2/{JAR_PATH}",
        f"https://files.pythonhosted.org/packages/ab/{WHEEL}",
    ]


def test_a_filled_mirror_serves_a_build_from_an_empty_cache(catalogue: Catalogue, tmp_path: Path) -> None:
    catalogue.fill_mirror(tmp_path / "carried")
    elsewhere = Catalogue(catalogue.artifacts, tmp_path / "elsewhere", Sources(str(tmp_path / "carried")))
    assert [elsewhere.build(name).sha256 for name in elsewhere.names] == [
        catalogue.build(name).sha256 for name in catalogue.names
    ]


def test_filling_a_mirror_again_adds_nothing(catalogue: Catalogue, tmp_path: Path) -> None:
    assert (catalogue.fill_mirror(tmp_path / "carried"), catalogue.fill_mirror(tmp_path / "carried")) == (2, 0)


def test_a_mirror_that_lacks_a_python_file_is_named(catalogue: Catalogue, mirror: Path) -> None:
    (mirror / "pypi/simple/tool/index.html").write_text("")
    with pytest.raises(ArtifactError, match=f"index of tool .*pypi/simple/tool/.* does not name {WHEEL}"):
        catalogue.build("python-env")


def test_an_official_tarball_replaces_the_set_from_maven(catalogue: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "NOTICE").write_text("official")
    with tarfile.open(tmp_path / "thing-2-bin.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "NOTICE", "thing-2-bin/NOTICE")
    digest = sha256((tmp_path / "thing-2-bin.tar.gz").read_bytes())
    entry = {"source": str(tmp_path / "thing-2-bin.tar.gz"), "sha256": digest, "version": "2"}
    official = Catalogue(catalogue.artifacts, catalogue.cache, tarballs=parse_tarballs({"thing": entry}))
    built = official.build("thing")
    assert (built.identity.id, members(built.archive)) == (f"2-{digest[:8]}", ["NOTICE"])


def test_an_unknown_product_is_refused_with_the_known_ones(catalogue: Catalogue) -> None:
    with pytest.raises(ArtifactError, match="There is no product hadop; there are thing, python-env"):
        catalogue.build("hadop")


def test_the_command_list_prints_checksum_and_url(catalogue: Catalogue) -> None:
    done = CliRunner().invoke(main, ["artifacts", f"--artifacts={catalogue.artifacts}", "list", "thing"])
    assert done.output == f"{sha256(JAR)}  https://repo.maven.apache.org/maven2/{JAR_PATH}\n"


def test_the_command_build_fails_with_one_line(catalogue: Catalogue, mirror: Path) -> None:
    (mirror / "maven2" / JAR_PATH).unlink()
    options = [f"--artifacts={catalogue.artifacts}", f"--cache={catalogue.cache}", f"--mirror={mirror}"]
    done = CliRunner().invoke(main, ["artifacts", *options, "build", "thing"])
    assert (done.exit_code, done.output.count("\n"), done.output[:21]) == (1, 1, "Error: Cannot fetch f")
