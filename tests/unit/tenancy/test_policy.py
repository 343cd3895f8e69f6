"""What a policy says, and what is refused with which sentence."""

from __future__ import annotations

import json
import re

import pytest

from hopshive.config import ConfigError
from hopshive.tenancy.policy import MASKS, read, render

MEMBERS = {"sales": ["sales__alice", "sales__bob"], "plans": ["plans__alice"]}
POLICY = """
rules:
  - name: patients
    tables: [Sales.patients*, "*.copies"]
    to: {users: [sales__bob], projects: [plans]}
    except: {users: [plans__alice]}
    filter: "region = 'a;b--('"
    masks:
      SSN: last4
      born: {sql: "trunc({column}, 'YEAR')"}
    refused: [Salary]
  - name: all
    tables: ["*.*"]
    refused: [token]
"""


def rule(**settings: object) -> str:
    """A policy of one rule, `all`, with a refused column and these settings."""
    return json.dumps({"rules": [{"name": "all", "tables": ["a.b"], "refused": ["c"], **settings}]})


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read(text, "policy.yml", MEMBERS)
    return str(refused.value)


def test_rules_become_what_hiveserver2_reads() -> None:
    first, second = json.loads(render(read(POLICY, "policy.yml", MEMBERS)))["rules"]
    assert first == {
        "name": "patients",
        "tables": "sales[.]patients[^.]*|[^.]*[.]copies",
        "to": {"everyone": False, "users": ["sales__bob"], "projects": ["plans"]},
        "except": {"everyone": False, "users": ["plans__alice"], "projects": []},
        "filter": "region = 'a;b--('",
        "masks": {"ssn": MASKS["last4"].replace("{column}", "`ssn`"), "born": "trunc(`born`, 'YEAR')"},
        "refused": ["salary"],
    }
    assert second["to"] == {"everyone": True, "users": [], "projects": []}
    assert "filter" not in second


@pytest.mark.parametrize(
    ("name", "matches"),
    [("sales.patients", True), ("sales.patients_2026", True), ("x.copies", True), ("sales.x", False)],
)
def test_patterns_match_whole_names(name: str, matches: bool) -> None:
    (first, _) = json.loads(render(read(POLICY, "policy.yml")))["rules"]
    assert bool(re.fullmatch(first["tables"], name)) is matches


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "A b"}, "policy.yml: rule 1 needs a name"),
        ({"refuse": ["d"]}, "policy.yml: rule 1 (all): refuse is unknown. Did you mean refused?"),
        ({"tables": ["b"]}, "policy.yml: rule 1 (all): tables: 'b' is no database.table"),
        ({"tables": ["a.b;"]}, "policy.yml: rule 1 (all): tables: 'a.b;' is no database.table"),
        ({"tables": []}, "policy.yml: rule 1 (all): tables must name a table"),
        ({"tables": "a.b"}, "policy.yml: rule 1 (all): tables must be a list of texts"),
        ({"refused": []}, "policy.yml: rule 1 (all) hides nothing"),
        ({"refused": ["a`b"]}, "policy.yml: rule 1 (all): 'a`b' is no name of a column"),
        ({"masks": {"C": "hash"}}, "policy.yml: rule 1 (all): the column c has a mask and is refused"),
        ({"masks": {"d": "hash", "D": "year"}}, "policy.yml: rule 1 (all): masks.d is there twice"),
        ({"masks": {"d": "half"}}, "policy.yml: rule 1 (all): masks.d is 'half'; it must be one of nullify, hash"),
        ({"masks": {"d": None}}, "policy.yml: rule 1 (all): masks.d is None"),
        ({"masks": {"d": {"sql": "f("}}}, "policy.yml: rule 1 (all): masks.d: parentheses"),
        ({"masks": {"d": {"sql": ")a("}}}, "policy.yml: rule 1 (all): masks.d: parentheses"),
        ({"filter": "a = 1 -- b"}, "policy.yml: rule 1 (all): filter has '--'"),
        ({"filter": "a = 'b"}, 'policy.yml: rule 1 (all): filter has "\'"'),
        ({"filter": "a = 1; DROP TABLE b"}, "policy.yml: rule 1 (all): filter has ';'"),
        ({"filter": " "}, "policy.yml: rule 1 (all): filter must be an expression"),
        ({"filter": True}, "policy.yml: rule 1 (all): filter must be an expression"),
        ({"to": {}}, "policy.yml: rule 1 (all): to must name people"),
        ({"to": {"users": []}}, "policy.yml: rule 1 (all): to must name a user or a project"),
        ({"to": {"user": ["bob"]}}, "policy.yml: rule 1 (all): to: user is unknown. Did you mean users?"),
        ({"to": {"users": ["sales__carol"]}}, "policy.yml: rule 1 (all): to.users: sales__carol is not a member"),
        ({"to": {"users": ["bob@example.org"]}}, "policy.yml: rule 1 (all): to.users: bob@example.org: An account"),
        ({"except": {"projects": ["gone"]}}, "policy.yml: rule 1 (all): except.projects: there is no project gone"),
        ({"to": {"projects": ["a__b"]}}, "policy.yml: rule 1 (all): to.projects: a__b: A project has"),
    ],
)
def test_what_is_wrong_is_named(settings: dict[str, object], message: str) -> None:
    assert message in refusal(rule(**settings))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "policy.yml must hold `rules:`"),
        ("rules: {}", "policy.yml must hold `rules:`"),
        ("rules: []\nmore: 1", "policy.yml must hold `rules:`"),
        ("rules: [1]", "policy.yml: rule 1 must hold settings"),
        ("rules: [", "policy.yml is no YAML"),
        (
            "rules:\n- {name: a, refused: [b], refused: [c], tables: [a.b]}",
            "policy.yml: line 2: refused is there twice",
        ),
        (
            "rules:\n- {name: a, refused: [b], tables: [a.b]}\n- {name: a, refused: [b], tables: [a.b]}",
            "policy.yml: two rules are called a",
        ),
    ],
)
def test_a_malformed_file_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_without_projects_names_are_checked_for_their_form() -> None:
    assert read(rule(to={"users": ["sales__carol"], "projects": ["gone"]}), "policy.yml")
