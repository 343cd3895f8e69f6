"""HDFS whose pages, WebHDFS among them, have TLS alone, configured as the roles do it with cluster_tls."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.hdfs.wanted import Delete, MakeDirectory, SetAcl, WebHdfsError
from hopshive.hdfs.webhdfs import WebHdfs
from hopshive.install.credential import Shell
from hopshive.services.health import NoAnswer, Target, wait_for
from hopshive.services.watchdog import probe_web
from tests.support.authority import Authority
from tests.support.modules import run_module
from tests.support.servers import QUICK, Hdfs, free_port, hadoop_classpath, run_hdfs, write_script, write_site
from tests.support.tls_scan import Port
from tests.unit.ansible.test_tls_role import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE_PASSWORD = "kXw2-unguessed-store"
# As the task of the roles names them.
ALIASES = ("ssl.server.keystore.password", "ssl.server.keystore.keypassword")


@dataclass(frozen=True)
class Site:
    """A NameNode and a DataNode, the ports of their pages, and what clients verify them with."""

    hdfs: Hdfs
    namenode: int
    datanode: int
    authority: str

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.namenode}"

    def target(self, kind: str, authority: str) -> Target:
        port = {"namenode": self.namenode, "datanode": self.datanode}[kind]
        return Target(kind, "127.0.0.1", port, namenode=[self.url], authority=authority)

    def hdfs_command(self, main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        classpath = ":".join([str(self.hdfs.conf), *hadoop_classpath(self.hdfs.hadoop)])
        argv = ["java", *QUICK, f"-DHADOOP_USER_NAME={self.hdfs.user}", "-cp", classpath, main, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)


def keep_passwords(conf: Path, hadoop: Path, provider: str) -> None:
    """The aliases of the key store in a credential store, by Hadoop's own command."""
    write_site(conf / "core-site.xml", {})
    classpath = ":".join([str(conf), *hadoop_classpath(hadoop)])
    main = "org.apache.hadoop.security.alias.CredentialShell"
    java = write_script(conf / "java", ["java", *QUICK, "-cp", classpath, main])
    for alias in ALIASES:
        Shell([str(java)]).create(provider, alias, STORE_PASSWORD)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, hadoop_home: Path) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("pages")
    hosts = {"here": ["localhost", "127.0.0.1"]}
    made = run_module(
        "hopshive_certificate",
        {"directory": str(directory / "made"), "hosts": hosts, "store_password": STORE_PASSWORD},
    )
    assert made["changed"], made
    tls, conf = directory / "made/hosts/here", directory / "hdfs/conf"
    rendered = render(directory, cluster_tls="bundle", cluster_tls_dir=str(tls), jvm_service_conf_dir=str(conf))
    for name, properties in rendered["ssl"].items():
        write_site(conf / name, properties)
    keep_passwords(conf, hadoop_home, rendered["ssl"]["ssl-server.xml"]["hadoop.security.credential.provider.path"])
    namenode, datanode = free_port(), free_port()
    settings = {
        "dfs.http.policy": rendered["hdfs"]["dfs.http.policy"],
        "dfs.namenode.https-address": f"127.0.0.1:{namenode}",
        "dfs.datanode.https.address": f"127.0.0.1:{datanode}",
        "dfs.client.use.datanode.hostname": "true",
    }
    options = (*QUICK, *rendered["jvm"])
    with run_hdfs(directory / "hdfs", hadoop_home, settings, options, options) as hdfs:
        found = Site(hdfs, namenode, datanode, str(tls / "authority.pem"))
        wait_for(found.target("datanode", found.authority), 180)
        yield found


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(Authority(tmp_path_factory.mktemp("stranger"), "stranger").path)


def arguments(site: Site, authority: str, *paths: dict[str, Any]) -> dict[str, Any]:
    return {"url": [site.url], "authority": authority, "user": site.hdfs.user, "paths": list(paths)}


def test_files_are_written_read_and_deleted_through_both_daemons(site: Site) -> None:
    done = run_module("hopshive_hdfs_check", {"url": [site.url], "authority": site.authority, "user": site.hdfs.user})
    assert done["seconds"] > 0, done


def test_a_file_is_uploaded(site: Site, tmp_path: Path) -> None:
    source = tmp_path / "some.jar"
    source.write_bytes(b"x" * 3_000_000)
    wanted = {"path": "/apps/some.jar", "state": "file", "src": str(source), "mode": "0644"}
    assert run_module("hopshive_hdfs", arguments(site, site.authority, wanted))["changed"]
    assert not run_module("hopshive_hdfs", arguments(site, site.authority, wanted))["changed"]


def test_directories_get_acls_and_are_deleted(site: Site) -> None:
    client = WebHdfs([site.url], site.hdfs.user, authority=site.authority)
    try:
        client.apply(MakeDirectory("/sales.db", "750"))
        client.apply(SetAcl("/sales.db", frozenset({"user:sales__alice:rwx"}), tree=False))
        assert "user:sales__alice:rwx" in client.acl("/sales.db")
        client.apply(Delete("/sales.db", recursive=True))
        assert client.status("/sales.db") is None
    finally:
        client.close()


def test_a_client_refuses_the_certificate_of_another_authority_at_once(site: Site, stranger: str) -> None:
    slept: list[float] = []
    client = WebHdfs([site.url], site.hdfs.user, timeout=60, sleep=slept.append, authority=stranger)
    with pytest.raises(WebHdfsError) as refused:
        client.status("/")
    assert slept == []
    assert f"{site.url}: its certificate is refused: " in str(refused.value)
    assert f"(authority: {stranger})" in str(refused.value)


def test_a_module_names_the_file_that_is_no_authority(site: Site, tmp_path: Path) -> None:
    said = run_module("hopshive_hdfs", arguments(site, str(tmp_path / "none.pem"), {"path": "/"}))["msg"]
    assert said == f"The authority {tmp_path}/none.pem is no file of certificates: no such file or directory."


def test_nothing_answers_in_the_clear(site: Site) -> None:
    client = WebHdfs([site.url.replace("https", "http")], site.hdfs.user, timeout=1)
    with pytest.raises(WebHdfsError, match="could not be used within 1 s"):
        client.status("/")


@pytest.mark.parametrize("kind", ["namenode", "datanode"])
def test_checks_verify_the_pages(site: Site, stranger: str, kind: str) -> None:
    assert wait_for(site.target(kind, site.authority), 60).facts
    with pytest.raises(NoAnswer, match="its certificate is refused"):
        wait_for(site.target(kind, stranger), 0)


@pytest.mark.parametrize(("daemon", "versions"), [("namenode", ["TLS 1.2", "TLS 1.3"]), ("datanode", ["TLS 1.2"])])
def test_no_old_version_and_no_weak_suite_is_accepted(site: Site, daemon: str, versions: list[str]) -> None:
    spoken = Port("127.0.0.1", getattr(site, daemon)).spoken()
    assert list(spoken.words()) == versions
    assert spoken.faults() == []


def test_the_watchdog_sees_the_namenode_answer(site: Site) -> None:
    assert probe_web(f"tls://127.0.0.1:{site.namenode}", 10)


def test_hadoops_own_clients_verify_the_pages(site: Site) -> None:
    listed = site.hdfs_command("org.apache.hadoop.fs.FsShell", "-ls", f"swebhdfs://127.0.0.1:{site.namenode}/")
    assert listed.returncode == 0, listed.stderr
    checked = site.hdfs_command("org.apache.hadoop.hdfs.tools.DFSck", "/")
    assert "The filesystem under path '/' is HEALTHY" in checked.stdout, checked.stderr
