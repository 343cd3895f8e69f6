"""The lookup hopshive_product: what roles write into class paths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from lookup_plugins.hopshive_product import LookupModule


def lookup(name: str, **variables: Any) -> dict[str, str]:
    loader = DataLoader()
    module = LookupModule(loader=loader, templar=Templar(loader=loader, variables=variables))
    (build,) = module.run([name], variables)
    return build


def test_a_products_home_is_named_by_version_and_digest() -> None:
    assert re.fullmatch(r"/opt/hopshive/hadoop/3\.3\.6-[0-9a-f]{8}", lookup("hadoop")["home"])


@pytest.mark.parametrize(
    ("name", "dest"),
    [("python-hopshive", "/srv/h/python"), ("python-login", "/srv/h/login"), ("python-spark", "/srv/h/spark")],
)
def test_environments_stand_below_the_prefix_under_their_own_names(name: str, dest: str) -> None:
    assert lookup(name, cluster_prefix="/srv/h")["dest"] == dest


def test_an_official_tarball_changes_the_home() -> None:
    tarball = {"source": "/x/hive.tar.gz", "sha256": "0123abcd" * 8, "version": "4.0.1"}
    assert lookup("hive", artifacts_tarballs={"hive": tarball})["home"] == "/opt/hopshive/hive/4.0.1-0123abcd"


def test_another_python_on_the_hosts_is_another_environment() -> None:
    assert lookup("python-spark", artifacts_python_version="3.12")["id"] != lookup("python-spark")["id"]


def test_the_archive_is_looked_for_in_the_cache_that_is_set(tmp_path: Path) -> None:
    build = lookup("tez", artifacts_cache_dir=str(tmp_path))
    assert build["archive_path"] == f"{tmp_path}/products/{build['archive']}"


def test_an_unknown_product_is_an_error_of_the_lookup() -> None:
    with pytest.raises(AnsibleLookupError, match="There is no product hadop"):
        lookup("hadop")
