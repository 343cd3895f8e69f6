"""How fast the NameNode's events are read: by hopshive, and by a bare Java loop over the same stream.

A NameNode with default settings, but for the number of events in an answer, gets what a Spark job that writes files does: make a
directory, create, close, rename and touch a file, delete the directory. `python -m tests.bench.events` prints the figures.

For every answer the NameNode reads the whole segment of edits that the answer lies in, from its beginning, and twice if it
is still being written: with the 1000 events that an answer has by default, 60,000 transactions in a segment slow every
client down to 6,500 events a second. With 10,000 events it is 45,000.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hopshive.hdfs.namenode import NameNode
from hopshive.hdfs.namenode.rpc import Call, Connection, RemoteError
from hopshive.hdfs.namenode.wire import encode
from tests.bench.measurement import Measurement, show
from tests.support.servers import Hdfs, connect, hadoop_classpath, run_hdfs, unpack

LOOP = Path(__file__).with_name("InotifyLoop.java")
# Events are six a file.
FILES = 10_000
FILES_A_DIRECTORY = 500
ROUNDS = 3
EVENTS_AN_ANSWER = 10_000
# What is promised: 10,000 events a second, and 0.8 of the bare loop's rate.
TARGET_US = 100.0
TARGET_TIMES_JAVA = 1 / 0.8

Request = dict[int, int | bytes | str]


def measure(files: int = FILES) -> dict[str, Any]:
    """Rates in events a second (the best of some rounds), their ratio, what the events were, and the number of them."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        hadoop = unpack("hadoop", directory)
        settings = {"dfs.namenode.inotify.max.events.per.rpc": EVENTS_AN_ANSWER}
        with run_hdfs(directory, hadoop, settings) as hdfs, connect(hdfs, timeout=60) as namenode:
            begin = namenode.current_txid()
            write_files(hdfs, files)
            end = namenode.current_txid()
            ours, java = [], []
            for _ in range(ROUNDS):
                mix, seconds = read(namenode, begin, end)
                ours.append(mix.total() / seconds)
                events, seconds = read_in_java(hdfs, begin, end)
                java.append(events / seconds)
                if events != mix.total():
                    raise AssertionError(f"Java counted {events} events, hopshive {mix.total()}")
    return {
        "events": mix.total(),
        "mix": dict(mix),
        "hopshive_events_per_s": max(ours),
        "java_events_per_s": max(java),
        "ratio": max(ours) / max(java),
    }


def measurements(figures: dict[str, Any]) -> list[Measurement]:
    """The figures of `measure` as times, which have a largest value that is well."""
    return [
        Measurement("an event that is read", 1e6 / figures["hopshive_events_per_s"], "us", TARGET_US),
        Measurement("the same by a bare Java loop", 1e6 / figures["java_events_per_s"], "us"),
        Measurement("time, compared with Java", 1 / figures["ratio"], "x", TARGET_TIMES_JAVA),
    ]


def read(namenode: NameNode, begin: int, end: int) -> tuple[Counter[str], float]:
    """Read events up to a transaction; how many of which kind, and the seconds."""
    mix: Counter[str] = Counter()
    position, began = begin, time.perf_counter()
    while position < end:
        batches = namenode.events(position)
        position = batches.last_txid
        mix["skipped"] += batches.skipped
        mix.update(event.kind for event in batches.events)
    return mix, time.perf_counter() - began


def read_in_java(hdfs: Hdfs, begin: int, end: int) -> tuple[int, float]:
    """The bare loop over the same events; their number and the seconds, without those that the JVM takes to start."""
    classpath = ":".join([str(hdfs.conf), *hadoop_classpath(hdfs.hadoop)])
    done = subprocess.run(
        ["java", "-Xmx512m", "-cp", classpath, str(LOOP), f"hdfs://127.0.0.1:{hdfs.rpc_port}", str(begin), str(end)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HADOOP_USER_NAME": hdfs.user},
    )
    events, seconds = done.stdout.split()
    return int(events), float(seconds)


def write_files(hdfs: Hdfs, files: int) -> None:
    """What a job leaves in the edits that writes so many files: six events for each of them."""
    connection = Connection(("127.0.0.1", hdfs.rpc_port), hdfs.user, uuid.uuid4(), timeout=60)
    numbers = itertools.count()

    def each(method: str, requests: Iterable[Request]) -> None:
        calls = [Call(next(numbers), method, encode(request)) for request in requests]
        for answer in connection.answers(calls):
            if isinstance(answer, RemoteError):
                raise answer

    mode, client = encode({1: 0o755}), "bench"
    for first in range(0, files, FILES_A_DIRECTORY):
        partition = f"/warehouse/t/p={first}"
        names = [f"part-{number:05}-c000.snappy.parquet" for number in range(min(FILES_A_DIRECTORY, files - first))]
        attempts = {name: f"{partition}/_temporary/0/_temporary/attempt_{name[5:10]}" for name in names}
        new = [f"{attempt}/{name}" for name, attempt in attempts.items()]
        each("create", ({1: path, 2: mode, 3: client, 4: 1, 5: 1, 6: 1, 7: 1 << 27} for path in new))
        each("complete", ({1: path, 2: client} for path in new))
        each("rename", ({1: path, 2: f"{partition}/{name}"} for path, name in zip(new, names, strict=True)))
        each("setTimes", ({1: f"{partition}/{name}", 2: 10**12, 3: 10**12} for name in names))
        each("delete", ({1: attempt, 2: 1} for attempt in attempts.values()))
    connection.close()


if __name__ == "__main__":
    figures = measure()
    print(f"{figures['events']} events: {figures['mix']}")
    show("events of the NameNode", measurements(figures))
