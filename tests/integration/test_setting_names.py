"""Every setting that a role or an inventory gives to Hadoop, Hive or Tez is one that the release knows: they ignore others."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.servers import unpack
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIXES = "datanucleus|dfs|fs|ha|hadoop|hive|io|ipc|javax|mapreduce|metastore|tez|yarn"
SETTING = re.compile(rf"^ +'?((?:{PREFIXES})(?:\.[A-Za-z0-9_-]+)+)'?:", re.MULTILINE)
NAME = re.compile(rb"[a-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)+")
# Where the classes are that declare settings.
JARS = re.compile(
    r"(hadoop-(common|hdfs|hdfs-client|yarn-(api|common|server-common|server-resourcemanager)|mapreduce-client-core)"
    r"|hive-(common|standalone-metastore-(common|server))|tez-(api|runtime-library|mapreduce))-[0-9.]+\.jar"
)
# Names that are put together at run time, of a user or a queue.
PUT_TOGETHER = re.compile(r"hadoop\.proxyuser\.[a-z]+\.(groups|hosts|users)|yarn\.scheduler\.capacity\.root\..*")


def written() -> dict[str, Path]:
    """Each setting, and a file that gives it."""
    roles = [file for part in ("defaults", "tasks", "vars") for file in ROOT.glob(f"roles/*/{part}/*.yml")]
    files = [*roles, *ROOT.glob("inventories/**/*.yml"), *ROOT.glob("molecule/*/inventory/**/*.yml")]
    return {name: file for file in files for name in SETTING.findall(file.read_text())}


def declared(home: Path) -> Iterator[str]:
    """What looks like a setting's name in the classes and the tables of defaults of a product."""
    for path in home.rglob("*.jar"):
        if not JARS.fullmatch(path.name):
            continue
        with zipfile.ZipFile(path) as jar:
            for entry in jar.namelist():
                if entry.endswith((".class", "-default.xml")):
                    yield from (name.decode() for name in NAME.findall(jar.read(entry)))


@pytest.fixture(scope="module")
def known(hadoop_home: Path, hive_home: Path, products: Path) -> set[str]:
    return {name for home in (hadoop_home, hive_home, unpack("tez", products)) for name in declared(home)}


def test_the_releases_know_every_setting_that_is_given_to_them(known: set[str]) -> None:
    settings = {name: file for name, file in written().items() if not PUT_TOGETHER.fullmatch(name)}
    assert len(settings) > 100
    unknown = [f"{file.relative_to(ROOT)}: {name}" for name, file in settings.items() if name not in known]
    assert not unknown, "\n".join(sorted(unknown))


def test_a_misspelled_setting_is_found(known: set[str]) -> None:
    assert "tez.am.tez-ui.webservice.enable" in known
    assert "tez.am.webservice.enable" not in known
