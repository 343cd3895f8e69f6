"""Commands of the pages that are not run on a scenario's lab, each with its reason. The test prints the list."""

from __future__ import annotations

from fnmatch import fnmatchcase

# Patterns as those of files; the first that fits counts.
REASONS = {
    "sudo apt-get install *": "changes this machine; .ci/run installs the same packages",
    "git clone *": "has no address to clone from",
    "make lab": "brings up a lab beside the scenario's; .ci/run deploys with the same playbooks",
    "make test*": "runs this test",
    "make venv*": "the tools that run this test come from it",
    "ansible-playbook * -i inventories/mine *": "needs hosts and a password of the reader's own",
    "cp *inventories/mine*": "a step to hosts of the reader's own",
    "$EDITOR *": "a step to hosts of the reader's own",
}


def pattern_of(command: str) -> str | None:
    """The pattern that a command fits; None for one that is run."""
    return next((pattern for pattern in REASONS if fnmatchcase(command, pattern)), None)
