"""Certificates of hosts, in a real directory: issued, renewed, refused, and read by a JVM's and by Python's TLS."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509

from hopshive.install.tls.given import Given
from hopshive.install.tls.hosts import Plan, ensure
from hopshive.install.tls.pem import TlsError, missing_names, names_of, third_left
from tests.support.authority import Authority
from tests.support.modules import run_module

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {"edge1": ["edge1.example.org", "edge1", "192.0.2.7"], "master": ["master"]}
PASSWORD = "store-password-1"
PASSPHRASE = "a passphrase of the vault"


def plan(directory: Path, **changed: Any) -> Plan:
    return Plan(**{"directory": directory / "tls", "hosts": NAMES, "store_password": PASSWORD, **changed})


def files(directory: Path, host: str = "edge1") -> Path:
    return directory / "tls/hosts" / host


def certificate(directory: Path, host: str = "edge1") -> x509.Certificate:
    return x509.load_pem_x509_certificate((files(directory, host) / "host.pem").read_bytes())


def contents(directory: Path) -> dict[str, bytes]:
    found = sorted(path for path in (directory / "tls").rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_each_host_gets_a_certificate_for_its_names_and_addresses(tmp_path: Path) -> None:
    assert ensure(plan(tmp_path)).issued == {"edge1": "it has none", "master": "it has none"}
    assert names_of(certificate(tmp_path)) == {"edge1.example.org", "edge1", "192.0.2.7"}
    assert names_of(certificate(tmp_path, "master")) == {"master"}


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    before = contents(tmp_path)
    assert not ensure(plan(tmp_path)).changed
    assert contents(tmp_path) == before


def test_all_files_can_be_read_by_their_user_only(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    modes = {
        path.stat().st_mode & 0o077
        for path in [tmp_path / "tls", *(tmp_path / "tls").rglob("*")]
        if path.name != ".lock"
    }
    assert modes == {0}


def test_another_host_gets_its_own_and_the_others_keep_theirs(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    before = certificate(tmp_path)
    assert ensure(plan(tmp_path, hosts={**NAMES, "edge2": ["edge2"]})).issued == {"edge2": "it has none"}
    assert certificate(tmp_path) == before


@pytest.mark.parametrize(("passed", "renewed"), [(200, False), (240, False), (244, True), (366, True)])
def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(tmp_path: Path, passed: int, renewed: bool) -> None:
    ensure(plan(tmp_path))
    later = datetime.now(UTC) + timedelta(days=passed)
    assert bool(ensure(plan(tmp_path), now=later).issued) is renewed
    assert not third_left(certificate(tmp_path), later)


def test_other_names_are_another_certificate(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    outcome = ensure(plan(tmp_path, hosts={**NAMES, "master": ["master", "192.0.2.1"]}))
    assert outcome.issued == {"master": "it is for master"}
    assert names_of(certificate(tmp_path, "master")) == {"master", "192.0.2.1"}


def test_a_certificate_of_another_authority_is_replaced(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    pair = Authority(tmp_path / "other").issue("edge1", *NAMES["edge1"])
    (files(tmp_path) / "host.pem").write_bytes(pair.certificate.read_bytes())
    (files(tmp_path) / "host.key").write_bytes(pair.key.read_bytes())
    assert ensure(plan(tmp_path)).issued == {"edge1": "another authority signed it"}


def test_a_key_that_is_another_certificates_is_replaced(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    (files(tmp_path) / "host.key").write_bytes((files(tmp_path, "master") / "host.key").read_bytes())
    assert ensure(plan(tmp_path)).issued == {"edge1": "the key is not the certificate's"}


def test_another_store_password_writes_the_key_stores_and_no_certificate(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    outcome = ensure(plan(tmp_path, store_password="another-password"))
    assert (outcome.issued, outcome.stores) == ({}, ["edge1", "master"])


def test_the_authority_key_has_the_passphrase_and_wants_it(tmp_path: Path) -> None:
    ensure(plan(tmp_path, passphrase=PASSPHRASE))
    assert b"ENCRYPTED" in (tmp_path / "tls/authority.key").read_bytes()
    assert not ensure(plan(tmp_path, passphrase=PASSPHRASE)).changed
    with pytest.raises(TlsError, match="cluster_tls_authority_passphrase is not the passphrase of the key") as refused:
        ensure(plan(tmp_path, passphrase="a wrong one"))
    assert "a wrong one" not in str(refused.value)
    with pytest.raises(TlsError, match=r"has a passphrase: set cluster_tls_authority_passphrase\."):
        ensure(plan(tmp_path))


def test_a_key_without_passphrase_gets_one_and_the_authority_stays(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    before = (tmp_path / "tls/authority.pem").read_bytes()
    outcome = ensure(plan(tmp_path, passphrase=PASSPHRASE))
    assert (outcome.authority, outcome.issued) == ("its key gets the passphrase", {})
    assert (tmp_path / "tls/authority.pem").read_bytes() == before


@pytest.mark.parametrize("lost", ["authority.pem", "authority.key"])
def test_half_an_authority_is_refused_not_replaced(tmp_path: Path, lost: str) -> None:
    ensure(plan(tmp_path))
    (tmp_path / "tls" / lost).unlink()
    before = contents(tmp_path)
    with pytest.raises(TlsError, match=f"Bring {lost} back"):
        ensure(plan(tmp_path))
    assert contents(tmp_path) == before


def test_an_authority_that_ended_signs_nothing(tmp_path: Path) -> None:
    ensure(plan(tmp_path, authority_days=400))
    with pytest.raises(TlsError, match=r"authority\.pem ended on 20"):
        ensure(plan(tmp_path), now=datetime.now(UTC) + timedelta(days=401))


def test_no_certificate_outlives_its_authority(tmp_path: Path) -> None:
    ensure(plan(tmp_path, authority_days=30))
    authority = x509.load_pem_x509_certificate((tmp_path / "tls/authority.pem").read_bytes())
    assert certificate(tmp_path).not_valid_after_utc == authority.not_valid_after_utc


def site(tmp_path: Path, *names: str) -> tuple[Plan, Authority]:
    authority = Authority(tmp_path / "site")
    pair = authority.issue("edge1", *names)
    given = Given(str(pair.certificate), str(pair.key), str(authority.path))
    return plan(tmp_path, hosts={"edge1": NAMES["edge1"]}, given={"edge1": given}), authority


def test_the_sites_files_are_taken_over_once(tmp_path: Path) -> None:
    wanted, authority = site(tmp_path, *NAMES["edge1"])
    assert ensure(wanted).issued == {"edge1": "the site's files are others"}
    assert not ensure(wanted).changed
    assert not (tmp_path / "tls/authority.key").exists()
    assert (files(tmp_path) / "authority.pem").read_bytes() == authority.path.read_bytes()


def test_a_site_certificate_for_other_names_is_refused(tmp_path: Path) -> None:
    wanted, _ = site(tmp_path, "edge1.example.org", "edge1")
    with pytest.raises(TlsError, match=r"edge1\.pem \(cluster_tls_certificate\) of edge1 is not for 192\.0\.2\.7\."):
        ensure(wanted)
    assert not files(tmp_path).exists()


def test_a_site_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    wanted, authority = site(tmp_path, *NAMES["edge1"])
    other = authority.issue("other")
    given = Given(str(tmp_path / "site/edge1.pem"), str(other.key), str(authority.path))
    with pytest.raises(TlsError, match=r"other\.key \(cluster_tls_key\) of edge1 is not that of the certificate"):
        ensure(plan(tmp_path, hosts=wanted.hosts, given={"edge1": given}))


def test_a_site_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    wanted, _ = site(tmp_path, *NAMES["edge1"])
    other = Authority(tmp_path / "other", "other")
    given = Given(str(tmp_path / "site/edge1.pem"), str(tmp_path / "site/edge1.key"), str(other.path))
    with pytest.raises(
        TlsError, match=r"of edge1 does not lead to the authority .*other\.pem \(cluster_tls_authority\)"
    ):
        ensure(plan(tmp_path, hosts=wanted.hosts, given={"edge1": given}))


def test_a_site_certificate_that_ended_is_refused(tmp_path: Path) -> None:
    wanted, _ = site(tmp_path, *NAMES["edge1"])
    with pytest.raises(TlsError, match=r"of edge1 ended on 20"):
        ensure(wanted, now=datetime.now(UTC) + timedelta(days=2))


def test_a_wildcard_stands_for_one_label(tmp_path: Path) -> None:
    pair = Authority(tmp_path).issue("any", "*.example.org")
    made = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    names = ["edge1.example.org", "example.org", "a.b.example.org"]
    assert missing_names(made, names) == ["example.org", "a.b.example.org"]


def module(directory: Path, *, check: bool = False, **changed: Any) -> dict[str, Any]:
    arguments = {"directory": str(directory / "tls"), "hosts": NAMES, "store_password": PASSWORD, **changed}
    return run_module("hopshive_certificate", arguments, check=check)


def test_check_mode_says_what_would_be_issued_and_writes_nothing(tmp_path: Path) -> None:
    result = module(tmp_path, check=True)
    assert (result["changed"], result["authority"], sorted(result["issued"])) == (True, "made", ["edge1", "master"])
    assert not (tmp_path / "tls").exists()


def test_the_diff_shows_names_and_dates_and_no_secret(tmp_path: Path) -> None:
    result = module(tmp_path, authority_passphrase=PASSPHRASE)
    assert result["diff"]["before"] == {}
    assert set(result["diff"]["after"]["edge1"]) == {"names", "ends", "issuer", "sha256"}
    for secret in ("PRIVATE KEY", PASSWORD, PASSPHRASE):
        assert secret not in str(result)
    again = module(tmp_path, authority_passphrase=PASSPHRASE)
    assert (again["changed"], again["diff"]["before"]) == (False, again["diff"]["after"])


def test_the_module_names_a_host_that_the_site_brings_nothing_for(tmp_path: Path) -> None:
    assert "given has no certificate for master" in module(tmp_path, given={"edge1": {}})["msg"]


def test_pythons_tls_accepts_the_certificate_under_its_names_and_no_other(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(files(tmp_path) / "host.pem", files(tmp_path) / "host.key")
    client = ssl.create_default_context(cafile=str(files(tmp_path) / "authority.pem"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    def handshake(name: str) -> None:
        ours, theirs = socket.socketpair()

        def serve() -> None:
            try:
                server.wrap_socket(theirs, server_side=True).close()
            except (ssl.SSLError, OSError):
                theirs.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            client.wrap_socket(ours, server_hostname=name).close()
        finally:
            ours.close()
            thread.join()

    handshake("edge1.example.org")
    handshake("192.0.2.7")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake("master")


def test_a_trust_store_is_opened_with_one_round(tmp_path: Path) -> None:
    ensure(plan(tmp_path))
    argv = ["openssl", "pkcs12", "-info", "-nokeys", "-passin", "pass:changeit"]
    done = subprocess.run(
        [*argv, "-in", str(files(tmp_path) / "truststore.p12")], capture_output=True, text=True, check=False
    )
    assert "AES-256-CBC, Iteration 1," in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("store", "password", "entry"),
    [
        ("keystore.p12", PASSWORD, "PrivateKeyEntry"),
        ("truststore.p12", "changeit", "trustedCertEntry"),
    ],
)
def test_a_jdk_reads_the_stores(tmp_path: Path, store: str, password: str, entry: str) -> None:
    ensure(plan(tmp_path))
    argv = ["keytool", "-list", "-keystore", str(files(tmp_path) / store), "-storepass:env", "STORE"]
    done = subprocess.run(
        argv, env={"STORE": password, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert entry in done.stdout
