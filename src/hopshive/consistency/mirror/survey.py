"""What became of the directories of pending checks: answers of the database and of the NameNode. Nothing here writes.

The kinds of checks differ only in how a survey is made:

- a directory: pages of what is bound at its row and below it. A page is bound again before the next page is read, and only
  counted, since a directory may hold a million descriptors;
- leaves: directories of one parent that hold no other mirrored directory, in one question;
- missing: descriptors whose directory was never seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from hopshive.consistency.mirror import fuse
from hopshive.consistency.mirror.binding import Home, read_homes
from hopshive.consistency.mirror.context import look
from hopshive.consistency.mirror.pending_check import NOWHERE
from hopshive.consistency.mirror.tree import (
    NOT_OURS,
    ROOT,
    Bound,
    Found,
    Key,
    bound_at,
    read_rows,
    rows_of,
    with_children,
)
from hopshive.database import marks
from hopshive.hdfs.paths import encoded, in_trash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.pending_check import CheckKind, CheckState, PendingCheck
    from hopshive.database import Transaction

# Descriptors of one page of a walk.
PAGE_ROWS = 1000
# The place that a directory was moved to: it exists, it does not, or nothing told which place that is.
Target = Literal["exists", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class Subtree:
    """The place of one directory: its row, if it has one. What is absent there is found again page by page."""

    key: Key | None


@dataclass(frozen=True, slots=True)
class Leaves:
    """The place of directories of one parent, `path`, whose inode is `parent`; None if the parent is not mirrored."""

    path: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Anywhere:
    """The places of single descriptors, sd_id to path."""

    paths: Mapping[int, str]


Place: TypeAlias = Subtree | Leaves | Anywhere


@dataclass(frozen=True, slots=True)
class Spared:
    """Databases that have lost one directory and are bound to the other one, or lie on another file system too."""

    homes: list[Home]
    found: Found


@dataclass(frozen=True, slots=True)
class Page:
    """Some bound descriptors, and what the NameNode said of their directories.

    `paths`: sd_id to path of those on our file system. `absent`: those whose directory does not exist, without the `spared`.
    """

    bound: Sequence[Bound]
    paths: Mapping[int, str]
    found: Found
    absent: list[Bound]
    spared: Spared


@dataclass(frozen=True, slots=True)
class Survey:
    """What some checks came to, all of one kind and one state.

    `objects`: how many would be removed, as far as the fuse must know. `busy`: other transactions had locked rows that were to
    be bound again. `absent`: by the id of a check, the descriptors without a directory; empty for a Subtree. `torn`: the
    directory that is gone and that holds whole databases, if there is one. `target`: where a directory was moved to.
    """

    checks: Sequence[PendingCheck]
    place: Place
    objects: int = 0
    busy: bool = False
    absent: Mapping[int, list[Bound]] = field(default_factory=dict)
    torn: str = ""
    target: Target = "unknown"

    @property
    def kind(self) -> CheckKind:
        return self.checks[0].kind

    @property
    def state(self) -> CheckState:
        return self.checks[0].state

    @property
    def begun(self) -> bool:
        return all(check.removal is not None for check in self.checks)

    @property
    def allowed(self) -> bool:
        return all(check.is_allowed for check in self.checks)

    @property
    def asks(self) -> bool:
        """Whether policy and fuse have a say: objects would go, and neither has a human approved that nor has it begun."""
        return bool(self.objects) and not self.busy and not self.allowed


# --- a page of descriptors --------------------------------------------------------------------------------------------


def read_page(context: Context, bound: Sequence[Bound]) -> Page:
    """Ask the NameNode for the directories of bound descriptors, in one question."""
    paths = {one.sd_id: path for one in bound if (path := context.file_system.path_of(one.location))}
    found = look(context.namenode, paths.values(), sure=True)
    absent, spared = without_spared(
        context, [one for one in bound if one.sd_id in paths and paths[one.sd_id] not in found.ids]
    )
    return Page(bound, paths, found, absent, spared)


def without_spared(context: Context, absent: list[Bound]) -> tuple[list[Bound], Spared]:
    """Absent descriptors without the databases that have another directory, and those databases."""
    db_ids = [-one.sd_id for one in absent if one.sd_id < 0]
    if not db_ids:
        return absent, Spared([], Found())
    with context.database.reading() as tx:
        homes = read_homes(context, tx, f"DB_ID IN ({marks(db_ids)})", db_ids)
    found = look(context.namenode, [path for home in homes for _, path in home.locations])
    spared = [home for home in homes if home.elsewhere or any(path in found.ids for _, path in home.locations)]
    kept = {home.sd_id for home in spared}
    return [one for one in absent if one.sd_id not in kept], Spared(spared, found)


def count_objects(context: Context, absent: Sequence[Bound]) -> int:
    """How many objects belong to the databases and tables that own absent descriptors, wherever they lie."""
    sd_ids = [one.sd_id for one in absent]
    if not sd_ids:
        return 0
    of_tables = (
        f"SELECT COUNT(*) FROM TBLS t JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID WHERE t.SD_ID IN ({marks(sd_ids)})"
    )
    db_ids = [-sd_id for sd_id in sd_ids if sd_id < 0]
    of_databases = (
        "SELECT COUNT(DISTINCT t.TBL_ID) + COUNT(p.PART_ID) FROM TBLS t LEFT JOIN PARTITIONS p ON p.TBL_ID = t.TBL_ID"
        f" WHERE t.DB_ID IN ({marks(db_ids)})"
    )
    with context.database.reading() as tx:
        found = int(tx.value(of_tables, sd_ids))
        return max(found, int(tx.value(of_databases, db_ids))) if db_ids else found


# --- leaves -----------------------------------------------------------------------------------------------------------


def read_leaves(
    context: Context, group: Sequence[PendingCheck]
) -> tuple[Leaves, dict[bytes, PendingCheck], list[Bound]]:
    """Of checks of one parent those of leaves, by name, and what is bound there.

    A directory that holds another mirrored directory is no leaf. Nor is one that holds whole databases: it is held alone.
    """
    parent = group[0].path.rpartition("/")[0]
    names = {encoded(one.path.rpartition("/")[2]): one for one in group}
    with context.database.reading() as tx:
        above = rows_of(tx, [parent]).get(parent)
        inode = above[1] if above else ROOT if not parent else None
        rows = read_rows(tx, [Key(inode, name) for name in names]) if inode is not None else {}
        deep = set(with_children(tx, [one.inode for one in group if one.inode is not None]))
        bound = bound_at(tx, inode, [key.name for key in rows]) if inode is not None and rows else []
        homes = fuse.read_protected(context, tx)
    leaves = {
        name: one for name, one in names.items() if one.inode not in deep and not fuse.is_protected(one.path, homes)
    }
    return Leaves(parent, inode), leaves, [one for one in bound if one.key.name in leaves]


def of_leaves(
    context: Context, place: Leaves, leaves: Mapping[bytes, PendingCheck], page: Page, *, busy: bool
) -> Survey:
    """The survey of leaves of which a page was read."""
    absent: dict[int, list[Bound]] = {}
    for one in page.absent:
        absent.setdefault(leaves[one.key.name].id, []).append(one)
    objects = 0 if busy else max(len(page.absent), count_objects(context, page.absent))
    return Survey(list(leaves.values()), place, objects, busy, absent)


# --- what was never seen ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Missing:
    """What became of checks of the kind `missing`, by sd_id.

    `locations`: of descriptors that are bound or marked as missing. `queued`: descriptors that wait to be bound. `paths`: of
    those on our file system. `absent`: those whose directory does not exist, without the `spared`.
    """

    checks: Mapping[int, PendingCheck]
    locations: Mapping[int, str]
    queued: set[int]
    paths: Mapping[int, str]
    found: Found
    absent: Mapping[int, Bound]
    spared: Spared

    @property
    def state(self) -> CheckState:
        return next(iter(self.checks.values())).state

    @property
    def dropped(self) -> set[int]:
        """Descriptors that the metastore has dropped, or moved to another file system."""
        return self.checks.keys() - self.locations.keys() - self.queued

    @property
    def there(self) -> dict[int, str]:
        """Descriptors whose directory exists, with its path."""
        return {sd_id: path for sd_id, path in self.paths.items() if self.found.key(path)}

    @property
    def elsewhere(self) -> set[int]:
        """Descriptors that another configuration took for descriptors on our file system."""
        return self.locations.keys() - self.paths.keys()


def read_missing(context: Context, checks: Sequence[PendingCheck]) -> Missing:
    """Read descriptors, and ask the NameNode for their directories."""
    wanted = {one.sd_id: one for one in checks if one.sd_id is not None}
    with context.database.reading() as tx:
        locations, queued = _read_descriptors(tx, wanted)
    paths = {sd_id: path for sd_id, location in locations.items() if (path := context.file_system.path_of(location))}
    found = look(context.namenode, paths.values(), sure=True)
    absent, spared = without_spared(
        context,
        [Bound(sd_id, locations[sd_id], Key(0, b"")) for sd_id, path in paths.items() if path not in found.ids],
    )
    return Missing(wanted, locations, queued, paths, found, {one.sd_id: one for one in absent}, spared)


def _read_descriptors(tx: Transaction, sd_ids: Iterable[int]) -> tuple[dict[int, str], set[int]]:
    """Locations of those descriptors that are bound or marked as missing, and the descriptors that wait to be bound."""
    wanted = sorted(sd_ids)
    if not wanted:
        return {}, set()
    rows = tx.rows(f"SELECT SD_ID, LOCATION, NAME FROM SDS WHERE SD_ID IN ({marks(wanted)})", wanted)
    looked_at = {int(sd_id): location for sd_id, location, name in rows if name is not None and bytes(name) != NOT_OURS}
    return looked_at, {int(sd_id) for sd_id, _, name in rows if name is None}


def of_missing(context: Context, missing: Missing) -> list[Survey]:
    """Surveys of what is absent: what is allowed already, what lay in a directory above whole databases, and the others."""
    absent = {sd_id: missing.checks[sd_id] for sd_id in sorted(missing.absent)}
    allowed = {sd_id: one for sd_id, one in absent.items() if one.is_allowed}
    asked = {sd_id: one for sd_id, one in absent.items() if not one.is_allowed}
    torn = _torn(context, {sd_id: missing.paths[sd_id] for sd_id in asked}) if asked else {}
    rest = {sd_id: one for sd_id, one in asked.items() if sd_id not in torn}

    def survey(some: Mapping[int, PendingCheck], objects: int, torn: str = "") -> Survey:
        return Survey(
            list(some.values()),
            Anywhere({sd_id: missing.paths[sd_id] for sd_id in some}),
            objects,
            absent={one.id: [missing.absent[sd_id]] for sd_id, one in some.items()},
            torn=torn,
        )

    surveys = []
    if torn:
        gone = {sd_id: asked[sd_id] for sd_id in torn}
        surveys.append(survey(gone, len(gone), next(iter(torn.values()))))
    if allowed:
        surveys.append(survey(allowed, len(allowed)))
    if rest:
        objects = count_objects(context, [missing.absent[sd_id] for sd_id in rest])
        surveys.append(survey(rest, max(len(rest), objects)))
    return surveys


def _torn(context: Context, paths: Mapping[int, str]) -> dict[int, str]:
    """Those of some descriptors, sd_id to path, that lay in a directory above whole databases that is gone, with that one."""
    with context.database.reading() as tx:
        homes = fuse.read_protected(context, tx)
    above = {sd_id: fuse.protected_above(path, homes) for sd_id, path in paths.items()}
    found = look(context.namenode, {path for some in above.values() for path in some})
    return {
        sd_id: gone[0] for sd_id, some in above.items() if (gone := [path for path in some if path not in found.ids])
    }


# --- what policy and fuse must know -----------------------------------------------------------------------------------


def ask(context: Context, survey: Survey) -> tuple[Survey, int]:
    """The survey with what policy and fuse must know of it, and how many objects the fuse lets go now."""
    alone = survey.checks[0] if isinstance(survey.place, Subtree) else None
    with context.database.reading() as tx:
        allowed = fuse.allowance(context, tx)
        homes = fuse.read_protected(context, tx) if alone else []
    if alone is None:
        return survey, allowed
    torn = alone.path if fuse.is_protected(alone.path, homes) else ""
    target = _target(context, alone) if alone.kind == "rename" else "unknown"
    return replace(survey, torn=torn, target=target), allowed


def _target(context: Context, check: PendingCheck) -> Target:
    """Whether the place exists that a directory was moved to."""
    if not check.target:
        return "unknown"
    # A directory that was moved on into the trash is deleted.
    elsewhere = check.target != NOWHERE and not in_trash(check.target)
    return "exists" if elsewhere and check.target in look(context.namenode, [check.target]).ids else "gone"
