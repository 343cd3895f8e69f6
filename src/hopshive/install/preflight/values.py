"""Values of the right type that the service would refuse: ranges, names, paths, settings of a site file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

# The smallest and the largest value of a number. All other numbers may be 0 or more.
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(
        (
            "cluster_check_timeout",
            "cluster_database_pool_size",
            "cluster_nodemanager_vcores",
            "cluster_replication",
            "cluster_roll_workers",
            "cluster_rpc_timeout_ms",
            "common_limits_nofile",
            "datanode_transfer_threads",
            "gateway_body_mb",
            "gateway_login_timeout",
            "gateway_request_timeout",
            "gateway_requests",
            "gateway_requests_per_client",
            "gateway_verify_depth",
            "mariadb_max_connections",
            "namenode_handlers",
            "ndb_data_id",
            "ndb_data_start_timeout",
            "ndb_management_operations",
            "ndb_management_replicas",
            "ndb_sql_id",
            "ndb_sql_max_connections",
            "server2_split_min_bytes",
            "server2_tez_sessions_per_queue",
            "spark_executor_cores",
            "spark_executor_instances",
            "zkfc_health_timeout_ms",
            "zkfc_session_timeout_ms",
            "zookeeper_tick_ms",
        ),
        (1, math.inf),
    ),
    # A service without rights of root opens no port below.
    "cluster_login_port": (1024, 65535),
    "cluster_gateway_port": (1024, 65535),
    "zookeeper_id": (1, 255),
}
# The smallest preflight_memory_ratio. With 0, all of a host's memory would count as none.
LEAST_RATIO = 0.01
# Texts that become names of databases, accounts or paths: a regular expression, and the same in words.
_NAME = (r"[A-Za-z0-9_][A-Za-z0-9_-]*", "letters, digits, _ and -")
FORMS: Mapping[str, tuple[str, str]] = {
    "cluster_address": (r"[A-Za-z0-9._:-]+", "a host name or an address"),
    "cluster_cleaner_db_user": _NAME,
    "cluster_inode_table": (
        r"[A-Za-z0-9_][A-Za-z0-9_-]*\.[A-Za-z0-9_][A-Za-z0-9_-]*",
        "a database and a table, as in hops.hdfs_inodes",
    ),
    "cluster_login_db_user": _NAME,
    "cluster_metastore_database": _NAME,
    "cluster_metastore_database_user": _NAME,
    "cluster_name": (r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, dots, _ and -: it is part of paths"),
    "cluster_server2_namespace": _NAME,
    "cluster_state_schema": _NAME,
    **dict.fromkeys(
        ("cluster_warehouse", "cluster_warehouse_external", "cluster_warehouse_managed"),
        (r"(/+[^/\s]+)+/*|[a-z][a-z0-9]*://\S+", "a path that begins with / or with a file system, as in /warehouse/x"),
    ),
    "common_journal_max_use": (r"[1-9]\d*[KMGTPE]?", "a size such as 500M or 1G"),
}
# Lists that must not be empty.
FILLED = frozenset(
    {
        "datanode_directories",
        "namenode_directories",
        "nodemanager_local_directories",
        "nodemanager_log_directories",
        "server2_tez_queues",
    }
)
# Roles that run on the controller, where a path may begin with ~ or be relative to the repository.
_CONTROLLER = ("artifacts_", "controller_", "lab_")
# Mappings from the names of settings to their values.
_SETTINGS = re.compile(r"\w+_(site|settings|defaults)_extra|resourcemanager_queues|common_sysctl|lab_sysctls")


def fault(name: str, kind: str, value: object) -> str:
    """The fault of a value that has the right type `kind`, as `it must be ...`; empty without one."""
    if kind in {"int", "float"}:
        return _number_fault(name, value)
    if name in FORMS and not re.fullmatch(FORMS[name][0], str(value)):
        return f"it must be {FORMS[name][1]}"
    if name.startswith(_CONTROLLER):
        return ""
    if kind == "path":
        return "" if _is_place(value) else "it must be an absolute path below /"
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value and name in FILLED:
            return "it must name at least one"
        if name.endswith("_directories"):
            wrong = [entry for entry in value if not _is_place(entry)]
            return f"{wrong[0]!r} must be an absolute path below /" if wrong else ""
    if isinstance(value, Mapping) and _SETTINGS.fullmatch(name):
        return _setting_fault(value)
    return ""


def _number_fault(name: str, value: object) -> str:
    try:
        number = float(str(value))
    except ValueError:
        return ""
    least, most = RANGES.get(name, (0, math.inf))
    if name == "preflight_memory_ratio":
        least = LEAST_RATIO
    if math.isfinite(number) and least <= number <= most:
        return ""
    return f"it must be {least} or more" if most == math.inf else f"it must be a number from {least} to {most}"


def _is_place(value: object) -> bool:
    """Whether a text is an absolute path that hopshive may use: not `/` itself."""
    text = str(value)
    parts = text.split("/")
    return text.startswith("/") and any(parts) and not {".", ".."} & set(parts) and not re.search(r"[\s,]", text)


def _setting_fault(settings: Mapping[object, object]) -> str:
    for name, value in settings.items():
        # The message does not quote the value: it may be a secret.
        what = "a mapping" if isinstance(value, Mapping) else "a list" if isinstance(value, Sequence) else ""
        if what and not isinstance(value, str):
            return f"{name} is {what}: a setting has one value, so write several as one text, as in 'a,b'"
    return ""
