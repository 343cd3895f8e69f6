"""`python -m tests.faults --label ha`: break a running warehouse in each way, with clients at work. See docs/availability.md."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from hopshive.services.health import NoAnswer, WrongAnswer
from tests.faults.calls import Record, Summary, summary
from tests.faults.catalogue import Fault, catalogue
from tests.faults.clients import Client, Deletions, HiveRows, Ledger, SparkTables
from tests.faults.evidence import Evidence
from tests.faults.site import Site
from tests.faults.verdict import Verdict, judge
from tests.warehouse.hosts import CommandError, find_lab

# Clients work for so long before a fault and after it was undone, in seconds.
BEFORE = 10.0
AFTER = 30.0
AFTER_SHORT = 15.0


@dataclass
class Result:
    """What became of one fault. `broken` are the bounds, and what else had to hold, that do not, in words."""

    fault: Fault
    where: str = ""
    clients: dict[str, Summary] = field(default_factory=dict)
    verdict: Verdict | None = None
    broken: list[str] = field(default_factory=list)
    evidence: Path | None = None

    def row(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        verdict = self.verdict
        return {
            "fault": self.fault.name,
            "where": self.where,
            "calls": sum(one.made for one in self.clients.values()),
            "failed": sum(one.failed for one in self.clients.values()),
            "clients": {
                name: {"calls": one.made, "failed": one.failed, "longest_gap_s": one.gap, "errors": one.errors}
                for name, one in self.clients.items()
            },
            "lost_writes": verdict.lost if verdict else None,
            "drift": verdict.drift if verdict else None,
            "healed_s": verdict.healed if verdict else None,
            "caught_up_s": verdict.caught_up if verdict else None,
            "broken": self.broken,
            "evidence": str(self.evidence) if self.evidence else None,
        }


@click.command()
@click.option("--label", default="ha", show_default=True, help="The lab's label.")
@click.option("--only", multiple=True, help="Only faults with this in their name. May be given several times.")
@click.option("--short", is_flag=True, help="Only those of the short form.")
@click.option(
    "--times", default=1, show_default=True, type=click.IntRange(min=1), help="How often, one after the other."
)
@click.option("--output", type=click.Path(path_type=Path), default=Path("build/bench/faults.json"), show_default=True)
def main(label: str, only: tuple[str, ...], short: bool, times: int, output: Path) -> None:
    """Cause each fault, print what came of it, and end with 1 if a bound does not hold.

    Of a fault of which something does not hold, thread dumps and logs are kept beside the output, in a directory of its number.
    """
    lab = find_lab(label)
    site = Site(lab)
    there = [fault for fault in catalogue() if fault.fits(lab)]
    unknown = [part for part in only if not any(part in fault.name for fault in there)]
    faults = [
        fault
        for fault in there
        if (fault.short or not short) and (not only or any(part in fault.name for part in only))
    ]
    if unknown or not faults:
        click.echo(f"no fault of this lab has {' or '.join(map(repr, unknown)) or 'that'} in its name", err=True)
        sys.exit(2)
    results: list[Result] = []
    after = AFTER_SHORT if short or times > 1 else AFTER
    kept = output.with_name(f"{output.stem}-evidence")
    shutil.rmtree(kept, ignore_errors=True)
    site.wait_healthy(300)
    record, ledger = Record(), Ledger()
    hive = HiveRows(record, ledger, lab.one("client"), lab.group("server2"))
    namenode = site.namenode()
    hive.prepare(namenode)
    clients = [SparkTables(record, ledger, lab.one("client")), hive, Deletions(record, ledger, namenode)]
    for one in clients:
        one.start()
        one.work()
    try:
        warm(record, len(clients))
        for number, fault in enumerate(faults * times, 1):
            click.echo(f"{time.strftime('%H:%M:%S')} {fault.name}")
            result = one_fault(site, fault, clients, hive, after, kept / str(number))
            results.append(result)
            click.echo(json.dumps(result.row()))
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps({"label": label, "faults": [one.row() for one in results]}, indent=2) + "\n")
    finally:
        for one in clients:
            one.stop()
    show(results)
    if times > 1:
        spread(results)
    sys.exit(1 if any(result.broken for result in results) else 0)


def one_fault(site: Site, fault: Fault, clients: list[Client], hive: HiveRows, after: float, directory: Path) -> Result:
    """Cause one fault with clients at work, then let them rest, and judge. `directory` is for evidence of what does not hold."""
    result = Result(fault)
    record = hive.record
    try:
        if fault.prepare:
            fault.prepare(site)
    except (CommandError, NoAnswer) as error:
        result.broken.append(f"the fault could not be prepared: {error}")
        return result
    for one in clients:
        one.work()
    time.sleep(BEFORE)
    begin = time.monotonic()
    evidence = Evidence(site.lab, record, fault.bounds)
    evidence.start()
    try:
        outcome = fault.cause(site)
        result.where = outcome.where
        result.broken += outcome.broken
    except (CommandError, NoAnswer, subprocess.SubprocessError) as error:
        said = getattr(error, "stdout", "") or ""
        result.broken.append(f"the fault could not be caused: {error} {said[-1500:]}")
    end = settle(record, fault, time.monotonic(), after)
    for one in clients:
        one.rest()
    evidence.end()
    for name, bound in fault.bounds:
        calls = [call for call in record.between(begin, time.monotonic()) if call.client == name]
        result.clients[name] = summary(calls, begin, end)
        if result.clients[name].gap > bound:
            result.broken.append(f"{name}: no call succeeded for {result.clients[name].gap} s ({bound:.0f} s)")
        if result.clients[name].failed and not fault.failures:
            errors = " | ".join(result.clients[name].errors[:3])
            result.broken.append(f"{name}: {result.clients[name].failed} calls failed: {errors}")
    result.broken += [f"client {one.name} ended: {one.failure}" for one in clients if one.failure]
    try:
        result.verdict = judge(site, hive.ledger, hive)
    except (NoAnswer, WrongAnswer, CommandError) as error:
        result.broken.append(f"it did not heal: {error}")
    else:
        result.broken += [*result.verdict.lost, *result.verdict.drift]
    if result.broken:
        evidence.save(directory)
        result.evidence = directory
    return result


def settle(record: Record, fault: Fault, undone: float, least: float) -> float:
    """For so many seconds, and until each client has had a success since `undone` or its bound has passed; when that was."""
    while True:
        now = time.monotonic()
        well = {call.client for call in record.between(undone, now) if not call.error}
        if now - undone >= least and all(name in well or now - undone > bound for name, bound in fault.bounds):
            return now
        time.sleep(0.1)


def warm(record: Record, clients: int) -> None:
    """Until each client has called once: Spark needs a while for its session."""
    deadline = time.monotonic() + 300
    while len(record.clients()) < clients:
        if time.monotonic() > deadline:
            raise click.ClickException(f"only {', '.join(record.clients()) or 'no client'} works after 300 s")
        time.sleep(0.5)


def show(results: list[Result]) -> None:
    """The table of docs/availability.md."""
    table = Table("fault", "calls", "failed", "gap spark", "gap hive", "gap hdfs", "lost", "drift", "healed", "holds")
    for one in results:
        verdict = one.verdict
        table.add_row(
            one.fault.name,
            str(sum(each.made for each in one.clients.values())),
            str(sum(each.failed for each in one.clients.values())),
            *(f"{one.clients[name].gap:.1f} s" if name in one.clients else "" for name in ("spark", "hive", "hdfs")),
            str(len(verdict.lost)) if verdict else "?",
            str(len(verdict.drift)) if verdict else "?",
            f"{verdict.healed:.0f} s" if verdict else "?",
            "no" if one.broken else "yes",
        )
    Console(width=150).print(table)
    for one in results:
        for sentence in one.broken:
            click.echo(f"{one.fault.name}: {sentence} ({one.evidence})")


def spread(results: list[Result]) -> None:
    """Of each fault that was caused several times: how many held, and each client's least, median and greatest gap."""
    table = Table("fault", "holds", "gap spark", "gap hive", "gap hdfs")
    for name in dict.fromkeys(one.fault.name for one in results):
        of_it = [one for one in results if one.fault.name == name]
        cells = []
        for client in ("spark", "hive", "hdfs"):
            gaps = [one.clients[client].gap for one in of_it if client in one.clients]
            cells.append(f"{min(gaps):.1f}, {statistics.median(gaps):.1f}, {max(gaps):.1f} s" if gaps else "")
        table.add_row(name, f"{sum(not one.broken for one in of_it)} of {len(of_it)}", *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
