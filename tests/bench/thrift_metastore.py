"""A client of a metastore for benchmarks: the calls that engines make most, on the wire code that asks for its health.

Field numbers are those of hive_metastore.thrift of Hive 4.0.1. Tables are external and purged, as Hive makes what is not
transactional.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from hopshive.metastore.thrift import Fields, TType, call

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
COLUMNS = [(f"c{number}", "bigint" if number % 2 else "string") for number in range(10)]


class MetastoreError(Exception):
    """The metastore declined; the message is its own."""


class _Stream:
    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=10)
        self._socket.settimeout(600)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise ConnectionError("the metastore closed the connection")
        return data

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class ThriftMetastore:
    """One connection. Not for several threads."""

    def __init__(self, port: int, user: str) -> None:
        self._stream = _Stream(("127.0.0.1", port))
        self._call("set_ugi", {1: (TType.STRING, user), 2: (TType.LIST, (TType.STRING, []))})

    def close(self) -> None:
        """End it."""
        self._stream.close()

    def create_database(self, name: str, location: str) -> None:
        """Its directory is made too."""
        database: Fields = {1: (TType.STRING, name), 3: (TType.STRING, location)}
        self._call("create_database", {1: (TType.STRUCT, database)})

    def create_table(
        self, database: str, name: str, location: str, keys: Sequence[str] = (), *, skewed: bool = False
    ) -> None:
        """With ten columns, the first of them skewed or not; `keys` are the partition columns, text."""
        table: Fields = {
            1: (TType.STRING, name),
            2: (TType.STRING, database),
            3: (TType.STRING, "hive"),
            7: (TType.STRUCT, _descriptor(location, skewed=skewed)),
            8: (TType.LIST, (TType.STRUCT, [_column(key, "string") for key in keys])),
            9: (TType.MAP, {"EXTERNAL": "TRUE", "external.table.purge": "TRUE", "bucketing_version": "2"}),
            12: (TType.STRING, "EXTERNAL_TABLE"),
        }
        self._call("create_table", {1: (TType.STRUCT, table)})

    def add_partitions(self, database: str, table: str, parts: Sequence[tuple[Sequence[str], str]]) -> None:
        """Values and location of each; the directories are made too."""
        partitions: list[Fields] = [
            {
                1: (TType.LIST, (TType.STRING, list(values))),
                2: (TType.STRING, database),
                3: (TType.STRING, table),
                6: (TType.STRUCT, _descriptor(location)),
                7: (TType.MAP, {"numFiles": "1", "totalSize": "1048576", "numRows": "1000", "rawDataSize": "4000000"}),
            }
            for values, location in parts
        ]
        self._call("add_partitions", {1: (TType.LIST, (TType.STRUCT, partitions))})

    def get_table(self, database: str, name: str) -> dict[int, Any]:
        """Its Table struct. Raises MetastoreError if there is none."""
        request: Fields = {1: (TType.STRING, database), 2: (TType.STRING, name), 4: (TType.STRING, "hive")}
        table: dict[int, Any] = self._call("get_table_req", {1: (TType.STRUCT, request)})[1]
        return table

    def get_partitions(self, database: str, table: str, names: Sequence[str]) -> list[dict[int, Any]]:
        """Those of some names, such as `p=1`, that are there."""
        request: Fields = {
            1: (TType.STRING, database),
            2: (TType.STRING, table),
            3: (TType.LIST, (TType.STRING, list(names))),
        }
        found: list[dict[int, Any]] = self._call("get_partitions_by_names_req", {1: (TType.STRUCT, request)})[1]
        return found

    def drop_partition(self, database: str, table: str, name: str) -> None:
        """With its directory."""
        self._call(
            "drop_partition_by_name",
            {1: (TType.STRING, database), 2: (TType.STRING, table), 3: (TType.STRING, name), 4: (TType.BOOL, True)},
        )

    def drop_table(self, database: str, name: str) -> None:
        """With its directory and partitions."""
        self._call("drop_table", {1: (TType.STRING, database), 2: (TType.STRING, name), 3: (TType.BOOL, True)})

    def add_described(self, database: str, table: str, parts: Sequence[tuple[str, Fields, dict[str, str]]]) -> None:
        """Partitions by one key: the value, the storage descriptor and the parameters of each."""
        partitions: list[Fields] = [
            {
                1: (TType.LIST, (TType.STRING, [value])),
                2: (TType.STRING, database),
                3: (TType.STRING, table),
                6: (TType.STRUCT, descriptor),
                7: (TType.MAP, parameters),
            }
            for value, descriptor, parameters in parts
        ]
        self._call("add_partitions", {1: (TType.LIST, (TType.STRUCT, partitions))})

    def set_statistics(self, statistics: Sequence[Fields]) -> None:
        """Statistics of the columns of tables or partitions, each a struct ColumnStatistics, as ANALYZE writes them."""
        request: Fields = {1: (TType.LIST, (TType.STRUCT, statistics)), 5: (TType.STRING, "hive")}
        self._call("set_aggr_stats_for", {1: (TType.STRUCT, request)})

    def _call(self, method: str, arguments: Fields) -> Any:
        result = call(self._stream, method, arguments)
        for number, value in result.items():
            if number:
                raise MetastoreError(f"{method}: {value.get(1, b'').decode(errors='replace')}")
        return result.get(0)


def _column(name: str, kind: str) -> Fields:
    return {1: (TType.STRING, name), 2: (TType.STRING, kind)}


def storage_descriptor(
    location: str, columns: Sequence[tuple[str, str]], classes: tuple[str, str, str], *, skewed: bool = False
) -> Fields:
    """A struct StorageDescriptor; columns are name and type, classes the SerDe, the input and the output format.

    With `skewed` it says so of the first column and the values a and b.
    """
    serde, reads, writes = classes
    values = [(TType.STRING, ["a"]), (TType.STRING, ["b"])] if skewed else []
    skew: Fields = {
        1: (TType.LIST, (TType.STRING, [columns[0][0]] if skewed else [])),
        2: (TType.LIST, (TType.LIST, values)),
        3: (TType.MAP, {}),
    }
    information: Fields = {2: (TType.STRING, serde), 3: (TType.MAP, {"serialization.format": "1"})}
    return {
        1: (TType.LIST, (TType.STRUCT, [_column(name, kind) for name, kind in columns])),
        2: (TType.STRING, location),
        3: (TType.STRING, reads),
        4: (TType.STRING, writes),
        5: (TType.BOOL, False),
        6: (TType.I32, -1),
        7: (TType.STRUCT, information),
        8: (TType.LIST, (TType.STRING, [])),
        9: (TType.LIST, (TType.STRUCT, [])),
        10: (TType.MAP, {}),
        11: (TType.STRUCT, skew),
    }


def _descriptor(location: str, *, skewed: bool = False) -> Fields:
    return storage_descriptor(location, COLUMNS, (_SERDE, _FORMAT, _OUTPUT), skewed=skewed)
