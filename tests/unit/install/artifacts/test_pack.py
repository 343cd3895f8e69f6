"""Packing a product, and repacking an official tarball."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.lock import LockedFile, sha256_of
from hopshive.install.artifacts.pack import checksum_path, contents, flat_tar_gz, recorded_checksum, write_tar
from hopshive.install.artifacts.product import Bundle, Placement, Product
from hopshive.install.artifacts.tarball import OfficialTarball, parse_tarballs, repack


def product(*layout: Placement, bundles: tuple[Bundle, ...] = ()) -> Product:
    return Product("thing", Path("artifacts/thing"), "1", (), layout, bundles)


def locked(repository: Path, **files: bytes) -> list[LockedFile]:
    for name, content in files.items():
        (repository / f"{name}.jar").write_bytes(content)
    return [LockedFile(f"{name}.jar", hashlib.sha256(content).hexdigest()) for name, content in files.items()]


def jar(path: Path, **members: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)


def to(directory: str, *patterns: str) -> Placement:
    return Placement(patterns or ("*.jar",), directory, {})


def official(path: Path, names: dict[str, bytes | None]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in names.items():
            header = tarfile.TarInfo(name)
            header.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            header.size = len(content or b"")
            header.mode = 0o755
            header.uid, header.uname = 1000, "builder"
            archive.addfile(header, io.BytesIO(content or b""))
    return path


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    files = {"lib/a.jar": b"a", "b.jar": b"b"}
    first = write_tar(files, tmp_path / "1.tar")
    assert write_tar(dict(reversed(files.items())), tmp_path / "2.tar") == first


def test_the_time_and_owner_of_a_file_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    first = write_tar({"a": tmp_path / "a"}, tmp_path / "1.tar")
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").chmod(0o600)
    assert write_tar({"a": tmp_path / "a"}, tmp_path / "2.tar") == first


def test_the_first_line_of_the_layout_that_matches_places_a_file(tmp_path: Path) -> None:
    files = locked(tmp_path, a=b"a", b=b"b")
    placed = contents(product(to("special", "a*"), to("lib")), files, tmp_path)
    assert set(placed) == {"special/a.jar", "lib/b.jar"}


def test_a_file_without_a_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"matches b\.jar"):
        contents(product(to("lib", "a*")), locked(tmp_path, b=b"b"), tmp_path)


def test_two_files_for_one_place_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a.jar").write_bytes(b"x")
    files = [*locked(tmp_path, a=b"a"), LockedFile("x/a.jar", "0" * 64)]
    with pytest.raises(ArtifactError, match=r"Two files of thing would be lib/a\.jar"):
        contents(product(to("lib")), files, tmp_path)


def test_members_of_a_jar_are_unpacked_below_another_head(tmp_path: Path) -> None:
    jar(tmp_path / "t.jar", webapps__index=b"page", other=b"no")
    placed = contents(product(Placement(("*",), None, {"webapps/": "share/web/"})), [LockedFile("t.jar", "")], tmp_path)
    assert placed == {"share/web/index": b"page"}


def test_a_jar_without_the_wanted_members_is_an_error(tmp_path: Path) -> None:
    jar(tmp_path / "t.jar", other=b"no")
    with pytest.raises(ArtifactError, match=r"t\.jar has no member"):
        contents(product(Placement(("*",), None, {"webapps/": "web/"})), [LockedFile("t.jar", "")], tmp_path)


def test_a_bundle_is_flat(tmp_path: Path) -> None:
    bundles = (Bundle("share/all.tar.gz", ("*.jar",)),)
    placed = contents(product(to("lib"), bundles=bundles), locked(tmp_path, a=b"a", b=b"b"), tmp_path)
    bundle = placed["share/all.tar.gz"]
    assert isinstance(bundle, bytes)
    with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
        assert archive.getnames() == ["a.jar", "b.jar"]


def test_a_bundle_is_the_same_bytes_each_time() -> None:
    assert flat_tar_gz({"a": b"a"}) == flat_tar_gz({"a": b"a"})


def test_the_recorded_checksum_is_the_archives(tmp_path: Path) -> None:
    write_tar({"a": b"a"}, tmp_path / "a.tar")
    assert recorded_checksum(tmp_path / "a.tar") == sha256_of(tmp_path / "a.tar")


def test_an_archive_that_changed_after_its_checksum_was_recorded_does_not_count(tmp_path: Path) -> None:
    write_tar({"a": b"a"}, tmp_path / "a.tar")
    later = checksum_path(tmp_path / "a.tar").stat().st_mtime + 1
    os.utime(tmp_path / "a.tar", (later, later))
    assert recorded_checksum(tmp_path / "a.tar") is None


def test_packing_that_fails_leaves_no_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_tar({"a": tmp_path / "missing"}, tmp_path / "a.tar")
    assert list(tmp_path.iterdir()) == []


def test_an_official_tarball_loses_its_top_directory(tmp_path: Path) -> None:
    source = official(tmp_path / "t.tar.gz", {"hive-4": None, "hive-4/lib": None, "hive-4/lib/a.jar": b"a"})
    repack(source, tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as archive:
        assert archive.getnames() == ["lib", "lib/a.jar"]


def test_an_official_tarball_belongs_to_root_then(tmp_path: Path) -> None:
    repack(official(tmp_path / "t.tar.gz", {"hive-4/a": b"a"}), tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as archive:
        assert {(member.uid, member.uname) for member in archive} == {(0, "root")}


def test_a_tarball_with_two_top_directories_is_refused(tmp_path: Path) -> None:
    source = official(tmp_path / "t.tar.gz", {"one/a": b"a", "two/b": b"b"})
    with pytest.raises(ArtifactError, match="more than one top directory"):
        repack(source, tmp_path / "out.tar")


def test_an_official_tarball_is_identified_by_its_checksum() -> None:
    assert OfficialTarball("hive", "/x/hive.tar.gz", "0123abcd" + "0" * 56, "4.0.1").identity().id == "4.0.1-0123abcd"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"source": "/x", "version": "4"}, "artifacts_tarballs.hive lacks sha256"),
        ({"source": "/x", "version": "4", "sha256": "abc"}, "not 64 hexadecimal digits: abc"),
    ],
)
def test_a_bad_entry_of_artifacts_tarballs_is_named(entry: dict[str, str], reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        parse_tarballs({"hive": entry})
