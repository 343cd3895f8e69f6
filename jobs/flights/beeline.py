"""HiveServer2 through beeline: several statements a run, because each run starts a JVM; answers as labelled rows."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .checks import Figure, Value
from .figures import Query, to_figures
from .places import OWN, Places

_PROMPT = re.compile(r"^\d+: jdbc:hive2:.*?> ?(.*)$", re.MULTILINE)
_NOISE = re.compile(r"^(INFO  ?:|WARN  ?:|SLF4J:|\d+: jdbc:hive2:|Closing: |\s*$)")
_END = "end of the script"


class StatementFailedError(Exception):
    """Hive refused a statement, or never answered it; the message has the statement and what Hive said."""


@dataclass(frozen=True)
class Beeline:
    """How to reach HiveServer2.

    url: JDBC URL; user: name that HiveServer2 sees; command: path of the launcher; timeout: seconds a run may take;
    password_file: a file with the password, None for no password; places: where the tables of statements are.
    """

    url: str
    user: str
    command: str = "beeline"
    timeout: int = 600
    password_file: Path | None = None
    places: Places = OWN

    def run(self, statements: Sequence[str]) -> list[list[str]]:
        """Run statements in order in one session and return the rows of all of them.

        Raises StatementFailedError for the first one that fails; those after it are not run.
        """
        lines = [one_line(self.places.sql(statement)) for statement in [*statements, f"SELECT '{_END}'"]]
        with tempfile.TemporaryDirectory(prefix="nycflights-") as directory:
            script = Path(directory) / "script.sql"
            script.write_text("".join(f"{line};\n" for line in lines), encoding="utf-8")
            command = [self.command, "-u", self.url, "-n", self.user, "-f", str(script)]
            command += ["--outputformat=tsv2", "--showHeader=false"]
            if self.password_file:
                command += ["-w", str(self.password_file)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=self.timeout, check=False)
            except subprocess.TimeoutExpired as expired:
                heard = expired.stderr.decode(errors="replace") if isinstance(expired.stderr, bytes) else ""
                message = f"no end after {self.timeout} s; {failure(lines, heard)}"
                raise StatementFailedError(message) from expired
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        if done.returncode != 0 or [_END] not in rows:
            message = f"beeline ended with {done.returncode}; {failure(lines, done.stderr or done.stdout)}"
            raise StatementFailedError(message)
        return rows


def one_line(statement: str) -> str:
    """A statement on one line, as a script needs it for `failure` to count; literals must hold no runs of blanks."""
    return " ".join(statement.split()).removesuffix(";")


def label(query: Query) -> str:
    """What the first column of each row of a query's answer says."""
    return f"row of: {query.names[0]}"


def labelled(query: Query) -> str:
    """The query with its label as a first column."""
    return f"SELECT '{label(query)}', answer.* FROM ({one_line(query.sql)}) answer"


def answers(queries: Iterable[Query], rows: Sequence[Sequence[str]]) -> dict[str, Figure]:
    """The figures of the queries from the rows of a run; rows of other statements are passed over."""
    figures: dict[str, Figure] = {}
    for query in queries:
        mine = [[parse(cell) for cell in row[1:]] for row in rows if row[0] == label(query)]
        figures |= to_figures(query, mine)
    return figures


def parse(text: str) -> Value:
    """A cell of beeline's output as the value that it means."""
    if text == "NULL":
        return None
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+", text):
        return float(text)
    return text


def failure(statements: Sequence[str], output: str) -> str:
    """What failed and why, from beeline's log: it echoes each statement behind a prompt, then says the error."""
    started = len(_PROMPT.findall(output))
    said = [line for line in output.splitlines() if not _NOISE.match(line)]
    reasons = [line for line in said if line.startswith(("Error:", "FAILED:", "ERROR"))] or said
    reason = "\n".join(reasons[-5:]) or "no message"
    if 0 < started <= len(statements):
        return f"statement {started} of {len(statements)}: {statements[started - 1]}\n{reason}"
    return f"before the first statement: {reason}"
