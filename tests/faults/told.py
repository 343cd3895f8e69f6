"""Whether `hopshive status` and the metrics of the leading cleaner say of HDFS what is so."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client.parser import text_string_to_metric_families

from hopshive.services.health import NoAnswer, fetch
from tests.faults.site import PORTS
from tests.warehouse.hosts import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.faults.site import Site
    from tests.warehouse.hosts import Host

# Seconds in which both must say it: the leader looks every 15.
TOLD = 40.0
POLL = 2.0

# What `hopshive status --json` prints; and a metric's value by its name and its labels in order of their names.
Said = dict[str, Any]
Samples = dict[tuple[str, ...], float]


@dataclass(frozen=True)
class Expected:
    """`what`, in words, must be in both."""

    what: str
    in_status: Callable[[Said], bool]
    in_metrics: Callable[[Samples], bool]


def datanode_full(host: Host) -> Expected:
    """A DataNode has no space, and a sentence says so."""
    return Expected(
        f"the DataNode of {host.name} is full",
        lambda said: _named(host, said["hdfs"]["full"]) != "" and _sentence(said, "No space for another block", host),
        lambda samples: samples["hopshive_hdfs_datanodes", "full"] >= 1,
    )


def datanode_well(host: Host) -> Expected:
    """It has space again."""
    return Expected(
        f"the DataNode of {host.name} has space again",
        lambda said: said["hdfs"]["full"] == [],
        lambda samples: samples["hopshive_hdfs_datanodes", "full"] == 0,
    )


def namenode_full(host: Host) -> Expected:
    """A NameNode has no space for edits, and a sentence says so."""
    return Expected(
        f"the NameNode of {host.name} is full",
        lambda said: _namenode(host, said)["full"] and _sentence(said, "ran out of space for its edits", host),
        lambda samples: _of(host, samples, "namenode_full") == 1 and _of(host, samples, "namenode_ready") == 0,
    )


def namenode_well(host: Host) -> Expected:
    """It has space again, and takes writes or could take over."""
    return Expected(
        f"the NameNode of {host.name} has space again and is ready",
        lambda said: _namenode(host, said)["ready"] and not _sentence(said, "for its edits", host),
        lambda samples: _of(host, samples, "namenode_full") == 0 and _of(host, samples, "namenode_ready") == 1,
    )


def after(site: Site, expected: Expected, seconds: float = TOLD) -> list[str]:
    """Ask until both say it; which of them does not after so many seconds, in words."""
    deadline = time.monotonic() + seconds
    while True:
        missing = now(site, expected)
        if not missing or time.monotonic() > deadline:
            return missing
        time.sleep(POLL)


def now(site: Site, expected: Expected) -> list[str]:
    """Which of them does not say it, in words with what it says instead."""
    missing = []
    for who, ask, holds in (("status", status, expected.in_status), ("metrics", metrics, expected.in_metrics)):
        try:
            said: Any = ask(site)
            if holds(said):
                continue
            shown = said["problems"] if who == "status" else {key: said[key] for key in said if "_hdfs_" in key[0]}
        except (CommandError, NoAnswer, LookupError, TypeError) as error:
            shown = f"{type(error).__name__}: {error}"
        missing.append(f"hopshive's {who} did not say that {expected.what}, but: {shown}")
    return missing


def status(site: Site) -> Said:
    """What the command prints on a cleaner's host. Raises CommandError."""
    return site.cleaners()[0].status()


def metrics(site: Site) -> Samples:
    """What the leading cleaner shows. Raises NoAnswer."""
    host = site.active("cleaner")
    return samples(fetch(f"http://{host.address}:{PORTS['cleaner']}/metrics", 5).decode())


def samples(text: str) -> Samples:
    """The values in the text of an endpoint."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _named(host: Host, names: list[str]) -> str:
    """The first of `host:port` that is on a host; empty if none is."""
    return next((name for name in names if name.rpartition(":")[0] in (host.name, host.address)), "")


def _namenode(host: Host, said: Said) -> Mapping[str, Any]:
    """Raises LookupError if the status has no such NameNode."""
    found = {one["address"]: one for one in said["hdfs"]["namenodes"]}
    one: Mapping[str, Any] = found[_named(host, list(found))]
    return one


def _of(host: Host, samples: Samples, metric: str) -> float:
    """Raises LookupError if there is no such NameNode."""
    name = f"hopshive_hdfs_{metric}"
    return samples[name, _named(host, [key[1] for key in samples if key[0] == name])]


def _sentence(said: Said, words: str, host: Host) -> bool:
    """Whether a problem has some words and names a host."""
    return any(
        words in problem and (f"{host.name}:" in problem or f"{host.address}:" in problem)
        for problem in said["problems"]
    )
