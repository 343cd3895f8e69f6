"""The collection in an empty directory: its playbooks load and run, and its documentation renders."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hopshive.install.artifacts.catalogue import Catalogue, default_cache
from tests.support.collection import NAME, ROOT, VERSION, Installed, install
from tests.support.small_site import VARIABLES, groups
from tools.collection.tree import renamed

if TYPE_CHECKING:
    from pathlib import Path

INVENTORY = {"hopshive": {"children": groups(), "vars": VARIABLES}}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    installed = install(tmp_path_factory.mktemp("collection"))
    (installed.directory / "hosts.yml").write_text(yaml.safe_dump(INVENTORY))
    return installed


def played(collection: Installed, *arguments: str | Path) -> tuple[bool, str]:
    """Whether a playbook ended well, and what it printed, on one line."""
    done = collection.run("ansible-playbook", *arguments)
    return done.returncode == 0, " ".join((done.stdout + done.stderr).split())


def playbooks() -> list[str]:
    names = {path.stem for path in (ROOT / "playbooks").glob("*.yml")} - {"artifacts_update"}
    return [f"{NAME}.{name}" for name in sorted({*names, "site"})]


def documented(collection: Installed, *arguments: str) -> dict[str, Any]:
    done = collection.run("ansible-doc", "--json", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_installed_under_the_projects_version(collection: Installed) -> None:
    manifest = json.loads((collection.tree / "MANIFEST.json").read_text())
    assert manifest["collection_info"]["version"] == VERSION


def test_every_playbook_lists_its_tasks(collection: Installed) -> None:
    # The playbook lab has these in it, and all of their tasks.
    within = {f"{NAME}.{name}" for name in ("site", "smoke", "lab_containers")}
    ended, output = played(collection, "-i", "hosts.yml", "--list-tasks", *sorted(set(playbooks()) - within))
    assert ended, output
    assert "[ERROR]" not in output
    listed = {name for name in playbooks() if f"playbook: {collection.playbook(name)}" in output}
    assert listed == set(playbooks()) - within
    for task in (
        "Build the archives that are not in the cache yet",
        "Prove the warehouse by a job",
        "Run the metastores",
    ):
        assert task in output


def test_a_playbook_has_no_fault_of_syntax(collection: Installed) -> None:
    ended, output = played(collection, "-i", "hosts.yml", "--syntax-check", f"{NAME}.lab_containers", f"{NAME}.smoke")
    assert ended, output


def test_the_inventory_of_the_lab_is_read(collection: Installed) -> None:
    done = collection.run("ansible-inventory", "-i", collection.tree / "inventories/lab_ha", "--host", "ha-one")
    assert done.returncode == 0, done.stderr
    assert "lab_ip" in json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["module", "filter", "lookup"])
def test_every_plugin_has_a_page(collection: Installed, kind: str) -> None:
    directory = "modules" if kind == "module" else kind
    listed = documented(collection, "-t", kind, "-l", NAME)
    assert "UNDOCUMENTED" not in listed.values()
    if kind != "filter":
        assert set(listed) == {f"{NAME}.{path.stem}" for path in (collection.tree / "plugins" / directory).glob("*.py")}
    pages = documented(collection, "-t", kind, *listed)
    assert {name for name, page in pages.items() if page["doc"]["short_description"] and page["examples"]} == set(
        listed
    )
    text = collection.run("ansible-doc", "-t", kind, *listed)
    assert text.returncode == 0, text.stderr
    assert not text.stderr


def test_every_role_has_a_page(collection: Installed) -> None:
    listed = documented(collection, "-t", "role", "-l", NAME)
    roles = {f"{NAME}.{path.name}" for path in (ROOT / "roles").iterdir()}
    assert set(listed) == roles
    text = collection.run("ansible-doc", "-t", "role", *sorted(roles))
    assert text.returncode == 0, text.stderr
    pages = documented(collection, "-t", "role", *sorted(roles))
    assert {name for name, page in pages.items() if "main" in page["entry_points"]} == roles


def test_preflight_finds_nothing_in_an_inventory_that_can_work(collection: Installed) -> None:
    # What it finds on the hosts depends on this machine.
    _, output = played(collection, "-i", "hosts.yml", f"{NAME}.site", "--tags", "preflight")
    assert "in the inventory; no host was changed" not in output
    assert "TASK [hopshive.warehouse.preflight : Look at the hosts]" in output
    assert "changed=1" not in output


def test_preflight_knows_tags_and_variables_of_the_collection(collection: Installed) -> None:
    ended, output = played(
        collection,
        "-i",
        "hosts.yml",
        f"{NAME}.site",
        "--tags",
        "metastor",
        "-e",
        "cluster_metastore_database_password=changeme",
    )
    assert not ended
    assert "--tags metastor: no task has this tag; did you mean metastore?" in output
    assert "is a word from the examples" in output
    assert "changed=1" not in output


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("ndb_backup", "Nothing was changed. The groups ndb_management, ndb_data and ndb_sql have no host"),
        ("decommission", "Nothing was changed. Name the component"),
        ("purge", "Nothing was changed. To remove hopshive from these hosts, set -e purge_confirm="),
        ("lab_down", "Nothing was changed. lab_label is not set in"),
    ],
)
def test_a_playbook_refuses_what_it_cannot_do(collection: Installed, command: str, sentence: str) -> None:
    ended, output = played(collection, "-i", "hosts.yml", f"{NAME}.{command}")
    assert not ended
    assert sentence in output


@cache
def catalogue() -> Catalogue:
    return Catalogue(artifacts=ROOT / "artifacts", cache=default_cache())


def test_it_installs_the_builds_of_the_repository(collection: Installed) -> None:
    """From its own locks and its own package: hosts that a clone has installed do not change."""
    names = catalogue().names
    tasks = [
        {"ansible.builtin.debug": {"msg": f"{{{{ lookup('{NAME}.hopshive_product', '{name}').id }}}}"}}
        for name in names
    ]
    (collection.directory / "builds.yml").write_text(
        yaml.safe_dump([{"hosts": "one", "gather_facts": False, "tasks": tasks}])
    )
    ended, output = played(collection, "-i", "hosts.yml", "builds.yml")
    assert ended, output
    for name in names:
        assert f'"msg": "{catalogue().identity(name).id}"' in output, name


def test_it_lists_what_would_be_fetched(collection: Installed) -> None:
    ended, output = played(collection, "-i", "hosts.yml", f"{NAME}.artifacts", "--tags", "list")
    assert ended, output
    (listed, *_) = catalogue().list_files("hadoop")
    assert f"{listed.sha256}  {listed.url}".replace("  ", " ") in output


@pytest.mark.parametrize(("old", "new"), [(old, rename.new) for old, rename in renamed(ROOT).items()])
def test_a_module_has_its_old_name_too(collection: Installed, old: str, new: str) -> None:
    done = collection.run("ansible", "localhost", "-m", f"{NAME}.{old}", "-a", "database=hopshive")
    assert f"Use {NAME}.{new} instead." in " ".join(done.stderr.split())
    # The module runs, and refuses a host without its package, or arguments that are not enough.
    assert "Module failed: " in done.stdout
