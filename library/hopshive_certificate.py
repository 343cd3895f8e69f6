#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Certificates of the hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_certificate
short_description: Make, renew or take over the certificates of the hosts, on the controller
version_added: "0.2.0"
description:
  - Brings O(directory) to a certificate and a key for each of O(hosts), with a key store and a trust store (PKCS12) for JVMs.
    The files of a host lie in C(hosts/<name>), C(host.pem), C(host.key), C(authority.pem), C(keystore.p12) and
    C(truststore.p12). Something else copies them to the hosts.
  - Without O(given), an authority of its own signs them. The module makes the authority once; its key never leaves
    O(directory). A host gets another certificate when it has none, when a third of the life of the one it has is left, when
    its names change, when another authority signed it, or when the key is not the certificate's.
  - With O(given), the certificates are the site's. The module refuses one that clients would refuse.
  - Runs without a JVM. One process works in O(directory) at a time.
options:
  directory:
    description: Directory on the controller. It, and all that is in it, can be read by its user only.
    type: path
    required: true
  hosts:
    description: By name in the inventory, the host names and addresses that the certificate is for. The first is its common name.
    type: dict
    required: true
  given:
    description:
      - By name in the inventory, what the site brings, as paths on the controller. C(certificate) is followed in its file by
        those between it and the authority; C(key) has no passphrase; C(authority) may have several certificates.
    type: dict
  store_password:
    description: Password of the key stores, of six characters or more.
    type: str
    required: true
  authority_passphrase:
    description: Passphrase of the authority's key. A key without one gets it.
    type: str
    default: ""
  name:
    description: Names a new authority.
    type: str
    default: hopshive
  days:
    description: Life of a new certificate.
    type: int
    default: 365
  authority_days:
    description: Life of a new authority.
    type: int
    default: 3650
requirements:
  - the hopshive package in the Python that runs the module
  - cryptography 45 or later
attributes:
  check_mode:
    support: full
    description: Says who would get another certificate, and why.
  diff_mode:
    support: full
    description: Names, end, issuer and fingerprint of each certificate. No key and no password.
  idempotent:
    support: full
    description: Writes nothing as long as the certificates are good.
notes:
  - "Role that uses this module: C(tls)."
  - C(truststore.p12) has the password C(changeit). It holds no secret, but a JVM wants a password.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Make the certificates of the hosts
  hopshive_certificate:
    directory: ~/.local/state/hopshive/tls
    hosts:
      edge1: [edge1.example.org, edge1, 192.0.2.7]
    store_password: "{{ cluster_tls_store_password }}"
    authority_passphrase: "{{ vault_tls_passphrase }}"
  delegate_to: localhost
  run_once: true

- name: Take over the site's certificate
  hopshive_certificate:
    directory: ~/.local/state/hopshive/tls
    hosts:
      edge1: [edge1.example.org]
    given:
      edge1: {certificate: /srv/tls/edge1.pem, key: /srv/tls/edge1.key, authority: /srv/tls/authority.pem}
    store_password: "{{ cluster_tls_store_password }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
authority:
  description: What was done with the authority; empty if nothing was.
  returned: success
  type: str
  sample: made
issued:
  description: By name in the inventory, why a host got another certificate.
  returned: success
  type: dict
  sample: {edge1: it ends on 2027-01-30}
stores:
  description: Hosts whose certificate stays, and of which another file was written again.
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
    from hopshive.install.tls.given import Given
    from hopshive.install.tls.hosts import Plan, ensure
    from hopshive.install.tls.pem import TlsError

    IMPORT_ERROR = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()

# A shorter password is refused by the tools of a JDK.
SHORTEST = 6


def main() -> None:
    module = AnsibleModule(
        supports_check_mode=True,
        argument_spec={
            "directory": {"type": "path", "required": True},
            "hosts": {"type": "dict", "required": True},
            "given": {"type": "dict"},
            "store_password": {"type": "str", "required": True, "no_log": True},
            "authority_passphrase": {"type": "str", "default": "", "no_log": True},
            "name": {"type": "str", "default": "hopshive"},
            "days": {"type": "int", "default": 365},
            "authority_days": {"type": "int", "default": 3650},
        },
    )
    if IMPORT_ERROR:
        module.fail_json(
            msg=missing_required_lib("hopshive with cryptography", reason=sys.executable), exception=IMPORT_ERROR
        )
    parameters = module.params
    hosts = {str(host): [str(name) for name in names] for host, names in parameters["hosts"].items()}
    given = None
    if parameters["given"] is not None:
        if lacking := sorted(hosts.keys() - parameters["given"].keys()):
            module.fail_json(msg=f"given has no certificate for {', '.join(lacking)}")
        given = {
            host: Given(*(str(files.get(name) or "") for name in ("certificate", "key", "authority")))
            for host, files in parameters["given"].items()
        }
    if len(parameters["store_password"]) < SHORTEST:
        module.fail_json(msg=f"store_password has fewer than {SHORTEST} characters")
    plan = Plan(
        Path(parameters["directory"]),
        hosts,
        parameters["store_password"],
        parameters["authority_passphrase"],
        parameters["name"],
        parameters["days"],
        parameters["authority_days"],
        given,
    )
    try:
        outcome = ensure(plan, dry=module.check_mode)
    except TlsError as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=outcome.changed,
        diff={"before": outcome.before, "after": outcome.after},
        authority=outcome.authority,
        issued=outcome.issued,
        stores=outcome.stores,
    )


if __name__ == "__main__":
    main()
