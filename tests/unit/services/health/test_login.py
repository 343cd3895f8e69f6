"""Whether a login service or a gateway answers, over HTTPS that is verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hopshive.services.health import NoAnswer, Target, WrongAnswer
from hopshive.services.health.daemon import ask_gateway, ask_login
from tests.support.login_platform import Handler, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.authority import Authority


class Service:
    """Pages that a test writes: status and text."""

    url = ""

    def __init__(self) -> None:
        self.pages = {"/healthz": (200, "alive"), "/.well-known/jwks.json": (200, json.dumps({"keys": [{}, {}]}))}

    def get(self, handler: Handler) -> None:
        """Answer a page."""
        status, text = self.pages[handler.path]
        handler.answer(status, text.encode(), {"Content-Type": "text/plain; charset=utf-8"})

    def post(self, handler: Handler, _: bytes) -> None:
        """Nothing is posted."""
        self.get(handler)


@pytest.fixture
def service(authority: Authority) -> Iterator[Service]:
    found = Service()
    with served(found, authority.issue("login", "localhost")):
        yield found


def target(service: Service, authority: str) -> Target:
    return Target("login", "localhost", int(service.url.rpartition(":")[2]), authority=authority)


def test_it_says_how_many_keys_verify(service: Service, authority: Authority) -> None:
    assert ask_login(target(service, str(authority.path)), 5) == {"keys": 2}


def test_its_reason_is_passed_on(service: Service, authority: Authority) -> None:
    service.pages["/healthz"] = (503, "The database does not answer.\nNor does the platform.\n")
    with pytest.raises(NoAnswer, match=r"/healthz answered 503 Service Unavailable: The database does not answer\.$"):
        ask_login(target(service, str(authority.path)), 5)


def test_another_service_is_told_apart(service: Service, authority: Authority) -> None:
    for text in ("<html>", "[]", "{}"):
        service.pages["/.well-known/jwks.json"] = (200, text)
        with pytest.raises(WrongAnswer, match="something else listens there"):
            ask_login(target(service, str(authority.path)), 5)


def test_a_certificate_of_another_authority_is_refused(service: Service, tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match=r"its certificate is refused: .* \(authority: the system\)"):
        ask_login(target(service, ""), 5)
    with pytest.raises(WrongAnswer, match=r"ca\.pem is no file of certificates: no such file"):
        ask_login(target(service, str(tmp_path / "ca.pem")), 5)


def test_a_gateway_refuses_who_has_no_certificate(service: Service, authority: Authority) -> None:
    service.pages["/"] = (401, json.dumps({"error": "certificate", "message": "The gateway wants one."}))
    assert ask_gateway(target(service, str(authority.path)), 5) == {}


def test_another_service_is_no_gateway(service: Service, authority: Authority) -> None:
    for text in ("<html>", "[]", "{}", '{"error": "refused"}'):
        service.pages["/"] = (401, text)
        with pytest.raises(WrongAnswer, match="does not ask for a client certificate"):
            ask_gateway(target(service, str(authority.path)), 5)
    # It would let anyone in.
    service.pages["/"] = (200, "welcome")
    with pytest.raises(NoAnswer, match="answered 200"):
        ask_gateway(target(service, str(authority.path)), 5)
