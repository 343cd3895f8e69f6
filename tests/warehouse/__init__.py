"""Drives a running warehouse from the controller, as its users, its operators and its accidents do.

Works for `make lab` and for the hosts of molecule scenarios: `Warehouse.find("lab")`, `Warehouse.read(Path("inventories/lab"))`.
"""

from tests.warehouse.cleaner import Cleaner, Difference
from tests.warehouse.hdfs import Hdfs, HdfsError, Item
from tests.warehouse.hiveserver2 import HiveError, HiveSession
from tests.warehouse.hosts import CommandError, Host, Lab, find_lab, read_lab
from tests.warehouse.service import Service
from tests.warehouse.spark import SparkError, SparkSession
from tests.warehouse.warehouse import NotQuiet, Warehouse

__all__ = [
    "Cleaner",
    "CommandError",
    "Difference",
    "Hdfs",
    "HdfsError",
    "HiveError",
    "HiveSession",
    "Host",
    "Item",
    "Lab",
    "NotQuiet",
    "Service",
    "SparkError",
    "SparkSession",
    "Warehouse",
    "find_lab",
    "read_lab",
]
