"""Client certificates in a real directory: issued, renewed, revoked, refused, and read by a JVM's and by Python's TLS."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from hopshive.install.tls.clients import Clients, issue, prepare, revoke
from hopshive.install.tls.hosts import Plan, ensure
from hopshive.install.tls.pem import TlsError
from tests.support.modules import run_module

PASSPHRASE = "a passphrase of the vault"


def clients(directory: Path, **changed: Any) -> Clients:
    return Clients(**{"directory": directory / "clients", **changed})


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def own(directory: Path, user: str = "alice") -> x509.Certificate:
    return certificate(directory / f"out/{user}.pem")


def revocation_list(directory: Path) -> x509.CertificateRevocationList:
    found = x509.load_pem_x509_crl((directory / "clients/revoked.pem").read_bytes())
    assert found.is_signature_valid(certificate(directory / "clients/authority.pem").public_key())  # type: ignore[arg-type]
    return found


def revoked(directory: Path) -> set[int]:
    return {one.serial_number for one in revocation_list(directory)}


def number(directory: Path) -> int:
    return revocation_list(directory).extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def days_later(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def test_a_user_gets_a_certificate_that_names_it_and_no_host(tmp_path: Path) -> None:
    outcome = issue(clients(tmp_path), "sales__alice", 90, tmp_path / "out")
    found = own(tmp_path, "sales__alice")
    assert found.subject.rfc4514_string() == "CN=sales__alice"
    assert timedelta(days=90) <= found.not_valid_after_utc - found.not_valid_before_utc <= timedelta(days=90, hours=1)
    assert list(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH
    ]
    with pytest.raises(x509.ExtensionNotFound):
        found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert outcome.serial == f"{found.serial_number:X}".zfill(len(outcome.serial))
    assert revoked(tmp_path) == set()


def test_a_host_s_certificate_is_no_client_s_and_a_client_s_no_host_s(tmp_path: Path) -> None:
    ensure(Plan(tmp_path, {"alice": ["alice"]}, "store-password-1"))
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    host = certificate(tmp_path / "hosts/alice/host.pem")
    of_hosts = PolicyBuilder().store(Store([certificate(tmp_path / "authority.pem")]))
    of_clients = PolicyBuilder().store(Store([certificate(tmp_path / "clients/authority.pem")]))
    of_hosts.build_server_verifier(x509.DNSName("alice")).verify(host, [])
    with pytest.raises(VerificationError):
        of_clients.build_client_verifier().verify(host, [])
    for policy in (of_hosts, of_clients):
        with pytest.raises(VerificationError):
            policy.build_server_verifier(x509.DNSName("alice")).verify(own(tmp_path), [])


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    before = contents(tmp_path)
    assert not issue(clients(tmp_path), "alice", 90, tmp_path / "out").changed
    assert not prepare(clients(tmp_path)).changed
    assert contents(tmp_path) == before


def test_all_files_can_be_read_by_their_user_only(tmp_path: Path) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    places = [tmp_path / "clients", tmp_path / "out"]
    found = [*places, *(path for place in places for path in place.rglob("*") if path.name != ".lock")]
    assert {path.stat().st_mode & 0o077 for path in found} == {0}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"alice.{one}" for one in ("pem", "key", "p12", "password")
    }


def test_a_directory_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o755)
    with pytest.raises(TlsError, match=r"Others than its user can enter .*/out \(output\): chmod 700"):
        issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_jvm_and_python_read_what_a_program_gets(tmp_path: Path) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    password = (tmp_path / "out/alice.password").read_text().strip()
    store = ["-storetype", "PKCS12", "-keystore", str(tmp_path / "out/alice.p12"), "-storepass:env", "PASSWORD"]
    environment = {**os.environ, "PASSWORD": password}
    listed = subprocess.run(["keytool", "-list", *store], env=environment, capture_output=True, text=True, check=False)
    assert "alice" in listed.stdout, listed.stderr
    assert "PrivateKeyEntry" in listed.stdout
    ssl.create_default_context().load_cert_chain(tmp_path / "out/alice.pem", tmp_path / "out/alice.key")


@pytest.mark.parametrize(("passed", "renewed"), [(50, False), (61, True), (91, True)])
def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(tmp_path: Path, passed: int, renewed: bool) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    before = own(tmp_path)
    outcome = issue(clients(tmp_path), "alice", 90, tmp_path / "out", now=days_later(passed))
    assert (own(tmp_path) != before) is renewed
    assert outcome.issued == (f"it ends on {before.not_valid_after_utc:%Y-%m-%d}" if renewed else "")


def test_files_that_were_handed_over_and_deleted_are_no_longer_known(tmp_path: Path) -> None:
    first = issue(clients(tmp_path), "alice", 90, tmp_path / "out").serial
    for path in (tmp_path / "out").iterdir():
        path.unlink()
    second = issue(clients(tmp_path), "alice", 90, tmp_path / "out").serial
    assert first != second
    # The person leaves: each of them ends.
    assert set(revoke(clients(tmp_path), "alice").revoked) == {first, second}


def test_a_revoked_certificate_is_on_the_next_list_and_stays_there(tmp_path: Path) -> None:
    for user in ("alice", "bob", "sales__alice"):
        issue(clients(tmp_path), user, 90, tmp_path / "out")
    before = number(tmp_path)
    revoke(clients(tmp_path), "alice")
    assert (revoked(tmp_path), number(tmp_path)) == ({own(tmp_path).serial_number}, before + 1)
    revoke(clients(tmp_path), "bob")
    assert revoked(tmp_path) == {own(tmp_path).serial_number, own(tmp_path, "bob").serial_number}
    assert not revoke(clients(tmp_path), "alice").changed


def test_a_user_gets_another_certificate_after_the_first_was_revoked(tmp_path: Path) -> None:
    old = issue(clients(tmp_path), "alice", 90, tmp_path / "out").serial
    revoke(clients(tmp_path), "alice")
    outcome = issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    assert (outcome.issued, outcome.serial != old) == ("it is revoked", True)
    assert own(tmp_path).serial_number not in revoked(tmp_path)


def test_one_certificate_is_revoked_by_its_number(tmp_path: Path) -> None:
    first = issue(clients(tmp_path), "alice", 90, tmp_path / "out").serial
    second = issue(clients(tmp_path), "alice", 90, tmp_path / "out2").serial
    assert revoke(clients(tmp_path), "alice", second).revoked == [second]
    # One whose copy is lost too, as openssl prints it.
    assert revoke(clients(tmp_path), serial="0a:0B:0c").revoked == ["0A0B0C"]
    assert revoked(tmp_path) == {int(second, 16), 0x0A0B0C}
    with pytest.raises(TlsError, match=rf"alice has no client certificate 0A0B0C\. There are: .*{first}"):
        revoke(clients(tmp_path), "alice", "0a0b0c")


@pytest.mark.parametrize("serial", ["alice", "-1", "0", "1" * 60])
def test_a_number_that_is_none_is_refused(tmp_path: Path, serial: str) -> None:
    prepare(clients(tmp_path))
    with pytest.raises(TlsError, match=r"\(serial\) is no serial number"):
        revoke(clients(tmp_path), serial=serial)


@pytest.mark.parametrize("user", ["alice@example.org", "Alice", "sales__", "a__b__c", "alice/admin", "", "x" * 33])
def test_a_name_that_no_one_logs_in_by_is_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(TlsError, match="is neither an account nor <project>__<account>") as refused:
        issue(clients(tmp_path), user, 90, tmp_path / "out")
    assert repr(user) in str(refused.value)
    assert not (tmp_path / "clients").exists()


@pytest.mark.parametrize("user", ["hive", "sales__hdfs"])
def test_no_program_is_a_service(tmp_path: Path, user: str) -> None:
    with pytest.raises(TlsError, match="is that of a service"):
        issue(clients(tmp_path), user, 90, tmp_path / "out")


def test_a_user_without_a_certificate_is_named_with_those_that_have_one(tmp_path: Path) -> None:
    with pytest.raises(TlsError, match="No client certificate was issued: there is no authority"):
        revoke(clients(tmp_path), "alice")
    issue(clients(tmp_path), "sales__alice", 90, tmp_path / "out")
    with pytest.raises(TlsError, match=r"alice has no client certificate\. .* issued for: sales__alice\."):
        revoke(clients(tmp_path), "alice")


@pytest.mark.parametrize(("passed", "renewed"), [(200, False), (244, True), (400, True)])
def test_a_list_is_followed_by_the_next_before_it_ends(tmp_path: Path, passed: int, renewed: bool) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    revoke(clients(tmp_path), "alice")
    before, end = number(tmp_path), revocation_list(tmp_path).next_update_utc
    outcome = prepare(clients(tmp_path), now=days_later(passed))
    assert outcome.revocation_list == (f"it ends on {end:%Y-%m-%d}" if renewed else "")
    assert number(tmp_path) == before + renewed
    assert revoked(tmp_path) == {own(tmp_path).serial_number}


@pytest.mark.parametrize("damage", ["lost", "no list", "of another authority"])
def test_a_list_that_is_lost_has_no_other_one_in_its_place(tmp_path: Path, damage: str) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    revoke(clients(tmp_path), "alice")
    path = tmp_path / "clients/revoked.pem"
    if damage == "lost":
        path.unlink()
    elif damage == "no list":
        path.write_text("-----BEGIN X509 CRL-----\nhalf a li")
    else:
        prepare(clients(tmp_path / "other"))
        path.write_bytes((tmp_path / "other/clients/revoked.pem").read_bytes())
    before = contents(tmp_path)
    with pytest.raises(TlsError, match=r"Bring it back from the backup"):
        prepare(clients(tmp_path))
    assert contents(tmp_path) == before


def test_another_authority_has_a_list_of_its_own_and_none_of_the_former_certificates(tmp_path: Path) -> None:
    issue(clients(tmp_path), "alice", 90, tmp_path / "out")
    for name in ("authority.pem", "authority.key"):
        (tmp_path / "clients" / name).unlink()
    assert prepare(clients(tmp_path)).authority == "made"
    assert revoked(tmp_path) == set()
    with pytest.raises(TlsError, match="issued for: no user"):
        revoke(clients(tmp_path), "alice")
    assert issue(clients(tmp_path), "alice", 90, tmp_path / "out").issued == "another authority signed it"


def test_the_authority_key_has_the_passphrase_and_wants_it(tmp_path: Path) -> None:
    prepare(clients(tmp_path, passphrase=PASSPHRASE))
    assert b"ENCRYPTED" in (tmp_path / "clients/authority.key").read_bytes()
    with pytest.raises(TlsError, match="cluster_tls_authority_passphrase is not the passphrase") as refused:
        issue(clients(tmp_path, passphrase="a wrong one"), "alice", 90, tmp_path / "out")
    assert "a wrong one" not in str(refused.value)


# --- the module -------------------------------------------------------------------------------------------------------


def run(directory: Path, *, check: bool = False, **arguments: Any) -> dict[str, Any]:
    given = {"directory": str(directory / "clients"), "authority_passphrase": PASSPHRASE, **arguments}
    return run_module("hopshive_client_certificate", given, check=check)


def test_check_mode_foretells_and_writes_nothing(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"user": "alice", "output": str(tmp_path / "out")}
    foretold = run(tmp_path, check=True, **arguments)
    assert (foretold["changed"], foretold["issued"], foretold["authority"]) == (True, "there is none", "made")
    assert list(tmp_path.iterdir()) == []
    assert run(tmp_path, **arguments)["changed"]
    before = contents(tmp_path)
    assert not run(tmp_path, check=True, **arguments)["changed"]
    assert run(tmp_path, check=True, state="revoked", user="alice")["revoked"] == [run(tmp_path, **arguments)["serial"]]
    assert contents(tmp_path) == before


def test_a_diff_has_no_secret(tmp_path: Path) -> None:
    results = [
        run(tmp_path, user="alice", output=str(tmp_path / "out"), days=30),
        run(tmp_path, state="revoked", user="alice"),
    ]
    serial = results[0]["serial"]
    assert results[0]["diff"]["after"]["alice"]["serial"] == serial
    assert results[1]["diff"]["before"]["list"]["revoked"] == []
    assert results[1]["diff"]["after"]["list"]["revoked"] == [serial]
    text = json.dumps(results)
    assert "PRIVATE" not in text
    assert PASSPHRASE not in text
    assert (tmp_path / "out/alice.password").read_text().strip() not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"user": "alice"}, "state is present but all of the following are missing: output"),
        ({"state": "revoked"}, "neither user nor serial says which certificate"),
        ({"user": "a@b", "output": "out"}, "'a@b' is neither an account"),
        ({"user": "alice", "output": "out", "days": 0}, "good for one day at least, not for 0 (days)"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    result = run(tmp_path, **arguments)
    assert result["failed"]
    assert message in result["msg"]
