"""Bounds on wall time: they grow on slow and busy machines, and fail what hangs all the same."""

from __future__ import annotations

import ast
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.support import patience
from tests.support.patience import scaled, until, within
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOLDERS = ("unit", "integration", "ndb_cluster", "identity_provider")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    """Sets slowness and crowding."""

    def set_to(slowness: float, crowding: float) -> None:
        monkeypatch.setattr(patience, "slowness", lambda: slowness)
        monkeypatch.setattr(patience, "crowding", lambda: crowding)

    return set_to


@pytest.fixture
def idle(machine: Callable[[float, float], None]) -> None:
    machine(1.0, 0.0)


@pytest.mark.parametrize(
    ("slowness", "crowding", "seconds"),
    [(1.0, 0.0, 2.0), (0.2, 0.5, 2.0), (1.5, 0.5, 3.0), (1.0, 3.0, 6.0), (1.5, 2.0, 6.0), (8.0, 8.0, 20.0)],
)
def test_a_bound_grows_with_slowness_and_load_up_to_ten_times(
    machine: Callable[[float, float], None], slowness: float, crowding: float, seconds: float
) -> None:
    machine(slowness, crowding)
    assert scaled(2.0) == seconds


def test_this_machine_is_measured() -> None:
    assert patience.slowness() > 0
    assert patience.slowness() == patience.slowness()
    assert patience.crowding() > 0


@pytest.mark.usefixtures("idle")
def test_a_block_that_ends_in_time_passes() -> None:
    with within(5):
        pass


@pytest.mark.usefixtures("idle")
def test_a_block_that_hangs_is_interrupted() -> None:
    began = time.monotonic()
    with pytest.raises(AssertionError, match=r"the bound is 0\.2 s"), within(0.2):
        threading.Event().wait(60)
    assert time.monotonic() - began < scaled(30)


@pytest.mark.usefixtures("idle")
def test_a_block_that_drops_the_interrupt_fails_at_its_end() -> None:
    with pytest.raises(AssertionError, match=r"the bound is 0\.1 s"), within(0.1), suppress(AssertionError):
        time.sleep(60)


@pytest.mark.usefixtures("idle")
def test_a_block_of_another_thread_fails_at_its_end() -> None:
    failed: list[AssertionError] = []

    def body() -> None:
        try:
            with within(0.1):
                time.sleep(0.2)
        except AssertionError as error:
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert failed


@pytest.mark.usefixtures("idle")
def test_a_block_that_fails_by_itself_shows_its_own_error() -> None:
    with pytest.raises(KeyError), within(0.1):
        raise KeyError("its own")


def test_a_busier_machine_extends_the_bound_of_a_block_under_way(machine: Callable[[float, float], None]) -> None:
    machine(1.0, 0.0)
    with within(0.2):
        machine(1.0, 10.0)
        time.sleep(0.5)


@pytest.mark.usefixtures("idle")
def test_until_returns_at_the_first_true_answer() -> None:
    answers = iter([0, "", None, 1])
    until(lambda: next(answers))
    assert list(answers) == []


@pytest.mark.usefixtures("idle")
def test_until_fails_with_what_it_was_given() -> None:
    with pytest.raises(AssertionError, match=r"^not so after 0\.\d s\. The log ends here\.$"):
        until(lambda: False, 0.1, lambda: "The log ends here.")


# --- all tests --------------------------------------------------------------------------------------------------------


def functions() -> Iterator[tuple[Path, ast.FunctionDef]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    yield path, node


def bounds_wall_time(test: ast.expr) -> bool:
    """Whether what is asserted bounds the seconds that went by from above, with a number that does not scale."""
    for compared in ast.walk(test):
        if isinstance(compared, ast.Compare) and any(isinstance(one, ast.Lt | ast.LtE) for one in compared.ops):
            left = ast.unparse(compared.left)
            right = ast.unparse(compared.comparators[-1])
            if "monotonic() -" in left and "scaled(" not in right:
                return True
    return False


def test_no_test_bounds_wall_time_but_by_the_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {function.name}"
        for path, function in functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and bounds_wall_time(node.test)
    ]
    assert not found, "these bounds take `within` or `scaled` of tests/support/patience.py"


def test_each_test_that_bounds_wall_time_has_the_marker() -> None:
    unmarked = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path, function in functions()
        if path.name != "test_patience.py"
        and any(isinstance(node, ast.Call) and ast.unparse(node.func) == "within" for node in ast.walk(function))
        and not any(ast.unparse(one).startswith("pytest.mark.wall_time") for one in function.decorator_list)
    ]
    assert not unmarked, "these tests take @pytest.mark.wall_time"
