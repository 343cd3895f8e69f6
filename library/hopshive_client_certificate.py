#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Client certificates for the gateways."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_client_certificate
short_description: Issue and revoke client certificates for the gateways, on the controller
version_added: "0.2.0"
description:
  - Keeps an authority of client certificates in O(directory), with its revocation list (CRL). The authority is made once, and
    its key never leaves O(directory). It is not the authority of the hosts, so no certificate of one counts as one of the other.
  - With V(state=present), brings a certificate for O(user) to O(output), as PEM (C(<user>.pem), C(<user>.key)) and as a key
    store (C(<user>.p12), with its password in C(<user>.password)). A certificate that is there stays until it is revoked, or a
    third of its life is left. Where the files were moved away, the user gets another certificate besides.
  - With V(state=revoked), puts all certificates of O(user), or the one of O(serial), on the revocation list. Something else
    brings the list to the gateways.
  - With V(state=prepared), only authority and list are made. In each state a list gets its successor when a third of its time
    is left. A gateway refuses all certificates when its list has ended.
  - Runs without a JVM. One process works in O(directory) at a time.
options:
  directory:
    description: Directory on the controller. It, and all that is in it, can be read by its user only. Back it up.
    type: path
    required: true
  state:
    description: What is wanted.
    type: str
    choices: [present, revoked, prepared]
    default: present
  user:
    description: An account (V(alice)), or a project's user (V(sales__alice)), whose certificate is for that project alone.
    type: str
    default: ""
  serial:
    description: With V(state=revoked), the hexadecimal number of one certificate, as gateways have it in their log.
    type: str
    default: ""
  output:
    description: With V(state=present), directory on the controller for the program's files. It is made with the mode 0700.
    type: path
  days:
    description: Life of a new certificate.
    type: int
    default: 365
  authority_passphrase:
    description: Passphrase of the authority's key. A key without one gets it.
    type: str
    default: ""
  authority_name:
    description: Names a new authority.
    type: str
    default: hopshive
  authority_days:
    description: Life of a new authority.
    type: int
    default: 3650
  list_days:
    description: For how long a revocation list is good.
    type: int
    default: 365
requirements:
  - the hopshive package in the Python that runs the module
  - cryptography 45 or later
attributes:
  check_mode:
    support: full
    description: Says which certificate would be issued or revoked, and why.
  diff_mode:
    support: full
    description: Serial number, end and fingerprint of certificates, and what the list revokes. No key and no password.
  idempotent:
    support: full
    description: Writes nothing as long as certificate and list are good.
notes:
  - "Roles that use this module: C(gateway), C(lab)."
  - The page of documentation is C(docs/tenancy.md).
seealso:
  - module: hopshive_certificate
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Let a program of Alice in to the project sales for 90 days
  hopshive_client_certificate:
    directory: ~/.local/state/hopshive/warehouse/tls/clients
    user: sales__alice
    output: ~/certificates
    days: 90
    authority_passphrase: "{{ vault_tls_passphrase }}"
  delegate_to: localhost
  run_once: true

- name: Keep all programs of Alice in sales out
  hopshive_client_certificate:
    directory: ~/.local/state/hopshive/warehouse/tls/clients
    state: revoked
    user: sales__alice
    authority_passphrase: "{{ vault_tls_passphrase }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
authority:
  description: What was done with the authority; empty if nothing was.
  returned: success
  type: str
  sample: made
revocation_list:
  description: Why there is another revocation list, besides certificates that were revoked; empty if there is no other reason.
  returned: success
  type: str
  sample: it ends on 2027-11-27
issued:
  description: Why another certificate was issued; empty if none was.
  returned: success
  type: str
  sample: there is none
serial:
  description: With V(state=present), the hexadecimal serial number of the certificate.
  returned: success
  type: str
  sample: 6BD0C9A4D1F5F0E8C1D3BDE5C0D5CB0B2F6A1E77
ends:
  description: With V(state=present), the day on which the certificate ends.
  returned: success
  type: str
  sample: "2027-02-25"
files:
  description: Names of the files that were written to O(output).
  returned: success
  type: list
  elements: str
  sample: [sales__alice.pem, sales__alice.key, sales__alice.p12, sales__alice.password]
revoked:
  description: Serial numbers of the certificates that were revoked by this run.
  returned: success
  type: list
  elements: str
  sample: []
"""

import sys
import traceback
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

try:
    from hopshive.install.tls.clients import Clients, issue, prepare, revoke
    from hopshive.install.tls.pem import TlsError

    IMPORT_ERROR = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()


def main() -> None:
    module = AnsibleModule(
        supports_check_mode=True,
        argument_spec={
            "directory": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "revoked", "prepared"], "default": "present"},
            "user": {"type": "str", "default": ""},
            "serial": {"type": "str", "default": ""},
            "output": {"type": "path"},
            "days": {"type": "int", "default": 365},
            "authority_passphrase": {"type": "str", "default": "", "no_log": True},
            "authority_name": {"type": "str", "default": "hopshive"},
            "authority_days": {"type": "int", "default": 3650},
            "list_days": {"type": "int", "default": 365},
        },
        required_if=[("state", "present", ("user", "output"))],
    )
    if IMPORT_ERROR:
        module.fail_json(
            msg=missing_required_lib("hopshive with cryptography", reason=sys.executable), exception=IMPORT_ERROR
        )
    parameters = module.params
    clients = Clients(
        Path(parameters["directory"]),
        parameters["authority_passphrase"],
        parameters["authority_name"],
        parameters["authority_days"],
        parameters["list_days"],
    )
    state, user, serial = parameters["state"], parameters["user"], parameters["serial"]
    if state == "revoked" and not (user or serial):
        module.fail_json(msg="state is revoked, but neither user nor serial says which certificate")
    try:
        if state == "prepared":
            outcome = prepare(clients, dry=module.check_mode)
        elif state == "revoked":
            outcome = revoke(clients, user, serial, dry=module.check_mode)
        else:
            output = Path(parameters["output"])
            outcome = issue(clients, user, parameters["days"], output, dry=module.check_mode)
    except TlsError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=outcome.changed,
        diff={"before": outcome.before, "after": outcome.after},
        authority=outcome.authority,
        revocation_list=outcome.revocation_list,
        issued=outcome.issued,
        serial=outcome.serial,
        ends=outcome.ends,
        files=outcome.files,
        revoked=outcome.revoked,
    )


if __name__ == "__main__":
    main()
