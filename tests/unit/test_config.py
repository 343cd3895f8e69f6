"""The configuration: whatever is wrong in it, one sentence names the file and the setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hopshive.config import Config, ConfigError, read
from hopshive.errors import Refused

LEAST = "hdfs: {uris: ['hdfs://nn:8020'], namenodes: ['nn:8020']}\n"


def reading(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "hopshive.yml"
    path.write_text(text)
    return read(path)


def test_the_least_that_is_needed(tmp_path: Path) -> None:
    config = reading(tmp_path, LEAST)
    assert config.namenodes == [("nn", 8020)]
    assert config.file_system.path_of("hdfs://nn:8020/a//b/") == "/a/b"
    assert (config.names.state, config.names.inodes) == ("hopshive", "hops.hdfs_inodes")
    assert (config.source, config.lease, config.mirror.rename_policy) == ("hdfs", 10.0, "delete")


def test_each_setting_arrives(tmp_path: Path) -> None:
    config = reading(
        tmp_path,
        LEAST
        + "source: hopsfs\nname: a\nlease: 3\ndatabase: {port: 3307, others: ['b:1'], inodes: fs.inodes, state: st}\n"
        "mirror: {grace: 1, rename_policy: follow, batch: 7}\njournal: {automatic: false}\n"
        "garbage: {scratch: [/tmp/hive, /tmp/tez], rate: 0}\nmetrics: {port: 0}\n",
    )
    assert (config.source, config.name, config.lease) == ("hopsfs", "a", 3.0)
    assert config.server().others == (("b", 1),)
    assert (config.database.port, config.names.inodes, config.names.state) == (3307, "fs.inodes", "st")
    assert (config.mirror.grace, config.mirror.rename_policy, config.mirror.batch) == (1.0, "follow", 7)
    assert (config.journal.automatic, config.garbage.scratch) == (False, ["/tmp/hive", "/tmp/tez"])  # noqa: S108
    assert (config.garbage.rate, config.metrics.port) == (0, 0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold settings as `name: value`; it holds nothing"),
        ("s3cret-word\n", "must hold settings as `name: value`; it holds a text."),
        ("- a\n", "must hold settings as `name: value`; it holds ['a']"),
        ("a: [\n", "is not YAML in line 2"),
        ("a: 'x\n", "is not YAML"),
        (
            LEAST + "mirrors: {}\n",
            "unknown setting mirrors: did you mean mirror? Known settings: database, garbage, hdfs",
        ),
        (
            LEAST + "cleaner: {rate: 0}\n",
            "hopshive.yml: the section cleaner is called garbage now: rename the section.",
        ),
        (
            LEAST + "mirror: {gracce: 1}\n",
            "unknown setting mirror.gracce: did you mean mirror.grace? Known settings: batch, compare_interval",
        ),
        (LEAST + "mirror: 5\n", "mirror must hold settings as `name: value`; it holds 5"),
        (LEAST + "mirror:\n", "mirror must hold settings as `name: value`; it holds nothing"),
        (LEAST + "mirror: {grace: soon}\n", "mirror.grace must be a number; it is 'soon'"),
        (LEAST + "mirror: {grace: true}\n", "mirror.grace must be a number; it is True"),
        (LEAST + "mirror: {grace: -1}\n", "mirror.grace must not be negative; it is -1"),
        (LEAST + "mirror: {batch: 1.5}\n", "mirror.batch must be a whole number; it is 1.5"),
        (LEAST + "mirror: {batch: 0}\n", "mirror.batch must be 1 or more; it is 0"),
        (LEAST + "mirror: {max_removals: 0}\n", "mirror.max_removals must be 1 or more; it is 0"),
        (
            LEAST + "mirror: {rename_policy: ask}\n",
            "mirror.rename_policy must be one of delete, follow, report; it is 'ask'",
        ),
        (
            LEAST + "mirror: {rename_policy: [a]}\n",
            "mirror.rename_policy must be one of delete, follow, report; it is ['a']",
        ),
        (LEAST + "source: s3\n", "source must be one of hdfs, hopsfs; it is 's3'"),
        (LEAST + "lease: 0.5\n", "lease must be a second or more; it is 0.5"),
        (LEAST + "lease: .nan\n", "lease must be a number; it is nan"),
        (LEAST + "lease: .inf\n", "lease must be a number; it is inf"),
        (LEAST + "name: 5\n", "name must be a text; it is 5"),
        (LEAST + "journal: {automatic: 1}\n", "journal.automatic must be true or false; it is 1"),
        (LEAST + "garbage: {scratch: /tmp}\n", "garbage.scratch must be a list of texts; it is '/tmp'"),
        (LEAST + "garbage: {scratch: [5]}\n", "garbage.scratch must be a list of texts; it is [5]"),
        (LEAST + "database: {port: 70000}\n", "database.port must be a port, 1 to 65535; it is 70000"),
        (LEAST + "database: {port: 0}\n", "database.port must be a port, 1 to 65535; it is 0"),
        (LEAST + "database: {others: [sql2]}\n", "database.others: sql2 is not host:port"),
        (LEAST + "metrics: {port: 70000}\n", "metrics.port must be a port, 0 to 65535; it is 70000"),
        (LEAST + "database: {metastore: 'a`b'}\n", "database.metastore is not a valid name of a schema: 'a`b'"),
        (LEAST + "database: {state: a-b}\n", "database.state is not a valid name of a schema: 'a-b'"),
        (LEAST + "database: {inodes: inodes}\n", "database.inodes must be schema.table; it is 'inodes'"),
        (LEAST + "database: {inodes: 1a.b}\n", "database.inodes is not a valid name of a schema: '1a'"),
        (LEAST + "database: {inodes: a.b.c}\n", "database.inodes must be schema.table; it is 'a.b.c'"),
        ("hdfs: {namenodes: ['nn:8020']}\n", "hdfs.uris is empty: give fs.defaultFS"),
        ("hdfs: {uris: ['hdfs://nn']}\n", "hdfs.namenodes is empty: give host:port of each NameNode"),
        (
            "hdfs: {uris: [nn], namenodes: ['nn:8020']}\n",
            "hdfs.uris: nn is not a file system's URI such as hdfs://namenode:8020",
        ),
        ("hdfs: {uris: ['hdfs://nn/'], namenodes: ['nn:8020']}\n", "hdfs.uris: hdfs://nn/ must not end with a slash"),
        ("hdfs: {uris: ['hdfs://nn:x'], namenodes: ['nn:8020']}\n", "hdfs.uris: "),
        (
            "hdfs: {uris: ['hdfs://nn/w'], namenodes: ['nn:8020']}\n",
            "hdfs://nn/w must name a file system without a path",
        ),
        ("hdfs: {uris: ['hdfs://nn'], namenodes: [nn]}\n", "hdfs.namenodes: nn is not host:port"),
        (f"{LEAST}metastores: [hms]\n", "metastores: hms is not host:port"),
        ("hdfs: {uris: ['hdfs://nn'], namenodes: ['nn:99999']}\n", "hdfs.namenodes: nn:99999 is not host:port"),
        ("hdfs: {uris: ['hdfs://nn'], namenodes: [':8020']}\n", "hdfs.namenodes: :8020 is not host:port"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path}/hopshive.yml")) as raised:
        reading(tmp_path, text)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, Refused)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not_there\.yml cannot be read: No such file or directory"):
        read(tmp_path / "not_there.yml")
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yml is not YAML"):
        read(tmp_path / "binary.yml")


def test_the_password_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("säcret#'\"\nnot this\n")
    server = reading(tmp_path, LEAST + f"database: {{password_file: {tmp_path}/password}}\n").server()
    assert server.password == "säcret#'\""
    assert reading(tmp_path, LEAST).server().password == ""


def test_a_password_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = reading(tmp_path, LEAST + f"database: {{password_file: {tmp_path}/password}}\n")
    with pytest.raises(ConfigError, match=r"/password \(database.password_file\) cannot be read: No such file"):
        config.server()
    (tmp_path / "password").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"cannot be read: not text"):
        config.server()
