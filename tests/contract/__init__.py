"""What tests of the contract between file system and metastore share: a test's own database, and how traces are looked for."""

from tests.contract.footprint import Footprint, differences, footprint, leftovers, metadata
from tests.contract.own_database import ELSEWHERE, WAREHOUSE, OwnDatabase
from tests.contract.waiting import eventually

__all__ = [
    "ELSEWHERE",
    "WAREHOUSE",
    "Footprint",
    "OwnDatabase",
    "differences",
    "eventually",
    "footprint",
    "leftovers",
    "metadata",
]
