"""Where the job has its tables: in two databases of its own, or in the database of a project, where it may make none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# A table as the statements of the job name it.
_TABLE = re.compile(r"\b(nycflights(?:_acid)?)\.(?=[a-z])")


@dataclass(frozen=True)
class Places:
    """project: the database of a project; empty for databases of the job's own.

    In a project the table nycflights.flights is nycflights_flights.
    """

    project: str = ""

    def sql(self, statement: str) -> str:
        """The statement with the names that its tables have here."""
        return _TABLE.sub(rf"{self.project}.\1_", statement) if self.project else statement

    def emptied(self, database: str, tables: Iterable[str]) -> list[str]:
        """Statements after which none of the tables is there, and the database is."""
        if self.project:
            return [self.sql(f"DROP TABLE IF EXISTS {database}.{table}") for table in tables]
        return [f"DROP DATABASE IF EXISTS {database} CASCADE", f"CREATE DATABASE {database}"]


OWN = Places()
