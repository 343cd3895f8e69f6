#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Aliases in a Hadoop credential store."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_credential
short_description: Keep a secret in a Hadoop credential store
version_added: "0.1.0"
description:
  - Sets or removes an alias of a Java key store on a local disk, which Hive and Hadoop read through
    C(hadoop.security.credential.provider.path).
  - The secret is typed at the prompts of C(hadoop credential) on a pseudo-terminal. It is on no command line, in no
    environment and in no output.
  - The store is written in a private directory beside it and renamed into place with its owner and mode, so that no
    other user can read it at any time.
  - Beside the store C(.NAME.hopshive), mode 0600, keeps a salted scrypt digest of each secret, which spares the JVM as
    long as the store is what it was.
  - The key store has Hadoop's default password, so its mode is what protects it.
notes:
  - "Roles that use this module: C(jvm_service), C(metastore), C(server2)."
options:
  provider:
    description: The store, V(localjceks://file/PATH) or V(jceks://file/PATH). Its directory must be there.
    type: str
    required: true
  alias:
    description: Name of the secret, which is the name of the property that it stands for. Case does not matter in a store.
    type: str
    required: true
  secret:
    description: The secret. Needed for O(state=present).
    type: str
  state:
    description: Whether the alias must be in the store.
    type: str
    choices: [present, absent]
    default: present
  owner:
    description: Owner of the store.
    type: str
  group:
    description: Group of the store.
    type: str
  mode:
    description: Mode of the store, octal and quoted, without rights for others.
    type: str
    default: "0640"
  command:
    description: What runs C(org.apache.hadoop.security.alias.CredentialShell).
    type: list
    elements: str
    default: [/usr/local/bin/hadoop, credential]
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Foretells; may ask C(hadoop credential check) if the record beside the store does not tell.
  diff_mode:
    support: partial
    description: Whether the alias is there and what the store's owner and mode are; never the secret.
  idempotent:
    support: full
    description: Needs no JVM unless another program changes the store.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Keep the database password
  hopshive_credential:
    provider: localjceks://file/etc/hive/conf.metastore/credentials.jceks
    alias: javax.jdo.option.ConnectionPassword
    secret: "{{ cluster_metastore_database_password }}"
    owner: hive
    group: hive
    mode: "0600"
  no_log: true
  notify: Restart the metastore

- name: Forget a secret that is no longer used
  hopshive_credential:
    provider: localjceks://file/etc/hadoop/credentials.jceks
    alias: ssl.server.keystore.password
    state: absent
"""

RETURN = r"""
path:
  description: The store's file.
  returned: success
  type: str
  sample: /etc/hive/conf.metastore/credentials.jceks
"""

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.install.credential import Shell, ensure
    from hopshive.install.credential_store import Attributes, CredentialError, Store, foreseen, shown


def mode_of(text: str) -> int:
    """An octal mode that gives others nothing. Raises CredentialError for another."""
    try:
        mode = int(text.removeprefix("0o"), 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777 or mode & 0o007:
        raise CredentialError(
            f'The mode {text!r} is not one for secrets. Give it octal and quoted, without rights for others: "0640".'
        )
    return mode


def main() -> None:
    module = start(
        argument_spec={
            "provider": {"type": "str", "required": True},
            "alias": {"type": "str", "required": True, "no_log": False},
            "secret": {"type": "str", "no_log": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "owner": {"type": "str"},
            "group": {"type": "str"},
            "mode": {"type": "str", "default": "0640"},
            "command": {"type": "list", "elements": "str", "default": ["/usr/local/bin/hadoop", "credential"]},
        },
        required_if=[("state", "present", ["secret"])],
    )
    parameters = module.params
    present = parameters["state"] == "present"
    store = Store(parameters["provider"])
    try:
        path = store.path
        attributes = Attributes(parameters["owner"], parameters["group"], mode_of(parameters["mode"]))
        before = shown(path)
        change = ensure(
            store,
            Shell(parameters["command"]),
            parameters["alias"],
            parameters["secret"] if present else None,
            attributes,
            dry=module.check_mode,
        )
    except CredentialError as error:
        module.fail_json(msg=str(error))
    after = before
    if change.changed:
        after = foreseen(before, attributes) if module.check_mode else shown(path)
    if change.content:
        after = after | {parameters["alias"]: "set" if present else "removed"}
    module.exit_json(changed=change.changed, path=str(path), diff={"before": before, "after": after})


if __name__ == "__main__":
    main()
