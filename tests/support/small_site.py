"""An inventory of all that site.yml installs, on this machine and small enough for it. Preflight accepts it."""

from __future__ import annotations

import sys
from typing import Any

from hopshive.services.components import COMPONENTS

PASSWORD = "kXw2-unguessed-91"
VARIABLES: dict[str, Any] = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "cluster_metastore_database_password": PASSWORD,
    "cluster_cleaner_db_password": PASSWORD,
    "cluster_login_db_password": PASSWORD,
    "login_sealing_key": f"{PASSWORD}, and more of it",
    "server2_authentication": "login",
    "cluster_without": ["tls"],
    "server2_check_password": f"{PASSWORD}, and more of it",
    "cluster_gateway_secret": f"{PASSWORD}, and more of it",
    "login_people": {"alice": {"account": "alice", "password": "$argon2id$"}},
    "cluster_nodemanager_memory_mb": 2048,
    # Ports that nothing on a developer's machine holds.
    "cluster_mariadb_port": 23306,
    "cluster_metastore_port": 29083,
    "preflight_disk_mb": 1,
    "preflight_memory_ratio": 100.0,
}


def groups() -> dict[str, dict[str, Any]]:
    """The groups of one host, `one`: neither another database nor several NameNodes."""
    return {
        name: {"hosts": {"one": {}}} for name in COMPONENTS if not name.startswith("ndb_") and name != "journalnode"
    }
