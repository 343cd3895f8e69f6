"""The queues that properties of YARN's CapacityScheduler define, as Hadoop 3.3 reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

PREFIX = "yarn.scheduler.capacity."
# The part of a queue's resources for application masters, by Hadoop's default.
MASTERS = 0.1


@dataclass(frozen=True)
class Queue:
    """A queue that takes applications.

    `path`: as in `root.default`. `share`: the guaranteed part of the cluster, from 0 to 1; None if a capacity on the
    path is not a percentage (absolute resources). `masters`: the part of the share that application masters may take.
    """

    path: str
    share: float | None
    masters: float = MASTERS

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def leaf_queues(properties: Mapping[str, object]) -> list[Queue]:
    """The leaf queues of capacity-scheduler.xml's properties, in their order; empty if `root` names no queue."""
    return list(_leaves(properties, "root", 1.0)) if _children(properties, "root") else []


def called(queues: Sequence[Queue], name: str) -> Queue | None:
    """The queue that an application means by `name`: a path, or the last part of a path if only one queue has it."""
    found = [queue for queue in queues if name == queue.path] or [queue for queue in queues if name == queue.name]
    return found[0] if len(found) == 1 else None


def capacity_faults(properties: Mapping[str, object]) -> list[str]:
    """Sentences about capacities that keep the ResourceManager from starting."""
    return list(_faults(properties, "root"))


def _children(properties: Mapping[str, object], path: str) -> list[str]:
    named = str(properties.get(f"{PREFIX}{path}.queues") or "")
    return [name.strip() for name in named.split(",") if name.strip()]


def _leaves(properties: Mapping[str, object], path: str, share: float | None) -> Iterator[Queue]:
    children = _children(properties, path)
    if not children:
        ending = "maximum-am-resource-percent"
        given = (_number(properties.get(f"{PREFIX}{place}{ending}")) for place in (f"{path}.", ""))
        yield Queue(path, share, next((part for part in given if part is not None), MASTERS))
    for name in children:
        capacity = _number(properties.get(f"{PREFIX}{path}.{name}.capacity"))
        known = None if share is None or capacity is None else share * capacity / 100
        yield from _leaves(properties, f"{path}.{name}", known)


def _faults(properties: Mapping[str, object], path: str) -> Iterator[str]:
    children = _children(properties, path)
    names = [f"{PREFIX}{path}.{name}.capacity" for name in children]
    values = {name: properties.get(name) for name in names}
    for name, value in values.items():
        if value is None:
            yield f"{name} is missing: give the queue its percentage of {path}"
        elif _number(value) is None and not str(value).startswith("["):
            yield f"{name} is {value!r}: it must be a number, the percentage, or resources as in [memory=4096,vcores=4]"
    numbers = [number for value in values.values() if (number := _number(value)) is not None]
    if numbers and len(numbers) == len(children) and abs(sum(numbers) - 100) > 0.1:
        said = ", ".join(f"{name} {number:g}" for name, number in zip(children, numbers, strict=True))
        yield f"the capacities of the queues of {path} add up to {sum(numbers):g} ({said}): they must add up to 100"
    for name in children:
        yield from _faults(properties, f"{path}.{name}")


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
