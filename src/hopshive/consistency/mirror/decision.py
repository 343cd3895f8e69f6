"""What follows from a survey. Nothing here reads or writes: `decide` turns plain values into one of a few decisions.

The first row that fits decides:

| what the survey found                                         | decision |
|---------------------------------------------------------------|----------|
| the removal has begun: it was allowed then, and continues     | Remove   |
| other transactions have locked some rows                      | Postpone |
| nothing is absent                                             | Nothing  |
| a human has approved the removal                              | Remove   |
| moved elsewhere, the policy is `follow`, the new place exists | Follow   |
| moved elsewhere, the policy is not `delete`, and the new place exists or is unknown | Report |
| the directory holds whole databases                           | Hold     |
| more objects than the fuse allows now                         | Hold, and the fuse blows |
| otherwise                                                     | Remove   |

A directory that holds whole databases is moved as with the policy `report`, whatever the policy is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hopshive.consistency.mirror.pending_check import HELD_AGAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.consistency.mirror.survey import Page, Survey
    from hopshive.consistency.mirror.tree import Found, Key

# Seconds until a check is tried again that found rows locked.
LOCKED_AGAIN = 1.0
# Seconds between two looks at what is held of descriptors of the kind `missing`: the fuse may hold a million.
MANY_HELD_AGAIN = 300.0


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing refers to an absent directory: the checks are over."""


@dataclass(frozen=True, slots=True)
class Postpone:
    """Look again in `LOCKED_AGAIN` seconds."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Remove nothing before a human approves. `blows`: hold all other removals too. `wait`: seconds until the next look."""

    sentence: str
    blows: bool
    wait: float


@dataclass(frozen=True, slots=True)
class Report:
    """Remove nothing of a directory that was moved before a human approves."""

    sentence: str
    policy: str


@dataclass(frozen=True, slots=True)
class Follow:
    """Move the locations along with the directory; `otherwise`, if some object has no place to go to."""

    otherwise: Report


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the objects whose directories are absent."""


Decision: TypeAlias = Nothing | Postpone | Hold | Report | Follow | Remove


@dataclass(frozen=True, slots=True)
class Rebind:
    """Bind descriptors whose directory exists to what the directory is now: sd_id to key and to path.

    `moved`: sd_id to location of those whose key has changed; only these are locked. `found`: what the NameNode said.
    """

    keys: Mapping[int, Key]
    paths: Mapping[int, str]
    moved: Mapping[int, str]
    found: Found


def rebind(page: Page) -> Rebind:
    """Which descriptors of a page are bound again, and to what."""
    keys = {
        one.sd_id: key
        for one in page.bound
        if one.sd_id in page.paths and (key := page.found.key(page.paths[one.sd_id]))
    }
    moved = {one.sd_id: one.location for one in page.bound if one.sd_id in keys and keys[one.sd_id] != one.key}
    return Rebind(keys, {sd_id: page.paths[sd_id] for sd_id in keys}, moved, page.found)


def decide(survey: Survey, policy: str, allowed: int) -> Decision:
    """The decision on the checks of a survey.

    `policy`: what becomes of a directory that was moved elsewhere (`delete`, `follow`, `report`). `allowed`: how many objects
    the fuse lets go now. Neither counts for a removal that has begun or that a human has approved.
    """
    if survey.begun:
        return Remove()
    if survey.busy:
        return Postpone()
    if not survey.objects:
        return Nothing()
    if survey.allowed:
        return Remove()
    return (_by_policy(survey, policy) if survey.kind == "rename" else None) or _by_fuse(survey, allowed)


def _by_policy(survey: Survey, policy: str) -> Report | Follow | None:
    """What the policy says of a directory that was moved elsewhere; None if its metadata is to be removed."""
    (check,) = survey.checks
    if survey.torn:
        policy = "report"
    where = f"to {check.target}" if check.target else "elsewhere, and where it lies is unknown"
    sentence = f"{check.path} was moved {where}; {survey.objects} objects still refer to the old place."
    report = Report(sentence, policy)
    if policy == "follow" and survey.target == "exists":
        return Follow(report)
    return None if policy == "delete" or survey.target == "gone" else report


def _by_fuse(survey: Survey, allowed: int) -> Hold | Remove:
    """Whether the fuse lets so many objects go."""
    many = survey.kind == "missing"
    wait = MANY_HELD_AGAIN if many else HELD_AGAIN
    if survey.torn:
        with_objects = "" if many else f" with {survey.objects} objects or more"
        return Hold(f"{survey.torn}, which holds whole databases, is gone{with_objects}.", blows=False, wait=wait)
    if survey.objects <= allowed:
        return Remove()
    if many:
        sentence = f"{survey.objects} objects without a directory would be removed, {allowed} are allowed now."
    else:
        path = survey.checks[0].path
        sentence = f"{path} is gone: {survey.objects} objects or more would be removed, {allowed} are allowed now."
    return Hold(sentence, blows=True, wait=wait)
