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
        "project_member",
        "login_limit",
        "login_code",
        "login_key",
        "login_revocation",
    ]


def test_a_changed_table_has_another_version() -> None:
    texts = "".join([*TABLES.values(), INODES])
    assert (STATE_VERSION, sha256(texts.encode()).hexdigest()) == (
        7,
        "87d4749cbe4ecf85ec4bc30ac8df67ac2e8a7a8d9a57b72b78e15e073725b422",
    ), "sites have these tables: a change needs a new STATE_VERSION, a migration, and its digest here"


def test_each_version_has_a_migration() -> None:
    assert list(MIGRATIONS) == list(range(2, STATE_VERSION + 1))
