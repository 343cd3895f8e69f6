import pytest

from hopshive.install.subnets import collisions, nth_address


def test_address_counts_from_the_start_of_the_subnet() -> None:
    assert nth_address("10.213.96.0/24", 11) == "10.213.96.11"


@pytest.mark.parametrize("number", [0, 1, 255, 4000])
def test_address_refuses_network_gateway_broadcast_and_beyond(number: int) -> None:
    with pytest.raises(ValueError, match=r"10\.213\.96\.0/24"):
        nth_address("10.213.96.0/24", number)


def test_route_within_the_subnet_collides() -> None:
    routes = [{"dst": "default", "dev": "eth0"}, {"dst": "10.213.0.0/16", "dev": "tun0"}]
    assert collisions("10.213.96.0/24", routes, []) == ["the route to 10.213.0.0/16 through tun0"]


def test_route_to_a_single_host_collides() -> None:
    routes = [{"dst": "10.213.96.9", "dev": "tun0"}]
    assert collisions("10.213.96.0/24", routes, []) == ["the route to 10.213.96.9 through tun0"]


def test_default_route_and_other_subnets_do_not_collide() -> None:
    routes = [{"dst": "default"}, {"dst": "0.0.0.0/0"}, {"dst": "192.0.2.0/24", "dev": "eth0"}]
    assert collisions("10.213.96.0/24", routes, [{"Name": "host", "IPAM": {"Config": None}}]) == []


def test_docker_network_is_named_once_and_not_again_by_its_route() -> None:
    networks = [{"Name": "theirs", "IPAM": {"Config": [{"Subnet": "10.213.96.0/20"}]}}]
    routes = [{"dst": "10.213.96.0/20", "dev": "br-1"}]
    assert collisions("10.213.96.0/24", routes, networks) == ["the Docker network theirs (10.213.96.0/20)"]


def test_ipv6_subnet_of_a_docker_network_is_passed_over() -> None:
    networks = [{"Name": "six", "IPAM": {"Config": [{"Subnet": "fd00::/64"}]}}]
    assert collisions("10.213.96.0/24", [], networks) == []
