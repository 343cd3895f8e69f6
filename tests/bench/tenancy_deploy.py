"""How long site.yml takes on new hosts with logins, projects, gateways and TLS, against without: in turns, from a warm cache."""

from __future__ import annotations

from statistics import median

from tests.bench.deploy import BUILD, play
from tests.bench.measurement import Measurement

# The hosts are the same; the second adds groups and variables.
OFF = ("tests/bench/inventory",)
ON = (*OFF, "tests/bench/tenancy_inventory")
# Each one goes first once.
ORDER = ("on", "off", "off", "on")
TARGET = 1.25


def measure(order: tuple[str, ...] = ORDER) -> list[Measurement]:
    """Seconds of site.yml each way. Hosts are made before it, and removed behind it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    taken: dict[str, list[float]] = {"on": [], "off": []}
    hosts: dict[str, int] = {}
    play("clean-before", "playbooks/lab_down.yml", inventories=ON, cache=None)
    try:
        # Wheels of the login service are not in the cache of a lab without one.
        play("tenancy-fill", "playbooks/lab_containers.yml", "playbooks/artifacts.yml", inventories=ON, cache=None)
        for number, way in enumerate(order):
            inventories = ON if way == "on" else OFF
            play(f"tenancy-down-{number}", "playbooks/lab_down.yml", inventories=ON, cache=None)
            play(f"tenancy-hosts-{number}", "playbooks/lab_containers.yml", inventories=inventories, cache=None)
            run = play(f"tenancy-{way}-{number}", "site.yml", inventories=inventories, cache=None)
            taken[way].append(run.seconds)
            hosts[way] = sum(host.ok for host in run.recap)
    finally:
        play("clean-after", "playbooks/lab_down.yml", inventories=ON, cache=None)
    return figures(taken, hosts)


def figures(taken: dict[str, list[float]], tasks: dict[str, int]) -> list[Measurement]:
    """Medians, and how many times as long."""
    on, off = median(taken["on"]), median(taken["off"])
    return [
        Measurement("site.yml on new hosts, without", round(off), "s"),
        Measurement("site.yml on new hosts, with logins, projects, gateways and TLS", round(on), "s"),
        Measurement("deployment with all of it against without", on / off, "times", TARGET),
        *(Measurement(f"- tasks, {way}", count, "tasks") for way, count in tasks.items()),
    ]
