"""What the fuzz's model knows of the trash."""

from __future__ import annotations

from tests.fuzz.effects import create_database
from tests.fuzz.model import Model
from tests.fuzz.steps import Outcome, Step

CURRENT = "/user/hdfs/.Trash/Current"


def test_the_trash_has_room_again_after_its_checkpoint() -> None:
    model = Model()
    model.files.make("/d/t/p=1")
    first = model.files.id("/d/t/p=1")
    model.keep("/d/t/p=1", f"{CURRENT}/d/t/p=1")
    model.checkpoint(CURRENT, "261125070000")
    model.keep("/d/t", f"{CURRENT}/d/t")
    model.files.make("/d/t")
    model.bring_back("/d/t/p=1")
    assert model.files.id("/d/t/p=1") == first
    assert model.kept == {"/d/t": f"{CURRENT}/d/t"}


def test_a_checkpoint_of_an_empty_trash_is_none() -> None:
    model = Model()
    model.checkpoint(CURRENT, "261125070000")
    assert model.kept == {}


def test_a_database_that_lost_both_directories_gets_both_back() -> None:
    model = Model()
    both = ("/external/d.db", "/managed/d.db")
    outcome = Outcome(location=both[0], managed_location=both[1])
    create_database(model, Step("create_database", {"db": "d", "path": ""}), outcome)
    model.keep(both[1], f"{CURRENT}{both[1]}")
    assert model.back_with(both[1]) == [both[1]]
    model.keep(both[0], f"{CURRENT}{both[0]}")
    assert model.back_with(both[1]) == sorted(both)


def test_a_directory_that_comes_back_for_a_database_that_lies_elsewhere_now_has_no_owner() -> None:
    model = Model()
    managed = "/managed/d.db"
    outcome = Outcome(location="/external/d.db", managed_location=managed)
    create_database(model, Step("create_database", {"db": "d", "path": ""}), outcome)
    assert model.strangers() == set()
    model.databases.clear()
    outcome = Outcome(location="/o1", managed_location=managed)
    create_database(model, Step("create_database", {"db": "d", "path": "/o1"}), outcome)
    assert model.strangers() == {"/external/d.db"}
