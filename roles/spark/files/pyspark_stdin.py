"""Runs a script that comes through a pipe, `pyspark < script.py`, with `spark` as the shell has it."""

import contextlib
import os
import sys
from pathlib import Path

with contextlib.redirect_stdout(sys.stderr):
    exec(compile(Path(os.environ["PYTHONSTARTUP"]).read_text(), "shell.py", "exec"))  # noqa: S102 - Spark's own
exec(compile(sys.stdin.read(), "<stdin>", "exec"))  # noqa: S102 - the user's
