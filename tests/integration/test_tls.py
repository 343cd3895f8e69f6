"""A metastore, its database and a HiveServer2 with TLS, configured as the roles do it with cluster_tls."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from hopshive.install.credential import Shell
from hopshive.services import health
from hopshive.services.health import NoAnswer, Target, wait_for
from hopshive.services.watchdog import probe_metastore, probe_web
from tests.bench import rig as rigs
from tests.bench.rig import UNMEASURED, USER, Rig
from tests.support.authority import Authority
from tests.support.modules import run_module
from tests.support.servers import (
    QUICK,
    free_port,
    hadoop_classpath,
    run_java,
    site_properties,
    write_script,
    write_site,
)
from tests.support.tls_scan import Port
from tests.unit.ansible.test_tls_role import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORE_PASSWORD = "kXw2-unguessed-store"
# As the roles metastore and server2 name them.
ALIASES = ("metastore.keystore.password", "hive.server2.keystore.password", "hive.server2.webui.keystore.password")
OF_TLS = re.compile(r"SSL|ssl|keystore|truststore")


@dataclass(frozen=True)
class Warehouse:
    """Where the services listen, the files of their certificate, and a client's class path."""

    rig: Rig
    tls: Path
    metastore: int
    server2: int
    http: int
    web: int
    conf: Path

    @property
    def authority(self) -> str:
        return str(self.tls / "authority.pem")

    def beeline(self, port: int, more: str, trust_store: str) -> subprocess.CompletedProcess[str]:
        url = f"jdbc:hive2://127.0.0.1:{port}/;ssl=true;sslTrustStore={trust_store};trustStoreType=PKCS12;trustStorePassword=changeit"
        classpath = ":".join(self.rig.classpath(self.conf))
        argv = [
            "java",
            *QUICK,
            "-cp",
            classpath,
            "org.apache.hive.beeline.BeeLine",
            "-u",
            url + more,
            "-n",
            "hive",
            "-p",
            "x",
        ]
        environment = {**os.environ, **self.rig.environment(self.conf)}
        return subprocess.run(
            [*argv, "-e", "SHOW DATABASES"], env=environment, capture_output=True, text=True, timeout=120, check=False
        )


def keep_passwords(rig: Rig, provider: str) -> None:
    """The aliases of the key stores in a credential store, by Hadoop's own command."""
    conf = rig.place("credential")
    write_site(conf / "core-site.xml", {})
    classpath = ":".join([str(conf), *hadoop_classpath(rig.hadoop)])
    java = write_script(
        conf / "java", ["java", *QUICK, "-cp", classpath, "org.apache.hadoop.security.alias.CredentialShell"]
    )
    for alias in ALIASES:
        Shell([str(java)]).create(provider, alias, STORE_PASSWORD)


def of_tls(site: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in site.items() if OF_TLS.search(name)}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    directory = tmp_path_factory.mktemp("tls")
    made = run_module(
        "hopshive_certificate",
        {
            "directory": str(directory / "made"),
            "hosts": {"here": ["localhost", "127.0.0.1"]},
            "store_password": STORE_PASSWORD,
        },
    )
    assert made["changed"], made
    tls = directory / "made/hosts/here"
    rendered = render(directory, cluster_tls="bundle", cluster_tls_dir=str(tls))
    settings = [
        line.replace(" = ", "=") for line in rendered["mariadb"].splitlines() if "ssl_" in line or "secure" in line
    ]
    names = {setting.partition("=")[0] for setting in settings}
    assert names == {"require_secure_transport", "ssl_cert", "ssl_key", "ssl_cipher"}
    options = rendered["server_options"]
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(rigs, "MARIADB", [*rigs.MARIADB, *(f"--{line.replace('_', '-')}" for line in settings)])
        rig = Rig(directory, stack, UNMEASURED)
        stack.enter_context(rig.database("tls", consistent=False))
        metastore, port, http, web = (free_port() for _ in range(4))
        provider = f"localjceks://file{directory}/credentials.jceks"
        keep_passwords(rig, provider)
        conf = rig.site("tls", metastore, port)
        url = rendered["metastore"]["javax.jdo.option.ConnectionURL"].partition("?")[2]
        more = {
            **of_tls(rendered["metastore"]),
            **of_tls(rendered["server2"]),
            "hadoop.security.credential.provider.path": provider,
            "javax.jdo.option.ConnectionURL": f"jdbc:mysql+strict://127.0.0.1:{rig.mariadb.port}/tls?{url}",
            "hive.server2.transport.mode": "all",
            "hive.server2.thrift.http.port": http,
            "hive.server2.webui.port": web,
        }
        site = conf / "hive-site.xml"
        site.write_text(site.read_text().replace("</configuration>", site_properties(more) + "</configuration>"))
        stack.enter_context(
            run_java(
                "org.apache.hadoop.hive.metastore.HiveMetaStore",
                rig.classpath(conf),
                directory / "metastore.log",
                ["-p", str(metastore)],
                environment=rig.environment(conf),
                jvm=[*rig.jvms.metastore, *options],
            )
        )
        found = Warehouse(rig, tls, metastore, port, http, web, conf)
        wait_for(Target("metastore", "127.0.0.1", metastore, authority=found.authority), 120)
        stack.enter_context(
            run_java(
                "org.apache.hive.service.server.HiveServer2",
                rig.classpath(conf),
                directory / "server2.log",
                environment=rig.environment(conf),
                jvm=[*rig.jvms.server2, *options],
            )
        )
        wait_for(Target("server2", "127.0.0.1", port, user="hive", authority=found.authority), 180)
        yield found


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(Authority(tmp_path_factory.mktemp("stranger"), "stranger").path)


def refusal(target: Target) -> str:
    with pytest.raises(NoAnswer) as refused:
        wait_for(target, 0)
    return str(refused.value)


@pytest.mark.parametrize("kind", ["metastore", "server2"])
def test_a_service_without_tls_is_not_to_be_had(warehouse: Warehouse, kind: str) -> None:
    port = {"metastore": warehouse.metastore, "server2": warehouse.server2}[kind]
    assert "did not answer" in refusal(Target(kind, "127.0.0.1", port, user="hive"))


@pytest.mark.parametrize("kind", ["metastore", "server2"])
def test_a_check_refuses_the_certificate_of_another_authority(warehouse: Warehouse, stranger: str, kind: str) -> None:
    port = {"metastore": warehouse.metastore, "server2": warehouse.server2}[kind]
    assert "its certificate is refused" in refusal(Target(kind, "127.0.0.1", port, user="hive", authority=stranger))


def test_hiveserver2_reads_the_metastore_over_tls(warehouse: Warehouse) -> None:
    target = Target("server2", "127.0.0.1", warehouse.server2, user="hive", authority=warehouse.authority)
    answer = wait_for(Target(**{**vars(target), "statement": "SHOW DATABASES"}), 60)
    assert answer.facts["rows"] == 1


@pytest.mark.parametrize("transport", ["binary", "http"])
def test_beeline_verifies_both_ports(warehouse: Warehouse, transport: str) -> None:
    port, more = (
        (warehouse.server2, "")
        if transport == "binary"
        else (warehouse.http, ";transportMode=http;httpPath=cliservice")
    )
    done = warehouse.beeline(port, more, str(warehouse.tls / "truststore.p12"))
    assert done.returncode == 0, done.stderr[-2000:]
    assert "| default" in done.stdout


def test_beeline_refuses_a_server_of_another_authority(warehouse: Warehouse, tmp_path: Path) -> None:
    run_module(
        "hopshive_certificate",
        {"directory": str(tmp_path), "hosts": {"other": ["other"]}, "store_password": STORE_PASSWORD},
    )
    done = warehouse.beeline(warehouse.server2, "", str(tmp_path / "hosts/other/truststore.p12"))
    assert done.returncode != 0
    assert "PKIX path" in done.stdout + done.stderr


def test_the_page_of_hiveserver2_has_tls_alone(warehouse: Warehouse) -> None:
    page = f"//127.0.0.1:{warehouse.web}/api/v1/sessions"
    assert health.fetch_json(f"https:{page}", 10, warehouse.authority) == []
    with pytest.raises(NoAnswer):
        health.fetch(f"http:{page}", 10)


def test_no_port_accepts_an_old_version_or_a_weak_suite(warehouse: Warehouse) -> None:
    ports = (warehouse.metastore, warehouse.server2, warehouse.http, warehouse.web, warehouse.rig.mariadb.port)
    spoken = {port: Port("127.0.0.1", port).spoken() for port in ports}
    assert {port: found.faults() for port, found in spoken.items() if found.faults()} == {}
    assert {tuple(found.words()) for found in spoken.values()} == {("TLS 1.2", "TLS 1.3")}


def test_watchdogs_see_that_the_services_live(warehouse: Warehouse) -> None:
    assert probe_metastore(f"tls://127.0.0.1:{warehouse.metastore}", 5)
    assert probe_web(f"tls://127.0.0.1:{warehouse.web}", 5)


def test_the_database_takes_no_password_without_tls(warehouse: Warehouse) -> None:
    login: dict[str, Any] = {"host": "127.0.0.1", "port": warehouse.rig.mariadb.port, "user": USER, "password": USER}
    # MariaDB 10.11 answers as to a wrong password, and later releases say why.
    with pytest.raises(pymysql.OperationalError, match=r"1045|insecure transport"):
        pymysql.connect(**login, ssl_disabled=True)
    target = Target("mariadb", "127.0.0.1", warehouse.rig.mariadb.port, USER, USER, authority=warehouse.authority)
    assert "version" in wait_for(target, 10).facts


def test_the_metastores_connections_to_the_database_are_encrypted(warehouse: Warehouse) -> None:
    rows = warehouse.rig.mariadb.execute(
        "SELECT s.VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS s WHERE s.VARIABLE_NAME = 'Ssl_finished_accepts'"
    )
    assert int(rows[0][0]) > 0
    connected = warehouse.rig.mariadb.execute(
        f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{USER}' AND HOST LIKE '127.0.0.1%'"
    )
    assert connected[0][0] > 0


def test_no_log_and_no_command_line_has_the_password_of_the_key_stores(warehouse: Warehouse) -> None:
    logs = [path for path in warehouse.rig.directory.glob("*.log") if path.is_file()]
    assert len(logs) >= 2
    assert [path.name for path in logs if STORE_PASSWORD in path.read_text(errors="replace")] == []
    assert STORE_PASSWORD not in (warehouse.conf / "hive-site.xml").read_text()
