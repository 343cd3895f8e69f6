"""What tests of the contract between file system and metastore share: a test's own database, and how traces are looked for."""

from tests.contract.footprint import Footprint, differences, footprint, leftovers, metadata
from tests.contract.own_database import WAREHOUSE, OwnDatabase
from tests.contract.waiting import eventually

__all__ = [
    "WAREHOUSE",
    "Footprint",
    "OwnDatabase",
    "differences",
    "eventually",
    "footprint",
    "leftovers",
    "metadata",
]
