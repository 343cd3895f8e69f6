"""Jobs on YARN of people who are no longer members of a project.

HDFS refuses such a job as soon as the person has left the project's groups. It would still keep its containers, and what it has
in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.services.health import NoAnswer
from hopshive.tenancy.names import JOINT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hopshive.services.resourcemanager import Job, ResourceManager

WHY = "Its user is no longer a member of the project."


class JobsError(Exception):
    """Jobs could not be listed or ended; the message is a sentence for the operator."""


def former(jobs: Sequence[Job], projects: Collection[str], users: Collection[str]) -> list[Job]:
    """Jobs of accounts that belong to one of `projects` and are not among `users`."""
    found = []
    for job in jobs:
        project, joint, _ = job.user.partition(JOINT)
        if joint and project in projects and job.user not in users:
            found.append(job)
    return found


def end_former(
    managers: Sequence[ResourceManager], projects: Collection[str], users: Collection[str], *, dry: bool = False
) -> list[Job]:
    """End the jobs of people who left; those that were ended, or would be with `dry`.

    Raises:
        JobsError: no ResourceManager is active, or it refuses. Another run does what is left.
    """
    manager = _active(managers)
    try:
        ended = former(manager.jobs(), projects, users)
        for job in ended if not dry else ():
            manager.end(job.application, WHY)
    except NoAnswer as error:
        raise JobsError(f"The ResourceManager did not end jobs of former members: {error}") from None
    return ended


def _active(managers: Sequence[ResourceManager]) -> ResourceManager:
    silent = []
    for manager in managers:
        try:
            if manager.is_active():
                return manager
        except NoAnswer as error:
            silent.append(f"{manager.place}: {error}")
    raise JobsError("No ResourceManager is active, so jobs of former members were not looked for. " + "; ".join(silent))
