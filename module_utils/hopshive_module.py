"""What modules have in common that call the package hopshive. It may not be there, so nothing of it is imported here."""

from __future__ import annotations

import sys
from typing import Any

from ansible.module_utils.basic import AnsibleModule

# How a database is reached.
LOGIN: dict[str, dict[str, Any]] = {
    "login_host": {"type": "str", "default": "localhost"},
    "login_port": {"type": "int", "default": 3306},
    "login_user": {"type": "str", "default": ""},
    "login_password": {"type": "str", "default": "", "no_log": True},
    "login_unix_socket": {"type": "path"},
    "connect_timeout": {"type": "int", "default": 10},
    "ca_cert": {"type": "path"},
    "client_cert": {"type": "path"},
    "client_key": {"type": "path"},
    "check_hostname": {"type": "bool"},
}
# How a service is asked. Where it listens is `host`: `login_host` is the database of a module that changes it.
SERVICE: dict[str, dict[str, Any]] = {
    "host": {"type": "str", "default": "localhost"},
    "namenode": {"type": "list", "elements": "str", "default": []},
    "resourcemanager": {"type": "list", "elements": "str", "default": []},
    "authority": {"type": "path"},
    "login_user": LOGIN["login_user"],
    "login_password": LOGIN["login_password"],
}


class _Importing:
    """A block in which the package is imported; if it cannot be, `start` says why."""

    error = ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, ImportError):
            self.error = str(error)
            return True
        return False


importing = _Importing()


def start(**arguments: Any) -> AnsibleModule:
    """Read the arguments; fails if the package could not be imported, with the reason."""
    module = AnsibleModule(supports_check_mode=True, **arguments)
    if importing.error:
        module.fail_json(
            msg=f"{sys.executable} cannot import the hopshive package ({importing.error}). Run the role common first: it "
            "installs the package, and cluster_python names its Python. Without the role, let ansible_python_interpreter of "
            "this task name a Python that has the package."
        )
    return module


def login(parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments of hopshive.database.Server from those of LOGIN."""
    return {
        "host": parameters["login_host"],
        "port": parameters["login_port"],
        "user": parameters["login_user"],
        "password": parameters["login_password"],
        "unix_socket": parameters["login_unix_socket"] or "",
        "connect_timeout": parameters["connect_timeout"],
        "ca_cert": parameters["ca_cert"] or "",
        "client_cert": parameters["client_cert"] or "",
        "client_key": parameters["client_key"] or "",
        "check_hostname": parameters["check_hostname"],
    }
