"""Commands of the pages that are not run on a scenario's lab, each with its reason. The test prints the list."""

from __future__ import annotations

from fnmatch import fnmatchcase

# Patterns as those of files; the first that fits counts.
REASONS = {
    "sudo apt-get install *": "changes this machine; .ci/run installs the same packages",
    "git clone *": "has no address to clone from",
    "make lab": "brings up a lab beside the scenario's; .ci/run deploys with the same playbooks",
    "make lab-down*": "would remove a lab that is in use; the scenario ends with the same playbook",
    "make clean-cache*": "would remove the cache that the other scenarios install from",
    "make test*": "runs this test",
    "make unit*": "a stage of CI of its own",
    "make molecule*": "runs this test, or a scenario that is a stage of CI of its own",
    "make fuzz*": "a stage of the scenario consistency",
    "make bench-*": "takes longer than CI has",
    "make venv*": "the tools that run this test come from it",
    "zcat /srv/metastore.sql.gz | mariadb": "would replace the metadata; tests/unit/repository/test_mariadb_dump.py runs it",
    "mariadb -e 'UPDATE hopshive.position *": "comes after that; tests/unit/repository/test_mariadb_dump.py runs it",
    "spark-submit *nycflights.py *": "takes minutes; test_job.py has playbooks/smoke.yml run the same command",
    "hopshive cleaner run": "is what systemd runs already on that host",
    "ansible-playbook * -i inventories/mine *": "needs hosts and a password of the reader's own",
    "cp *inventories/mine*": "a step to hosts of the reader's own",
    "$EDITOR *": "a step to hosts of the reader's own",
}


def pattern_of(command: str) -> str | None:
    """The pattern that a command fits; None for one that is run."""
    return next((pattern for pattern in REASONS if fnmatchcase(command, pattern)), None)
