"""A real Keycloak in a temporary directory, for tests: its realms by the admin REST API, and its tokens."""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import subprocess
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.servers import free_port, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.authority import Pair

ADMIN = "admin"
PASSWORD = "won:der+land"
# The secret of clients that are no public ones.
SECRET = "a secret of a program"
AUDIENCE = "hive"
JVM = {"JAVA_OPTS_APPEND": "-XX:TieredStopAtLevel=1"}
# What Keycloak adds to access tokens of a client, so that they are for the audience.
MAPPER = {
    "name": "audience",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-audience-mapper",
    "config": {
        "included.custom.audience": AUDIENCE,
        "access.token.claim": "true",
        "id.token.claim": "false",
    },
}


class TokenRefused(Exception):
    """Keycloak gave no token; the message is its own."""


@dataclass
class Keycloak:
    """Where it is. It runs from `start` to `end`, and can be started again on the data that it left."""

    home: Path
    port: int
    pair: Pair
    authority: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What it calls itself."""
        return f"https://localhost:{self.port}"

    def issuer(self, realm: str) -> str:
        """What a realm calls itself."""
        return f"{self.url}/realms/{realm}"

    def start(self) -> None:
        """Half a minute."""
        argv = [
            str(self.home / "bin/kc.sh"),
            "start-dev",
            f"--hostname={self.url}",
            # A development server opens this one too, whatever http-enabled says.
            f"--http-port={free_port()}",
            "--http-host=127.0.0.1",
            f"--https-port={self.port}",
            f"--https-certificate-file={self.pair.certificate}",
            f"--https-certificate-key-file={self.pair.key}",
        ]
        admin = {"KC_BOOTSTRAP_ADMIN_USERNAME": ADMIN, "KC_BOOTSTRAP_ADMIN_PASSWORD": PASSWORD}
        log = self.home / "log"
        with log.open("ab") as output:
            # The launcher has the JVM as its child: both end as one group.
            self.process = process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **admin, **JVM},
                cwd=self.home,
                start_new_session=True,
            )
        wait_until(lambda: self._answers() or process.poll() is not None, "Keycloak", log, 120)
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]

    def end(self, number: int = signal.SIGKILL) -> None:
        """Send a signal that ends it, and wait for its end."""
        if self.process is not None:
            os.killpg(self.process.pid, number)
            self.process.wait()
            self.process = None

    @contextmanager
    def away(self) -> Iterator[None]:
        """It ends before the block, and is started again after it."""
        self.end(signal.SIGTERM)
        yield
        self.start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and answers nothing within the block."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def admin(self, method: str, path: str, body: object = None) -> Any:
        """One request to the admin REST API, below /admin/realms; what it answered."""
        token = self.tokens("master", "admin-cli", username=ADMIN, password=PASSWORD)["access_token"]
        with self._client() as client:
            answer = client.request(
                method, f"/admin/realms{path}", json=body, headers={"Authorization": f"Bearer {token}"}
            )
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def make_realm(self, realm: str, **more: object) -> None:
        """A realm with Keycloak's own defaults, but for `more`."""
        self.admin("POST", "", {"realm": realm, "enabled": True, **more})

    def make_client(self, realm: str, client: str, *, audience: bool = True, **more: object) -> None:
        """A public client that may take passwords, unless `more` says otherwise. Its tokens are for the audience."""
        made = {
            "clientId": client,
            "publicClient": True,
            "standardFlowEnabled": False,
            "directAccessGrantsEnabled": True,
            "protocolMappers": [MAPPER] if audience else [],
        }
        self.admin("POST", f"/{realm}/clients", made | more)

    def make_program(self, realm: str, client: str) -> None:
        """A client with a secret and an account of its own, and no passwords of people."""
        self.make_client(
            realm,
            client,
            publicClient=False,
            directAccessGrantsEnabled=False,
            serviceAccountsEnabled=True,
            secret=SECRET,
        )

    def make_user(self, realm: str, user: str, **more: object) -> None:
        """A person whose e-mail address was verified. Without both names Keycloak gives no token for a password."""
        made = {
            "username": user,
            "email": f"{user}@example.org",
            "emailVerified": True,
            "enabled": True,
            "firstName": "First",
            "lastName": "Last",
            "credentials": [{"type": "password", "value": PASSWORD, "temporary": False}],
        }
        self.admin("POST", f"/{realm}/users", made | more)

    def change_user(self, realm: str, user: str, **changes: object) -> None:
        """Change an account."""
        (found,) = self.admin("GET", f"/{realm}/users?exact=true&username={user}")
        self.admin("PUT", f"/{realm}/users/{found['id']}", found | changes)

    def own_account(self, realm: str, token: str, **changes: object) -> None:
        """Change what a person may change of the own account."""
        path, headers = f"/realms/{realm}/account", {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        with self._client() as client:
            found = client.get(path, headers=headers).json()
            client.post(path, json=found | changes, headers=headers).raise_for_status()

    def add_key(self, realm: str, name: str, kind: str = "rsa-generated", **config: str) -> None:
        """A key that signs from now on: of two for one algorithm, the one with the higher priority does."""
        provider = {"name": name, "providerId": kind, "providerType": "org.keycloak.keys.KeyProvider"}
        settings = {"priority": "200", "enabled": "true", "active": "true", **config}
        self.admin(
            "POST",
            f"/{realm}/components",
            provider | {"config": {setting: [value] for setting, value in settings.items()}},
        )

    def change_key(self, realm: str, name: str, **config: str) -> None:
        """Change a key: `active="false"` signs no more and is published still, `enabled="false"` is not."""
        path = f"/{realm}/components"
        (found,) = self.admin("GET", f"{path}?name={name}&type=org.keycloak.keys.KeyProvider")
        found["config"] |= {setting: [value] for setting, value in config.items()}
        self.admin("PUT", f"{path}/{found['id']}", found)

    def tokens(self, realm: str, client: str, *, proof: str = "", **form: str) -> dict[str, Any]:
        """What the token endpoint answers; with `username` and `password` for a person. Raises TokenRefused.

        `proof` (RFC 9449): that the client has a key, to which the tokens are bound.
        """
        form = {"grant_type": "password", "client_id": client, "scope": "openid", **form}
        path, headers = f"/realms/{realm}/protocol/openid-connect/token", {"DPoP": proof} if proof else {}
        with self._client() as asking:
            answer = asking.post(path, data=form, headers=headers)
        found: dict[str, Any] = answer.json()
        if not answer.is_success:
            raise TokenRefused(f"{found.get('error')}: {found.get('error_description')}")
        return found

    def token(self, realm: str = "site", client: str = "hive-login", user: str = "alice") -> str:
        """The access token of a person."""
        return str(self.tokens(realm, client, username=user, password=PASSWORD)["access_token"])

    def program_token(self, realm: str, client: str) -> str:
        """The access token of a program."""
        found = self.tokens(realm, client, grant_type="client_credentials", client_secret=SECRET)
        return str(found["access_token"])

    def _client(self) -> httpx.Client:
        verify = ssl.create_default_context(cafile=self.authority)
        return httpx.Client(base_url=self.url, verify=verify, timeout=60, trust_env=False)

    def _answers(self) -> bool:
        try:
            with self._client() as client:
                return client.get("/realms/master").is_success
        except httpx.HTTPError:
            return False


@contextmanager
def unpacked_keycloak(directory: Path, pair: Pair, authority: Path) -> Iterator[Keycloak]:
    """Unpack the archive that HOPSHIVE_KEYCLOAK_ZIP names, and remove all of it afterwards; skips without one."""
    archive = os.environ.get("HOPSHIVE_KEYCLOAK_ZIP")
    if not archive:
        pytest.skip("no Keycloak: set HOPSHIVE_KEYCLOAK_ZIP (docs/development.md)")
    if not shutil.which("java"):
        pytest.skip("no Java: apt-get install openjdk-17-jdk-headless")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(directory)
    (home,) = directory.iterdir()
    # The module that unpacks leaves modes out.
    (home / "bin/kc.sh").chmod(0o755)
    made = Keycloak(home, free_port(), pair, authority)
    try:
        yield made
    finally:
        made.end()
        # It is as large as all other things of the tests together.
        shutil.rmtree(directory)
