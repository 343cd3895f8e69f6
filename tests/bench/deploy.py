"""How long a warehouse takes: from an empty cache, from a warm one, and with nothing to do. `make bench-deploy` runs it.

Hosts, cache and base image are its own (inventory/, build/bench/cache): a lab that is up stays up, though it takes its share of
the machine. Prints a table and writes build/bench/deploy.json; the output of each run is in build/bench/deploy-*.log.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from tests.bench.measurement import Measurement, show, write
from tests.bench.recap import HostRecap, read

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "bench"
CACHE = BUILD / "cache"
INVENTORY = ("tests/bench/inventory",)
# What is promised on two cores.
WARM_TARGET_S = 480.0
NOTHING_TO_DO_TARGET_S = 120.0


@dataclass(frozen=True)
class Run:
    """A run of ansible-playbook that ended well."""

    seconds: float
    recap: list[HostRecap]


def play(name: str, *playbooks: str, inventories: Sequence[str] = INVENTORY, cache: Path | None = CACHE) -> Run:
    """Run playbooks on the benchmark's own hosts; a failure ends the benchmark with the log's last lines.

    `cache`: one of its own, with an image of its own; None takes the controller's, as a lab does.
    """
    log = BUILD / f"deploy-{name}.log"
    command = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        *(f"--inventory={inventory}" for inventory in inventories),
    ]
    environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    if cache:
        command += [f"--extra-vars=artifacts_cache_dir={cache}", "--extra-vars=lab_image_repository=hopshive/bench"]
        # pip keeps a cache of its own, which would warm what is to be measured cold.
        environment["XDG_CACHE_HOME"] = str(cache / "xdg")
    command += playbooks
    began = time.monotonic()
    with log.open("w") as output:
        code = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    seconds = time.monotonic() - began
    text = log.read_text(errors="replace")
    if code:
        lines = "\n".join(text.splitlines()[-60:])
        raise click.ClickException(
            f"{name}: ansible-playbook ended with {code} after {seconds:.0f} s, see {log}\n{lines}"
        )
    click.echo(f"{name}: {seconds:.0f} s")
    return Run(seconds, read(text))


@contextmanager
def hosts_of_its_own() -> Iterator[None]:
    """No hosts, image or cache of an earlier benchmark before, none of this one after."""
    cleaning = ("playbooks/lab_down.yml", "playbooks/clean_cache.yml")
    BUILD.mkdir(parents=True, exist_ok=True)
    play("clean-before", *cleaning)
    try:
        yield
    finally:
        play("clean-after", *cleaning)


@click.command(help=__doc__)
@click.option("--skip-cold", is_flag=True, help="Fill the cache without the warehouse, and leave out the first figure.")
def main(skip_cold: bool) -> None:
    """Measure, print and write; exit 1 if a target is missed."""
    measurements: list[Measurement] = []
    with hosts_of_its_own():
        if skip_cold:
            play("fill", "playbooks/lab_containers.yml", "playbooks/artifacts.yml")
        else:
            cold = play("empty-cache", "playbooks/lab.yml")
            measurements.append(Measurement("empty cache to result table", round(cold.seconds), "s"))
        play("down", "playbooks/lab_down.yml")
        warm = play("warm-cache", "playbooks/lab.yml")
        measurements.append(Measurement("warm cache to result table", round(warm.seconds), "s", WARM_TARGET_S))
        again = play("nothing-to-do", "playbooks/lab_containers.yml", "site.yml")
        measurements.append(
            Measurement("nothing to do, until the job starts", round(again.seconds), "s", NOTHING_TO_DO_TARGET_S)
        )
        for host in again.recap:
            measurements.append(Measurement(f"tasks on {host.host}", host.ok, "tasks"))
            measurements.append(Measurement(f"changed with nothing to do on {host.host}", host.changed, "tasks", 0))
    write(measurements, BUILD / "deploy.json")
    show("Deployment", measurements)
    if not all(measurement.ok for measurement in measurements):
        sys.exit(1)


if __name__ == "__main__":
    main()
