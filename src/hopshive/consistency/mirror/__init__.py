"""The mirror: the metastore follows the directories of HDFS. One loop, one writer."""

from hopshive.consistency.mirror.loop import Mirror

__all__ = ["Mirror"]
