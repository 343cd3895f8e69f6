"""What the unit of a data node waits for before it counts as started: the role's own command, with a stand-in for ndb_waiter."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml
from jinja2 import Environment

from tests.support.servers import ROOT, write_script

WRITTEN = yaml.safe_load((ROOT / "roles/ndb_data/vars/main.yml").read_text())["__ndb_data_unit"]["started"]
# Another user than that of the process: a node is root's until systemd has executed it.
STRANGER = 65534 if os.geteuid() == 0 else None


def _exit_code(pid: int, said: int) -> int:
    """Of the command, for a node with that process, if ndb_waiter ends with `said`."""
    with tempfile.TemporaryDirectory() as home:
        waiter = Path(home) / "bin/ndb_waiter"
        waiter.parent.mkdir()
        write_script(waiter, ["sh", "-c", f"exit {said}"])
        for path in (Path(home), waiter.parent):
            path.chmod(0o755)
        names = {"cluster_ndb_home": home, "cluster_ndb_connect": "one:1186", "ndb_data_id": 11}
        # In a unit a dollar is written twice.
        command = Environment(autoescape=True).from_string(WRITTEN).render(names).replace("$$", "$")
        environment = {"PATH": os.environ["PATH"], "MAINPID": str(pid)}
        argv = shlex.split(command)
        return subprocess.run(argv, env=environment, cwd="/", timeout=30, check=False, user=STRANGER).returncode


@pytest.mark.parametrize("said", [0, 3])
def test_a_node_whose_process_may_not_be_signalled_yet_is_waited_for(said: int) -> None:
    # Root's, also if another user runs the tests.
    assert _exit_code(1, said) == 0


def test_a_node_that_died_is_not_waited_for() -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert _exit_code(ended.pid, 1) == 1
