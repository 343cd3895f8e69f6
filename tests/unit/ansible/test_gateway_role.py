"""What the role gateway writes: a configuration without secrets, a unit without rights, a script that shells accept."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.gateway_site import ROLE, TEMPLATES, render
from tests.support.login_site import GATEWAY
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GROUPS = {"server2": ["edge1", "edge2"], "login": ["edge1", "edge3"], "gateway": ["gate"]}


def written(
    directory: Path, variables: Mapping[str, Any] | None = None, addresses: Mapping[str, str] | None = None
) -> dict[str, str]:
    render(directory, GROUPS, variables, addresses)
    return {name: (directory / name).read_text() for name in (*TEMPLATES, "secret.conf")}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return written(tmp_path_factory.mktemp("role"))


@pytest.fixture(scope="module")
def with_tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    variables = {"cluster_tls": "bundle", "gateway_revocation_list": "", "gateway_token_seconds": 0}
    return written(tmp_path_factory.mktemp("tls"), variables, {"edge3": "192.0.2.3"})


def directives(text: str, name: str) -> list[str]:
    return re.findall(rf"^\s*{name}\s+(.*);$", text, re.MULTILINE)


def test_client_certificates_are_wanted_and_checked_against_a_list(texts: dict[str, str]) -> None:
    text = texts["nginx.conf"]
    assert directives(text, "ssl_verify_client") == ["on"]
    assert directives(text, "ssl_crl") == ["/etc/hopshive-gateway/tls/revoked.pem"]
    assert directives(text, "ssl_protocols") == ["TLSv1.2 TLSv1.3"]
    assert (directives(text, "ssl_session_cache"), directives(text, "ssl_session_tickets")) == (["off"], ["off"])
    # One port is open: the others are sockets in a directory of the service.
    ports = [one for one in directives(text, "listen") if not one.startswith("unix:/run/hopshive-gateway/")]
    assert ports == ["10443 ssl"]


def test_every_host_behind_is_verified_by_its_own_name(texts: dict[str, str], with_tls: dict[str, str]) -> None:
    assert sorted(directives(texts["nginx.conf"], "proxy_ssl_name")) == ["edge1", "edge3"]
    text = with_tls["nginx.conf"]
    assert sorted(directives(text, "proxy_ssl_name")) == ["edge1", "edge1", "edge2", "edge3"]
    assert set(directives(text, "proxy_ssl_verify")) == {"on"}
    assert set(directives(text, "proxy_ssl_trusted_certificate")) == {"/etc/hopshive-tls/authority.pem"}
    assert len(re.findall("proxy_pass https://host_", text)) == 4
    # nginx compares no addresses: it asks at the address, and verifies the name.
    assert "host login-" in with_tls["refresh"]
    assert re.search(r"^host login-\w+ 192\.0\.2\.3 9443$", with_tls["refresh"], re.MULTILINE)
    assert set(directives(texts["nginx.conf"], "proxy_ssl_trusted_certificate")) == {
        "/etc/ssl/certs/ca-certificates.crt"
    }


def test_with_tls_a_gateway_has_the_certificate_of_its_host(texts: dict[str, str], with_tls: dict[str, str]) -> None:
    names = ("ssl_certificate", "ssl_certificate_key")
    own = [["/etc/hopshive-gateway/tls/certificate.pem"], ["/etc/hopshive-gateway/tls/key.pem"]]
    assert [directives(texts["nginx.conf"], name) for name in names] == own
    host = [["/etc/hopshive-tls/host.pem"], ["/etc/hopshive-tls/host.key"]]
    assert [directives(with_tls["nginx.conf"], name) for name in names] == host


def test_with_tls_the_units_may_read_the_key_of_the_host(texts: dict[str, str], with_tls: dict[str, str]) -> None:
    for unit in ("unit.service", "refresh.service"):
        assert "SupplementaryGroups=hopshive-tls\n" in with_tls[unit]
        assert "SupplementaryGroups" not in texts[unit]
    # A process keeps the groups that it started with.
    tasks = {task["name"]: task for task in yaml.safe_load((ROLE / "tasks/config.yml").read_text())}
    assert "Restart the process of the gateway" in tasks["Write the unit of the gateway"]["notify"]


@pytest.mark.parametrize(
    ("variables", "sources"),
    [
        ({"cluster_tls": "bundle"}, ("/srv/tls/clients/authority.pem", "/srv/tls/clients/revoked.pem")),
        # The list of another authority would refuse all of the site's certificates.
        ({"cluster_tls": "bundle", "gateway_client_authority_source": "/srv/site.pem"}, ("/srv/site.pem", "")),
        ({"cluster_tls": "bundle", "gateway_client_authority_source": ""}, ("", "")),
        ({"cluster_tls": "site"}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_with_the_bundle_s_tls_it_takes_the_warehouse_s_authority_of_clients(
    tmp_path: Path, variables: dict[str, str], sources: tuple[str, str]
) -> None:
    found = templated(tmp_path, {"cluster_tls_authority_dir": "/srv/tls", **variables})
    assert tuple(found) == sources


def templated(directory: Path, variables: Mapping[str, str]) -> list[str]:
    names = ("gateway_client_authority_source", "gateway_revocation_list_source")
    files = [
        str(ROOT / f"roles/{role}/{place}/main.yml")
        for place in ("defaults", "vars")
        for role in ("cluster", "gateway")
    ]
    copy = {"dest": str(directory / "found.json"), "content": json.dumps([f"{{{{ {name} }}}}" for name in names])}
    play = {"hosts": "localhost", "gather_facts": False, "vars_files": files, "tasks": [{"ansible.builtin.copy": copy}]}
    (directory / "play.yml").write_text(json.dumps([play]))
    argv = ["ansible-playbook", str(directory / "play.yml"), "-e", json.dumps(variables)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[str] = json.loads((directory / "found.json").read_text())
    return found


def test_a_list_and_a_cache_can_be_left_out(with_tls: dict[str, str]) -> None:
    assert directives(with_tls["nginx.conf"], "ssl_crl") == []
    assert directives(with_tls["nginx.conf"], "proxy_cache") == []
    assert "revoked.pem" not in with_tls["refresh.path"] + with_tls["refresh"]


def test_the_secret_is_in_one_file_that_tasks_do_not_show(texts: dict[str, str]) -> None:
    encoded = base64.b64encode(f"gateway:{GATEWAY}".encode()).decode()
    assert [name for name, text in texts.items() if GATEWAY in text or encoded in text] == ["secret.conf"]
    hidden = [task["name"] for task in yaml.safe_load((ROLE / "tasks/config.yml").read_text()) if task.get("no_log")]
    assert hidden == ["Write the secret of the gateway", "Copy the key of the gateway's certificate"]


def test_the_units_have_no_more_rights_than_the_cleaners(texts: dict[str, str]) -> None:
    text = (ROOT / "roles/cleaner/templates/unit.service.j2").read_text()
    rights = text[text.index("NoNewPrivileges") : text.index("[Install]")].strip()
    for unit in ("unit.service", "refresh.service"):
        assert rights in texts[unit]
        assert "User=hopshive-gateway\nGroup=hopshive-gateway\n" in texts[unit]


def test_a_list_is_watched_and_looked_at_within_half_a_minute(texts: dict[str, str]) -> None:
    assert "PathChanged=/etc/hopshive-gateway/tls/revoked.pem\n" in texts["refresh.path"]
    assert "OnUnitInactiveSec=30s\n" in texts["refresh.timer"]
    # They run when the gateway does.
    assert (
        "Wants=network-online.target hopshive-gateway-refresh.path hopshive-gateway-refresh.timer\n"
        in texts["unit.service"]
    )
    for unit in ("refresh.timer", "refresh.path"):
        assert "PartOf=hopshive-gateway.service\n" in texts[unit]


def test_the_script_reads_all_that_nginx_reads(texts: dict[str, str], with_tls: dict[str, str], tmp_path: Path) -> None:
    for text in (texts, with_tls):
        (found,) = re.findall(r"^found=\$\(cat (.*) \"\$run\"", text["refresh"], re.MULTILINE)
        read = set(re.findall(r"(?<=\s)(/etc/\S+?);", text["nginx.conf"])) - {"/etc/ssl/certs/ca-certificates.crt"}
        assert {*found.split()} == {*read, "/etc/hopshive-gateway/nginx.conf"}
    script = tmp_path / "refresh"
    script.write_text(texts["refresh"])
    subprocess.run(["sh", "-n", str(script)], check=True)


def test_the_same_host_is_the_same_peer_at_each_gateway(texts: dict[str, str], tmp_path: Path) -> None:
    """Both gateways lead a client to the same HiveServer2, and a host more moves few clients."""
    render(tmp_path, {**GROUPS, "server2": ["edge9", "edge2", "edge1"]})
    other = (tmp_path / "nginx.conf").read_text()

    def peers(text: str) -> set[str]:
        pool = text[text.index("upstream server2 {") :]
        return set(re.findall(r"server (unix:\S+)", pool[: pool.index("}")]))

    assert peers(texts["nginx.conf"]) < peers(other)


def test_every_cookie_leads_to_a_pool_that_is_there(texts: dict[str, str]) -> None:
    text = texts["nginx.conf"]
    cookies = set(re.findall(r"hopshive_server2=(\w+);", text))
    assert len(cookies) == 2
    assert {f"server2_{one}" for one in cookies} == set(
        re.findall(r"^    upstream (server2_\w+) \{", text, re.MULTILINE)
    )
