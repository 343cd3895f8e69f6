"""The database of the metastore, and what hopshive keeps beside it: connections, keys, locks, tables of its own."""

from hopshive.database.connection import (
    GIVEN,
    Contention,
    Database,
    DatabaseError,
    DatabaseUnavailable,
    Fence,
    LostLease,
    Names,
    Row,
    Server,
    Transaction,
    given,
    login,
    marks,
    render,
)

__all__ = [
    "GIVEN",
    "Contention",
    "Database",
    "DatabaseError",
    "DatabaseUnavailable",
    "Fence",
    "LostLease",
    "Names",
    "Row",
    "Server",
    "Transaction",
    "given",
    "login",
    "marks",
    "render",
]
