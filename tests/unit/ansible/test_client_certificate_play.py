"""playbooks/client_certificate.yml in an inventory whose gateways are not set up yet: what it makes, and what it refuses."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import yaml
from cryptography import x509

from tests.support.servers import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Site:
    """An inventory with one gateway, and where its authorities lie."""

    directory: Path
    groups: tuple[str, ...] = ("gateway", "server2")

    def play(self, *arguments: str, tls: str = "bundle") -> tuple[int, str]:
        """The exit code and the output of a run."""
        inventory = {
            "hopshive": {
                "children": {name: {"hosts": {"gate1": {}}} for name in self.groups},
                "vars": {
                    "ansible_connection": "local",
                    "cluster_tls": tls,
                    "cluster_tls_authority_dir": str(self.directory / "tls"),
                    "gateway_revocation_list": str(self.directory / "not-set-up/revoked.pem"),
                },
            }
        }
        (self.directory / "hosts.yml").write_text(yaml.safe_dump(inventory))
        argv = ["ansible-playbook", "-i", str(self.directory / "hosts.yml"), "playbooks/client_certificate.yml"]
        done = subprocess.run([*argv, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def revoked(self) -> set[int]:
        found = x509.load_pem_x509_crl((self.directory / "tls/clients/revoked.pem").read_bytes())
        return {one.serial_number for one in found}


def test_a_certificate_is_issued_and_revoked(tmp_path: Path) -> None:
    site = Site(tmp_path)
    out = tmp_path / "out"
    code, output = site.play("-e", "user=sales__alice", "-e", "days=90", "-e", f"directory={out}")
    assert code == 0, output
    assert "[WARNING]" not in output
    assert out.stat().st_mode & 0o777 == 0o700
    found = x509.load_pem_x509_certificate((out / "sales__alice.pem").read_bytes())
    assert f"sales__alice has the certificate {found.serial_number:040X}, until" in output
    assert (out / "sales__alice.password").read_text().strip() not in output
    code, output = site.play("-e", "user=sales__alice", "-e", "state=revoked")
    assert code == 0, output
    assert f"Revoked by this run: {found.serial_number:040X}" in output
    assert site.revoked() == {found.serial_number}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Name an account or a project's user: -e user=alice"),
        (("-e", "user=alice@example.org"), "'alice@example.org' is neither an account nor <project>__<account>"),
        (("-e", "user=alice", "-e", "state=absent"), "state is absent: leave it out"),
        (("-e", "user=alice", "-e", "directory=out"), "directory is out: give an absolute path"),
        (("-e", "user=alice", "-e", "state=revoked"), "No client certificate was issued"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    code, output = Site(tmp_path).play(*arguments)
    assert (code, message in output) == (2, True), output
    assert not (tmp_path / "tls/clients").exists()


def test_an_authority_of_the_site_signs_its_own(tmp_path: Path) -> None:
    code, output = Site(tmp_path).play("-e", "user=alice", tls="none")
    assert (code, "Client certificates are not those of the warehouse: cluster_tls is none" in output) == (2, True), (
        output
    )


def test_without_a_gateway_it_says_so(tmp_path: Path) -> None:
    code, output = Site(tmp_path, ("server2",)).play("-e", "user=alice")
    assert (code, "The group gateway has no host" in output) == (2, True), output
