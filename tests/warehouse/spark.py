"""One long-lived PySpark session on a client host, driven over JSON lines."""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.warehouse.hosts import Host

# The launcher's environment, but Python itself: spark-submit does not hand its stdin on.
# A container takes commands before its host has started, and then clears /tmp, where Spark has its files.
# A third of the processor time of many small statements went into C2 and G1.
_START = """
systemctl is-active --quiet sysinit.target || { echo "The host is still starting." >&2; exit 1; }
eval "$(grep -v '^exec ' /usr/local/bin/pyspark)"
export JDK_JAVA_OPTIONS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
exec "$SPARK_HOME/../../../../bin/python" -u -c "$0" "$1"
"""
# Spark in the driver alone: the same metastore client and the same committers as on YARN, and no executors to wait for.
LOCAL = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    # Local mode offers a free core only when a task ends. A task that waits for the host of its data is then never offered
    # one: a UNION ALL of a scan and an aggregate hangs.
    "spark.locality.wait": "0",
}


class SparkError(Exception):
    """Spark refused; `kind` is the exception's name, AnalysisException say."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class SparkSession:
    """Started with the first request. `settings` over those of `LOCAL`: {"spark.master": "yarn"} for executors on YARN.

    To HDFS it is the user spark, as a job is.
    """

    def __init__(self, host: Host, settings: dict[str, str] | None = None, timeout: float = 300) -> None:
        self._host = host
        self._settings = {**LOCAL, **(settings or {})}
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the session

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of a statement. Raises SparkError."""
        return [tuple(row) for row in self._ask({"sql": statement})["rows"]]

    def python(self, snippet: str) -> Any:
        """What a snippet leaves in `result`. Raises SparkError."""
        return self._ask({"python": snippet})["result"]

    def write(
        self,
        query: str,
        table: str,
        *,
        mode: str = "append",
        partition_by: str = "",
        form: str = "parquet",
        options: dict[str, str] | None = None,
        action: str = "saveAsTable",
    ) -> None:
        """Write a query's DataFrame: `action` saveAsTable, or insertInto (mode overwrite: of the partitions that it has)."""
        overwrite = mode == "overwrite"
        lines = [
            f"spark.conf.set('spark.sql.sources.partitionOverwriteMode', '{'dynamic' if overwrite else 'static'}')"
        ]
        if action == "insertInto":
            lines.append(f"spark.sql({query!r}).write.insertInto({table!r}, overwrite={overwrite})")
        else:
            lines[0] = "spark.conf.set('spark.sql.sources.partitionOverwriteMode', 'static')"
            partitioned = f".partitionBy({partition_by!r})" if partition_by else ""
            extra = f".options(**{options!r})" if options else ""
            writer = f"spark.sql({query!r}).write.mode({mode!r}).format({form!r}){extra}{partitioned}"
            lines.append(f"{writer}.saveAsTable({table!r})")
        self.python("\n".join(lines))

    def close(self) -> None:
        """End the session."""
        if self._process:
            assert self._process.stdin
            self._process.stdin.close()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def _ask(self, request: dict[str, str]) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError:
            raise self._lost() from None
        answer = self._answer(process)
        if "error" in answer:
            raise SparkError(answer["error"], answer["type"])
        return answer

    def _start(self) -> subprocess.Popen[str]:
        server = Path(__file__).with_name("spark_server.py").read_text()
        argv = self._host.argv("sh", "-c", _START, server, json.dumps(self._settings), user="spark")
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, bufsize=1
        )
        self._answer(self._process)
        return self._process

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout
        if not select.select([process.stdout], [], [], self._timeout)[0]:
            process.kill()
            raise self._lost(f"Spark did not answer within {self._timeout:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise self._lost()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            # Docker says on stdout that it could not run a command: the container has just been stopped.
            raise self._lost(f"Spark did not start: {line.strip()}") from None
        return answer

    def _lost(self, reason: str = "Spark has ended") -> SparkError:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._process = None
        self._log.seek(0)
        return SparkError(f"{reason}: {self._log.read()[-3000:]}")
