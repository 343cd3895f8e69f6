"""The filters that turn groups into addresses."""

from filter_plugins.topology import addresses, endpoints


def test_a_host_is_reached_by_its_inventory_name() -> None:
    assert addresses(["a", "b"], {"a": {}, "b": {}}) == ["a", "b"]


def test_a_host_with_an_address_is_reached_by_that() -> None:
    assert addresses(["a"], {"a": {"cluster_address": "10.0.0.1"}}) == ["10.0.0.1"]


def test_endpoints_carry_scheme_and_port() -> None:
    assert endpoints(["a", "b"], 9083, "thrift://") == ["thrift://a:9083", "thrift://b:9083"]
