"""The file of results, and the table of the documentation that is made of it: `python -m tests.bench.report`."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "consistency.md"
HEADING = "## Figures"


def add(path: Path, row: str, measurements: Sequence[Measurement]) -> None:
    """Write one row of the benchmark, with when and beside what it was measured; other rows stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    content[row] = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[1], 1),
        "processors": os.cpu_count(),
        "measurements": [asdict(one) | {"ok": one.ok} for one in measurements],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


def table(content: dict[str, Any]) -> str:
    """What was measured, as a table of Markdown without its details (`- ...`); the targets that were missed stand out."""
    lines = ["| what | measured | must reach |", "|---|---:|---:|"]
    for row in content.values():
        for fields in row["measurements"]:
            one = Measurement(**{key: value for key, value in fields.items() if key != "ok"})
            if one.what.startswith("- "):
                continue
            missed = "" if one.ok else " **missed**"
            lines.append(f"| {one.what} | {shown(one.value)} {one.unit} | {one.promise}{missed} |")
    return "\n".join(lines) + "\n"


def shown(value: float) -> str:
    """Three digits, or all of a large number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def with_section(page: str, heading: str, text: str) -> str:
    """A page whose section of that heading is another; it is added at the end if there is none."""
    section = f"{heading}\n{text}"
    pattern = re.compile(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if pattern.search(page):
        return pattern.sub(lambda _: section, page)
    return f"{page.rstrip()}\n\n{section}"


def main() -> None:
    """Write the section Figures of docs/consistency.md from build/bench/consistency.json."""
    content = json.loads((ROOT / "build" / "bench" / "consistency.json").read_text())
    load = max(row["load"] for row in content.values())
    processors = max(row["processors"] for row in content.values())
    text = (
        f"`make bench-consistency` on a machine with {processors} processors, on which database, NameNode, metastore,\n"
        "HiveServer2, cleaner and client all run together; grace 0; ratios are taken in turns within one run.\n"
        f"The load average while a row was measured was up to {load:g}.\n\n{table(content)}"
    )
    page = PAGE.read_text() if PAGE.exists() else "# Metadata that follows the file system\n"
    PAGE.write_text(with_section(page, HEADING, text))


if __name__ == "__main__":
    main()
