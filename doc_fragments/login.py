"""Documentation of the options of `hopshive_module.LOGIN`, for all modules that log in to the database."""

from __future__ import annotations


class ModuleDocFragment:
    """Read by `ansible-doc`. A module describes O(login_user) itself, with the privileges that it needs."""

    DOCUMENTATION = r"""
options:
  login_host:
    description: Host of the database, or of the SQL node.
    type: str
    default: localhost
  login_port:
    description: Port of the database.
    type: int
    default: 3306
  login_user:
    description: A user of the database.
    type: str
    default: ""
  login_password:
    description: Password of O(login_user).
    type: str
    default: ""
  login_unix_socket:
    description: Socket of the database, instead of O(login_host) and O(login_port).
    type: path
"""
