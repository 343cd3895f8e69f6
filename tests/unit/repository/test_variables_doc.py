"""The page of variables: what it shows, and that the one in the repository is up to date."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tools import variables_doc

ROOT = Path(__file__).parents[3]

DEFAULTS = """\
---
demo_port: 9083
demo_names: [a, b]
demo_url: "http://{{ inventory_hostname }}:{{ demo_port }}"
demo_table: {first: one hundred and more characters in all, second: so that it is shown below the table}
"""
SPECS = """\
---
argument_specs:
  main:
    short_description: Shows how it looks
    options:
      demo_port: {type: int, description: TCP port.}
      demo_names: {type: list, elements: str, description: "Names, a | b."}
      demo_url: {type: str, description: [Where it is., Not set by hand.]}
      demo_table: {type: dict, description: More.}
      demo_password: {type: str, description: A secret.}
      demo_mode: {type: str, description: How., choices: [fast, safe]}
"""


def page(tmp_path: Path) -> str:
    for name, text in (("defaults/main.yml", DEFAULTS), ("meta/argument_specs.yml", SPECS)):
        path = tmp_path / "roles/demo" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return variables_doc.render(variables_doc.read_roles(tmp_path / "roles"))


def test_a_row_has_name_type_default_and_description(tmp_path: Path) -> None:
    rows = page(tmp_path).splitlines()
    assert "| `demo_port` | int | `9083` | TCP port. |" in rows
    assert "| `demo_names` | list of str | `[a, b]` | Names, a \\| b. |" in rows
    assert "| `demo_password` | str | none | A secret. |" in rows
    assert "| `demo_mode` | str | none | How. One of `fast`, `safe`. |" in rows
    assert (
        '| `demo_url` | str | `"http://{{ inventory_hostname }}:{{ demo_port }}"` | Where it is. Not set by hand. |'
        in rows
    )


def test_a_long_default_stands_below_the_table(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "| `demo_table` | dict | see below | More. |" in text
    below = "demo_table: {first: one hundred and more characters in all, second: so that it is shown below the table}"
    assert f"```yaml\n{below}\n```" in text


def test_check_fails_on_a_stale_page_and_writes_nothing(tmp_path: Path) -> None:
    page(tmp_path)
    (tmp_path / "docs").mkdir()
    runner = CliRunner()
    arguments = ["--root", str(tmp_path)]
    assert runner.invoke(variables_doc.main, arguments).exit_code == 0
    assert runner.invoke(variables_doc.main, [*arguments, "--check"]).exit_code == 0
    (tmp_path / "docs/variables.md").write_text("old")
    stale = runner.invoke(variables_doc.main, [*arguments, "--check"])
    assert stale.exit_code == 1
    assert "docs/variables.md is not up to date: run `make docs`." in stale.output
    assert (tmp_path / "docs/variables.md").read_text() == "old"


def test_the_page_in_the_repository_is_up_to_date() -> None:
    checked = CliRunner().invoke(variables_doc.main, ["--root", str(ROOT), "--check"])
    assert checked.exit_code == 0, checked.output
