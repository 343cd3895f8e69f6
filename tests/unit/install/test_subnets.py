import pytest

from hopshive.install.subnets import collisions, misplaced, nth_address


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


def test_hosts_with_a_place_of_their_own_are_well_placed() -> None:
    assert misplaced({"one": 11, "two": "12"}, "10.213.96.0/24") == []


@pytest.mark.parametrize(
    ("subnet", "sentence"),
    [
        ("nonsense", "lab_subnet: 'nonsense' has no mask, such as that of 10.213.96.0/24."),
        ("10.213.96.0", "lab_subnet: '10.213.96.0' has no mask, such as that of 10.213.96.0/24."),
        ("10.213.96.0/33", "lab_subnet: '10.213.96.0/33' is no IPv4 network such as 10.213.96.0/24."),
        ("fd00::/64", "lab_subnet: 'fd00::/64' is no IPv4 network such as 10.213.96.0/24."),
        ("10.213.96.5/24", "lab_subnet: 10.213.96.5/24 is an address in a network: the network is 10.213.96.0/24."),
    ],
)
def test_a_subnet_that_is_none_is_refused_alone(subnet: str, sentence: str) -> None:
    assert misplaced({"one": ""}, subnet) == [sentence]


def test_each_host_without_a_place_of_its_own_is_named() -> None:
    assert misplaced({"one": 11, "two": "", "three": 300, "four": "11", "five": "x"}, "10.213.96.0/24") == [
        "two has no lab_number: give it one of its own, its place in lab_subnet (10.213.96.0/24).",
        "three has the lab_number 300: 10.213.96.0/24 has no place 300 for a container (the first is 2; 1 is the gateway).",
        "four has the lab_number of one (11): give it one of its own.",
        "five has the lab_number x: 10.213.96.0/24 has no place x for a container (the first is 2; 1 is the gateway).",
    ]
