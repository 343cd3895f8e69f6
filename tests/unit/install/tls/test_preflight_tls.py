"""What preflight refuses about TLS, with files as an operator has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hopshive.install.preflight.host import questions
from hopshive.install.preflight.inventory import HostVariables, Inventory
from hopshive.install.preflight.tls import check_tls
from hopshive.install.tls.hosts import Plan, ensure
from tests.support.authority import Authority

if TYPE_CHECKING:
    from pathlib import Path


def errors(given: dict[str, dict[str, Any]], now: datetime | None = None) -> list[str]:
    hosts = {host: HostVariables({"cluster_address": host, **values}) for host, values in given.items()}
    return [problem.text for problem in check_tls(Inventory({"hopshive": tuple(hosts)}, (), hosts), now)]


def site(directory: Path, *names: str) -> dict[str, Any]:
    # A certificate of this authority lasts for a day, and so does the authority.
    authority = Authority(directory)
    pair = authority.issue("edge", *names)
    paths = {"certificate": pair.certificate, "key": pair.key, "authority": authority.path}
    return {"cluster_tls": "site", **{f"cluster_tls_{name}": str(path) for name, path in paths.items()}}


def bundle(directory: Path, days: int) -> dict[str, Any]:
    ensure(Plan(directory, {"edge": ["edge"]}, "store-password-1", authority_days=days))
    return {"cluster_tls": "bundle", "cluster_tls_authority_dir": str(directory)}


def test_without_tls_no_file_is_asked_for() -> None:
    assert errors({"edge": {"cluster_tls": "none"}, "master": {}}) == []


def test_the_site_names_all_three_files() -> None:
    assert errors({"edge": {"cluster_tls": "site", "cluster_tls_key": "/k"}}) == [
        "cluster_tls is site, but cluster_tls_certificate and cluster_tls_authority is not set (for host edge): name the PEM file"
        " on the controller"
    ]


def test_a_file_that_is_not_there_is_named_with_its_variable_and_host(tmp_path: Path) -> None:
    given = {**site(tmp_path, "edge"), "cluster_tls_key": f"{tmp_path}/none.key"}
    assert errors({"edge": given}) == [
        f"{tmp_path}/none.key (cluster_tls_key of edge) cannot be read: No such file or directory"
    ]


def test_a_certificate_that_does_not_name_its_host_is_refused(tmp_path: Path) -> None:
    given = {**site(tmp_path, "edge"), "ansible_host": "192.0.2.7", "cluster_tls_names": ["hive.example.org"]}
    found = errors({"edge": given})
    assert found[0] == (
        f"The certificate {tmp_path}/edge.pem (cluster_tls_certificate) of edge is not for 192.0.2.7, hive.example.org"
    )


def test_an_authority_that_ends_within_thirty_days_is_named_with_its_date(tmp_path: Path) -> None:
    (found,) = errors({"edge": site(tmp_path, "edge")})
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}"
    assert found == (
        f"The authority {tmp_path}/authority.pem (cluster_tls_authority) of host edge ends on {tomorrow}:"
        " add the next one to the file before"
    )


def test_the_bundles_own_authority_has_more_than_thirty_days(tmp_path: Path) -> None:
    given = {"edge": bundle(tmp_path, 60)}
    assert errors(given) == []
    (found,) = errors(given, datetime.now(UTC) + timedelta(days=31))
    end = f"{datetime.now(UTC) + timedelta(days=60):%Y-%m-%d}"
    assert found.startswith(f"The authority {tmp_path}/authority.pem ends on {end} (for host edge)")


def test_before_the_first_run_there_is_no_authority_to_ask(tmp_path: Path) -> None:
    assert errors({"edge": {"cluster_tls": "bundle", "cluster_tls_authority_dir": f"{tmp_path}/none"}}) == []


def test_a_short_password_of_the_stores_is_refused_and_not_shown(tmp_path: Path) -> None:
    given = {**bundle(tmp_path, 3650), "cluster_tls_store_password": "abc9"}
    assert errors({"edge": given}) == ["cluster_tls_store_password has fewer than 6 characters (for host edge)"]


def test_with_tls_the_hosts_are_asked_for_the_group_of_the_keys() -> None:
    values = {"cluster_tls_group": {"name": "hopshive-tls", "gid": 1521}, "cluster_tls": "bundle"}
    for kind, there in (("bundle", True), ("none", False)):
        hosts = {"edge": HostVariables({**values, "cluster_tls": kind})}
        groups = questions(Inventory({"hopshive": ("edge",)}, (), hosts), "edge")["groups"]
        assert ("hopshive-tls" in groups) is there  # type: ignore[operator]


def test_an_authority_that_is_being_replaced_may_end(tmp_path: Path) -> None:
    lasting = tmp_path / "lasting"
    ensure(Plan(lasting, {"edge": ["edge"]}, "store-password-1"))
    both = tmp_path / "both.pem"
    both.write_bytes(Authority(tmp_path / "old").path.read_bytes() + (lasting / "authority.pem").read_bytes())
    files = lasting / "hosts/edge"
    paths = {"certificate": files / "host.pem", "key": files / "host.key", "authority": both}
    given = {"cluster_tls": "site", **{f"cluster_tls_{name}": str(path) for name, path in paths.items()}}
    assert errors({"edge": given}) == []
