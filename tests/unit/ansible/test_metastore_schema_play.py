"""The schema of the metastores is the work of one host, in a play before that of all metastores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
TASKS = ROOT / "roles/metastore/tasks"


def read(path: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    return content


def test_no_metastore_gets_its_files_before_the_schema_allows_the_release() -> None:
    plays = [play for play in read(ROOT / "site.yml") if play.get("hosts", "").partition("[")[0] == "metastore"]
    kind, schema, run = plays
    assert [play["hosts"] for play in plays] == ["metastore", "metastore[0]", "metastore"]
    assert [play["tasks"][0]["ansible.builtin.import_role"]["tasks_from"] for play in (kind, schema)] == [
        "database",
        "schema",
    ]
    assert run["roles"] == [{"role": "metastore"}]
    # A play whose host fails ends the run, so that the next one does not begin.
    assert all(play["any_errors_fatal"] for play in plays)


def test_the_first_metastore_gets_its_files_where_schematool_needs_them() -> None:
    release, install, config, upgrade = read(TASKS / "schema.yml")
    assert [task["ansible.builtin.import_tasks"] for task in (release, install, config, upgrade)] == [
        "release.yml",
        "install.yml",
        "config.yml",
        "upgrade.yml",
    ]
    assert "when" not in release
    # A run with other tags asks nothing, and needs no files.
    assert install["when"] == config["when"] == "__metastore_schema.action | default('none') != 'none'"
    assert "when" not in upgrade
    # Of the tags config and service, each asks the schema first.
    assert set(release["tags"]) == set(config["tags"]) == {"metastore", "config"}
    assert read(TASKS / "upgrade.yml")[0]["ansible.builtin.import_tasks"] == "release.yml"


def test_a_task_of_the_metastores_does_not_ask_which_host_is_the_first() -> None:
    for path in TASKS.glob("*.yml"):
        assert "groups['metastore'] | first" not in path.read_text(), path.name
