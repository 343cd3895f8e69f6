"""What a statement that fails on Tez says: one line, from the diagnostics that Tez gave for real failures.

molecule/default/tests/test_failures.py asks beeline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.hive_hooks import run_probe
from tests.support.templates import render

if TYPE_CHECKING:
    from pathlib import Path

# A line a text: what is said of it, and whether Hive may run the statement again. Then what the logger of the console writes.
PROBE = """
package hopshive;

import java.nio.file.*;
import org.apache.hadoop.hive.conf.HiveConf;
import org.slf4j.LoggerFactory;

class Probe {
    public static void main(String[] arguments) throws Exception {
        HiveConf conf = new HiveConf();
        conf.set("reexec.overlay.tez.queue.name", "etl");
        for (String name : arguments) {
            String text = Files.readString(Path.of(name));
            System.out.println("= " + FailureLine.mayRunAgain(conf, text) + " " + FailureLine.line(text));
        }
        conf.set("reexec.overlay.hive.auto.convert.join", "false");
        System.out.println("overlaid: " + FailureLine.mayRunAgain(conf, "any"));
        LoggerFactory.getLogger("SessionState").error("kept: one\\ntwo");
        LoggerFactory.getLogger("SessionState").error("left out\\n\\tat a.B.c(B.java:1)\\n");
        LoggerFactory.getLogger("other").error("of another\\n\\tat a.B.c(B.java:1)\\n");
    }
}
"""
FAILED = (
    "FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.tez.TezTask. Vertex failed, vertexName="
)
ID = "vertexId=vertex_1795567357844_0001_48_00, diagnostics=["
END = (
    ", Vertex did not succeed due to OWN_TASK_FAILURE, failedTasks:1 killedTasks:0, Vertex vertex_1795567357844_0001_48_00"
    " [Map 1] killed/failed due to:OWN_TASK_FAILURE]Vertex killed, vertexName=Reducer 2,"
    " vertexId=vertex_1795567357844_0001_48_01, diagnostics=[Vertex received Kill while in RUNNING state.]DAG did not succeed"
    " due to VERTEX_FAILURE. failedVertices:1 killedVertices:1"
)
FRAMES = "\n\tat org.apache.hadoop.hive.ql.exec.X.y(X.java:1)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
RUNNING = (
    "Error: Node: worker/10.1.1.2 : Error while running task ( failure ) : attempt_1795567357844_0001_48_00_000000_0:"
)
HIVE = "org.apache.hadoop.hive.ql.metadata.HiveException"
DENIED = 'Permission denied: user=hive, access=READ, inode="/x/a":hdfs:hadoop:-rw-------'
ACCESS = "org.apache.hadoop.security.AccessControlException"


def task(*attempts: str) -> str:
    """The message of a vertex one of whose tasks failed in each of these ways."""
    told = ", ".join(f"TaskAttempt {number} failed, info=[{text}]" for number, text in enumerate(attempts))
    return f"{FAILED}Map 1, {ID}Task failed, taskId=task_1795567357844_0001_48_00_000000, diagnostics=[{told}]{END}"


def unreadable(vertex: str, exception: str) -> str:
    """The message of a vertex whose input could not be listed."""
    return (
        f"{FAILED}{vertex}, {ID}Vertex vertex_1795567357844_0001_48_00 [{vertex}] killed/failed due to:ROOT_INPUT_INIT_FAILURE,"
        f" Vertex Input: gone initializer failed, vertex=vertex_1795567357844_0001_48_00 [{vertex}], {exception}]DAG did not"
        " succeed due to VERTEX_FAILURE. failedVertices:1 killedVertices:0"
    )


EXPRESSION = (
    f"{RUNNING}java.lang.RuntimeException: java.lang.RuntimeException: {HIVE}: Hive Runtime Error while processing row{FRAMES}"
    f"Caused by: {HIVE}: Hive Runtime Error while processing row{FRAMES}"
    f"Caused by: {HIVE}: Error evaluating size(split(s, concat('[', s))){FRAMES}"
    f"Caused by: java.util.regex.PatternSyntaxException: Unclosed character class near index 1\n[x\n ^{FRAMES}\t... 24 more\n"
)
FILE = (
    f"{RUNNING}java.lang.RuntimeException: java.io.IOException: {ACCESS}: {DENIED}{FRAMES}\nCaused by: {ACCESS}: {DENIED}{FRAMES}"
    f"Caused by: org.apache.hadoop.ipc.RemoteException({ACCESS}): {DENIED}{FRAMES}\n\tat x.Y.z(Y.java:1)\n\t... 43 more\n"
)
LOST = "Container released on a *lost* node, exitCode=-100"
MEMORY = (
    "Container container_e01_1_0001_01_000002 finished with diagnostics set to [Container failed, exitCode=-104."
    " [pid=1,containerID=x] is running 99M beyond the 'PHYSICAL' memory limit. Killing container.\nDump of the process-tree]"
)
WHERE = "(in Map 1; more: yarn logs -applicationId application_1795567357844_0001"
# A text, whether the statement may run again, and the line.
TEXTS = {
    "expression": (
        task(EXPRESSION, EXPRESSION),
        False,
        "Error evaluating size(split(s, concat('[', s))): PatternSyntaxException: Unclosed character class near index 1 [x ^"
        f" {WHERE}",
    ),
    "file": (task(FILE, FILE), False, f"AccessControlException: {DENIED} {WHERE}"),
    "the last attempt": (task(LOST, FILE), False, f"AccessControlException: {DENIED} {WHERE}"),
    "directory": (
        unreadable(
            "Map 1",
            f"org.apache.hadoop.mapred.InvalidInputException: Input path does not exist: hdfs://h:8020/x{FRAMES}"
            f"Caused by: java.io.IOException: Input path does not exist: hdfs://h:8020/x{FRAMES}\t... 18 more\n",
        ),
        False,
        f"IOException: Input path does not exist: hdfs://h:8020/x {WHERE}",
    ),
    "the name of a class": (
        task(
            f"{RUNNING}java.lang.RuntimeException: x{FRAMES}Caused by: java.lang.ClassNotFoundException: com.example.Mine{FRAMES}"
        ),
        False,
        f"ClassNotFoundException: com.example.Mine {WHERE}",
    ),
    "the name of a host": (
        task(f"{RUNNING}java.net.UnknownHostException: two.example.com: Name or service not known{FRAMES}"),
        False,
        f"UnknownHostException: two.example.com: Name or service not known {WHERE}",
    ),
    "a damaged file": (
        task(
            f"{RUNNING}java.lang.RuntimeException: java.io.IOException: java.io.IOException: Error reading file: hdfs://h/x/a{FRAMES}"
            f"Caused by: java.io.IOException: java.io.IOException: Error reading file: hdfs://h/x/a{FRAMES}"
            f"Caused by: java.io.EOFException: Read past end of RLE integer{FRAMES}"
        ),
        False,
        f"Error reading file: hdfs://h/x/a: EOFException: Read past end of RLE integer {WHERE}",
    ),
    "without a message": (
        task(f"{RUNNING}java.lang.NullPointerException{FRAMES}"),
        False,
        f"NullPointerException {WHERE}",
    ),
    "container": (
        task(MEMORY),
        False,
        f"{MEMORY.splitlines()[0]} Dump of the process-tree] {WHERE}",
    ),
    "memory": (
        task(f"{RUNNING}java.lang.OutOfMemoryError: Java heap space{FRAMES}"),
        True,
        f"OutOfMemoryError: Java heap space {WHERE}",
    ),
    "of DDL": (
        f"FAILED: Execution Error, return code 40000 from DDLTask. MetaException(message:{DENIED}\n)",
        False,
        "null",
    ),
    "lost master": ("FAILED: AM record not found (likely died)", True, "null"),
}


@pytest.fixture(scope="module")
def said(hive_home: Path, hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the program prints."""
    directory = tmp_path_factory.mktemp("failure")
    names = [directory / f"text{number}" for number in range(len(TEXTS))]
    for name, (text, _, _) in zip(names, TEXTS.values(), strict=True):
        name.write_text(text)
    log = directory / "log4j2.properties"
    log.write_text(render("log4j2.properties.j2", log4j_without_stacks=["SessionState"]))
    return run_probe(PROBE, directory, (hive_home, hadoop_home), names, f"-Dlog4j2.configurationFile={log}")


@pytest.mark.parametrize("what", TEXTS)
def test_a_failure_is_said_in_one_line(what: str, said: list[str]) -> None:
    lines = [line.removeprefix("= ") for line in said if line.startswith("= ")]
    again, line = lines[list(TEXTS).index(what)].split(" ", 1)
    assert line == TEXTS[what][2]
    # Such a message is left to Hive, which looks into it.
    assert again == str(TEXTS[what][1]).lower()


def test_a_statement_that_hive_runs_again_with_other_settings_is_left_to_it(said: list[str]) -> None:
    assert "overlaid: true" in said


def test_what_hive_logs_with_stacks_is_not_shown_to_the_session(said: list[str]) -> None:
    logged = "\n".join(said)
    assert "kept: one\ntwo" in logged
    assert "left out" not in logged
    assert "of another\n\tat a.B.c" in logged
