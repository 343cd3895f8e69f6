"""nginx as the docstring of hopshive.tenancy.login.gateway has it: what a client with a certificate gets to see."""

from __future__ import annotations

import base64
import json
import os
import shutil
import ssl
import textwrap
from dataclasses import dataclass
from functools import partial
from http.client import HTTPSConnection
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.tenancy.login import gateway
from tests.support.login_platform import Handler, served
from tests.support.login_site import GATEWAY, LoginSite, Replica
from tests.support.servers import free_port, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.authority import Pair

CONF = """
daemon off;
{user}
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  upstream login {{ server 127.0.0.1:{ports[0]} max_fails=0; server 127.0.0.1:{ports[1]} max_fails=0; }}
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {pair.certificate};
    ssl_certificate_key {pair.key};
    ssl_client_certificate {authority};
    ssl_verify_client on;
    location / {{
      # A subrequest has no arguments.
      set $login_database $arg_database;
{block}
      auth_request_set $login_token $upstream_http_x_hopshive_token;
      proxy_set_header Authorization "Bearer $login_token";
      proxy_pass {upstream};
      proxy_ssl_trusted_certificate {authority};
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
    }}
    location = /session {{
      internal;
      proxy_pass https://login/v1/session;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header Authorization "Basic {secret}";
      proxy_set_header X-Hopshive-Subject $ssl_client_s_dn;
      proxy_set_header X-Hopshive-Database $login_database;
      proxy_next_upstream error timeout;
      proxy_ssl_trusted_certificate {authority};
      proxy_ssl_verify on;
      proxy_ssl_name localhost;
    }}
{named}
  }}
}}
"""


class Upstream:
    """In place of a HiveServer2: says what it was sent."""

    url = ""
    status = 200

    def get(self, handler: Handler) -> None:
        """Answer with the header that nginx set."""
        handler.answer(self.status, handler.headers.get("Authorization", "").encode(), {})

    def post(self, handler: Handler, _: bytes) -> None:
        """The same."""
        self.get(handler)


@dataclass
class World:
    """A gateway before a replica of the login service; the address of another replica leads nowhere."""

    site: LoginSite
    replica: Replica
    upstream: Upstream
    port: int

    def ask(self, pair: Pair, path: str = "/") -> tuple[int, dict[str, str], bytes]:
        """What a client with this certificate is answered."""
        context = ssl.create_default_context(cafile=self.site.authority.path)
        context.load_cert_chain(pair.certificate, pair.key)
        connection = HTTPSConnection("localhost", self.port, timeout=30, context=context)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()


@pytest.fixture
def world(login_site: LoginSite, tmp_path: Path) -> Iterator[World]:
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not nginx:
        pytest.skip("no nginx: apt-get install nginx-light")
    login_site.more["limits"] = {"refusal_seconds": 0}
    directory = tmp_path / "nginx"
    directory.mkdir()
    block, named = _documented()
    upstream, port = Upstream(), free_port()
    pair = login_site.authority.issue("hiveserver2", "localhost")
    with login_site.replica("one") as replica, served(upstream, pair):
        text = CONF.format(
            directory=directory,
            user="user root;" if os.geteuid() == 0 else "",
            # The first one is never there.
            ports=(free_port(), replica.port),
            port=port,
            pair=login_site.authority.issue("gateway", "localhost"),
            authority=login_site.authority.path,
            block=block,
            named=named,
            upstream=upstream.url,
            secret=base64.b64encode(f"gateway:{GATEWAY}".encode()).decode(),
        )
        (directory / "nginx.conf").write_text(text)
        log = directory / "output"
        argv = [nginx, "-p", str(directory), "-e", str(directory / "nginx.log"), "-c", str(directory / "nginx.conf")]
        wait_until(replica.healthy, "the replica", replica.log)
        with running(argv, log, {}) as process:
            made = World(login_site, replica, upstream, port)
            wait_until(partial(answers, made), "nginx", log)
            yield made
            process.terminate()
            process.wait(15)


def _documented() -> tuple[str, str]:
    """The lines of the module's docstring: of a location, and the named location with its brace."""
    text = str(gateway.__doc__)
    lines = text[text.index("  auth_request ") : text.index("No header stands")]
    block, mark, named = lines.partition("  location @login {")
    return textwrap.indent(textwrap.dedent(block), " " * 6), mark + named


def alice(world: World) -> Pair:
    return world.site.authority.issue("alice", "alice")


def answers(world: World) -> bool:
    try:
        return world.ask(alice(world))[0] == 200
    except OSError:
        return False


def said(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, dict[str, Any]]:
    status, headers, body = answer
    assert headers["content-type"] == "application/json"
    return status, json.loads(body)


def test_a_member_reaches_the_server_with_a_token(world: World) -> None:
    world.site.join("sales", "alice")
    status, _, body = world.ask(alice(world), "/?database=sales")
    assert status == 200
    token = body.decode().removeprefix("Bearer ")
    assert world.replica.login("", token).json["user"] == "sales__alice"


def test_refusals_keep_status_and_sentence(world: World) -> None:
    status, found = said(world.ask(alice(world), "/?database=hr"))
    assert (status, found["error"]) == (403, "not_a_member")
    assert "alice is not a member of the project hr" in found["message"]
    status, found = said(world.ask(world.site.authority.issue("nobody@example.org", "x")))
    assert (status, found) == (401, {"error": "refused", "message": "The certificate names no user."})


def test_a_limit_is_no_error_of_the_gateway(world: World) -> None:
    """Here of the gateway itself, whose secret is wrong: it was changed at the service alone."""
    conf = world.site.directory / "nginx/nginx.conf"
    wrong = base64.b64encode(b"gateway:wrong").decode()
    right = base64.b64encode(f"gateway:{GATEWAY}".encode()).decode()
    conf.write_text(conf.read_text().replace(right, wrong))
    os.kill(int((world.site.directory / "nginx/nginx.pid").read_text()), 1)
    seen: list[int] = []
    while 429 not in seen:
        answer = world.ask(alice(world))
        seen.append(answer[0])
        assert len(seen) < 500
    status, found = said(answer)
    assert (status, found["error"]) == (429, "limited")
    assert 1 <= int(answer[1]["retry-after"]) <= 300
    assert set(seen) <= {200, 401, 429}


def test_a_database_that_is_away_is_a_503_with_its_sentence(world: World) -> None:
    world.site.execute("RENAME TABLE {state}.project_member TO {state}.away")
    try:
        status, found = said(world.ask(alice(world), "/?database=sales"))
    finally:
        world.site.execute("RENAME TABLE {state}.away TO {state}.project_member")
    assert (status, found["error"]) == (503, "unavailable")
    assert found["message"] == "The database of the login service cannot be asked now: try again later."
    assert world.ask(alice(world))[0] == 200


def test_no_login_service_is_a_503_too(world: World) -> None:
    world.replica.process.kill()
    world.replica.process.wait()
    found = said(world.ask(alice(world)))
    assert found == (503, {"error": "unavailable", "message": "The login service does not answer."})


def test_errors_of_the_server_itself_pass(world: World) -> None:
    for status in (401, 403, 500, 503):
        world.upstream.status = status
        answer = world.ask(alice(world))
        assert answer[0] == status
        assert answer[2].startswith(b"Bearer ")
