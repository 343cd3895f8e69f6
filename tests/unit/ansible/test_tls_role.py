"""What cluster_tls changes in the configuration of each service, as Ansible renders it for an inventory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from filter_plugins.certificates import certificate_names, given_certificates, verified_names
from hopshive.config import checked
from hopshive.tls import parse
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET = "kXw2-unguessed-store"
INVENTORY = {
    "hopshive": {
        "children": {
            "mariadb": {"hosts": {"master": {}}},
            "zookeeper": {"hosts": {"master": {}}},
            "namenode": {"hosts": {"master": {}}},
            "datanode": {"hosts": {"master": {}}},
            "journalnode": {"hosts": {"master": {}}},
            "metastore": {"hosts": {"master": {}, "edge": {}}},
            "server2": {"hosts": {"edge": {"cluster_address": "edge.example.org"}}},
            "cleaner": {"hosts": {"master": {}}},
            "login": {"hosts": {"edge": {}}},
        },
        "vars": {
            "ansible_connection": "local",
            "cluster_login_db_password": "a password",
            "cluster_cleaner_db_password": "a password",
            "login_sealing_key": "a secret of the hosts for sealing keys",
            "cluster_tls_store_password": SECRET,
            "jvm_service_conf_dir": "/etc/hadoop/conf.daemon",
        },
    }
}
ROLES = (
    "cluster",
    "namenode",
    "datanode",
    "journalnode",
    "server2",
    "metastore",
    "mariadb",
    "cleaner",
    "login",
    "spark",
    "common",
)
# What the roles put into files and commands.
TEXTS = {
    "client": "{{ cluster_hive_site }}",
    "spark": "{{ __spark_hive_site | combine(__cluster_metastore_tls) }}",
    "server2": "{{ cluster_hive_site | combine(__server2_hive_site, __server2_tls_site) }}",
    "metastore": "{{ cluster_hive_site | combine(__cluster_jdbc_site, __metastore_hive_site, __metastore_tls_site) }}",
    "hdfs": "{{ cluster_hdfs_site }}",
    "namenode": "{{ cluster_hdfs_site | combine(__namenode_hdfs_site) }}",
    "datanode": "{{ cluster_hdfs_site | combine(__datanode_hdfs_site) }}",
    "journalnode": "{{ cluster_hdfs_site | combine(__journalnode_hdfs_site) }}",
    "ssl": "{{ __cluster_ssl_sites }}",
    "jvm": "{{ __cluster_tls_server_options }}",
    "ssl_client": "{{ __cluster_ssl_client_sites }}",
    "webhdfs": "{{ cluster_webhdfs }}",
    "jdbc": "{{ cluster_server2_jdbc_url }}",
    "server_options": "{{ __cluster_tls_server_options }}",
    "mariadb": "{{ __mariadb_config }}",
    "mariadb_read": "{{ __mariadb_read }}",
    "cleaner": "{{ __cleaner_config }}",
    "login": "{{ __login_config }}",
    "login_authority": "{{ login_authority }}",
    "metastores": "{{ __cluster_metastore_places }}",
    "watched": "{{ [__server2_watched, __metastore_watched, __namenode_watched] }}",
    "readers": "{{ __common_key_readers }}",
    "degraded": "{{ __cluster_roll_degraded }}",
}


def render(directory: Path, **variables: Any) -> Mapping[str, Any]:
    """The texts for the host edge."""
    files = [
        str(path)
        for role in ROLES
        for path in (ROOT / f"roles/{role}/defaults/main.yml", ROOT / f"roles/{role}/vars/main.yml")
    ]
    task = {"ansible.builtin.copy": {"dest": str(directory / "texts.json"), "content": "{{ texts | to_json }}"}}
    play = {
        "hosts": "edge",
        "gather_facts": False,
        "vars_files": [file for file in files if Path(file).is_file()],
        "tasks": [{**task, "vars": {"texts": TEXTS}}],
    }
    (directory / "play.yml").write_text(yaml.safe_dump([play]))
    (directory / "hosts.yml").write_text(yaml.safe_dump(INVENTORY))
    argv = ["ansible-playbook", "-i", str(directory / "hosts.yml"), str(directory / "play.yml")]
    done = subprocess.run(
        [*argv, "-e", json.dumps(variables)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    texts: dict[str, Any] = json.loads((directory / "texts.json").read_text())
    return texts


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return render(tmp_path_factory.mktemp("tls"), cluster_tls="bundle", tls_in_use={"stat": {"exists": True}})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return render(tmp_path_factory.mktemp("plain"), tls_in_use={"stat": {"exists": False}})


def test_without_tls_no_configuration_names_it(plain: Mapping[str, Any]) -> None:
    text = json.dumps({name: value for name, value in plain.items() if name != "login"})
    for word in ("hopshive-tls", "SSL", "tls://", "https", "ssl_cert", "truststore"):
        assert word not in text.replace("useSSL=false", ""), word
    assert plain["login"]["listen"]["certificate"] == "/etc/hopshive-login/tls/certificate.pem"
    assert plain["readers"] == []


def test_server2_has_tls_on_its_ports_and_its_page(encrypted: Mapping[str, Any]) -> None:
    site = encrypted["server2"]
    assert (site["hive.server2.use.SSL"], site["hive.server2.webui.use.ssl"]) == (True, True)
    for name in ("hive.server2.keystore", "hive.server2.webui.keystore"):
        assert (site[f"{name}.path"], site[f"{name}.type"]) == ("/etc/hopshive-tls/keystore.p12", "PKCS12")


def test_the_metastore_has_tls(encrypted: Mapping[str, Any]) -> None:
    site = encrypted["metastore"]
    assert site["hive.metastore.use.SSL"] is True
    assert site["hive.metastore.keystore.path"] == "/etc/hopshive-tls/keystore.p12"


@pytest.mark.parametrize("who", ["client", "spark", "server2", "metastore"])
def test_clients_of_the_metastore_verify_it(encrypted: Mapping[str, Any], who: str) -> None:
    site = encrypted[who]
    assert site["hive.metastore.use.SSL"] is True
    assert (site["hive.metastore.truststore.path"], site["metastore.truststore.type"]) == (
        "/etc/hopshive-tls/truststore.p12",
        "PKCS12",
    )


@pytest.mark.parametrize(
    ("daemon", "name", "port"),
    [
        ("namenode", "dfs.namenode.{}-address", 9870),
        ("datanode", "dfs.datanode.{}.address", 9864),
        ("journalnode", "dfs.journalnode.{}-address", 8480),
    ],
)
def test_pages_of_hdfs_have_the_same_port_with_tls_and_without(
    encrypted: Mapping[str, Any], plain: Mapping[str, Any], daemon: str, name: str, port: int
) -> None:
    assert encrypted[daemon]["dfs.http.policy"] == "HTTPS_ONLY"
    assert "dfs.http.policy" not in plain[daemon]
    for site, scheme, other in ((encrypted, "https", "http"), (plain, "http", "https")):
        assert site[daemon][name.format(scheme)].endswith(f":{port}")
        assert name.format(other) not in site[daemon]


def test_daemons_of_hdfs_show_the_hosts_certificate_and_verify_each_other(encrypted: Mapping[str, Any]) -> None:
    server, client = encrypted["ssl"]["ssl-server.xml"], encrypted["ssl"]["ssl-client.xml"]
    assert server["ssl.server.keystore.location"] == "/etc/hopshive-tls/keystore.p12"
    assert server["ssl.server.keystore.type"] == "PKCS12"
    # Its passwords are in a store that this file itself must name: Hadoop reads no other for them.
    assert (
        server["hadoop.security.credential.provider.path"]
        == "localjceks://file/etc/hadoop/conf.daemon/credentials.jceks"
    )
    assert not [name for name in server if name.endswith("password") and "keystore" in name]
    assert client["ssl.client.truststore.location"] == "/etc/hopshive-tls/truststore.p12"
    assert encrypted["ssl_client"] == {"ssl-client.xml": client}


def test_clients_of_webhdfs_use_tls(encrypted: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    assert encrypted["webhdfs"] == ["https://master:9870"]
    assert plain["webhdfs"] == ["http://master:9870"]
    assert (plain["ssl"], plain["ssl_client"]) == ({}, {})


def test_beeline_verifies_hiveserver2(encrypted: Mapping[str, Any]) -> None:
    assert encrypted["jdbc"].endswith(
        ";zooKeeperNamespace=hiveserver2;ssl=true;sslTrustStore=/etc/hopshive-tls/truststore.p12;trustStoreType=PKCS12"
        ";trustStorePassword=changeit"
    )


def test_the_database_refuses_connections_without_tls(encrypted: Mapping[str, Any]) -> None:
    lines = encrypted["mariadb"].splitlines()
    assert {
        "ssl_cert = /etc/hopshive-tls/host.pem",
        "ssl_key = /etc/hopshive-tls/host.key",
        "require_secure_transport = ON",
        "tls_version = TLSv1.2,TLSv1.3",
    } <= set(lines)
    assert "/etc/hopshive-tls/host.pem" in encrypted["mariadb_read"]


def test_the_metastore_verifies_its_database(encrypted: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    url = encrypted["metastore"]["javax.jdo.option.ConnectionURL"]
    assert url.startswith("jdbc:mysql+strict://master:3306/metastore?sslMode=VERIFY_IDENTITY&")
    assert "trustCertificateKeyStoreUrl=file:/etc/hopshive-tls/truststore.p12&" in url
    assert plain["metastore"]["javax.jdo.option.ConnectionURL"] == (
        "jdbc:mysql+strict://master:3306/metastore?useSSL=false&characterEncoding=UTF-8&connectionCollation=utf8mb4_bin"
    )


def test_the_cleaner_verifies_database_and_metastores_and_shows_a_certificate(encrypted: Mapping[str, Any]) -> None:
    config = checked(encrypted["cleaner"], Path("hopshive.yml"))
    assert config.database.ca_cert == "/etc/hopshive-tls/authority.pem"
    assert (config.metrics.certificate, config.metrics.key) == (
        "/etc/hopshive-tls/host.pem",
        "/etc/hopshive-tls/host.key",
    )
    places = [parse(place) for place in config.metastores]
    assert {one.host for one in places} == {"edge.example.org", "master"}
    assert {(one.tls, one.authority) for one in places} == {(True, "/etc/hopshive-tls/authority.pem")}


def test_the_login_service_takes_the_hosts_certificate(encrypted: Mapping[str, Any]) -> None:
    assert encrypted["login"]["listen"]["certificate"] == "/etc/hopshive-tls/host.pem"
    assert encrypted["login"]["listen"]["key"] == "/etc/hopshive-tls/host.key"
    assert encrypted["login"]["database"]["ca_cert"] == "/etc/hopshive-tls/authority.pem"
    assert encrypted["login_authority"] == "/etc/hopshive-tls/authority.pem"


def test_a_certificate_of_its_own_stays_the_login_services(tmp_path: Path) -> None:
    found = render(
        tmp_path, cluster_tls="bundle", login_certificate_source="/srv/login.pem", login_key_source="/srv/login.key"
    )
    assert found["login"]["listen"]["certificate"] == "/etc/hopshive-login/tls/certificate.pem"
    assert found["login_authority"] == ""


@pytest.mark.parametrize(("wanted", "in_use"), [("none", True), ("bundle", False)])
def test_while_tls_is_switched_a_replica_is_restarted_whatever_the_others_answer(
    tmp_path: Path, wanted: str, in_use: bool
) -> None:
    found = render(tmp_path, cluster_tls=wanted, tls_in_use={"stat": {"exists": in_use}})
    assert found["degraded"] is True


def test_once_tls_is_switched_a_replica_waits_for_the_others(
    encrypted: Mapping[str, Any], plain: Mapping[str, Any]
) -> None:
    assert (encrypted["degraded"], plain["degraded"]) == (False, False)


def test_watchdogs_probe_with_tls(encrypted: Mapping[str, Any]) -> None:
    assert encrypted["watched"] == ["tls://edge:10002", "tls://edge:9083", "tls://edge:9870"]


def test_people_who_run_jobs_cannot_read_the_key(encrypted: Mapping[str, Any]) -> None:
    # Containers run as yarn, also those of people.
    assert not {"spark", "yarn"} & set(encrypted["readers"])
    assert {"hive", "hopshive", "hopshive-login", "hdfs"} <= set(encrypted["readers"])


def test_no_configuration_has_the_password_of_the_key_stores(encrypted: Mapping[str, Any]) -> None:
    assert SECRET not in json.dumps(encrypted)


def test_a_certificate_is_for_all_names_by_which_a_host_is_reached() -> None:
    hostvars: dict[str, dict[str, Any]] = {
        "edge": {
            "cluster_address": "edge.example.org",
            "ansible_host": "192.0.2.7",
            "cluster_tls_names": ["hive.example.org"],
        },
        "master": {"ansible_host": "some-container"},
    }
    assert certificate_names(hostvars, hostvars) == {
        "edge": ["edge.example.org", "edge", "192.0.2.7", "hive.example.org"],
        "master": ["master"],
    }


def test_a_host_with_an_address_is_verified_by_its_name() -> None:
    hostvars: dict[str, dict[str, Any]] = {
        "edge": {"cluster_address": "192.0.2.7"},
        "192.0.2.8": {"cluster_tls_names": ["2001:db8::8", "hive.example.org"]},
        "192.0.2.9": {},
        "master": {"cluster_address": "master.example.org"},
    }
    assert verified_names(hostvars, hostvars) == {
        "192.0.2.7": "edge",
        "192.0.2.8": "hive.example.org",
        "192.0.2.9": "192.0.2.9",
        "master.example.org": "master.example.org",
    }


def test_the_paths_of_a_site_are_those_of_each_host() -> None:
    hostvars = {"edge": {"cluster_tls_certificate": "/srv/edge.pem", "cluster_tls_key": "/srv/edge.key"}}
    assert given_certificates(hostvars, hostvars) == {
        "edge": {"certificate": "/srv/edge.pem", "key": "/srv/edge.key", "authority": ""}
    }


def test_a_jvm_without_its_second_compiler_takes_the_suite_that_is_fast_there(
    tmp_path: Path, encrypted: Mapping[str, Any]
) -> None:
    lab = render(tmp_path, cluster_tls="bundle", cluster_jvm_options=["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
    first = [option.partition("cipherSuites=")[2].split(",")[0] for option in lab["server_options"]]
    assert first == ["TLS_CHACHA20_POLY1305_SHA256"] * 2
    suites = [set(option.partition("=")[2].split(",")) for option in encrypted["server_options"]]
    assert all(option.partition("=")[2].startswith("TLS_AES_256_GCM") for option in encrypted["server_options"])
    assert suites == [set(option.partition("=")[2].split(",")) for option in lab["server_options"]]
