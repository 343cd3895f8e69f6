"""The filter that compares two versions of NDB Cluster's config.ini."""

from __future__ import annotations

import pytest
from jinja2 import Environment

from filter_plugins.ndb_config import ndb_conflicts
from filter_plugins.topology import addresses
from tests.warehouse.hosts import ROOT


def config(data: dict[str, int], sql: dict[str, int]) -> str:
    """The file that the role writes, for the numbers of each host."""
    environment = Environment(trim_blocks=True, autoescape=True)
    environment.filters |= {"addresses": addresses, "combine": lambda one, other: one | other}
    hostvars: dict[str, dict[str, int]] = {host: {} for host in (*data, *sql, "management")}
    hostvars |= {host: {"ndb_data_id": number} for host, number in data.items()}
    for host, number in sql.items():
        hostvars[host] = hostvars[host] | {"ndb_sql_id": number}
    return environment.from_string((ROOT / "roles/ndb_management/templates/config.ini.j2").read_text()).render(
        groups={"ndb_management": ["management"], "ndb_data": list(data), "ndb_sql": list(sql)},
        hostvars=hostvars,
        __ndb_management_data_settings={"NoOfReplicas": 2},
        ndb_management_data_settings_extra={},
        ndb_management_free_connections=2,
    )


BEFORE = config({"a": 11, "b": 12}, {"a": 101, "b": 102})


@pytest.mark.parametrize(
    ("data", "sql"),
    [
        ({"a": 11, "b": 12}, {"a": 101, "b": 102}),
        ({"a": 11, "b": 12}, {"a": 101, "b": 102, "c": 103}),
        ({"a": 11, "b": 12}, {"b": 102}),
        # Another host takes the place of one that is lost.
        ({"a": 11, "c": 12}, {"a": 101, "c": 102}),
    ],
)
def test_nodes_that_keep_their_numbers_may_come_and_go(data: dict[str, int], sql: dict[str, int]) -> None:
    assert ndb_conflicts(config(data, sql), BEFORE) == []


def test_a_new_cluster_may_be_anything() -> None:
    assert ndb_conflicts(BEFORE, "") == []


def test_a_configuration_that_was_changed_by_hand_is_read() -> None:
    by_hand = BEFORE + "[NDBD]\nHostname=c\nId=13\n\n[ndbd]\nId : 14\n hostname : d\n"
    four = {"a": 11, "b": 12, "c": 13, "d": 14}
    assert ndb_conflicts(config(four, {"a": 101, "b": 102}), by_hand) == []
    assert ndb_conflicts(BEFORE, by_hand) != []


def test_an_sql_node_is_not_renumbered() -> None:
    assert ndb_conflicts(config({"a": 11, "b": 12}, {"b": 101}), BEFORE) == [
        "The node [mysqld] on b has the number 102 and would get 101: set ndb_sql_id: 102 for that host."
    ]


def test_data_nodes_are_not_renumbered() -> None:
    found = ndb_conflicts(config({"b": 11, "a": 12}, {"a": 101, "b": 102}), BEFORE)
    assert [text.partition(" and ")[0] for text in found] == [
        "The node [ndbd] on a has the number 11",
        "The node [ndbd] on b has the number 12",
    ]


@pytest.mark.parametrize("data", [{"a": 11, "b": 12, "c": 13, "d": 14}, {"a": 11}])
def test_data_nodes_do_not_come_or_go(data: dict[str, int]) -> None:
    (found,) = ndb_conflicts(config(data, {"a": 101, "b": 102}), BEFORE)
    assert found.startswith("The cluster has the data nodes 11, 12 and would have 11")
