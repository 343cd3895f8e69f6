#!/usr/bin/python
# Copyright: hopshive developers
# Apache License 2.0 (see LICENSE or https://www.apache.org/licenses/LICENSE-2.0)
"""See whether HDFS stores what it is given."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hopshive_hdfs_check
short_description: Write a small file on HDFS, read it back, delete it
version_added: "0.1.0"
description:
  - Fails unless HDFS gives back what was written to it. That takes a NameNode out of safe mode and a DataNode that this
    host reaches.
  - Waits for both up to O(timeout). Starts no JVM, and leaves nothing behind.
notes:
  - "Role that uses this module: C(datanode)."
seealso:
  - module: hopshive_hdfs
  - module: hopshive_answers
options:
  url:
    description: URLs of the NameNodes, C(http://namenode:9870). Several of a pair are tried in turn.
    type: list
    elements: str
    required: true
  authority:
    description: >-
      File with the certificates of the authority (CA) that vouches for NameNodes and DataNodes, where O(url) is C(https://).
      The default is those of the system.
    type: path
  user:
    description: The user who writes the file.
    type: str
    default: hdfs
  directory:
    description: A directory that is there and that O(user) may write to.
    type: str
    default: /
  timeout:
    description: How long a NameNode or DataNode that cannot answer yet is waited for, in seconds.
    type: int
    default: 60
requirements:
  - the hopshive package in the Python that runs the module
attributes:
  check_mode:
    support: partial
    description: Writes nothing, so it does nothing then.
  diff_mode:
    support: none
    description: Changes nothing.
  idempotent:
    support: full
    description: Leaves nothing behind.
author:
  - hopshive developers
"""

EXAMPLES = r"""
- name: Write a file, read it back, delete it
  hopshive_hdfs_check:
    url: "{{ cluster_webhdfs }}"
    authority: "{{ __cluster_tls_authority or omit }}"
    timeout: "{{ cluster_check_timeout }}"
"""

RETURN = r"""
seconds:
  description: How long writing, reading and deleting took.
  returned: success, not in check mode
  type: float
  sample: 0.21
"""

from ansible.module_utils.hopshive_module import importing, start

with importing:
    from hopshive.hdfs.wanted import WebHdfsError, normal_path
    from hopshive.hdfs.webhdfs import WebHdfs


def main() -> None:
    module = start(
        argument_spec={
            "url": {"type": "list", "elements": "str", "required": True},
            "authority": {"type": "path"},
            "user": {"type": "str", "default": "hdfs"},
            "directory": {"type": "str", "default": "/"},
            "timeout": {"type": "int", "default": 60},
        },
    )
    if module.check_mode:
        module.exit_json(changed=False)
    client = WebHdfs(
        module.params["url"],
        module.params["user"],
        timeout=module.params["timeout"],
        authority=module.params["authority"] or "",
    )
    try:
        seconds = client.round_trip(normal_path(module.params["directory"]))
    except WebHdfsError as error:
        module.fail_json(msg=str(error))
    finally:
        client.close()
    module.exit_json(changed=False, seconds=round(seconds, 3))


if __name__ == "__main__":
    main()
