"""hopshive's own tables: what a site has was made by these very texts."""

from hashlib import sha256

from hopshive.consistency.schema.own_tables import INODES, MIGRATIONS, STATE_VERSION, TABLES


def test_the_tables_are_made_in_their_order() -> None:
    assert list(TABLES) == [
        "setting",
        "lease",
        "position",
        "recheck",
        "removal",
        "journal",
        "owned",
        "candidate",
        "binary_log",
        "request",
    ]


def test_a_changed_table_has_another_version() -> None:
    texts = "".join([*TABLES.values(), INODES])
    assert (STATE_VERSION, sha256(texts.encode()).hexdigest()) == (
        6,
        "8751128c7f71de6d33546d54713d13f7707caa03819534b94385e6b1ecce83d1",
    ), "sites have these tables: a change needs a new STATE_VERSION, a migration, and its digest here"


def test_each_version_has_a_migration() -> None:
    assert list(MIGRATIONS) == list(range(2, STATE_VERSION + 1))
