"""HDFS's NameNode as a mirror of directories sees it: which inodes there are, and what came or went since."""

from hopshive.hdfs.namenode.client import ROOT_ID, Chain, Entry, Identity, NameNode
from hopshive.hdfs.namenode.errors import AnotherFileSystem, MissingEdits, NameNodeError, NameNodeUnavailable
from hopshive.hdfs.namenode.events import Event, EventBatches
from hopshive.hdfs.namenode.report import Report

__all__ = [
    "ROOT_ID",
    "AnotherFileSystem",
    "Chain",
    "Entry",
    "Event",
    "EventBatches",
    "Identity",
    "MissingEdits",
    "NameNode",
    "NameNodeError",
    "NameNodeUnavailable",
    "Report",
]
