"""The figures of figures.py and acid.py, computed by pandas from the csv files: the job compares its results with these.

This module uses no Spark and no Hive, and shares only the names with figures.py and acid.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from .checks import Figure, Groups, Value

Tables = Mapping[str, pd.DataFrame]


def read(files: Mapping[str, Path]) -> dict[str, pd.DataFrame]:
    """Every csv file as a data frame; only NA is a missing value."""
    return {
        table: pd.read_csv(path, keep_default_na=False, na_values=["NA"], low_memory=False)
        for table, path in files.items()
    }


def compute(tables: Tables) -> dict[str, Figure]:
    """Every figure about the source, by name."""
    flights = tables["flights"]
    figures: dict[str, Figure] = dict(totals(flights))
    figures["flights on 14 February"] = len(flights[(flights.month == 2) & (flights.day == 14)])
    figures["flights, miles and delay by month"] = by_month(flights)
    figures["flights and delays by airline"] = by_airline(tables)
    figures["flights and delay by destination"] = by_destination(tables)
    figures["planes and flights by manufacturer"] = by_manufacturer(tables)
    figures["delay by origin and rain"] = by_weather(tables)
    figures["most delayed airline of each month"] = worst_airlines(flights)
    figures["rows and contents of the dimension tables"] = dimensions(tables)
    return figures


def totals(flights: pd.DataFrame) -> dict[str, Value]:
    """Figures over all flights; delays in minutes, distances in miles, hours in UTC."""
    hours = pd.to_datetime(flights.time_hour, utc=True)
    return {
        "flights": len(flights),
        "flights without departure": int(flights.dep_time.isna().sum()),
        "flights without arrival delay": int(flights.arr_delay.isna().sum()),
        "flights without tail number": int(flights.tailnum.isna().sum()),
        "distinct tail numbers": int(flights.tailnum.nunique()),
        "distinct destinations": int(flights.dest.nunique()),
        "miles flown": int(flights.distance.sum()),
        "minutes in the air": int(flights.air_time.sum()),
        "sum of departure delays": int(flights.dep_delay.sum()),
        "mean arrival delay": float(flights.arr_delay.mean()),
        "standard deviation of arrival delay": float(flights.arr_delay.std()),
        "median departure delay": float(flights.dep_delay.median()),
        "first hour": f"{hours.min():%Y-%m-%d %H:%M:%S}",
        "last hour": f"{hours.max():%Y-%m-%d %H:%M:%S}",
    }


def by_month(flights: pd.DataFrame) -> Groups:
    return _groups(
        flights.groupby("month"),
        lambda group: (len(group), int(group.distance.sum()), int(group.arr_delay.sum())),
    )


def by_airline(tables: Tables) -> Groups:
    joined = tables["flights"].merge(tables["airlines"], on="carrier")
    return _groups(
        joined.groupby("name"),
        lambda group: (
            len(group),
            int(group.arr_delay.sum()),
            float(group.dep_delay.mean()),
            int(group.tailnum.nunique()),
        ),
    )


def by_destination(tables: Tables) -> Groups:
    joined = tables["flights"].merge(tables["airports"], left_on="dest", right_on="faa", how="left")
    joined["name"] = joined["name"].fillna("no airport of that code")
    return _groups(
        joined.groupby("dest"),
        # The sum over no value is null in SQL: no flight ever arrived at LGA.
        lambda group: (
            len(group),
            _sum(group.arr_delay),
            int(group.distance.max()),
            str(group["name"].max()),
        ),
    )


def by_manufacturer(tables: Tables) -> Groups:
    joined = tables["flights"].merge(tables["planes"][["tailnum", "manufacturer", "seats"]], on="tailnum", how="left")
    joined["manufacturer"] = joined["manufacturer"].fillna("unknown plane")
    return _groups(
        joined.groupby("manufacturer"),
        lambda group: (len(group), int(group.tailnum.nunique()), _sum(group.seats)),
    )


def by_weather(tables: Tables) -> Groups:
    weather = tables["weather"].drop(columns="time_hour")
    joined = tables["flights"].merge(weather, on=["origin", "year", "month", "day", "hour"])
    wet = (joined.precip > 0).map({True: " wet", False: " dry"})
    return _groups(
        joined.groupby(joined.origin + wet),
        lambda group: (
            len(group),
            float(group.dep_delay.mean()),
            float(group.temp.sum()),
            float(group.wind_speed.mean()),
        ),
    )


def worst_airlines(flights: pd.DataFrame) -> Groups:
    means = flights.groupby(["month", "carrier"], as_index=False)["arr_delay"].mean()
    worst = means.sort_values(["month", "arr_delay", "carrier"], ascending=[True, False, True]).groupby("month").head(1)
    return {
        str(month): (str(carrier), float(delay))
        for month, carrier, delay in zip(worst.month, worst.carrier, worst.arr_delay, strict=True)
    }


def dimensions(tables: Tables) -> Groups:
    airlines, airports, planes, weather = (tables[name] for name in ("airlines", "airports", "planes", "weather"))
    return {
        "airlines": (len(airlines), int(airlines["name"].str.len().sum()), None),
        "airports": (len(airports), int(airports["name"].str.len().sum()), float((airports.lat + airports.lon).sum())),
        "planes": (len(planes), int(planes.model.str.len().sum()), float(planes.year.mean())),
        "weather": (len(weather), int(weather.origin.str.len().sum()), float(weather.pressure.sum())),
    }


def _groups(grouped: Any, row: Callable[[pd.DataFrame], tuple[Value, ...]]) -> Groups:
    return {str(key): row(group) for key, group in grouped}


def _sum(column: Any) -> int | None:
    return int(column.sum()) if column.notna().any() else None


def acid_steps(flights: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of the ACID table after each of acid.py's steps, by the step's verb; the first is `loading`."""
    loaded = flights[flights.month < 12].assign(status="loaded")
    inserted = pd.concat([loaded, flights[flights.month == 12].assign(status="inserted")])

    updated = inserted.copy()
    early = updated.dep_delay < 0
    updated.loc[early, "dep_delay"] = 0
    updated.loc[early, "status"] = "updated"

    deleted = updated[updated.dep_time.notna()]
    return {
        "loading": loaded,
        "INSERT": inserted,
        "UPDATE": updated,
        "DELETE": deleted,
        "MERGE": _merge(deleted, flights[flights.carrier == "UA"]),
    }


def _merge(target: pd.DataFrame, united: pd.DataFrame) -> pd.DataFrame:
    """Both frames keep the row numbers of the source file, so that a row is the same flight by its number."""
    matched = united[united.index.isin(target.index)]
    late = matched.index[matched.arr_delay > 60]
    early = matched[(matched.dep_delay < 0) & ~matched.index.isin(late)]
    merged = target.drop(index=late)
    merged.loc[early.index, "dep_delay"] = early.dep_delay
    merged.loc[early.index, "status"] = "merged"
    added = united[~united.index.isin(target.index)].assign(status="added")
    return pd.concat([merged, added])


def by_status(rows: pd.DataFrame) -> Groups:
    return _groups(
        rows.groupby("status"),
        lambda group: (
            len(group),
            _sum(group.dep_delay),
            int(group.distance.sum()),
            int(group.tailnum.nunique()),
        ),
    )


def carriers_by_month(rows: pd.DataFrame) -> Groups:
    """For each month: the carriers that flew, their flights and miles, and the worst of their mean delays."""
    return _groups(
        rows.groupby("month"),
        lambda group: (
            int(group.carrier.nunique()),
            len(group),
            int(group.distance.sum()),
            float(group.groupby("carrier").dep_delay.mean().max()),
        ),
    )
