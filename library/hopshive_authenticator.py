#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""Register the login service as the authenticator of a HiveServer2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_authenticator
short_description: Let people log in to a HiveServer2 through the login service
version_added: "0.2.0"
description:
  - Registers hopshive's authenticator in the configuration of a HiveServer2, or takes it out again. The configuration
    directory may be anyone's; hopshive need not have written it.
  - Properties go to C(hiveserver2-site.xml), which HiveServer2 reads after C(hive-site.xml). The module edits only the
    properties that it needs. All other bytes of a file stay.
  - The module asks the login service before it changes anything. It fails if no replica answers.
  - O(configuration) gets a record, C(.hopshive-authenticator.json), of the values from before. O(state=absent) gives
    these values back. A value that someone changed since then stays, with a warning.
options:
  configuration:
    description: Configuration directory of the HiveServer2. It has a C(hive-site.xml).
    type: path
    required: true
  state:
    description: Whether people log in through the login service.
    type: str
    choices: [present, absent]
    default: present
  urls:
    description: URLs of the login service's replicas. Needed for O(state=present).
    type: list
    elements: str
  authority:
    description: File with the certificates, in PEM, that sign those of the login service. Default are those of the JVM.
    type: path
  timeout:
    description: Seconds that one replica has to answer.
    type: float
    default: 5
  deadline:
    description: Seconds that all replicas together have to answer a login.
    type: float
    default: 15
  recheck:
    description: >-
      Seconds that an accepted login of an HTTP client counts before HiveServer2 asks the login service again. A revocation
      counts after this time at the latest.
    type: float
    default: 30
  service_account:
    description:
      - Name of an account that HiveServer2 lets in without the login service, for health checks.
      - Its password, of 32 characters or more, is the alias C(hopshive.login.service.password) of the credential store that
        the configuration names (C(hadoop.security.credential.provider.path)).
    type: str
    default: ""
  as_project_user:
    description: >-
      Whether HiveServer2 reads and writes files as the project's user. With V(false) it does so as its own user, and only
      Hive's authorization keeps projects apart.
    type: bool
    default: true
  jar:
    description: >-
      The jar with the authenticator's classes, on the same host. The module copies the jar to O(library). Without it, the
      classes must be on HiveServer2's class path already.
    type: path
  library:
    description: Directory on HiveServer2's class path, such as C(/opt/hive/lib). Needed with O(jar).
    type: path
  hadoop_configuration:
    description: >-
      Configuration directory of the NameNode or ResourceManager on the same host. Its C(core-site.xml) gets the rules that
      let O(proxy_user) act as other users. Without it, the module sets no rules.
    type: path
  proxy_user:
    description: The user of the operating system that runs HiveServer2.
    type: str
    default: hive
  proxy_hosts:
    description: Hosts of the HiveServer2s; V(*) is any host. Needed with O(hadoop_configuration).
    type: list
    elements: str
  proxy_groups:
    description: Groups whose members HiveServer2 may act as.
    type: list
    elements: str
    default: ["*"]
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Asks the login service too.
  diff_mode:
    support: full
    description: Each changed property with its value before and after. None of the values is a secret.
  idempotent:
    support: full
    description: Writes nothing as long as the properties and the jar are as wanted.
notes:
  - "Role that uses this module: C(server2)."
  - The page of documentation is C(docs/tenancy.md).
  - Restart HiveServer2 after a change of its properties.
  - E(HADOOP_USER_NAME) must not be in HiveServer2's environment. Hive would make the scratch directories of all sessions as
    that user.
  - After a change of RV(proxy_rules), run C(hdfs dfsadmin -refreshSuperUserGroupsConfiguration) and
    C(yarn rmadmin -refreshSuperUserGroupsConfiguration). No restart is needed.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Let people log in through the login service
  hopshive_authenticator:
    configuration: /etc/hive/conf
    urls: ["https://login1.example.org:9443", "https://login2.example.org:9443"]
    authority: /etc/ssl/certs/warehouse.pem
    jar: /usr/local/share/hopshive/hopshive-login.jar
    library: /opt/hive/lib
  notify: Restart HiveServer2

- name: Let HiveServer2 act as the users of projects
  hopshive_authenticator:
    configuration: /etc/hive/conf
    urls: ["https://login1.example.org:9443"]
    hadoop_configuration: /etc/hadoop/conf
    proxy_hosts: [hive1.example.org, hive2.example.org]

- name: Give back what was there before
  hopshive_authenticator:
    configuration: /etc/hive/conf
    state: absent
  notify: Restart HiveServer2
"""

RETURN = r"""
properties:
  description: Names of the changed properties of HiveServer2.
  returned: success
  type: list
  elements: str
  sample: [hive.server2.authentication]
proxy_rules:
  description: Whether rules of C(core-site.xml) changed.
  returned: success
  type: bool
  sample: false
"""

from pathlib import Path

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.tenancy.authenticator import (
        CORE_SITE,
        SITE,
        AuthenticatorError,
        Registration,
        Service,
        carry_out,
        plan_absent,
        plan_present,
        properties,
        proxy_user_rules,
        unreachable,
    )


def main() -> None:
    module = start(
        argument_spec={
            "configuration": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "urls": {"type": "list", "elements": "str"},
            "authority": {"type": "path"},
            "timeout": {"type": "float", "default": 5},
            "deadline": {"type": "float", "default": 15},
            "recheck": {"type": "float", "default": 30},
            "service_account": {"type": "str", "default": ""},
            "as_project_user": {"type": "bool", "default": True},
            "jar": {"type": "path"},
            "library": {"type": "path"},
            "hadoop_configuration": {"type": "path"},
            "proxy_user": {"type": "str", "default": "hive"},
            "proxy_hosts": {"type": "list", "elements": "str"},
            "proxy_groups": {"type": "list", "elements": "str", "default": ["*"]},
        },
        required_if=[("state", "present", ["urls"])],
        required_together=[("jar", "library")],
        required_by={"hadoop_configuration": ["proxy_hosts"]},
    )
    parameters = module.params
    configuration = Path(parameters["configuration"])
    try:
        if parameters["state"] == "absent":
            change = plan_absent(configuration)
        else:
            service = Service(
                tuple(parameters["urls"]),
                parameters["authority"] or "",
                parameters["timeout"],
                parameters["deadline"],
                parameters["recheck"],
                parameters["service_account"],
            )
            silent = unreachable(service)
            if len(silent) == len(service.urls):
                raise AuthenticatorError(
                    f"No login service answers. Nothing was changed. {'; '.join(silent) or 'urls is empty'}"
                )
            for one in silent:
                module.warn(f"A replica of the login service does not answer: {one}")
            files = {configuration / SITE: properties(service, as_project_user=parameters["as_project_user"])}
            if parameters["hadoop_configuration"]:
                rules = proxy_user_rules(
                    parameters["proxy_user"], parameters["proxy_hosts"], parameters["proxy_groups"]
                )
                files[Path(parameters["hadoop_configuration"]) / CORE_SITE] = rules
            jar, library = (Path(parameters[name]) if parameters[name] else None for name in ("jar", "library"))
            change = plan_present(Registration(configuration, files, jar, library))
        if not module.check_mode:
            carry_out(change)
    except AuthenticatorError as error:
        module.fail_json(msg=str(error))
    for one in change.kept:
        module.warn(f"{one} was changed since the registration and stays as it is")
    module.exit_json(
        changed=bool(change),
        diff={"before": change.before, "after": change.after},
        properties=sorted(change.after.get(str(configuration / SITE), {})),
        proxy_rules=any(path.endswith(CORE_SITE) for path in change.after),
    )


if __name__ == "__main__":
    main()
