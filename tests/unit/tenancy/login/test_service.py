"""Logins with the people file: who gets in, as whom, and who does not."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pyotp
import pytest

from hopshive.tenancy import members
from hopshive.tenancy.login.backends.people import HASHER
from hopshive.tenancy.login.errors import Denied, Forbidden, Limited, LoginError, Malformed, NotAMember
from hopshive.tenancy.login.service import Asked, Granted, LoginService
from tests.support.login_site import ALICE, PASSWORD, TOTP, person

if TYPE_CHECKING:
    from tests.support.login_site import LoginSite


def login(site: LoginSite, name: str = ALICE, password: str = PASSWORD, code: str = "", database: str = "") -> Granted:
    return site.run(lambda service: service.login(Asked(name, password, code, database, "192.0.2.1")))


def test_a_person_without_a_project_is_its_account(site: LoginSite) -> None:
    found = login(site)
    assert (found.user, found.account, found.project, found.role) == ("alice", "alice", "", "")
    assert 890 <= found.expires_in <= 900


@pytest.mark.parametrize(
    ("name", "database"),
    [
        (ALICE, "sales"),
        (ALICE, "SALES"),
        (f"{ALICE}#sales", ""),
        (f"{ALICE}#sales", "default"),
        (f"{ALICE}#hr", "sales"),
    ],
)
def test_a_member_is_the_project_user(site: LoginSite, name: str, database: str) -> None:
    site.join("sales", "alice", "owner")
    found = login(site, name, database=database)
    assert (found.user, found.project, found.role) == ("sales__alice", "sales", "owner")


@pytest.mark.parametrize("database", ["hr", "nothing"])
def test_a_project_that_is_not_there_answers_as_one_of_others(site: LoginSite, database: str) -> None:
    site.join("hr", "bob")
    with pytest.raises(NotAMember, match=f"alice is not a member of the project {database}, or there is no such"):
        login(site, database=database)


@pytest.mark.parametrize("password", ["", "wrong", "x" * 10_000, PASSWORD[:-1], PASSWORD.partition(":")[0], "a\0b"])
def test_a_wrong_password_is_refused(site: LoginSite, password: str) -> None:
    with pytest.raises(Denied, match="The name, the password or the one-time code is wrong"):
        login(site, password=password)


def test_an_unknown_name_is_answered_as_a_wrong_password_is(site: LoginSite) -> None:
    with pytest.raises(Denied) as unknown:
        login(site, "mallory@example.org")
    with pytest.raises(Denied) as wrong:
        login(site, password="wrong")
    assert unknown.value.sentence == wrong.value.sentence
    assert (unknown.value.reason, wrong.value.reason) == ("unknown name", "wrong password")


def test_an_unknown_name_takes_as_long_as_a_wrong_password(site: LoginSite) -> None:
    """With argon2 as it is in production, and without the wait that all refusals have in common.

    Processor time, which other processes of the machine do not lengthen: all that differs between the two is work.
    """
    site.more["limits"] = {"name": 1000, "address": 1000}
    site.write_people({ALICE: {"account": "alice", "password": HASHER.hash(PASSWORD)}})

    async def both(service: LoginService) -> tuple[list[float], list[float]]:
        times: dict[str, list[float]] = {ALICE: [], "mallory@example.org": []}
        for _ in range(15):
            for name, taken in times.items():
                began = time.process_time()
                with pytest.raises(Denied):
                    await service.login(Asked(name, "wrong", address="192.0.2.1"))
                taken.append(time.process_time() - began)
        return times[ALICE], times["mallory@example.org"]

    known, unknown = (sorted(one) for one in site.run(both))
    # The quickest ones are those that nothing disturbed.
    assert 0.7 < (known[1] + known[2]) / (unknown[1] + unknown[2]) < 1.4


def test_a_refusal_takes_its_time(site: LoginSite) -> None:
    site.more["limits"] = {"refusal_seconds": 0.7}
    began = time.monotonic()
    with pytest.raises(Denied):
        login(site, password="wrong")
    assert time.monotonic() - began >= 0.7


@pytest.mark.parametrize("account", ["hdfs", "root", "hive", "yarn"])
def test_a_service_is_no_person(site: LoginSite, account: str) -> None:
    site.write_people({ALICE: person(account)})
    with pytest.raises(Forbidden, match=f"The account {account} is that of a service"):
        login(site)


@pytest.mark.parametrize(
    "name", ["", "#sales", f"{ALICE}#", "ali/ce", "alice\n", "\0", "alice ", "\uff41lice", "a" * 255]
)
def test_a_name_that_cannot_be_one_is_malformed(site: LoginSite, name: str) -> None:
    with pytest.raises(Malformed):
        login(site, name)


@pytest.mark.parametrize("database", ["a__b", "a/b", "sales;drop", "sales_", "_sales", "s\n", "\u017fales"])
def test_a_database_that_can_be_no_project_is_malformed(site: LoginSite, database: str) -> None:
    with pytest.raises(Malformed):
        login(site, database=database)


def test_a_project_user_that_is_too_long_is_refused(site: LoginSite) -> None:
    site.execute("INSERT INTO {state}.project_member VALUES ('abcdefghijabcdefghijabcdefghij', 'alice', 'owner')")
    with pytest.raises(Forbidden, match="32 characters at most, and this one has 37"):
        login(site, database="abcdefghijabcdefghijabcdefghij")


# --- one-time codes -------------------------------------------------------------------------------------------------------


def code() -> str:
    return pyotp.TOTP(TOTP).now()


def test_a_code_is_needed_where_there_is_one(site: LoginSite) -> None:
    site.write_people({ALICE: person(totp=TOTP)})
    assert login(site, code=code()).user == "alice"
    for wrong, reason in (("", "no one-time code"), ("000000", "wrong one-time code")):
        with pytest.raises(Denied) as error:
            login(site, code=wrong)
        assert error.value.reason == reason


def test_a_code_is_accepted_once(site: LoginSite) -> None:
    """By two replicas: each run is one of its own."""
    site.write_people({ALICE: person(totp=TOTP)})
    now = code()
    login(site, code=now)
    with pytest.raises(Denied) as error:
        login(site, code=now)
    assert error.value.reason == "a one-time code that was used before"


def test_a_code_may_follow_the_password(site: LoginSite) -> None:
    site.more["code_separator"] = "+"
    site.write_people({ALICE: person(totp=TOTP)})
    assert login(site, password=f"{PASSWORD}+{code()}").user == "alice"
    with pytest.raises(Denied):
        login(site, password=PASSWORD)


def test_a_password_that_ends_as_a_code_would_is_one(site: LoginSite) -> None:
    site.more["code_separator"] = "+"
    site.write_people({ALICE: person(password="secret+123456")})
    assert login(site, password="secret+123456").user == "alice"


# --- limits ---------------------------------------------------------------------------------------------------------------


def test_a_name_is_limited_by_all_replicas(site: LoginSite) -> None:
    site.more["limits"] = {"name": 3}
    for name in (ALICE, ALICE.upper(), ALICE.title()):
        with pytest.raises(Denied):
            login(site, name, "wrong")
    with pytest.raises(Limited) as error:
        login(site)
    assert 1 <= error.value.retry_after <= 300


def test_an_address_is_limited(site: LoginSite) -> None:
    site.more["limits"] = {"address": 3}
    for number in range(3):
        with pytest.raises(Denied):
            login(site, f"person{number}@example.org")
    with pytest.raises(Limited):
        login(site)


def test_many_guesses_at_once_are_no_more_than_one_after_another(site: LoginSite) -> None:
    site.more |= {"limits": {"name": 5, "address": 10_000}, "timeout": 30}

    async def guess(service: LoginService) -> list[str]:
        async def one(number: int) -> str:
            try:
                await service.login(Asked(ALICE, f"guess{number}", address=f"192.0.2.{number % 250}"))
            except LoginError as error:
                return error.code
            return "in"

        return await asyncio.gather(*(one(number) for number in range(60)))

    answers = site.run(guess)
    assert answers.count("refused") == 5
    assert answers.count("limited") == 55


def test_right_logins_at_once_are_not_limited(site: LoginSite) -> None:
    site.more |= {"limits": {"name": 3}}

    async def many(service: LoginService) -> int:
        found = await asyncio.gather(*(service.login(Asked(ALICE, PASSWORD, address="192.0.2.1")) for _ in range(20)))
        return len(found)

    assert site.run(many) == 20


def test_a_right_login_begins_the_name_again_and_not_the_address(site: LoginSite) -> None:
    for _ in range(2):
        with pytest.raises(Denied):
            login(site, password="wrong")
    login(site)
    assert site.execute("SELECT kind, wrong, pending FROM {state}.login_limit ORDER BY kind") == [
        ("address", 2, 0),
        ("name", 0, 0),
    ]


def test_a_window_ends(site: LoginSite) -> None:
    site.more["limits"] = {"name": 1, "window": 1}
    with pytest.raises(Denied):
        login(site, password="wrong")
    with pytest.raises(Limited):
        login(site)
    time.sleep(1.1)
    assert login(site).user == "alice"


# --- tokens as passwords ----------------------------------------------------------------------------------------------------


def test_a_token_is_a_password(site: LoginSite) -> None:
    site.join("sales", "alice")
    site.join("hr", "alice", "reader")
    token = login(site, database="sales").token
    assert login(site, "", token).user == "sales__alice"
    assert login(site, ALICE, token, database="hr").user == "hr__alice"
    assert login(site, "sales__alice", token).user == "sales__alice"
    with pytest.raises(NotAMember):
        login(site, "", token, database="other")


def test_a_token_is_for_the_name_that_it_says(site: LoginSite) -> None:
    token = login(site).token
    with pytest.raises(Denied) as error:
        login(site, "bob@example.org", token)
    assert error.value.reason == "a token of another person"


def test_each_token_in_a_row_is_for_the_name_that_was_typed(site: LoginSite) -> None:
    """HiveServer2 asks with the token that it was given, and again with the answer's for the session's project."""
    site.join("sales", "alice")
    token = login(site).token
    for database in ("", "sales", ""):
        granted = login(site, ALICE, token, database=database)
        token = granted.token
    assert granted.user == "sales__alice"
    with pytest.raises(Denied):
        login(site, "bob@example.org", token)


def test_a_token_of_a_token_ends_with_it(site: LoginSite) -> None:
    first = login(site)
    time.sleep(1.1)
    second = login(site, "", first.token)
    assert second.expires_in < first.expires_in


def test_a_removed_member_has_no_token(site: LoginSite) -> None:
    site.join("sales", "alice")
    token = login(site, database="sales").token
    database = site.database()
    with database.transaction() as tx:
        assert members.remove(tx, "sales", "alice")
    database.close()
    with pytest.raises(NotAMember):
        login(site, "", token)


def test_a_revocation_reaches_all_that_came_from_one_check(site: LoginSite) -> None:
    first = login(site).token
    second = login(site, "", first).token
    assert site.run(lambda service: service.revoke(second, "", "192.0.2.1")) == "alice"
    for token in (first, second):
        with pytest.raises(Denied) as error:
            login(site, "", token)
        assert error.value.reason == "a token that was revoked"
    assert login(site, "", login(site).token).user == "alice"


def test_only_an_operator_revokes_the_tokens_of_others(site: LoginSite) -> None:
    site.write_people({ALICE: person(), "bob@example.org": person("bob")})
    alice, bob = login(site).token, login(site, "bob@example.org").token
    with pytest.raises(Forbidden, match="Only an operator"):
        site.run(lambda service: service.revoke(bob, "alice", ""))
    site.more["operators"] = ["bob"]
    assert site.run(lambda service: service.revoke(bob, "alice", "")) == "alice"
    with pytest.raises(Denied):
        login(site, "", alice)


def test_projects_may_come_from_the_back_end(site: LoginSite) -> None:
    site.more["membership"] = "backend"
    site.write_people({ALICE: person(projects={"sales": "reader"})})
    found = login(site, database="sales")
    assert (found.user, found.role) == ("sales__alice", "reader")
    site.write_people({ALICE: person(projects={"hr": "owner"})})
    with pytest.raises(NotAMember):
        login(site, "", found.token)
    assert login(site, "", found.token, database="hr").role == "owner"


# --- certificates -----------------------------------------------------------------------------------------------------------


def test_a_certificate_of_a_project_is_for_that_project(site: LoginSite) -> None:
    site.join("sales", "alice")
    site.join("hr", "alice")

    def session(project: str, database: str) -> Granted:
        return site.run(lambda service: service.session(project, "alice", database, "192.0.2.1"))

    assert session("sales", "").user == "sales__alice"
    assert session("sales", "SALES").user == "sales__alice"
    assert session("", "hr").user == "hr__alice"
    with pytest.raises(NotAMember):
        session("sales", "hr")
    with pytest.raises(NotAMember):
        session("", "other")


# --- the file ---------------------------------------------------------------------------------------------------------------


def test_a_broken_file_keeps_the_people_of_before(site: LoginSite, caplog: pytest.LogCaptureFixture) -> None:
    async def change(service: LoginService) -> tuple[str, str]:
        broken = (await service.login(Asked(ALICE, PASSWORD))).user
        site.people.write_text("people: [")
        broken += (await service.login(Asked(ALICE, PASSWORD))).user
        site.write_people({ALICE: person("changed")})
        return broken, (await service.login(Asked(ALICE, PASSWORD))).user

    assert site.run(change) == ("alicealice", "changed")
    assert "is not YAML in line 1. The people of before still log in." in caplog.text
