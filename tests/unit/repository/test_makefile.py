"""What the targets make of their variables; a target that needs one says which, before it begins."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
TESTS = ("unit", "integration")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make without the variables that the caller of the tests has set."""
    variables = {"PRODUCT", "HOPSHIVE_NDB_TARBALL", "HOPSHIVE_KEYCLOAK_ZIP", "TESTS", "MAKEFLAGS", "MAKELEVEL"}
    env = {name: value for name, value in os.environ.items() if name not in variables}
    # Whatever virtual environment there is, it is not made again here.
    there = ["VENV_READY=/dev/null", "ANSWERS_READY=/dev/zero", "--old-file=/dev/zero"]
    return subprocess.run(
        ["make", "--no-print-directory", *there, f"BIN={Path(sys.executable).parent}", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (["artifacts-update"], "Which product? make artifacts-update PRODUCT=hive"),
        (["ndb"], "Which tarball? make ndb HOPSHIVE_NDB_TARBALL="),
        (["ndb", "HOPSHIVE_NDB_TARBALL=/no/such"], "HOPSHIVE_NDB_TARBALL: /no/such is not there"),
        (["keycloak"], "Which archive? make keycloak HOPSHIVE_KEYCLOAK_ZIP="),
        (["keycloak", "HOPSHIVE_KEYCLOAK_ZIP=/no/such"], "HOPSHIVE_KEYCLOAK_ZIP: /no/such is not there"),
    ],
)
def test_a_target_without_its_variable_ends_with_a_sentence(target: list[str], sentence: str) -> None:
    done = make(*target)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(sentence)


@pytest.mark.parametrize("target", TESTS)
def test_one_test_is_run_by_its_name(target: str) -> None:
    one = "tests/unit/install/test_subnets.py::test_default_route_and_other_subnets_do_not_collide"
    done = make(target, f"TESTS={one}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("target", TESTS)
def test_without_a_name_all_tests_are_run(target: str) -> None:
    done = make("--dry-run", target)
    assert done.stdout.split()[-1] == f"tests/{target}"


def test_the_hooks_of_git_are_the_parts_of_make_lint() -> None:
    parts = re.search(r"(?m)^lint: (.*?) ##", (ROOT / "Makefile").read_text())
    assert parts
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert [hook["entry"] for hook in hooks] == [f"make {part}" for part in parts[1].split()]
    # Each looks at the whole tree, as the target does.
    assert [hook["id"] for hook in hooks if hook["pass_filenames"]] == []


def test_each_program_of_the_repository_is_run_as_a_module() -> None:
    """As a file it would not find the packages beside it."""
    called = re.findall(r"\$\(BIN\)/python (.*)", (ROOT / "Makefile").read_text())
    assert called
    for call in called:
        found = re.match(r"-m ([\w.]+)", call)
        assert found, call
        place = ROOT / found[1].replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), call
