"""The collection's tree: what it has of the repository, and what its files say differently there."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import pytest
import yaml
from jinja2 import nodes
from jinja2.ext import do, loopcontrols

from tools.collection import rewrite, tree
from tools.collection.rewrite import COLLECTION, Names
from tools.variables_doc import Loader

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
JINJA = jinja2.Environment(extensions=[do, loopcontrols])  # noqa: S701 it only parses
LOOKUPS = ("lookup", "query", "q")
# What Ansible takes as an expression without braces.
BARE = {"when", "that", "changed_when", "failed_when", "until"}
NAMES = Names(
    modules="hopshive_files|hopshive_hdfs",
    filters="daemon_addresses|addresses|others",
    lookups="hopshive_product",
    utils="hopshive_module",
    fragments="login",
    playbooks="purge|lab_down|ndb_backup",
)


@pytest.fixture(name="collection", scope="module")
def tree_of_the_collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("collection")
    tree.make(ROOT, directory)
    return directory


def texts(collection: Path, *suffixes: str) -> dict[str, str]:
    """The files of these kinds, by their place in the collection."""
    return {
        path.relative_to(collection).as_posix(): path.read_text()
        for path in sorted(collection.rglob("*"))
        if path.suffix in suffixes and path.is_file()
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ hosts | addresses(hostvars) }}", "{{ hosts | hopshive.warehouse.addresses(hostvars) }}"),
        ("{{ ids|daemon_addresses }}", "{{ ids|hopshive.warehouse.daemon_addresses }}"),
        ("{{ names | map('others') | list }}", "{{ names | map('hopshive.warehouse.others') | list }}"),
        ("{{ addresses | join(',') }}", "{{ addresses | join(',') }}"),
        ("{{ lookup('hopshive_product', 'hive') }}", "{{ lookup('hopshive.warehouse.hopshive_product', 'hive') }}"),
        ("{{ hosts | addresses_of }}", "{{ hosts | addresses_of }}"),
        ("- name: One\n  hopshive_files:\n    files: []\n", "- name: One\n  hopshive.warehouse.hopshive_files:\n    files: []\n"),
        ("- hopshive_hdfs: {paths: []}\n", "- hopshive.warehouse.hopshive_hdfs: {paths: []}\n"),
        ("  - description: The module hopshive_files\n", "  - description: The module hopshive_files\n"),
    ],
)  # fmt: skip
def test_plugins_have_their_full_names(text: str, expected: str) -> None:
    assert rewrite.tasks(text, NAMES) == expected
    assert rewrite.tasks(expected, NAMES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See playbooks/purge.yml.", "See hopshive.warehouse.purge."),
        ("Run site.yml with", "Run hopshive.warehouse.site with"),
        ("playbooks/unknown.yml and molecule/site.yml", "playbooks/unknown.yml and molecule/site.yml"),
        ("make lab-down{{ x }}", "ansible-playbook hopshive.warehouse.lab_down{{ x }}"),
        ("`make lab INVENTORY=inventories/mine`.", "`ansible-playbook hopshive.warehouse.lab -i inventories/mine`."),
        ("engines make labels", "engines make labels"),
    ],
)
def test_a_message_names_playbooks_as_they_are_called(text: str, expected: str) -> None:
    assert rewrite.messages(text, NAMES) == expected


def test_a_playbook_imports_its_neighbours_and_runs_its_handlers() -> None:
    text = "# As site.yml\n- name: A\n  ansible.builtin.import_playbook: ../site.yml\n- name: B\n  hosts: all\n  tasks: []\n"
    assert rewrite.playbook(text, NAMES) == (
        "# As hopshive.warehouse.site\n- name: A\n  ansible.builtin.import_playbook: site.yml\n"
        "- name: B\n  hosts: all\n  force_handlers: true\n  tasks: []\n"
    )
    for place in ("playbooks/purge.yml", "purge.yml"):
        text = f"- name: A\n  ansible.builtin.import_playbook: {place}\n"
        assert rewrite.playbook(text, NAMES).endswith("import_playbook: purge.yml\n")


def test_a_plugin_imports_from_the_collection() -> None:
    text = '''DOCUMENTATION = r"""
module: hopshive_hdfs
extends_documentation_fragment:
  - login
seealso:
  - module: hopshive_files
notes:
  - As M(hopshive_files) of playbooks/purge.yml.
"""
EXAMPLES = """
- hopshive_hdfs:
"""
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.hopshive_module import start
from hopshive.hdfs import paths
known = found | others
'''
    expected = '''DOCUMENTATION = r"""
module: hopshive_hdfs
extends_documentation_fragment:
  - hopshive.warehouse.login
seealso:
  - module: hopshive.warehouse.hopshive_files
notes:
  - As M(hopshive.warehouse.hopshive_files) of hopshive.warehouse.purge.
"""
EXAMPLES = """
- hopshive.warehouse.hopshive_hdfs:
"""
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.hopshive.warehouse.plugins.module_utils.hopshive_module import start
from hopshive.hdfs import paths
known = found | others
'''
    assert rewrite.plugin(text, NAMES) == expected
    first, package, last = expected.partition("from hopshive.hdfs")
    assert rewrite.controller_plugin(text, NAMES) == f"{first}{rewrite.SHIM}\n{package}{last}"


def test_the_version_is_the_projects(collection: Path) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((collection / "galaxy.yml").read_text())["version"] == version
    assert f"hopshive-warehouse-{version}.tar.gz" in (collection / "README.md").read_text()
    # No second place that an author must think of.
    others = [ROOT / "src/hopshive/__init__.py", *(ROOT / "tools").rglob("*.py"), ROOT / "Makefile"]
    assert [path.name for path in others if version in path.read_text()] == []


def test_all_of_it_is_yaml_that_can_be_read(collection: Path) -> None:
    for text in texts(collection, ".yml").values():
        yaml.load(text, Loader)  # noqa: S506 a SafeLoader


def expressions(item: object, bare: bool = False) -> Iterator[str]:
    """The Jinja texts of what a YAML file has; `bare` where a text is an expression without braces."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield from expressions(value, key in BARE)
    elif isinstance(item, list):
        for value in item:
            yield from expressions(value, bare)
    elif isinstance(item, str):
        yield f"{{{{ {item} }}}}" if bare and "{{" not in item else item


def called(text: str) -> Iterator[str]:
    """The filters and lookups of a Jinja text, as Jinja reads it: also those that a filter is told to use."""
    for node in JINJA.parse(text).find_all((nodes.Filter, nodes.Call)):
        if isinstance(node, nodes.Filter):
            yield node.name
            yield from constants(node.args[:1])
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in LOOKUPS:
            yield from constants(node.args[:1])


def constants(arguments: list[nodes.Expr]) -> Iterator[str]:
    """Those of the arguments that are text."""
    yield from (one.value for one in arguments if isinstance(one, nodes.Const) and isinstance(one.value, str))


def test_no_filter_or_lookup_has_a_short_name(collection: Path) -> None:
    names = rewrite.read_names(ROOT)
    short = re.compile(f"{names.filters}|{names.lookups}")
    found = {}
    for name, text in texts(collection, ".yml", ".j2").items():
        if name.startswith(("roles/", "playbooks/", "templates/", "inventories/")):
            read = [text] if name.endswith(".j2") else list(expressions(yaml.load(text, Loader)))  # noqa: S506 a SafeLoader
            found[name] = {one for part in read for one in called(part) if "{" in part}
    used = set().union(*found.values())
    assert {f"{COLLECTION}.site_xml", f"{COLLECTION}.addresses", f"{COLLECTION}.hopshive_product"} <= used
    assert {
        name: wrong for name, one in found.items() if (wrong := {word for word in one if short.fullmatch(word)})
    } == {}


def test_no_module_has_a_short_name(collection: Path) -> None:
    names = rewrite.read_names(ROOT)
    for name, text in texts(collection, ".yml").items():
        if name.startswith(("roles/", "playbooks/")):
            assert not re.search(rf"^[\s-]*[\"']?({names.modules})[\"']?:", text, re.MULTILINE), name


def test_every_directory_of_ansible_cfg_is_in_it() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg")
    directories = {value.split("/")[0] for value in settings["defaults"].values() if (ROOT / value).is_dir()}
    assert {"roles", "library", "filter_plugins"} <= directories <= set(tree.PLACES)


def test_nothing_is_looked_for_beside_the_playbook(collection: Path) -> None:
    """A playbook of a site that imports one of these is in another directory."""
    for name, text in texts(collection, ".yml", ".j2").items():
        assert "playbook_dir" not in text, name


def test_no_plugin_imports_from_the_repositorys_places(collection: Path) -> None:
    names = rewrite.read_names(ROOT)
    for name, text in texts(collection / "plugins", ".py").items():
        assert not re.search(rf"ansible\.module_utils\.({names.utils})", text), name


def test_it_has_what_a_run_needs_and_nothing_of_the_person_who_builds_it(collection: Path) -> None:
    top = {path.name for path in collection.iterdir()}
    assert top == {
        "README.md", "LICENSE", "CHANGELOG.md", "galaxy.yml", "meta", "requirements.txt", "pyproject.toml", "src", "artifacts",
        "roles", "playbooks", "plugins", "templates", "inventories", "jobs", "docs",
    }  # fmt: skip
    assert not list(collection.rglob("vault.yml"))
    assert not [path for path in collection.rglob("*") if path.is_symlink()]
    # Links of the repository are followed.
    assert (collection / "inventories/lab_ndb/group_vars/all/main.yml").is_file()
    # The hosts' package is built of these, and a build is named by their content.
    for path in [ROOT / "pyproject.toml", *(ROOT / "src").rglob("*.py"), *(ROOT / "artifacts").rglob("lock.txt")]:
        assert (collection / path.relative_to(ROOT)).read_bytes() == path.read_bytes()


def test_the_repositorys_settings_that_matter_are_in_the_playbooks(collection: Path) -> None:
    """What ansible.cfg says of handlers, which a site's own need not say."""
    assert "force_handlers = true" in (ROOT / "ansible.cfg").read_text()
    for path in sorted((collection / "playbooks").glob("*.yml")):
        plays = [play for play in yaml.safe_load(path.read_text()) if "hosts" in play]
        assert all(play["force_handlers"] for play in plays), path.name


def test_it_depends_on_the_collections_that_it_uses(collection: Path) -> None:
    used = {
        found
        for name, text in texts(collection, ".yml", ".j2").items()
        if name.startswith(("roles/", "playbooks/", "templates/"))
        for found in re.findall(r"\b((?:community|ansible)\.(?!builtin\b|cfg\b|legacy\b)[a-z]+)\.[a-z]", text)
    }
    assert used == set(yaml.safe_load((collection / "galaxy.yml").read_text())["dependencies"])


def test_its_readme_names_every_playbook(collection: Path) -> None:
    readme = (collection / "README.md").read_text()
    names = {f"{COLLECTION}.{path.stem}" for path in (collection / "playbooks").glob("*.yml")}
    assert names == set(re.findall(r"(?<=`)hopshive\.warehouse\.\w+(?=`)", readme))


def test_what_is_replaced_must_be_there() -> None:
    with pytest.raises(ValueError, match=r"playbooks/smoke\.yml has nothing like .*REPLACED"):
        tree.content("playbooks/smoke.yml", "- hosts: all\n", NAMES)
