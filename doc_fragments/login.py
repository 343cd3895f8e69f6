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
    description: Socket of the database, instead of O(login_host) and O(login_port). The options of TLS do not apply to it.
    type: path
  connect_timeout:
    description: Seconds within which the database must accept the connection. At least 1.
    type: int
    default: 10
  ca_cert:
    description:
      - File with the certificate of the authority (CA) that signed the database's certificate, on the host of the task.
      - With it the module connects with TLS alone, and checks the certificate. Without it the certificate is not checked.
    type: path
  client_cert:
    description: File with the certificate of O(login_user), if the database asks for one. Needs O(ca_cert).
    type: path
  client_key:
    description: File with the private key of O(client_cert), unless that file has the key too.
    type: path
  check_hostname:
    description:
      - Whether the certificate of the database must be for O(login_host). Needs O(ca_cert).
      - By default V(true) with O(ca_cert).
    type: bool
"""
