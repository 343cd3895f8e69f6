"""What Prometheus reads."""

from __future__ import annotations

import re

from prometheus_client import generate_latest

from hopshive.daemon.metrics import Metrics
from hopshive.hdfs.namenode.report import DataNode, Replica, Report, Space

NAMES = {
    "hopshive_leader",
    "hopshive_epoch",
    "hopshive_lag_events",
    "hopshive_lag_seconds",
    "hopshive_events_total",
    "hopshive_bound",
    "hopshive_unbound",
    "hopshive_bindings_total",
    "hopshive_removed_total",
    "hopshive_restored_total",
    "hopshive_pending_checks",
    "hopshive_drops_finished_total",
    "hopshive_fuse_blown",
    "hopshive_comparisons_total",
    "hopshive_comparison_seconds",
    "hopshive_garbage_collected_total",
    "hopshive_garbage",
    "hopshive_binary_log_lag_seconds",
    "hopshive_binary_log_candidates_total",
    "hopshive_binary_log_gaps_total",
    "hopshive_hdfs_capacity_bytes",
    "hopshive_hdfs_remaining_bytes",
    "hopshive_hdfs_safe_mode",
    "hopshive_hdfs_datanodes",
    "hopshive_hdfs_namenode_ready",
    "hopshive_hdfs_namenode_full",
    "hopshive_failing",
    "hopshive_errors_total",
    "hopshive_build_info",
}


BLOCK = 1 << 20


def text(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def test_the_names_are_those_that_are_documented() -> None:
    assert set(re.findall(r"^# TYPE (\S+)", text(Metrics()), re.MULTILINE)) == NAMES


def test_two_in_one_process_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.leader.set(1)
    assert "hopshive_leader 1.0" in text(one)
    assert "hopshive_leader 0.0" in text(other)


def test_who_leads_no_longer_shows_no_state_and_keeps_its_counters() -> None:
    metrics = Metrics()
    metrics.lag_seconds.set(7)
    metrics.pending_checks.labels(state="waiting").set(3)
    metrics.removed.labels(kind="table", cause="unlink").inc(2)
    metrics.clear_state()
    shown = text(metrics)
    assert "hopshive_lag_seconds 0.0" in shown
    assert "hopshive_pending_checks{" not in shown
    assert 'hopshive_removed_total{cause="unlink",kind="table"} 2.0' in shown


def test_how_hdfs_is_is_shown_and_forgotten_by_who_leads_no_longer() -> None:
    metrics = Metrics()
    nodes = tuple(DataNode(f"worker{number}:9866", 10 * BLOCK, number * BLOCK) for number in (0, 1, 9))
    namenodes = (Replica("one:8020", "active"), Replica("two:8020", "standby", full=True), Replica("three:8020"))
    metrics.show_hdfs(
        Report(namenodes, Space(30 * BLOCK, 10 * BLOCK, BLOCK, nodes, ("worker3:9866",), ("worker4:9866",)))
    )
    shown = text(metrics)
    for line in (
        "hopshive_hdfs_capacity_bytes 3.145728e+07",
        'hopshive_hdfs_datanodes{state="live"} 3.0',
        'hopshive_hdfs_datanodes{state="silent"} 1.0',
        'hopshive_hdfs_datanodes{state="dead"} 1.0',
        'hopshive_hdfs_datanodes{state="low"} 1.0',
        'hopshive_hdfs_datanodes{state="full"} 1.0',
        'hopshive_hdfs_namenode_ready{namenode="one:8020"} 1.0',
        'hopshive_hdfs_namenode_ready{namenode="two:8020"} 0.0',
        'hopshive_hdfs_namenode_full{namenode="two:8020"} 1.0',
        'hopshive_hdfs_namenode_ready{namenode="three:8020"} 0.0',
    ):
        assert line in shown
    metrics.show_hdfs(Report((Replica("one:8020"), Replica("two:8020")), None))
    assert 'hopshive_hdfs_datanodes{state="live"} 0.0' in text(metrics)
    assert "hopshive_hdfs_capacity_bytes 0.0" in text(metrics)
    metrics.clear_state()
    assert "hopshive_hdfs_datanodes{" not in text(metrics)
