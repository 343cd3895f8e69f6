"""The daemon's metrics for Prometheus: one object with an attribute for each metric.

docs/cleaner.md lists them. Gauges show the state of the leader, and a standby shows zeros: `max` or `sum` over all daemons
gives the right value. Counters belong to the process.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Info, disable_created_metrics

if TYPE_CHECKING:
    from hopshive.hdfs.namenode import Report

# Without the series `_created` beside each counter, which hopshive does not use.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """All metrics of one process, in a registry of their own. Safe to use from every thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._plain: list[Gauge] = []
        self._labelled: list[Gauge] = []

        self._add_duties()
        self._add_mirror()
        self._add_garbage()
        self._add_hdfs()
        Info("hopshive_build", "The package.", registry=self.registry).info({"version": _version()})

    def _add_duties(self) -> None:
        self.leader = self._gauge("leader", "1 while this daemon leads, else 0.")
        self.epoch = self._gauge(
            "epoch", "Number of the lease under which this daemon leads; rises with each take-over."
        )
        self.failing = self._gauge("failing", "1 while a duty of the leader cannot be done, else 0.", "duty")
        self.errors = self._counter("errors", "What went wrong and was tried again.", "what")

    def _add_mirror(self) -> None:
        self.lag_events = self._gauge("lag_events", "Transactions of the NameNode that were not read yet.")
        self.lag_seconds = self._gauge("lag_seconds", "Age in seconds of the oldest event that was not applied yet.")
        self.events = self._counter("events", "Events of the NameNode that concerned a mirrored directory.", "kind")
        self.bound = self._gauge("bound", "Storage descriptors that are bound to a directory.")
        self.unbound = self._gauge("unbound", "Storage descriptors on the file system that wait to be bound.")
        self.bindings = self._counter("bindings", "Storage descriptors that were bound.")
        self.pending_checks = self._gauge("pending_checks", "Directories that wait for a pending check.", "state")

        self.removed = self._counter(
            "removed", "Objects of the metastore that followed their directory.", "kind", "cause"
        )
        self.restored = self._counter("restored", "Objects that were put back from the journal.", "kind")
        self.fuse_blown = self._gauge("fuse_blown", "1 while too many removals wait for a human, else 0.")

        self.drops_finished = self._counter(
            "drops_finished",
            "Directories of dropped tables that a metastore had left, and that were moved to the trash.",
        )

        self.comparisons = self._counter("comparisons", "Full comparisons of metastore and file system that ended.")
        self.comparison_seconds = self._gauge("comparison_seconds", "How long the last full comparison took.")

    def _add_garbage(self) -> None:
        self.garbage = self._gauge("garbage", "Rows of a table that are candidates for collection.", "table")
        self.garbage_collected = self._counter("garbage_collected", "Rows that were collected.", "table")

        self.binary_log_lag_seconds = self._gauge(
            "binary_log_lag_seconds", "Age in seconds of the oldest event of the binary log that was not read yet."
        )
        self.binary_log_candidates = self._counter(
            "binary_log_candidates", "Candidates for garbage from the binary log."
        )
        self.binary_log_gaps = self._counter(
            "binary_log_gaps",
            "Times that the binary log could not be read any further, and a sweep was requested.",
        )

    def _add_hdfs(self) -> None:
        self.hdfs_capacity = self._gauge("hdfs_capacity_bytes", "Space of the DataNodes.")
        self.hdfs_remaining = self._gauge("hdfs_remaining_bytes", "Space that is left on the DataNodes.")
        self.hdfs_safe_mode = self._gauge("hdfs_safe_mode", "1 while the active NameNode is in safe mode, else 0.")
        self.hdfs_datanodes = self._gauge(
            "hdfs_datanodes", "DataNodes in service: live, dead; of the live ones low or full.", "state"
        )
        self.hdfs_namenode_ready = self._gauge(
            "hdfs_namenode_ready", "1 while a NameNode takes writes or could take over, else 0.", "namenode"
        )
        self.hdfs_namenode_full = self._gauge(
            "hdfs_namenode_full", "1 while the disks of a NameNode have too little space for its edits.", "namenode"
        )

    def show_hdfs(self, found: Report) -> None:
        """Show the state of HDFS; values that no NameNode reports are zero."""
        space = found.space
        self.hdfs_capacity.set(space.capacity if space else 0)
        self.hdfs_remaining.set(space.remaining if space else 0)
        self.hdfs_safe_mode.set(found.active is not None and found.active.safe_mode != "")
        for state in ("live", "silent", "dead", "low", "full"):
            self.hdfs_datanodes.labels(state=state).set(len(getattr(space, state)) if space else 0)
        for one in found.namenodes:
            self.hdfs_namenode_ready.labels(namenode=one.address).set(one.ready)
            self.hdfs_namenode_full.labels(namenode=one.address).set(one.full)

    def clear_state(self) -> None:
        """Set all gauges back, when this daemon no longer leads."""
        for gauge in self._plain:
            gauge.set(0)
        for gauge in self._labelled:
            gauge.clear()

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        gauge = Gauge(f"hopshive_{name}", text, labels, registry=self.registry)
        (self._labelled if labels else self._plain).append(gauge)
        return gauge

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"hopshive_{name}", text, labels, registry=self.registry)


def _version() -> str:
    try:
        return version("hopshive")
    except PackageNotFoundError:
        return "unknown"
