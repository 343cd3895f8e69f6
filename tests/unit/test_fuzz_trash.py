"""What the fuzz's model knows of the trash."""

from __future__ import annotations

from tests.fuzz.model import Model

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
