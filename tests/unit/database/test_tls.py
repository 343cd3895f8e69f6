"""Connections with TLS: what is checked of the server's certificate, and what each fault says."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from hopshive.database import Database, DatabaseError, DatabaseUnavailable, Server
from hopshive.metastore import schematool
from tests.support.modules import run_module
from tests.support.servers import ROOT, MariaDB, run_mariadb
from tests.support.tls_scan import Port

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Site:
    """A MariaDB with a certificate for 127.0.0.1 alone, and the files of its authority, of another one, and of a client."""

    mariadb: MariaDB
    ca: Path
    other_ca: Path
    client: Path
    key: Path

    @property
    def server(self) -> Server:
        return Server("information_schema", "127.0.0.1", self.mariadb.port, "safe", "right", ca_cert=str(self.ca))


def openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def authority(directory: Path, name: str) -> Path:
    """The certificate of a new authority; its key is beside it."""
    made = directory / f"{name}.pem"
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", "2",
            "-keyout", str(made.with_suffix(".key")), "-out", str(made))  # fmt: skip
    return made


def signed(ca: Path, name: str, names: str) -> Path:
    """A certificate for these names, signed by the authority; its key is beside it."""
    made = ca.parent / f"{name}.pem"
    request, extensions = made.with_suffix(".csr"), made.with_suffix(".ext")
    extensions.write_text(f"subjectAltName={names}\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
            "-keyout", str(made.with_suffix(".key")), "-out", str(request))  # fmt: skip
    openssl("x509", "-req", "-in", str(request), "-CA", str(ca), "-CAkey", str(ca.with_suffix(".key")), "-CAcreateserial",
            "-days", "2", "-extfile", str(extensions), "-out", str(made))  # fmt: skip
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not shutil.which("openssl"):
        pytest.skip("no openssl: apt-get install openssl")
    directory = tmp_path_factory.mktemp("tls")
    ca, other = authority(directory, "ca"), authority(directory, "other")
    own, client = signed(ca, "server", "IP:127.0.0.1"), signed(ca, "client", "DNS:client")
    role = yaml.safe_load((ROOT / "roles/mariadb/vars/main.yml").read_text())["__mariadb_tls_required"]
    settings = [f"--{name}={role[name]}" for name in ("tls_version", "ssl_cipher")]
    settings += [f"--ssl-ca={ca}", f"--ssl-cert={own}", f"--ssl-key={own.with_suffix('.key')}"]
    with run_mariadb(directory / "m", settings) as mariadb:
        mariadb.execute(
            "CREATE USER safe@'%' IDENTIFIED BY 'right' REQUIRE SSL",
            "CREATE USER known@'%' IDENTIFIED BY 'right' REQUIRE X509",
            "CREATE DATABASE dumped",
            "GRANT ALL ON dumped.* TO safe@'%'",
        )
        yield Site(mariadb, ca, other, client, client.with_suffix(".key"))


def cipher(server: Server) -> str:
    """The cipher of a connection, empty without TLS."""
    database = Database(server)
    try:
        with database.reading() as tx:
            row = tx.row("SHOW STATUS LIKE 'Ssl_cipher'")
    finally:
        database.close()
    assert row is not None
    return str(row[1])


def refusal(server: Server) -> str:
    with pytest.raises(DatabaseError) as caught:
        cipher(server)
    # Another attempt would not help.
    assert not isinstance(caught.value, DatabaseUnavailable)
    return str(caught.value)


def test_a_certificate_of_the_authority_is_accepted(site: Site) -> None:
    assert cipher(site.server)


def test_no_old_version_and_no_weak_suite_is_accepted(site: Site) -> None:
    spoken = Port("127.0.0.1", site.mariadb.port).spoken()
    assert list(spoken.words()) == ["TLS 1.2", "TLS 1.3"]
    assert spoken.faults() == []


def test_a_client_shows_its_certificate(site: Site) -> None:
    known = replace(site.server, user="known")
    assert "Access denied" in refusal(known)
    assert cipher(replace(known, client_cert=str(site.client), client_key=str(site.key)))


def test_another_authority_is_refused(site: Site) -> None:
    for check_hostname in (None, True, False):
        text = refusal(replace(site.server, ca_cert=str(site.other_ca), check_hostname=check_hostname))
        assert f"at 127.0.0.1:{site.mariadb.port}: ca_cert {site.other_ca} does not vouch for" in text


def test_a_certificate_for_another_host_is_refused(site: Site) -> None:
    for check_hostname in (None, True):
        text = refusal(replace(site.server, host="localhost", check_hostname=check_hostname))
        assert "is for another host than localhost" in text
        assert "check_hostname to false" in text
    assert cipher(replace(site.server, host="localhost", check_hostname=False))


def test_a_server_without_tls_is_refused(site: Site, tmp_path: Path) -> None:
    with run_mariadb(tmp_path / "m", ["--skip-ssl"]) as plain:
        text = refusal(replace(site.server, port=plain.port))
    assert f"at 127.0.0.1:{plain.port}: 127.0.0.1 offers no TLS, which ca_cert requires" in text


def test_files_that_cannot_be_used_are_named(site: Site, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    assert f"ca_cert {missing} cannot be read as certificates: " in refusal(replace(site.server, ca_cert=missing))
    assert f"ca_cert {site.key} cannot be read as certificates: " in refusal(
        replace(site.server, ca_cert=str(site.key))
    )
    text = refusal(replace(site.server, client_cert=str(site.client), client_key=missing))
    assert f"client_cert {site.client}, client_key {missing}: not a certificate with its key: " in text
    assert "client_key needs client_cert" in refusal(replace(site.server, client_key=str(site.key)))


def test_an_option_that_would_check_nothing_is_refused(site: Site) -> None:
    open_to_all = replace(site.server, ca_cert="")
    assert "client_cert needs ca_cert" in refusal(replace(open_to_all, client_cert=str(site.client)))
    assert "check_hostname needs ca_cert" in refusal(replace(open_to_all, check_hostname=True))


def test_a_timeout_of_nothing_is_refused(site: Site) -> None:
    assert "connect_timeout must be 1 second or more" in refusal(replace(site.server, connect_timeout=0))


def test_a_dump_uses_the_same_files(site: Site, tmp_path: Path) -> None:
    server = replace(site.server, database="dumped")
    assert schematool.dump(server, str(tmp_path), "4.0.0", "mariadb-dump").is_file()
    with pytest.raises(schematool.SchemaError, match="certificate"):
        schematool.dump(replace(server, ca_cert=str(site.other_ca)), str(tmp_path), "4.0.0", "mariadb-dump")


def test_a_module_passes_its_options_on(site: Site) -> None:
    asked = {
        "database": "dumped",
        "login_host": "127.0.0.1",
        "login_port": site.mariadb.port,
        "login_user": "safe",
        "login_password": "right",
        "ca_cert": str(site.other_ca),
    }
    result = run_module("hopshive_consistency_schema", asked, check=True)
    assert f"ca_cert {site.other_ca} does not vouch for" in result["msg"]
    # With the right one it gets as far as the tables, which are not there.
    result = run_module("hopshive_consistency_schema", {**asked, "ca_cert": str(site.ca)}, check=True)
    assert result["failed"]
    assert "ca_cert" not in result["msg"]
