"""Runs on a client host with Spark's Python: one session, requests as JSON lines on stdin, answers on stdout.

Stands alone: the controller sends its text. A request is {"sql": ...} or {"python": ...}; a snippet of Python sees `spark`
and what earlier ones defined, and answers with what it leaves in `result`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(settings: dict[str, str]) -> None:
    """Serve until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    # What libraries print must not stand between the answers.
    os.dup2(2, 1)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("hopshive tests").enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    names: dict[str, Any] = {"spark": spark}
    print(json.dumps({"ready": spark.version}), file=answers)
    for line in sys.stdin:
        print(json.dumps(answer(names, json.loads(line)), default=str), file=answers)
    spark.stop()


def answer(names: dict[str, Any], request: dict[str, str]) -> dict[str, Any]:
    """Do one request."""
    try:
        if "sql" in request:
            return {"rows": [list(row) for row in names["spark"].sql(request["sql"]).collect()]}
        names["result"] = None
        exec(request["python"], names)  # noqa: S102 - the tests' own snippets
        return {"result": names["result"]}
    except Exception as error:
        if "'JavaPackage'" in str(error):
            # The JVM has given up a class for good: nothing will work any more in this process.
            raise
        # Without the JVM's stack.
        return {"error": str(error).split("\n\tat ", 1)[0], "type": type(error).__name__}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
