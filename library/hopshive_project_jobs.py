#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""End the jobs on YARN of people who are no longer members of a project."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_project_jobs
short_description: End jobs on YARN of people who are no longer members
version_added: "0.2.0"
description:
  - Ends each application whose user is an account of a project, such as C(sales__alice), and is not a member of it.
  - Asks the ResourceManagers in turn for the active one. Starts no JVM.
options:
  projects:
    description: Projects by name.
    type: dict
    required: true
  removed:
    description: Names of projects that are no longer in O(projects).
    type: list
    elements: str
    default: []
  resourcemanager:
    description: The host of each ResourceManager.
    type: list
    elements: str
    required: true
  port:
    description: The port of their clients' protocol.
    type: int
    default: 8032
  http_port:
    description: The port of their page.
    type: int
    default: 8088
  user:
    description: The user that the ResourceManagers run as.
    type: str
    default: yarn
notes:
  - "Role that uses this module: C(projects)."
  - The page of documentation is C(docs/tenancy.md).
seealso:
  - module: hopshive_project
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: full
    description: Lists the jobs, and ends none.
  diff_mode:
    support: full
    description: The jobs that end.
  idempotent:
    support: full
    description: Ends nothing while only members run jobs.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: End what people run who are no longer members
  hopshive_project_jobs:
    projects:
      sales:
        id: 20000
        members:
          alice: {id: 30000, role: owner}
    resourcemanager: [master1, master2]
"""

RETURN = r"""
ended:
  description: The applications that were ended, each with its user.
  returned: success
  type: list
  elements: dict
  sample:
    - {application: application_1795556727484_0006, user: sales__bob}
"""

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.config import ConfigError
    from hopshive.services.resourcemanager import ResourceManager
    from hopshive.tenancy.jobs import JobsError, end_former
    from hopshive.tenancy.projects import read


def main() -> None:
    module = start(
        argument_spec={
            "projects": {"type": "dict", "required": True},
            "removed": {"type": "list", "elements": "str", "default": []},
            "resourcemanager": {"type": "list", "elements": "str", "required": True},
            "port": {"type": "int", "default": 8032},
            "http_port": {"type": "int", "default": 8088},
            "user": {"type": "str", "default": "yarn"},
        },
    )
    given = module.params
    try:
        projects = read(given["projects"])
        managers = [
            ResourceManager(f"{host}:{given['http_port']}", f"{host}:{given['port']}", given["user"])
            for host in given["resourcemanager"]
        ]
        users = {user for project in projects.values() for user in project.users}
        jobs = end_former(managers, {*projects, *given["removed"]}, users, dry=module.check_mode)
    except (ConfigError, JobsError) as error:
        module.fail_json(msg=str(error))
    ended = [{"application": job.application, "user": job.user} for job in jobs]
    after = "".join(f"{one['application']} of {one['user']} ended\n" for one in ended)
    module.exit_json(changed=bool(ended), ended=ended, diff={"before": "", "after": after})


if __name__ == "__main__":
    main()
