"""The chart of `make bench-database`, drawn from its file of results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import matplotlib

from tests.bench.sites import MARIADB, NDB, REPLICAS
from tests.bench.tpcds import QUERIES

if TYPE_CHECKING:
    from pathlib import Path

COLOURS = {MARIADB: "#4c78a8", NDB: "#f58518"}
WIDTH = 0.38


def draw(results: Path, chart: Path) -> None:
    """Write an SVG: seconds of each plan by the number of clients, and calls by the number of metastores."""
    matplotlib.use("svg")
    # The same results are the same file.
    matplotlib.rcParams["svg.hashsalt"] = "hopshive"
    from matplotlib import pyplot

    rows = json.loads(results.read_text())
    values: dict[str, Any] = {one["what"]: one["value"] for row in rows.values() for one in row["measurements"]}
    panels: list[tuple[str, str, list[str], dict[str, list[float]]]] = []
    for clients in (1, 4, 16):
        bars = {
            name: [values.get(f"- plan of query {query}, clients {clients}, {name}", 0.0) for query in QUERIES]
            for name in (MARIADB, NDB)
        }
        title = f"Time to plan, {clients} client{'s' if clients > 1 else ''}"
        panels.append((title, "seconds", [str(query) for query in QUERIES], bars))
    bars = {
        name: [
            values.get(f"metastore calls, {replicas} metastores, {name}", 0.0) for replicas in range(1, REPLICAS + 1)
        ]
        for name in (MARIADB, NDB)
    }
    panels.append(("Calls of the metastore", "calls a second", [str(number + 1) for number in range(REPLICAS)], bars))
    # What was not measured is not shown.
    panels = [panel for panel in panels if all(any(heights) for heights in panel[3].values())]
    figure, axes = pyplot.subplots(
        -(-len(panels) // 2), 2, figsize=(10, 3.2 * -(-len(panels) // 2)), layout="constrained", squeeze=False
    )
    for axis in list(axes.flat)[len(panels) :]:
        axis.set_visible(False)
    for axis, (title, unit, labels, bars) in zip(axes.flat, panels, strict=False):
        for place, (name, heights) in enumerate(bars.items()):
            at = [number + (place - 0.5) * WIDTH for number in range(len(labels))]
            axis.bar(at, heights, WIDTH, label=name, color=COLOURS[name])
        axis.set_title(title, fontsize=11)
        axis.set_ylabel(unit)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_xlabel("query of TPC-DS" if unit == "seconds" else "metastores")
        axis.spines[["top", "right"]].set_visible(False)
    axes.flat[0].legend(frameon=False)
    figure.savefig(chart, format="svg", metadata={"Date": None})
    pyplot.close(figure)
