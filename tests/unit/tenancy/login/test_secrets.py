"""No secret leaves the service: not in logs, errors, pages, representations, arguments or the environment of its process."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyotp
import pytest

from hopshive.database import Server
from hopshive.tenancy.login import keys
from hopshive.tenancy.login.backends.base import Credentials, Person
from hopshive.tenancy.login.backends.people import PeopleFile
from hopshive.tenancy.login.service import Asked, Granted
from tests.support.login_directory import ADMIN, ADMIN_PASSWORD, BASE, run_slapd
from tests.support.login_issuer import AUDIENCE, Issuer
from tests.support.login_platform import Platform, served
from tests.support.login_site import ALICE, GATEWAY, PASSWORD, SEAL, TOTP, Answer, LoginSite, Replica, person
from tests.support.servers import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

WRONG = "a-wrong-password-of-alice"
DATABASE_PASSWORD = "the-password-of-the-database"


@dataclass
class Seen:
    """All that came out, and the secrets that must not be in it. Answers that hold a token are left out."""

    texts: list[str] = field(default_factory=list)
    secrets: set[str] = field(default_factory=lambda: {PASSWORD, WRONG, TOTP, SEAL, GATEWAY, DATABASE_PASSWORD})

    def answer(self, answer: Answer) -> Answer:
        """Take an answer: an error as it is; of a right one, the token as a secret."""
        if answer.status >= 400:
            self.texts += [answer.body.decode(), json.dumps(dict(answer.headers))]
        elif answer.body.startswith(b"{") and "token" in answer.json:
            self.token(answer.json["token"])
        return answer

    def token(self, token: str) -> None:
        """A token: none of it may be seen that its signature is in."""
        self.secrets.add(token.rpartition(".")[2])

    def process(self, replica: Replica) -> None:
        """Logs and pages of a replica, and what each user of its host can read of the process."""
        proc = Path(f"/proc/{replica.process.pid}")
        for name in ("cmdline", "environ"):
            self.texts.append((proc / name).read_bytes().decode(errors="replace"))
        self.texts += [replica.ask("GET", path).body.decode() for path in ("/metrics", "/healthz")]
        self.texts.append(replica.ask("GET", "/.well-known/jwks.json").body.decode())
        self.texts.append(replica.log.read_text())

    def check(self, replica: Replica) -> None:
        """No secret is in what was seen: as it is, in Base64, as JSON or a URL has it."""
        self.process(replica)
        whole = "\n".join(self.texts)
        assert "Login refused." in whole
        assert "Traceback" not in whole
        forms = {
            form
            for secret in self.secrets
            for form in (
                secret,
                json.dumps(secret)[1:-1],
                base64.b64encode(secret.encode()).decode().rstrip("="),
                secret.replace(":", "%3A").replace("+", "%2B"),
            )
        }
        assert [form for form in forms if form in whole] == []
        # Of a private key in the form of RFC 7517.
        assert '"d"' not in whole


def wrong_ways(replica: Replica, seen: Seen, token: str) -> None:
    """Each error that a client can cause, with secrets in each field."""
    header = {"Authorization": f"Bearer {token}"}
    basic = {"Authorization": "Basic " + base64.b64encode(f"gateway:{WRONG}".encode()).decode()}
    for body in (
        {"name": ALICE, "password": WRONG},
        {"name": ALICE, "password": PASSWORD, "code": "12345"},
        {"name": ALICE, "password": PASSWORD, "database": "a__b"},
        {"name": ALICE, "password": PASSWORD, "database": "sales"},
        {"name": ALICE, "password": [PASSWORD]},
        {"name": ALICE, "password": PASSWORD, "more": WRONG},
        {"name": ALICE, "password": PASSWORD + "\0"},
        {"name": ALICE, "password": PASSWORD * 200},
        {"name": f"{PASSWORD}#", "password": PASSWORD},
        {"name": token, "password": PASSWORD},
        {"name": token[:200] + "/", "password": PASSWORD},
        {"name": ALICE, "password": token[:-2]},
        {"name": "bob", "password": token},
        {"name": "", "password": token, "database": "hr"},
        {PASSWORD: WRONG},
    ):
        assert seen.answer(replica.ask("POST", "/v1/login", body)).status >= 400
    assert seen.answer(replica.ask("POST", f"/v1/login?password={WRONG}", {})).status == 400
    assert seen.answer(replica.ask("GET", f"/v1/{WRONG}")).status == 404
    assert seen.answer(replica.ask("POST", "/v1/revoke", {"name": "bob"}, header)).status == 403
    assert seen.answer(replica.ask("POST", "/v1/revoke", None, {"Authorization": f"Bearer {token}x"})).status == 401
    assert (
        seen.answer(replica.ask("GET", "/v1/session", None, {**basic, "X-Hopshive-Subject": "CN=alice"})).status == 401
    )


def test_the_people_file_with_codes(site: LoginSite) -> None:
    site.write_people({ALICE: person(totp=TOTP)})
    site.more |= {"limits": {"name": 1000, "address": 1000, "refusal_seconds": 0}, "code_separator": "+"}
    seen = Seen()
    seen.secrets.add(str(site.people.read_text().partition("password: ")[2].split()[0]))
    with site.replica("one") as replica:
        wait_until(replica.healthy, "the replica", replica.log)
        code = pyotp.TOTP(TOTP).now()
        seen.secrets.add(code)
        token = seen.answer(replica.login(ALICE, f"{PASSWORD}+{code}")).json["token"]
        # The code was spent, and the next ones are wrong.
        seen.answer(replica.login(ALICE, PASSWORD, code=code))
        seen.answer(replica.login(ALICE, PASSWORD))
        wrong_ways(replica, seen, token)
        basic = {"Authorization": "Basic " + base64.b64encode(f"gateway:{GATEWAY}".encode()).decode()}
        answer = replica.ask("GET", "/v1/session", None, {**basic, "X-Hopshive-Subject": "CN=alice"})
        seen.token(answer.headers["x-hopshive-token"])
        site.people.write_text(f"people:\n  {ALICE}: {{account: alice, password: '{PASSWORD}'}}\n")
        seen.answer(replica.login(ALICE, WRONG))
        site.people.write_text(f"people: [{PASSWORD}\n")
        seen.answer(replica.login(ALICE, WRONG))
        seen.check(replica)
        assert "The people of before still log in." in replica.log.read_text()


def test_the_platform(site: LoginSite) -> None:
    platform, issuer, seen = Platform(), Issuer(), Seen()
    platform.people[ALICE] = (PASSWORD, "", "alice")
    pair = site.authority.issue("platform", "localhost")
    with served(platform, pair), served(issuer, pair):
        trust: Mapping[str, Any] = {"authority": str(site.authority.path), "timeout": 1}
        site.more |= {
            "backend": "platform",
            "platform": {"url": platform.url, **trust},
            "provider": {"issuer": issuer.issuer, "audience": AUDIENCE, **trust},
            "limits": {"name": 1000, "address": 1000, "refusal_seconds": 0},
        }
        with site.replica("one") as replica:
            wait_until(replica.healthy, "the replica", replica.log)
            token = seen.answer(replica.login(ALICE, PASSWORD)).json["token"]
            wrong_ways(replica, seen, token)
            for mode in (
                "nonsense",
                "redirect",
                "error",
                "no cookie",
                "huge",
                "no json",
                "no account",
                "another",
                "drip",
            ):
                platform.mode = mode
                assert seen.answer(replica.login(ALICE, PASSWORD)).status == 503
            foreign = issuer.token(aud="another")
            seen.token(foreign)
            assert seen.answer(replica.login(ALICE, foreign)).status == 401
            seen.secrets |= set(platform.sessions)
            assert len(platform.sessions) > 5
            seen.check(replica)


def test_a_directory(site: LoginSite, tmp_path: Path) -> None:
    seen = Seen()
    seen.secrets |= {ADMIN_PASSWORD, "wonder:land"}
    with run_slapd(tmp_path / "slapd", site.authority.path, site.authority.issue("directory", "localhost")) as slapd:
        site.more |= {
            "backend": "ldap",
            "ldap": {
                "servers": [slapd.secure],
                "authority": str(site.authority.path),
                "base": BASE,
                "bind_dn": ADMIN,
                "bind_password_file": site.write("bind", ADMIN_PASSWORD),
            },
            "limits": {"name": 1000, "address": 1000, "refusal_seconds": 0},
        }
        with site.replica("one") as replica:
            wait_until(replica.healthy, "the replica", replica.log)
            token = seen.answer(replica.login(ALICE, "wonder:land")).json["token"]
            wrong_ways(replica, seen, token)
            seen.check(replica)
        site.more["ldap"]["bind_password_file"] = site.write("bind", WRONG)
        with site.replica("two") as replica:
            wait_until(lambda: answers(replica), "the replica", replica.log)
            assert seen.answer(replica.login(ALICE, "wonder:land")).status == 503
            seen.check(replica)


def test_a_database_that_refuses_the_password(site: LoginSite) -> None:
    site.more["database"] = {
        "unix_socket": "",
        "host": "127.0.0.1",
        "port": site.mariadb.port,
        "password_file": site.write("database", DATABASE_PASSWORD),
    }
    with site.replica("one") as replica:
        wait_until(lambda: answers(replica), "the replica", replica.log)
        seen = Seen()
        assert seen.answer(replica.login(ALICE, WRONG)).status == 503
        seen.check(replica)
        assert "Access denied" in replica.log.read_text()


def answers(replica: Replica) -> bool:
    try:
        return replica.ask("GET", "/healthz").status in (200, 503)
    except OSError:
        return False


@pytest.mark.parametrize(
    "what",
    [
        Asked(ALICE, PASSWORD, "123456"),
        Credentials(ALICE, PASSWORD, "123456", PASSWORD),
        Person("alice", {}, "123456"),
        Granted("alice", "alice", "", "", PASSWORD, 1),
        Server("state", password=PASSWORD),
        keys.Sealer(PASSWORD, "file"),
    ],
)
def test_representations_show_none(what: object) -> None:
    for text in (repr(what), str(what), f"{[what]}"):
        assert PASSWORD not in text
        assert "123456" not in text


def test_keys_and_people_show_none(site: LoginSite) -> None:
    async def ring(service: Any) -> keys.KeyRing:
        found: keys.KeyRing = service.ring
        return found

    (key,) = site.run(ring).keys
    assert key.private is not None
    assert str(key.private.as_dict(private=True)["d"]) not in repr(key)
    site.write_people({ALICE: person(totp=TOTP)})
    people = PeopleFile(str(site.people))
    shown = repr(people) + repr(vars(people))
    assert TOTP not in shown
    assert "$argon2id$" not in shown
