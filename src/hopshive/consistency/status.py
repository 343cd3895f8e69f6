"""The state of the whole: who leads, how far the metastore follows HDFS, what waits for a human.

Reads only. A database or NameNode that does not answer leaves its part empty.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hopshive.consistency import origin
from hopshive.consistency.mirror import fuse, queue_reports
from hopshive.consistency.mirror.loop import counts
from hopshive.daemon.lease import Standing, read_standing
from hopshive.database import Database, DatabaseError
from hopshive.errors import Refused
from hopshive.hdfs.namenode import NameNodeError, report
from hopshive.wording import counted

if TYPE_CHECKING:
    from datetime import datetime

    from hopshive.config import Config
    from hopshive.consistency.mirror.pending_check import MovedDirectory
    from hopshive.database import Transaction
    from hopshive.hdfs.namenode import NameNode, Report

# States of pending checks that wait for a human.
FOR_HUMANS = ("held", "reported")


@dataclass(frozen=True)
class BinaryLog:
    """How far the binary log of an SQL node was read. `lag`: seconds; all older events were read. Noted every ten seconds."""

    place: str
    file: str
    offset: int
    lag: float


@dataclass(frozen=True)
class Stored:
    """What the database says. Times are UTC. `fuse`: why it is blown. `held`: why the first removal is held.

    `lag`: seconds since the last applied event happened, None without one. `moved`: directories that were moved
    elsewhere and whose metadata wait, a thousand at most.
    """

    standing: Standing | None
    txid: int | None
    lag: float | None
    compared_at: datetime | None
    bound: int
    unbound: int
    pending_checks: dict[str, int]
    fuse: str | None
    held: str | None
    candidates: int
    binary_log: BinaryLog | None
    restorable: int
    requests: dict[str, int]
    moved: list[MovedDirectory] = field(default_factory=list)


@dataclass(frozen=True)
class FileSystem:
    """What the NameNode says."""

    cluster_id: str
    safe_mode: bool
    txid: int


@dataclass(frozen=True)
class Status:
    """What database and NameNodes say. `stored` and `file_system` are None without an answer, `hdfs` with the source hopsfs.

    `problems` has a sentence for each missing answer and for each problem.
    """

    stored: Stored | None = None
    file_system: FileSystem | None = None
    unreachable: list[str] = field(default_factory=list)
    hdfs: Report | None = None

    @property
    def led(self) -> bool:
        """Whether a daemon leads."""
        return self.stored is not None and self.stored.standing is not None and self.stored.standing.led

    @property
    def lag_events(self) -> int | None:
        """Transactions of the NameNode that the mirror has not read; None if unknown."""
        if self.stored is None or self.stored.txid is None or self.file_system is None:
            return None
        return max(0, self.file_system.txid - self.stored.txid)

    @property
    def lag_seconds(self) -> float | None:
        """An upper bound of the age of the oldest of `lag_events`, in seconds; None if unknown."""
        return 0.0 if self.lag_events == 0 else self.stored.lag if self.stored and self.lag_events else None

    @property
    def waiting_for_humans(self) -> list[str]:
        """Sentences about removals that wait for `hopshive approve`."""
        if self.stored is None:
            return []
        held, reported = (self.stored.pending_checks.get(state, 0) for state in FOR_HUMANS)
        sentences = []
        if self.stored.fuse is not None:
            sentences.append(f"The fuse is blown, so nothing is removed: {self.stored.fuse} {_look(held)}")
        elif held:
            sentences.append(f"Held: {self.stored.held} {_look(held)}")
        if reported:
            sentences.append(
                f"Moved: {counted(reported, 'directory', 'directories')}. The policy is to ask."
                " Look: hopshive held. Then: hopshive approve"
            )
        return sentences

    @property
    def hdfs_problems(self) -> list[str]:
        """Sentences about HDFS itself that need a human: space, NameNodes, DataNodes."""
        if self.hdfs is None:
            return []
        if self.file_system is None:
            # `unreachable` already has NameNodes that do not answer.
            return [one.problem for one in self.hdfs.namenodes if one.state and one.problem] + self.hdfs.unchosen
        return self.hdfs.problems

    @property
    def problems(self) -> list[str]:
        """A sentence for each problem; empty if all is well."""
        found = list(self.unreachable)
        if self.stored is not None and not self.led:
            found.append("No daemon leads. Is the unit hopshive-cleaner running? See: journalctl -u hopshive-cleaner")
        found += self.hdfs.passing if self.hdfs else []
        return found + self.hdfs_problems + self.waiting_for_humans

    def plain(self) -> dict[str, Any]:
        """The content of --json."""
        stored, standing = self.stored, self.stored.standing if self.stored else None
        return {
            "leader": standing.holder if standing and standing.led else None,
            "epoch": standing.epoch if standing else None,
            "lease_seconds": standing.left if standing else None,
            "lag_events": self.lag_events,
            "lag_seconds": self.lag_seconds,
            "txid": stored.txid if stored else None,
            "compared_at": stored.compared_at if stored else None,
            "bound": stored.bound if stored else None,
            "unbound": stored.unbound if stored else None,
            "pending_checks": stored.pending_checks if stored else None,
            "moved": stored.moved if stored else None,
            "fuse": stored.fuse if stored else None,
            "garbage_candidates": stored.candidates if stored else None,
            "binary_log": stored.binary_log if stored else None,
            "restorable": stored.restorable if stored else None,
            "requests": stored.requests if stored else None,
            "namenode": self.file_system,
            "hdfs": _plain(self.hdfs) if self.hdfs else None,
            "problems": self.problems,
        }


def _look(held: int) -> str:
    """The end of a sentence about the first held removal: how many more there are, and what to do."""
    more = f"And {held - 1} more. " if held > 1 else ""
    return f"{more}Look: hopshive held. Then: hopshive approve"


def _plain(found: Report) -> dict[str, Any]:
    """HDFS in the content of --json, with the names of DataNodes that have a problem."""
    space = found.space
    return {
        "capacity": space.capacity if space else None,
        "remaining": space.remaining if space else None,
        "datanodes": len(space.live) if space else None,
        "silent": list(space.silent) if space else None,
        "dead": list(space.dead) if space else None,
        "full": [node.name for node in space.full] if space else None,
        "low": [node.name for node in space.low] if space else None,
        "namenodes": [{**asdict(one), "ready": one.ready} for one in found.namenodes],
    }


def read(config: Config, database: Database, namenode: NameNode | None) -> Status:
    """Ask the database and the NameNodes."""
    unreachable = []
    stored, file_system, hdfs = None, None, None
    try:
        with database.reading() as tx:
            stored = read_stored(tx)
    except DatabaseError as error:
        unreachable.append(str(error))
    if namenode is not None:
        try:
            identity = namenode.identity()
            file_system = FileSystem(identity.cluster_id, namenode.safe_mode(), namenode.current_txid())
            if stored is not None:
                with database.reading() as tx:
                    origin.check(tx, config, database.server.place, identity)
        except (NameNodeError, DatabaseError, Refused) as error:
            unreachable.append(str(error))
        hdfs = report.ask(config.namenodes, config.hdfs.user, min(report.TIMEOUT, config.hdfs.timeout))
    return Status(stored, file_system, unreachable, hdfs)


def read_stored(tx: Transaction) -> Stored:
    """What the database says. Raises DatabaseError."""
    position = tx.row(
        "SELECT txid, TIMESTAMPDIFF(MICROSECOND, event_at, UTC_TIMESTAMP(6)), compared_at FROM {state}.position WHERE id = 1"
    )
    txid, lag, compared_at = position or (None, None, None)
    bound, unbound = counts(tx)
    requests = tx.rows(
        "SELECT state, COUNT(*) FROM {state}.request WHERE state IN ('waiting', 'running') GROUP BY state"
    )
    why = queue_reports.first_held(tx)
    return Stored(
        standing=read_standing(tx),
        txid=txid,
        lag=None if lag is None else lag / 1e6,
        compared_at=compared_at,
        bound=bound,
        unbound=unbound,
        pending_checks=queue_reports.counts(tx),
        fuse=_fuse(tx, why),
        held=why,
        candidates=int(tx.value("SELECT COUNT(*) FROM {state}.candidate")),
        binary_log=_binary_log(tx),
        restorable=int(tx.value("SELECT COUNT(*) FROM {state}.journal WHERE state = 'removed'")),
        requests={str(state): int(count) for state, count in requests},
        moved=queue_reports.moved(tx),
    )


def _fuse(tx: Transaction, held: str | None) -> str | None:
    """Why the fuse is blown: the removal that blew it while that is held, then the one that is held longest."""
    blown = fuse.why(tx)
    if blown is None:
        return None
    return blown if held is None or queue_reports.is_held_because(tx, blown) else held


def _binary_log(tx: Transaction) -> BinaryLog | None:
    row = tx.row(
        "SELECT place, file, `offset`, TIMESTAMPDIFF(MICROSECOND, read_to, UTC_TIMESTAMP(6)) FROM {state}.binary_log WHERE id = 1"
    )
    return BinaryLog(str(row[0]), str(row[1]), int(row[2]), max(0.0, row[3] / 1e6)) if row else None
