"""Lock files, and the identity that follows from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.lock import LockedFile, format_lock, parse_lock
from hopshive.install.artifacts.product import load_product, product_names

ARTIFACTS = Path(__file__).parents[4] / "artifacts"
A, B = "a" * 64, "b" * 64


def make_product(artifacts: Path, lock: str = f"{A}  org/a.jar\n", layout: str = "lib") -> Path:
    directory = artifacts / "thing"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pom.xml").touch()
    (directory / "product.yml").write_text(f"version: 1.2\nlayout:\n  - {{files: ['*.jar'], to: {layout}}}\n")
    (directory / "lock.txt").write_text(lock)
    return artifacts


def test_a_written_lock_reads_the_same() -> None:
    files = (LockedFile("org/a.jar", A), LockedFile("org/b.jar", B))
    assert parse_lock(format_lock(reversed(files)), "lock.txt") == files


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no checksum\n", "line 1 is not"),
        (f"{A}  ../../etc/passwd\n", "leaves the repository"),
        (f"{A}  /etc/passwd\n", "leaves the repository"),
        (f"{A}  b.jar\n{A}  a.jar\n", "not in the order"),
        (f"{A}  a.jar\n{B}  a.jar\n", "repeated"),
    ],
)
def test_a_bad_line_is_named(text: str, reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        parse_lock(text, "lock.txt")


def test_a_changed_lock_is_another_build(tmp_path: Path) -> None:
    before = load_product(make_product(tmp_path), "thing").identity()
    after = load_product(make_product(tmp_path, f"{B}  org/a.jar\n"), "thing").identity()
    assert before.version == after.version
    assert before.digest != after.digest


def test_a_changed_layout_is_another_build(tmp_path: Path) -> None:
    before = load_product(make_product(tmp_path), "thing").identity()
    assert load_product(make_product(tmp_path, layout="jars"), "thing").identity() != before


def test_the_id_is_version_and_digest(tmp_path: Path) -> None:
    identity = load_product(make_product(tmp_path), "thing").identity()
    assert identity.archive == f"thing-1.2-{identity.digest}.tar"


@pytest.mark.parametrize("name", product_names(ARTIFACTS))
def test_every_locked_file_of_a_product_has_a_place_and_is_not_excluded(name: str) -> None:
    product = load_product(ARTIFACTS, name)
    for file in product.files():
        assert product.placement(file.path)
        assert not product.excludes(file.path), file.path


@pytest.mark.parametrize("name", product_names(ARTIFACTS))
def test_every_exclusion_has_a_reason(name: str) -> None:
    assert all(exclusion.reason for exclusion in load_product(ARTIFACTS, name).exclude)


def test_hives_set_has_no_jar_of_hadoop() -> None:
    assert not [file.path for file in load_product(ARTIFACTS, "hive").files() if file.name.startswith("hadoop-")]


@pytest.mark.parametrize("binding", ["pac4j-saml", "shibboleth", "opensaml"])
def test_hives_set_needs_only_maven_central(binding: str) -> None:
    assert not [file.path for file in load_product(ARTIFACTS, "hive").files() if binding in file.path]


def test_hives_set_has_what_the_http_port_loads() -> None:
    paths = [file.path for file in load_product(ARTIFACTS, "hive").files() if "pac4j" in file.path]
    assert [path.rpartition("/")[2].rpartition("-")[0] for path in paths] == ["pac4j-core"]


@pytest.mark.parametrize("jar", ["cron-utils-", "libfb303-", "hive-hcatalog-core-", "hive-exec-", "log4j-slf4j-impl-"])
def test_hives_set_has_what_its_services_miss_at_run_time(jar: str) -> None:
    assert any(file.name.startswith(jar) for file in load_product(ARTIFACTS, "hive").files())
