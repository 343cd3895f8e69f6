"""Each way in that `make lab` prints is copied into a shell of the controller, as a person does, and leads in."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.docs.terminal import Terminal
from tests.docs.ways import by_name, printed
from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from tests.support.jdbc_client import JdbcClient
    from tests.warehouse.people import PeopleLab

Ways = dict[str, list[str]]
# On a machine that is busy.
SECONDS = 120.0
PROMPT = r"(?i)password[^\n]*: "
NAMES = {"people", "code", "beeline", "JDBC", "PyHive", "token", "program", "PySpark", "HDFS", "hopshive", "shell"}


@pytest.fixture(scope="module", name="ways")
def printed_ways(people: PeopleLab) -> Ways:
    return by_name(printed(people.lab.inventory.parent))


def answer(command: str, password: str, expected: str) -> str:
    """What a command prints that asks for a password, up to what is expected."""
    with Terminal(command, ROOT) as terminal:
        terminal.expect(PROMPT, SECONDS)
        terminal.write(f"{password}\n")
        return terminal.expect(expected, SECONDS)


def beeline(command: str, password: str) -> str:
    """The user of a session of beeline that a person has typed the password for."""
    with Terminal(command, ROOT) as terminal:
        terminal.expect(PROMPT, SECONDS)
        terminal.write(f"{password}\n")
        terminal.expect(r"jdbc:hive2://[^\n>]*> ", SECONDS)
        terminal.write("SELECT concat('user: ', current_user());\n")
        found = terminal.expect(r"user: \w+ ", SECONDS)
        terminal.write("!quit\n")
        assert terminal.end(SECONDS) == 0
    return found.rpartition("user: ")[2].strip()


def test_the_lab_names_its_ways_and_no_password(people: PeopleLab, ways: Ways) -> None:
    assert set(ways) >= NAMES
    said = "\n".join(line for lines in ways.values() for line in lines)
    (text,) = ways["people"]
    names, _, rest = text.partition("; passwords in ")
    assert names.split(", ") == [people.person(one).name for one in ("alice", "bob", "carol", "dave")]
    assert rest == f"{people.state / 'secrets'}, by account"
    secrets = [path.read_text().strip() for path in (people.state / "secrets").iterdir()]
    assert len(secrets) > 4
    assert [secret for secret in secrets if secret in said] == []


def test_beeline_asks_for_the_password(people: PeopleLab, ways: Ways) -> None:
    assert beeline(ways["beeline"][0], people.person("alice").password) == "sales__alice"


def test_a_person_with_a_code_types_it_behind_the_password(people: PeopleLab, ways: Ways) -> None:
    command, note = ways["code"]
    code = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.strip()
    carol = people.person("carol")
    assert note == f"{carol.name} types password+code"
    as_carol = ways["beeline"][0].replace(people.person("alice").name, carol.name)
    assert beeline(as_carol, f"{carol.password}+{code}") == "sales__carol"
    # It was good for one login.
    refused = answer(as_carol, f"{carol.password}+{code}", "is wrong|jdbc:hive2://[^\n]*> ")
    assert refused.endswith("is wrong")


def test_the_url_for_a_bi_tool_leads_in(people: PeopleLab, ways: Ways, jdbc: JdbcClient) -> None:
    alice = people.person("alice")
    login = {"user": alice.name, "password": alice.password}
    assert jdbc.ask(ways["JDBC"][0], "SELECT current_user()", login) == ["sales__alice"]


def test_pyhive_asks_for_the_password(people: PeopleLab, ways: Ways) -> None:
    assert answer(ways["PyHive"][0], people.person("alice").password, r"\[\(.*\)\]").endswith("[('sales__alice',)]")


def test_a_token_is_printed_and_stands_for_the_password(people: PeopleLab, ways: Ways) -> None:
    said = answer(ways["token"][0], people.person("alice").password, r"\{.*\}")
    token = json.loads(said[said.index("{") :])
    assert (token["user"], token["project"], token["role"]) == ("sales__alice", "sales", "owner")
    assert beeline(ways["beeline"][0], token["token"]) == "sales__alice"


def test_curl_shows_whom_the_certificate_lets_in(ways: Ways) -> None:
    (command, _) = ways["program"]
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"user": "alice"}


def test_a_program_comes_in_by_its_certificate_alone(ways: Ways) -> None:
    done = subprocess.run(["bash", "-c", ways["program"][1]], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.stdout.startswith("[('sales__alice',)]"), done.stdout + done.stderr
