"""The filters that turn groups into addresses."""

from filter_plugins.topology import addresses, daemon_addresses, endpoints, numbered, others, unlisted


def test_a_host_is_reached_by_its_inventory_name() -> None:
    assert addresses(["a", "b"], {"a": {}, "b": {}}) == ["a", "b"]


def test_a_host_with_an_address_is_reached_by_that() -> None:
    assert addresses(["a"], {"a": {"cluster_address": "10.0.0.1"}}) == ["10.0.0.1"]


def test_endpoints_carry_scheme_and_port() -> None:
    assert endpoints(["a", "b"], 9083, "thrift://") == ["thrift://a:9083", "thrift://b:9083"]


def test_hosts_have_their_own_ids_or_their_places() -> None:
    hostvars = {"a": {}, "b": {"namenode_id": "left", "cluster_address": "10.0.0.2"}}
    assert numbered(["a", "b"], hostvars, "namenode_id", "nn") == {"nn1": "a", "left": "10.0.0.2"}


def test_one_daemon_has_the_plain_properties() -> None:
    ports: dict[str, int | str] = {"rm.hostname": "", "rm.address": 8032}
    assert daemon_addresses({"rm1": "a"}, ports) == {"rm.hostname": "a", "rm.address": "a:8032"}


def test_several_daemons_have_a_property_each_behind_the_name_of_their_service() -> None:
    assert daemon_addresses({"nn1": "a", "nn2": "b"}, {"rpc": 8020}, "ns") == {
        "rpc.ns.nn1": "a:8020",
        "rpc.ns.nn2": "b:8020",
    }
    assert daemon_addresses({"rm1": "a", "rm2": "b"}, {"host": ""}) == {"host.rm1": "a", "host.rm2": "b"}


def test_the_others_are_all_but_one() -> None:
    assert others(["a", "b", "c"], "b") == ["a", "c"]
    assert others(["a"], "z") == ["a"]


def test_what_was_not_looked_at_is_named() -> None:
    gone = {"item": "b", "changed": False, "unreachable": True, "msg": "Failed to connect"}
    looked = [{"item": "a", "found": 1, "changed": True}, {"item": "c", "found": 0, "msg": ""}]
    assert unlisted([*looked, gone, {"item": "d", "changed": False, "msg": "file not present"}]) == ["b"]
