"""What the module hopshive_host_info reads on a host."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from library import hopshive_host_info as module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:237B 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 41001 1 0 100 0 0 10 0
   1: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   105        0 41002 1 0 100 0 0 10 0
   2: 0100007F:B0F2 0100007F:0CEA 01 00000000:00000000 00:00000000 00000000   105        0 41003 1 0 100 0 0 10 0
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when ...
   0: 00000000000000000000000000000000:2710 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 \
00000000  1513        0 41004 1 0 100 0 0 10 0
"""


def test_sockets_are_the_listening_ones() -> None:
    assert module.parse_sockets(TCP) == {"41001": (9083, 105), "41002": (3306, 105)}
    assert module.parse_sockets(TCP6) == {"41004": (10000, 1513)}


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/hive-metastore.service", "hive-metastore.service"),
        ("0::/system.slice/docker-3f.scope/system.slice/mariadb.service", "mariadb.service"),
        ("12:pids:/docker/3f/x\n1:name=systemd:/docker/3f/system.slice/ssh.service\n0::/", "ssh.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/nc.service", "nc.service"),
        ("0::/user.slice/user-0.slice/session-4.scope", "session-4.scope"),
        ("0::/init.scope", "init.scope"),
        ("0::/", ""),
        ("", ""),
    ],
)
def test_the_unit_is_the_innermost_of_systemds_control_group(cgroup: str, unit: str) -> None:
    assert module.parse_unit(cgroup) == unit


def test_listeners_name_process_and_unit(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(TCP)
    (tmp_path / "net/tcp6").write_text(TCP6)
    (tmp_path / "77/fd").mkdir(parents=True)
    (tmp_path / "77/fd/5").symlink_to("socket:[41001]")
    (tmp_path / "77/fd/6").symlink_to("/dev/null")
    (tmp_path / "77/comm").write_text("nginx\n")
    (tmp_path / "77/cgroup").write_text("0::/system.slice/nginx.service\n")
    assert module.listeners(tmp_path) == [
        {"port": 3306, "pid": 0, "process": "", "unit": ""},
        {"port": 9083, "pid": 77, "process": "nginx", "unit": "nginx.service"},
        {"port": 10000, "pid": 0, "process": "", "unit": ""},
    ]


def test_a_process_that_may_not_be_looked_into_holds_the_sockets_of_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(TCP)
    user = os.getuid()
    (tmp_path / "net/tcp6").write_text(TCP6.replace(" 1513 ", f" {user} "))
    (tmp_path / "88/fd").mkdir(parents=True)
    (tmp_path / "88/comm").write_text("java\n")
    (tmp_path / "88/cgroup").write_text("0::/system.slice/hive-server2.service\n")
    read = type(tmp_path).iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.name == "fd":
            raise PermissionError(path)
        return read(path)

    monkeypatch.setattr(type(tmp_path), "iterdir", refuse)
    held = {listener["port"]: listener["unit"] for listener in module.listeners(tmp_path)}
    assert held == {3306: "", 9083: "", 10000: "hive-server2.service"}


def test_a_real_listener_is_found_with_its_process() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        held = [listener for listener in module.listeners() if listener["port"] == port]
    assert [listener["pid"] for listener in held] == [os.getpid()]


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ('IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.13"\n', 17),
        ('JAVA_VERSION="1.8.0_392"\n', 8),
        ('JAVA_VERSION="21"\n', 21),
        ("", None),
    ],
)
def test_the_release_of_a_jdk(text: str, release: int | None) -> None:
    assert module.parse_java_release(text) == release


def test_the_distribution_with_and_without_quotes() -> None:
    assert module.parse_os_release('NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n') == ("debian", "12")


def test_memory_is_in_mib() -> None:
    assert module.parse_meminfo("MemTotal:       16384000 kB\nMemFree: 1 kB\n") == 16000


def test_free_space_is_asked_of_the_nearest_parent_and_told_once(tmp_path: Path) -> None:
    (found,) = module.disks([str(tmp_path / "opt/not/yet"), str(tmp_path / "var")])
    assert found["paths"] == [str(tmp_path / "opt/not/yet"), str(tmp_path / "var")]
    assert found["free_mb"] > 0


def test_the_version_of_a_python_is_that_which_runs() -> None:
    assert module.python_version(sys.executable) == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_a_python_that_is_not_there_or_none_has_no_version(tmp_path: Path) -> None:
    assert module.python_version(str(tmp_path / "python3")) is None
    assert module.python_version("") is None
    assert module.python_version("/bin/false") == ""
    (tmp_path / "text").write_text("no program")
    assert module.python_version(str(tmp_path / "text")) == ""


def test_names_resolve_to_addresses_or_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(name: str, *_: object) -> list[tuple[object, ...]]:
        if name == "gone.example.com":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 0))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    assert module.resolve(["there.example.com", "gone.example.com"]) == {
        "there.example.com": ["192.0.2.7"],
        "gone.example.com": [],
    }


def test_a_name_that_is_none_does_not_resolve() -> None:
    assert module.resolve(["127.0.0.1", "a" * 64 + ".b"]) == {"127.0.0.1": ["127.0.0.1"], "a" * 64 + ".b": []}


def test_users_are_told_with_uid_and_holder() -> None:
    root = pwd.getpwuid(0).pw_name
    assert module.users({root: 0, "no-such-user": 0, "nor-this": 2**31 - 7, "nor-that": None}) == [
        {"name": root, "uid": 0, "holder": root},
        {"name": "no-such-user", "uid": None, "holder": root},
        {"name": "nor-this", "uid": None, "holder": ""},
        {"name": "nor-that", "uid": None, "holder": ""},
    ]


def test_groups_are_told_that_exist() -> None:
    assert module.groups([grp.getgrgid(0).gr_name, "no-such-group"]) == [grp.getgrgid(0).gr_name]
