"""Clients that people use: with passwords, codes, tokens and certificates they come in, and else each shows a sentence."""

from __future__ import annotations

import json
import re
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.docs.terminal import Terminal
from tests.support.hive_clients import USER, Login, certified, impyla, of, pyhive, pyhive_http, token
from tests.support.jdbc_client import Refused
from tests.warehouse.hiveserver2 import HiveError
from tests.warehouse.hosts import ROOT
from tests.warehouse.people import GATEWAY_PORT, SERVER2_PORT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.jdbc_client import JdbcClient
    from tests.warehouse.people import PeopleLab

WRONG = "The name, the password or the one-time code is wrong."


def own_session(people: PeopleLab, login: Login) -> str:
    """The tests' own client, for what others of them are made of."""
    one = people.session(people.person(login.name.partition("@")[0]), login.project, login.password)
    ((user,),) = one.execute(USER)
    one.close()
    return str(user)


CLIENTS: dict[str, Callable[[PeopleLab, Login], str]] = {
    "pyhive": pyhive,
    "pyhive over HTTP": pyhive_http,
    "impyla": impyla,
    "impyla over HTTP": partial(impyla, http=True),
    "own": own_session,
}


# --- who comes in, and as whom ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
def test_a_password_makes_a_session_of_the_project_s_user(people: PeopleLab, client: Callable[..., str]) -> None:
    assert client(people, of(people.person("alice"))) == "sales__alice"


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
def test_a_token_is_a_password_of_every_client(people: PeopleLab, client: Callable[..., str]) -> None:
    bob = people.person("bob")
    assert client(people, Login(bob.name, token(people, of(bob)))) == "sales__bob"


@pytest.mark.parametrize("client", [pyhive, impyla], ids=["pyhive", "impyla"])
def test_without_a_project_a_person_acts_in_none(people: PeopleLab, client: Callable[..., str]) -> None:
    assert client(people, of(people.person("alice"), "")) == "alice"


def test_one_person_is_another_user_in_each_project(people: PeopleLab) -> None:
    carol = people.person("carol")
    # One login with a code; its token opens the sessions of both projects.
    one = token(people, Login(carol.name, carol.password_and_code(), ""))
    assert pyhive(people, Login(carol.name, one, "plans")) == "plans__carol"
    assert impyla(people, Login(carol.name, one, "sales")) == "sales__carol"


# --- JDBC -------------------------------------------------------------------------------------------------------------


def trust_store(people: PeopleLab) -> Path:
    return people.state / f"tls/hosts/{people.lab.one('server2').name}/truststore.p12"


def trusting(people: PeopleLab) -> dict[str, object]:
    """Properties of a JVM that trusts the warehouse's authority."""
    return {"javax.net.ssl.trustStore": trust_store(people), "javax.net.ssl.trustStorePassword": "changeit"}


@pytest.mark.parametrize(
    "way", [":10000/sales;ssl=true", ":10001/sales;ssl=true;transportMode=http;httpPath=cliservice"]
)
def test_jdbc_needs_no_trust_store_in_its_url(people: PeopleLab, jdbc: JdbcClient, way: str) -> None:
    bob = people.person("bob")
    url = f"jdbc:hive2://{people.lab.one('server2').address}{way}"
    assert jdbc.ask(url, USER, {"user": bob.name, "password": bob.password}, trusting(people)) == ["sales__bob"]


def test_jdbc_comes_in_by_a_certificate_through_each_gateway(
    people: PeopleLab, jdbc: JdbcClient, tmp_path: Path
) -> None:
    """The URL has no password: the driver's messages show it."""
    certificate, _ = people.certificate("alice")
    stores = f"sslTrustStore={trust_store(people)};trustStoreType=PKCS12"
    stores += f";sslKeyStore={certificate.with_suffix('.p12')};keyStoreType=PKCS12"
    key_store_password = certificate.with_suffix(".password").read_text().strip()
    passwords = {"trustStorePassword": "changeit", "keyStorePassword": key_store_password}
    stores += f";storePasswordPath={jdbc.store_passwords(tmp_path / 'stores.jceks', passwords)}"
    for gateway in people.lab.group("gateway"):
        way = "ssl=true;transportMode=http;httpPath=cliservice;twoWay=true"
        url = f"jdbc:hive2://{gateway.address}:{GATEWAY_PORT}/sales;{way};{stores}"
        assert jdbc.ask(url, USER, {}) == ["sales__alice"]


def test_pyhive_comes_in_by_a_certificate_through_each_gateway(people: PeopleLab) -> None:
    assert [certified(people, "alice", one) for one in people.lab.group("gateway")] == ["sales__alice"] * 2


def test_a_certificate_is_for_no_project_of_others(people: PeopleLab) -> None:
    with pytest.raises(Exception, match="alice is not a member of the project plans"):
        certified(people, "alice", project="plans")


def test_without_a_certificate_the_gateway_says_what_it_wants(people: PeopleLab) -> None:
    url = f"https://{people.lab.one('gateway').address}:{GATEWAY_PORT}/cliservice"
    argv = ["curl", "--silent", "--show-error", "--cacert", str(people.authority), "--data", "", url]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["error"] == "certificate"


# --- who stays out ----------------------------------------------------------------------------------------------------

REFUSALS = {
    "a wrong password": (Login("bob@example.org", "not-of-bob"), WRONG),
    "an unknown person": (Login("mallory@example.org", "of-mallory"), WRONG),
    "a password without its code": (Login("carol@example.org", ""), WRONG),
    "a foreign project": (Login("dave@example.org", ""), "dave is not a member of the project sales"),
    "no such project": (Login("dave@example.org", "", "nowhere"), "dave is not a member of the project nowhere"),
}


def typed(people: PeopleLab, login: Login) -> Login:
    """With the person's own password, unless another one is given."""
    account = login.name.partition("@")[0]
    return login if login.password else Login(login.name, people.person(account).password, login.project)


@pytest.mark.parametrize("client", ["pyhive", "impyla"])
@pytest.mark.parametrize("what", REFUSALS)
def test_a_client_shows_why_someone_stays_out(people: PeopleLab, client: str, what: str) -> None:
    login, sentence = REFUSALS[what]
    with pytest.raises(Exception, match=re.escape(sentence)):
        CLIENTS[client](people, typed(people, login))


@pytest.mark.parametrize("what", REFUSALS)
def test_beeline_shows_why_someone_stays_out(people: PeopleLab, what: str) -> None:
    login, sentence = REFUSALS[what]
    login = typed(people, login)
    server2 = people.lab.one("server2").name
    url = f"jdbc:hive2://{server2}:{SERVER2_PORT}/{login.project};ssl=true"
    argv = ["docker", "exec", "-it", people.lab.one("client").name, "beeline", "-u", f"'{url}'", "-n", login.name, "-p"]
    with Terminal(" ".join(argv), ROOT) as terminal:
        terminal.expect(r"(?i)password[^\n]*: ", 60)
        terminal.write(f"{login.password}\n")
        said = terminal.expect(r"\(state=[^\n]*\)", 60)
    assert sentence in said
    # The URL is in beeline's message, and with it what stands in the URL.
    assert login.password not in said


@pytest.mark.parametrize("what", ["a wrong password", "a foreign project"])
def test_jdbc_shows_why_someone_stays_out(people: PeopleLab, jdbc: JdbcClient, what: str) -> None:
    login, sentence = REFUSALS[what]
    login = typed(people, login)
    url = f"jdbc:hive2://{people.lab.one('server2').address}:{SERVER2_PORT}/{login.project};ssl=true"
    with pytest.raises(Refused) as refused:
        jdbc.ask(url, USER, {"user": login.name, "password": login.password}, trusting(people))
    assert sentence in str(refused.value)


def test_a_token_of_one_person_is_no_other_s(people: PeopleLab) -> None:
    stolen = token(people, of(people.person("bob")))
    with pytest.raises(HiveError, match="The token is not valid"):
        own_session(people, Login("alice@example.org", stolen))


def test_a_code_is_good_for_one_login(people: PeopleLab) -> None:
    carol = people.person("carol")
    once = Login(carol.name, carol.password_and_code())
    assert pyhive(people, once) == "sales__carol"
    with pytest.raises(Exception, match=WRONG):
        pyhive(people, once)
