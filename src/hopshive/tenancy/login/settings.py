"""The configuration of the login service: one YAML file, read once, checked whole before anything starts.

No secret stands in it: each is the first line of a file that a setting names.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from hopshive.config import ConfigError, ServerConfig, check_addresses, content, is_identifier, made, secret
from hopshive.database import Names, Server
from hopshive.tenancy.names import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PATH = Path("/etc/hopshive-login/login.yml")
# Where a password may pass without TLS.
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Characters of a secret that keys are derived from.
LEAST_SECRET = 32
PLACE = "{name}"
# Seconds. A revocation is kept that long, so no token may live longer.
DAY = 86400


@dataclass(frozen=True)
class Listen:
    """The HTTPS port. `certificate` and `key`: PEM files, read again when they change."""

    host: str = "0.0.0.0"  # noqa: S104 - clients are on other hosts
    port: int = 9443
    certificate: str = ""
    key: str = ""
    # HiveServer2s and gateways, whose X-Forwarded-For is believed: networks, addresses, host names.
    proxies: list[str] = field(default_factory=list)
    # Connections at once; more are answered 503.
    connections: int = 1000


@dataclass(frozen=True)
class StateDatabase(ServerConfig):
    """The database with hopshive's own schema. `connections`: of one replica."""

    connections: int = 8


@dataclass(frozen=True)
class Tokens:
    """What the service issues. `issuer` and `audience` are compared as they are. Times in seconds."""

    issuer: str = "hopshive"
    audience: str = "hiveserver2"
    lifetime: float = 900.0
    # For which a new key is published before it signs.
    lead: float = 60.0
    # Its first line seals the private keys; the same on all hosts.
    sealing_key_file: str = ""


@dataclass(frozen=True)
class Limits:
    """Attempts that were not right, within `window` seconds, after which more are not looked at."""

    name: int = 10
    address: int = 100
    window: float = 300.0
    # A refusal takes that long at least, in seconds.
    refusal_seconds: float = 1.0


@dataclass(frozen=True)
class Platform:
    """REST, as HopsWorks has it. `timeout`: seconds for login and profile together."""

    url: str = ""
    login_path: str = "/hopsworks-api/api/auth/login"
    profile_path: str = "/hopsworks-api/api/user/profile"
    # Ends the session at once, if it is given.
    logout_path: str = ""
    encoding: Literal["form", "json"] = "form"
    name_field: str = "email"
    password_field: str = "password"  # noqa: S105 - the name of a field
    code_field: str = "otp"
    cookie: str = "SESSION"
    # Of the profile; a dot leads into an object. The login name there must be the one that was typed.
    account_field: str = "username"
    login_field: str = "email"
    # A list of names, or of objects with `name` and `role`; empty: the platform is not asked for projects.
    projects_field: str = ""
    authority: str = ""
    timeout: float = 10.0
    connections: int = 50


@dataclass(frozen=True)
class Ldap:
    """A directory. With `bind_template` people bind directly, else a search with a service account finds them."""

    # ldap://host:port or ldaps://host:port, asked in turn.
    servers: list[str] = field(default_factory=list)
    start_tls: bool = True
    authority: str = ""
    bind_template: str = ""
    bind_dn: str = ""
    bind_password_file: str = ""
    base: str = ""
    filter: str = "(|(uid={name})(mail={name}))"
    account_attribute: str = "uid"
    # The attribute that lists groups, and what comes before and after the project in one of them.
    group_attribute: str = "memberOf"
    group_prefix: str = ""
    group_suffix: str = ""
    # `append`: the directory takes password and code as one text, as FreeIPA does. `refuse`: it has no codes.
    code: Literal["refuse", "append"] = "refuse"
    timeout: float = 5.0


@dataclass(frozen=True)
class People:
    """A YAML file of people, for labs."""

    path: str = "/etc/hopshive-login/people.yml"


@dataclass(frozen=True)
class Provider:
    """The site's own identity provider (OpenID Connect), whose tokens are accepted; without `issuer` there is none."""

    issuer: str = ""
    audience: str = ""
    # Where its keys are; empty: where the discovery document below the issuer says.
    keys_url: str = ""
    name_claim: str = "preferred_username"
    # With it the claim is an e-mail address, of which the part before this domain is the account.
    domain: str = ""
    authority: str = ""
    timeout: float = 5.0
    # Seconds between two fetches of keys for a token whose key is unknown.
    refetch: float = 30.0
    # Seconds after which keys are fetched again.
    keep: float = 3600.0


@dataclass(frozen=True)
class Gateway:
    """The callers that may ask for the session of a client certificate, and where its subject names the person.

    A gateway proves itself by a secret, as the password of HTTP Basic, or by a certificate of `authority` with one of `names`.
    """

    secret_file: str = ""
    authority: str = ""
    names: list[str] = field(default_factory=list)
    attribute: Literal["CN", "UID"] = "CN"


@dataclass(frozen=True)
class LoginSettings:
    """All of it. `timeout`: seconds for one login, whatever it waits for."""

    backend: Literal["platform", "ldap", "file"] = "file"
    # Where members of projects stand: in project_member, in what the back end says, or in either.
    membership: Literal["table", "backend", "both"] = "table"
    # Accounts of services: no person logs in as one of them.
    reserved: list[str] = field(default_factory=lambda: list(RESERVED))
    # Accounts that may revoke the tokens of others.
    operators: list[str] = field(default_factory=list)
    # Databases that ask for no project.
    no_project: list[str] = field(default_factory=lambda: ["default"])
    # Between password and one-time code, for clients that know only a password; empty: none.
    code_separator: str = ""
    timeout: float = 20.0
    listen: Listen = field(default_factory=Listen)
    database: StateDatabase = field(default_factory=StateDatabase)
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    platform: Platform = field(default_factory=Platform)
    ldap: Ldap = field(default_factory=Ldap)
    file: People = field(default_factory=People)
    provider: Provider = field(default_factory=Provider)
    gateway: Gateway = field(default_factory=Gateway)

    @property
    def names(self) -> Names:
        """Of our schemas; there is no inode table here."""
        return Names(self.database.state)

    def server(self) -> Server:
        """The database, with the password read from its file. Raises ConfigError."""
        return self.database.server(self.database.state)

    def sealing_secret(self) -> str:
        """What seals the private keys. Raises ConfigError."""
        return _long(self.tokens.sealing_key_file, "tokens.sealing_key_file")

    def gateway_secret(self) -> str:
        """What the gateway proves itself by; empty if it has none. Raises ConfigError."""
        return _long(self.gateway.secret_file, "gateway.secret_file") if self.gateway.secret_file else ""


def read(path: Path) -> LoginSettings:
    """Read and check a file. Raises ConfigError, which names file, setting and value."""
    return checked(content(path, "login"), path)


def checked(found: object, path: Path) -> LoginSettings:
    """Check the content of the file `path`. Raises ConfigError."""
    settings = made(LoginSettings, found, path)
    check_addresses("database.others", settings.database.others, path)
    for problem in _problems(settings):
        raise ConfigError(f"{path}: {problem}")
    return settings


def _long(file: str, setting: str) -> str:
    found = secret(file, setting)
    if len(found) < LEAST_SECRET:
        raise ConfigError(
            f"{file} ({setting}) holds {len(found)} characters, and must hold {LEAST_SECRET} or more: "
            "openssl rand -base64 32 makes some."
        )
    return found


def _problems(settings: LoginSettings) -> Iterator[str]:
    """What one setting cannot say by itself, in sentences."""
    if not is_identifier(settings.database.state):
        yield f"database.state is no name of a schema: {settings.database.state!r}."
    for name, port in (("listen.port", settings.listen.port), ("database.port", settings.database.port)):
        if not 0 < port < 65536:
            yield f"{name} is a port, 1 to 65535; it is {port}."
    for name, text in _required(settings):
        if not text:
            yield f"{name} is missing."
    for name, number in (
        ("listen.connections", settings.listen.connections),
        ("database.connections", settings.database.connections),
        ("limits.name", settings.limits.name),
        ("limits.address", settings.limits.address),
        ("limits.window", settings.limits.window),
        ("tokens.lifetime", settings.tokens.lifetime),
        ("timeout", settings.timeout),
        ("platform.timeout", settings.platform.timeout),
        ("platform.connections", settings.platform.connections),
        ("ldap.timeout", settings.ldap.timeout),
        ("provider.timeout", settings.provider.timeout),
    ):
        if number < 1:
            yield f"{name} must be 1 or more; it is {number}."
    for proxy in settings.listen.proxies:
        if not _is_proxy(proxy):
            yield f"listen.proxies: {proxy!r} is no address, no network and no host name."
    yield from _code_problems(settings)
    yield from _backend_problems(settings)
    yield from _other_problems(settings)


def _is_proxy(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        # Digits and dots alone are a misspelled address, and a slash is a misspelled network.
        return re.fullmatch(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", text) is not None
    return True


def _required(settings: LoginSettings) -> list[tuple[str, str]]:
    listen, tokens = settings.listen, settings.tokens
    return [
        ("listen.certificate", listen.certificate),
        ("listen.key", listen.key),
        ("tokens.sealing_key_file", tokens.sealing_key_file),
        ("tokens.issuer", tokens.issuer),
        ("tokens.audience", tokens.audience),
    ]


def _code_problems(settings: LoginSettings) -> Iterator[str]:
    separator = settings.code_separator
    if separator and (separator.isalnum() or len(separator) > 4):
        yield f"code_separator is one to four characters that are not letters or digits; it is {separator!r}."


def _backend_problems(settings: LoginSettings) -> Iterator[str]:
    if settings.backend == "platform":
        yield from url_problems("platform.url", settings.platform.url)
        for name in ("login_path", "profile_path"):
            path = getattr(settings.platform, name)
            if not path.startswith("/"):
                yield f"platform.{name} begins with a slash; it is {path!r}."
    if settings.backend == "file" and not settings.file.path:
        yield "file.path is missing."
    if settings.backend == "ldap":
        yield from _ldap_problems(settings.ldap)


def _ldap_problems(ldap: Ldap) -> Iterator[str]:
    if not ldap.servers:
        yield "ldap.servers is empty: give ldaps://host or ldap://host of each."
    for server in ldap.servers:
        parts = urlsplit(server)
        if parts.scheme not in ("ldap", "ldaps") or not parts.hostname:
            yield f"ldap.servers: {server!r} is not ldap://host:port or ldaps://host:port."
        elif parts.scheme == "ldap" and not ldap.start_tls and parts.hostname not in LOOPBACK:
            yield f"ldap.servers: {server!r} would carry passwords in the clear: set ldap.start_tls, or use ldaps://."
    if ldap.bind_template:
        if ldap.bind_template.count(PLACE) != 1:
            yield f"ldap.bind_template holds {PLACE} once; it is {ldap.bind_template!r}."
    elif not ldap.base:
        yield "ldap.base is missing: where people are searched for."
    elif PLACE not in ldap.filter:
        yield f"ldap.filter holds {PLACE}; it is {ldap.filter!r}."
    if bool(ldap.group_prefix) != bool(ldap.group_suffix):
        yield "ldap.group_prefix and ldap.group_suffix are given together."


def _other_problems(settings: LoginSettings) -> Iterator[str]:
    provider, gateway = settings.provider, settings.gateway
    if provider.issuer:
        # Without it the discovery document below the issuer says where the keys are.
        name = "provider.keys_url" if provider.keys_url else "provider.issuer"
        yield from url_problems(name, provider.keys_url or provider.issuer)
        if not provider.audience:
            yield "provider.audience is missing: a token for another service would be accepted."
        if provider.issuer == settings.tokens.issuer:
            yield f"provider.issuer and tokens.issuer are both {provider.issuer!r}: they must differ."
    if settings.tokens.lifetime > DAY:
        yield f"tokens.lifetime is a day ({DAY}) at most; it is {settings.tokens.lifetime:g}."
    if bool(gateway.authority) != bool(gateway.names):
        yield "gateway.authority and gateway.names are given together."


def url_problems(name: str, url: str) -> Iterator[str]:
    """Why secrets or keys must not pass there, in sentences."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        yield f"{name} is https://host:port; it is {url!r}."
    elif parts.scheme == "http" and parts.hostname not in LOOPBACK:
        yield f"{name} begins with https://, or secrets would pass in the clear; it is {url!r}."
    elif parts.username or parts.password:
        yield f"{name} must hold no user and no password."
