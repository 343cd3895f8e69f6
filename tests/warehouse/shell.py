"""Commands of users on a host that testinfra reaches."""

from __future__ import annotations

import shlex
from typing import Any


def beeline(host: Any, statements: str, before: str = "") -> str:
    """What HiveServer2 answers to statements, as tab separated lines, through ZooKeeper's discovery.

    `before`: what stands before the command, as `env LC_ALL=POSIX`.
    """
    options = "--silent=true --outputformat=tsv2 --showHeader=false"
    return run(host, f'{before} beeline {options} -n spark -p "" -e "{statements};"', user="spark")


def run(host: Any, command: str, user: str = "root") -> str:
    """Standard output of a command; a failure shows everything that it said."""
    shell = f"su -s /bin/sh {user} -c {shlex.quote(command)}" if user != "root" else command
    result = host.run(shell)
    assert result.rc == 0, f"{command}: exit {result.rc}\n{result.stdout}\n{result.stderr}"
    return str(result.stdout)
