"""The figures, as SQL that Spark and Hive both understand: the same statement must get the same answer from both.

What pandas computes for each name stands in reference.py; a test proves that both modules name the same figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .checks import Figure, Value


@dataclass(frozen=True)
class Query:
    """A SELECT. Without a name it answers one row, a figure per column; with one it answers one figure, a table
    of groups whose first column is the key."""

    sql: str
    columns: tuple[str, ...] = ()
    groups: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.groups,) if self.groups else self.columns


TOTALS = Query(
    columns=(
        "flights",
        "flights without departure",
        "flights without arrival delay",
        "flights without tail number",
        "distinct tail numbers",
        "distinct destinations",
        "miles flown",
        "minutes in the air",
        "sum of departure delays",
        "mean arrival delay",
        "standard deviation of arrival delay",
        "median departure delay",
        "first hour",
        "last hour",
    ),
    sql="""
        SELECT count(*), count(*) - count(dep_time), count(*) - count(arr_delay), count(*) - count(tailnum),
               count(DISTINCT tailnum), count(DISTINCT dest), sum(distance), sum(air_time), sum(dep_delay),
               avg(arr_delay), stddev_samp(arr_delay), percentile(dep_delay, 0.5),
               cast(min(time_hour) AS STRING), cast(max(time_hour) AS STRING)
        FROM nycflights.flights
    """,
)

BY_MONTH = Query(
    groups="flights, miles and delay by month",
    sql="""
        SELECT month, count(*), sum(distance), sum(arr_delay)
        FROM nycflights.flights GROUP BY month
    """,
)

FEBRUARY = Query(
    columns=("flights on 14 February",),
    sql="SELECT count(*) FROM nycflights.flights WHERE month = 2 AND day = 14",
)

BY_CARRIER = Query(
    groups="flights and delays by airline",
    sql="""
        SELECT a.name, count(*), sum(f.arr_delay), avg(f.dep_delay), count(DISTINCT f.tailnum)
        FROM nycflights.flights f JOIN nycflights.airlines a ON f.carrier = a.carrier
        GROUP BY a.name
    """,
)

BY_DESTINATION = Query(
    groups="flights and delay by destination",
    sql="""
        SELECT f.dest, count(*), sum(f.arr_delay), max(f.distance), max(coalesce(p.name, 'no airport of that code'))
        FROM nycflights.flights f LEFT JOIN nycflights.airports p ON f.dest = p.faa
        GROUP BY f.dest
    """,
)

BY_MANUFACTURER = Query(
    groups="planes and flights by manufacturer",
    sql="""
        SELECT coalesce(p.manufacturer, 'unknown plane'), count(*), count(DISTINCT f.tailnum), sum(p.seats)
        FROM nycflights.flights f LEFT JOIN nycflights.planes p ON f.tailnum = p.tailnum
        GROUP BY coalesce(p.manufacturer, 'unknown plane')
    """,
)

BY_WEATHER = Query(
    groups="delay by origin and rain",
    sql="""
        SELECT concat(f.origin, CASE WHEN w.precip > 0 THEN ' wet' ELSE ' dry' END), count(*), avg(f.dep_delay),
               sum(w.temp), avg(w.wind_speed)
        FROM nycflights.flights f JOIN nycflights.weather w
          ON f.origin = w.origin AND f.year = w.year AND f.month = w.month AND f.day = w.day AND f.hour = w.hour
        GROUP BY concat(f.origin, CASE WHEN w.precip > 0 THEN ' wet' ELSE ' dry' END)
    """,
)

WORST_CARRIERS = Query(
    groups="most delayed airline of each month",
    sql="""
        SELECT month, carrier, delay
        FROM (SELECT month, carrier, delay, row_number() OVER (PARTITION BY month ORDER BY delay DESC, carrier) AS place
              FROM (SELECT month, carrier, avg(arr_delay) AS delay
                    FROM nycflights.flights GROUP BY month, carrier) delays) places
        WHERE place = 1
    """,
)

DIMENSIONS = Query(
    groups="rows and contents of the dimension tables",
    sql="""
        SELECT 'airlines', count(*), sum(length(name)), cast(NULL AS DOUBLE) FROM nycflights.airlines
        UNION ALL SELECT 'airports', count(*), sum(length(name)), sum(lat + lon) FROM nycflights.airports
        UNION ALL SELECT 'planes', count(*), sum(length(model)), avg(year) FROM nycflights.planes
        UNION ALL SELECT 'weather', count(*), sum(length(origin)), sum(pressure) FROM nycflights.weather
    """,
)

QUERIES = (
    TOTALS,
    BY_MONTH,
    FEBRUARY,
    BY_CARRIER,
    BY_DESTINATION,
    BY_MANUFACTURER,
    BY_WEATHER,
    WORST_CARRIERS,
    DIMENSIONS,
)
"""What both engines are asked about the tables that Spark wrote."""


def to_figures(query: Query, rows: Iterable[Sequence[Value]]) -> dict[str, Figure]:
    """The figures of a query from its answer.

    Raises ValueError when the answer has another shape than the query.
    """
    answer = list(rows)
    if query.groups:
        return {query.groups: {str(row[0]): tuple(row[1:]) for row in answer}}
    if len(answer) != 1 or len(answer[0]) != len(query.columns):
        message = f"expected one row of {len(query.columns)} columns from {' '.join(query.sql.split())}, got {answer}"
        raise ValueError(message)
    return dict(zip(query.columns, answer[0], strict=True))
