"""Projects of an inventory, and what follows for accounts, groups and storage."""

from __future__ import annotations

from typing import Any

import pytest

from hopshive.config import ConfigError
from hopshive.tenancy.projects import bytes_of, read

SALES: dict[str, Any] = {
    "id": 20000,
    "members": {
        "alice": {"id": 30000, "role": "owner"},
        "bob": {"id": 30001},
        "carol": {"id": 30002, "role": "reader"},
    },
    "space_quota": "10T",
    "readers": ["plans"],
}
PLANS: dict[str, Any] = {"id": 20002, "members": {"alice": {"id": 30003, "role": "owner"}}}


def sales(**changed: Any) -> dict[str, Any]:
    return {"sales": {**SALES, **changed}, "plans": PLANS}


def test_members_get_accounts_and_all_read_and_some_write() -> None:
    project = read(sales())["sales"]
    assert project.groups == {"sales": 20000, "sales__writers": 20001}
    assert project.users == {"sales__alice": 30000, "sales__bob": 30001, "sales__carol": 30002}
    assert project.writers == ["sales__alice", "sales__bob"]
    assert read(sales(members_write=False))["sales"].writers == ["sales__alice"]


def test_storage_lets_writers_write_and_members_and_readers_read() -> None:
    acl = read(sales())["sales"].acl("hive")
    own = {entry for entry in acl if not entry.startswith("default:")}
    assert own == {
        "user::rwx",
        "user:hive:rwx",
        "group::r-x",
        "group:sales__writers:rwx",
        "group:plans:r-x",
        "mask::rwx",
        "other::---",
    }
    assert {entry.removeprefix("default:") for entry in acl - own} == own


ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"


@pytest.mark.parametrize("comment", ["", " ", " alice", " Alice, her laptop (2026)"])
def test_members_bring_public_keys(comment: str) -> None:
    key = ED25519 + comment
    project = read(sales(members={"alice": {"id": 30000, "role": "owner", "ssh_keys": [key]}, "bob": {"id": 30001}}))
    assert project["sales"].ssh_keys == {"sales__alice": [key]}


@pytest.mark.parametrize(
    "key",
    [
        "",
        "alice",
        "ssh-ed25519",
        "ssh-ed25519 not/base64=",
        "ssh-ed25519 c2VjcmV0",
        ED25519.replace("ssh-ed25519 ", "ssh-rsa "),
        f'command="/bin/sh" {ED25519}',
        f"{ED25519} alice\n{ED25519} mallory",
        f"{ED25519}\n",
    ],
)
def test_what_is_no_public_key_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=r"projects.sales.members.alice.ssh_keys\[0\] must be one public key"):
        read(sales(members={"alice": {"id": 30000, "role": "owner", "ssh_keys": [key]}}))


def test_a_private_key_is_refused_and_never_shown() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n-----END OPENSSH PRIVATE KEY-----\n"
    with pytest.raises(ConfigError, match="is a private key") as refused:
        read(sales(members={"alice": {"id": 30000, "role": "owner", "ssh_keys": [key]}}))
    assert "b3BlbnNzaC1rZXk" not in str(refused.value)


def test_a_quota_has_a_unit_of_1024() -> None:
    assert [bytes_of(text, "") for text in ("", "0", "5", "1K", "10T")] == [0, 0, 5, 1024, 10 << 40]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "projects must hold projects"),
        ({7: SALES}, "projects.7: the name of a project is a text"),
        ({"Sales": SALES}, "projects.Sales: A project has lower case letters"),
        ({"a__b": SALES}, "projects.a__b: A project has lower case letters"),
        ({"default": SALES}, "projects.default: default is no name of a project"),
        ({"hive": SALES}, "projects.hive: hive is no name of a project"),
        ({"a" * 24: SALES}, "a project has 23 characters at most"),
        ({"sales": None}, "projects.sales must hold settings"),
        (sales(members={}), "projects.sales.members must hold people"),
        (sales(members=["alice"]), "projects.sales.members must hold people"),
        (sales(members={"b__c": {"id": 30000}}), "projects.sales.members.b__c: An account has"),
        (sales(members={"alice@example.org": {"id": 1}}), "projects.sales.members.alice@example.org: An account has"),
        (sales(members={"a" * 30: {"id": 30000}}), "A project user has 32 characters at most"),
        (sales(members={"alice": {"id": 30000}}), "projects.sales.members: a project has an owner at least"),
        (sales(members={"alice": {"role": "owner"}}), "projects.sales.members.alice.id must be a number from 2000"),
        (sales(members={"alice": {"id": 1, "role": "boss"}}), "projects.sales.members.alice: role must be one of"),
        (sales(members={"alice": {"uid": 1}}), "projects.sales.members.alice: unknown setting uid"),
        (sales(id=65534), "projects.sales.id must be a number from 2000"),
        (sales(id=20001), "projects: the group plans has the number 20002, which is that of sales__writers"),
        (
            sales(members={"alice": {"id": 30003, "role": "owner"}}),
            "projects: the user plans__alice has the number 30003, which is that of sales__alice",
        ),
        (sales(readers=["sales"]), "projects.sales.readers: sales is not another project"),
        (sales(readers=["none"]), "projects.sales.readers: none is not another project"),
        (sales(readers=["plans"] * 27), "26 projects at most can read another one"),
        (sales(space_quota="10 TB"), "projects.sales.space_quota must be a number with K, M, G, T or P"),
        (sales(name_quota=-1), "projects.sales: name_quota must not be negative"),
        (sales(quota="10T"), "projects.sales: unknown setting quota: did you mean name_quota?"),
    ],
)
def test_what_cannot_be_is_named_by_its_place(content: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(content)
    assert message in str(refused.value)
