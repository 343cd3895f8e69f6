"""Prove a warehouse on real data: `spark-submit --master yarn nycflights.py --hive-url URL` (docs/job.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobs.flights.job import main
else:
    # spark-submit puts this file's directory on the path.
    from flights.job import main

if __name__ == "__main__":
    sys.exit(main())
