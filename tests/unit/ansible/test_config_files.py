"""The filters that render configuration files, and those over accounts."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from filter_plugins.accounts import unlike_accounts
from filter_plugins.config_files import file_texts, named_files, site_files, site_xml, with_lists


def properties_of(document: str) -> dict[str, str | None]:
    root = ElementTree.fromstring(document)  # noqa: S314 - our own text
    return {str(item.findtext("name")): item.findtext("value") for item in root.findall("property")}


def test_a_site_file_escapes_what_xml_would_misread() -> None:
    url = "jdbc:mysql://db/x?a=1&b=<2>"
    assert properties_of(site_xml({"url": url}, "by & for -- us")) == {"url": url}


def test_a_site_file_writes_booleans_as_hadoop_reads_them() -> None:
    assert properties_of(site_xml({"a": True, "b": False}, "")) == {"a": "true", "b": "false"}


def test_a_site_file_leaves_out_what_is_null_and_sorts_the_rest() -> None:
    assert list(properties_of(site_xml({"z": 1, "gone": None, "a": 2}, ""))) == ["a", "z"]


def test_site_files_lie_in_their_directory() -> None:
    files = site_files({"core-site.xml": {"a": 1}}, "/etc/x", "ours")
    assert files == [{"path": "/etc/x/core-site.xml", "content": site_xml({"a": 1}, "ours")}]


def test_texts_of_files_stand_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "B.java").write_text("class Ö {}\n", encoding="utf-8")
    (tmp_path / "A.java").write_text("\n")
    found = file_texts([str(tmp_path / "B.java"), str(tmp_path / "A.java")])
    assert list(found.items()) == [("A.java", "\n"), ("B.java", "class Ö {}\n")]


def test_named_files_keep_their_text() -> None:
    assert named_files({"zoo.cfg": "a=1\n"}, "/etc/x") == [{"path": "/etc/x/zoo.cfg", "content": "a=1\n"}]


def test_accounts_that_miss_or_have_another_id_are_told() -> None:
    database = {"hdfs": ["x", "1511", "1511"], "hive": ["x", "33", "33"], "gone": None}
    wanted = {"hdfs": 1511, "hive": 1513, "yarn": 1512}
    assert unlike_accounts(wanted, database) == [{"name": "hive", "id": 1513}, {"name": "yarn", "id": 1512}]


@pytest.mark.parametrize(
    ("given", "lists", "found"),
    [
        ({}, {"hooks": ["ours"]}, {"hooks": "ours"}),
        ({"hooks": "theirs"}, {"hooks": ["ours"]}, {"hooks": "ours,theirs"}),
        ({"hooks": "theirs,ours", "url": "x"}, {"hooks": ["ours"]}, {"hooks": "ours,theirs", "url": "x"}),
        ({"hooks": "theirs"}, {"hooks": []}, {"hooks": "theirs"}),
        ({"hooks": None}, {"hooks": []}, {"hooks": None}),
    ],
)
def test_lists_keep_what_a_site_adds(given: dict[str, str], lists: dict[str, list[str]], found: dict[str, str]) -> None:
    assert with_lists(given, lists) == found
