"""`python -m tests.fuzz --seed 7 --steps 200`: random interleavings against a running warehouse. See docs/development.md."""

from __future__ import annotations

import random
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import click

from tests.fuzz.choose import Settings
from tests.fuzz.reduce import reduced
from tests.fuzz.run import Failure, Run
from tests.fuzz.steps import read_steps, write_steps
from tests.warehouse import Warehouse

# Waits of the daemon while it is tried; what the inventory says comes back afterwards.
SHORT = {
    "lease": 4.0,
    "mirror": {"grace": 1.0, "rename_grace": 2.0, "unbound_grace": 2.0, "max_removals": 100_000},
}


@click.command()
@click.option("--seed", type=int, default=None, help="Of the random steps; drawn and printed if it is not given.")
@click.option("--steps", type=click.IntRange(min=1), default=200, show_default=True)
@click.option(
    "--replay", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Steps from a file instead."
)
@click.option(
    "--label", default="lab", show_default=True, help="The lab's label; a scenario's is molecule-consistency, say."
)
@click.option("--prefix", default="fz", show_default=True, help="Of the databases; keep nothing else under it.")
@click.option("--faults/--no-faults", default=True, help="Whether services are killed and restarted.")
@click.option("--spark/--no-spark", default=True)
@click.option("--configure/--no-configure", default=True, help="Whether the daemons get short waits for the run.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("build/fuzz"), show_default=True)
def main(
    seed: int | None,
    steps: int,
    replay: Path | None,
    label: str,
    prefix: str,
    faults: bool,
    spark: bool,
    configure: bool,
    output: Path,
) -> None:
    """Run, print each step, and end with 1 and a file to replay if the warehouse is not what the model says."""
    if seed is None:
        seed = random.SystemRandom().randrange(1_000_000)
    click.echo(f"seed {seed}, {steps} steps" if replay is None else f"replay of {replay}, seed {seed}")
    begin = time.monotonic()
    with ExitStack() as stack:
        warehouse = stack.enter_context(Warehouse.find(label))
        if configure:
            stack.enter_context(warehouse.configured(SHORT))
        settings = Settings(prefix=prefix, root=f"/{prefix}", faults=faults, spark=spark)
        run = Run(warehouse, settings, random.Random(seed), click.echo)  # noqa: S311 - no secret
        run.prepare()
        prepared = time.monotonic() - begin
        failure: Failure | None = None
        try:
            if replay is not None:
                run.replay(read_steps(replay))
            else:
                run.draw(steps)
        except Failure as error:
            failure = error
        finally:
            write_steps(output / f"{seed}.json", run.done, seed=seed)
    report = run.report
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(report.steps.items()))
    click.echo(f"steps by kind: {kinds}")
    slow = ", ".join(f"{kind} {ms / 1000:.0f} s" for kind, ms in report.by_kind.most_common(8))
    click.echo(f"slowest: {slow}; quiet points {report.quiet_seconds:.0f} s; preparing {prepared:.0f} s")
    click.echo(
        f"seed {seed}: {report.total} steps, {report.engine_writes} engine writes, {report.quiet_points} quiet points,"
        f" {report.removed} objects removed, {report.restored} restored,"
        f" {report.seconds:.0f} s, {report.total / max(report.seconds, 0.001):.2f} steps/s"
    )
    if failure is not None:
        smaller = output / f"{seed}-reduced.json"
        write_steps(smaller, reduced(run.done, failure.lines, prefix), seed=seed, failure=failure.lines)
        click.echo("FAILED:\n" + "\n".join(failure.lines[:40]), err=True)
        click.echo(
            f"all steps: {output / f'{seed}.json'}; those that matter: python -m tests.fuzz --replay {smaller}",
            err=True,
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
