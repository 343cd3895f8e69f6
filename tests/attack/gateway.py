"""The gateway: client certificates, headers and paths."""

from __future__ import annotations

import ssl
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.site import sentence
from tests.attack.web import GATEWAY, HttpSession, basic
from tests.support.authority import Authority
from tests.warehouse.hiveserver2 import HiveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.attack.site import Site

HOUR = timedelta(hours=1)
# Seconds within which a revocation list counts.
REVOKED_WITHIN = 60.0


@dataclass(frozen=True)
class Card:
    """A client certificate and its key, in files."""

    certificate: Path
    key: Path

    def context(self, site: Site) -> ssl.SSLContext:
        """A client that shows it."""
        found = ssl.create_default_context(cafile=site.inventory.authority)
        found.load_cert_chain(self.certificate, self.key)
        return found


def _right(site: Site) -> Card:
    """A certificate of the lab's own. Raises NotTriedError without a gateway."""
    clients = site.inventory.clients
    if not site.lab.group("gateway") or clients is None:
        raise NotTriedError("the lab has no gateway")
    found = sorted(one for one in clients.glob("*.pem") if one.with_suffix(".key").exists() and one.stem != "authority")
    if not found:
        raise NotTriedError(f"{clients} has no client certificate")
    return Card(found[0], found[0].with_suffix(".key"))


def _account(card: Card) -> str:
    """The common name of a certificate."""
    subject = x509.load_pem_x509_certificate(card.certificate.read_bytes()).subject
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _user(
    site: Site,
    card: Card | None,
    headers: Mapping[str, str] | None = None,
    path: str = "/cliservice",
    database: str = "",
) -> str:
    """Whom HiveServer2 takes a client of the gateway for. Raises HiveError, OSError."""
    context = card.context(site) if card else site.tls
    return HttpSession(site.web, site.lab.one("gateway"), GATEWAY, path, headers, context, database).whose()


def _control(site: Site) -> Card:
    card = _right(site)
    try:
        user = _user(site, card)
    except (HiveError, OSError) as error:
        raise NotTriedError(f"control: the lab's own certificate is refused: {error}") from error
    if user != _account(card):
        raise NotTriedError(f"control: the certificate of {_account(card)} is {user}")
    return card


def _refused(site: Site, card: Card | None, headers: Mapping[str, str] | None = None, path: str = "/cliservice") -> str:
    try:
        user = _user(site, card, headers, path)
    except (HiveError, OSError) as error:
        return sentence(error)
    raise NotHeldError(f"the session is {user}")


def _signed(site: Site, directory: Path, names: list[str], self_signed: bool = False, ended: bool = False) -> Card:
    """A certificate with common names, of the lab's authority for clients, or of nobody. Raises NotTriedError without its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    issuer, signer = subject, key
    if not self_signed:
        issuer, signer = _authority(site)
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 48 * HOUR)
        .not_valid_after(now - HOUR if ended else now + HOUR)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    card = Card(directory / "client.pem", directory / "client.key")
    card.certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    card.key.write_bytes(key.private_bytes(*private))
    return card


def _authority_name(site: Site) -> str:
    return str(_authority(site)[0].get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _authority(site: Site) -> tuple[x509.Name, ec.EllipticCurvePrivateKey]:
    """The name and the key of the lab's authority for client certificates. Raises NotTriedError."""
    path = site.inventory.authority.parent / "clients" / "authority.key"
    if not path.exists():
        raise NotTriedError(f"the key of the authority for client certificates is not at {path}")
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise NotTriedError(f"{path} is no key of an elliptic curve")
    return x509.load_pem_x509_certificate(path.with_suffix(".pem").read_bytes()).subject, key


@attempt()
def gateway_without_a_certificate(site: Site) -> str:
    """The gateway without a certificate, with a password, and with a token."""
    owner = site.cast.owner
    _control(site)
    said = _refused(site, None)
    _refused(site, None, basic(owner.login, owner.password))
    _refused(site, None, basic(owner.account, site.web.token(owner)))
    return said


@attempt()
def certificate_of_another_authority(site: Site) -> str:
    """A certificate of the attacker's own authority, which has the name of the lab's, and one that signs itself."""
    _control(site)
    with tempfile.TemporaryDirectory() as directory:
        pair = Authority(Path(directory), _authority_name(site)).issue(site.cast.owner.account)
        said = _refused(site, Card(pair.certificate, pair.key))
        _refused(site, _signed(site, Path(directory), [site.cast.owner.account], self_signed=True))
    return said


@attempt()
def certificate_of_a_host(site: Site) -> str:
    """The certificate of a host of the warehouse: another authority, that clients do know."""
    _control(site)
    edge = site.lab.one("client")
    with tempfile.TemporaryDirectory() as name:
        card = Card(Path(name) / "host.pem", Path(name) / "host.key")
        card.certificate.write_text(edge.run("cat", "/etc/hopshive-tls/host.pem").stdout)
        card.key.write_text(edge.run("cat", "/etc/hopshive-tls/host.key").stdout)
        return _refused(site, card)


@attempt()
def certificate_with_the_name_of_a_service(site: Site) -> str:
    """Right certificates whose names are those of services, of nobody, of two people, of a project without its member."""
    owner, me = site.cast.owner, site.cast.outsider
    _control(site)
    names = (
        ["hive"],
        ["hdfs"],
        ["root"],
        [owner.account, me.account],
        [f"{site.cast.victim}__{me.account}"],
        ["a__b__c"],
        [owner.login],
        [f"{owner.account}\0"],
        [f"{owner.account},CN=hive"],
    )
    with tempfile.TemporaryDirectory() as directory:
        for one in names:
            try:
                said = _refused(site, _signed(site, Path(directory), one))
            except ValueError as error:
                said = str(error)
    return said


@attempt()
def certificate_that_ended(site: Site) -> str:
    """A right certificate whose time is over."""
    _control(site)
    with tempfile.TemporaryDirectory() as directory:
        return _refused(site, _signed(site, Path(directory), [site.cast.owner.account], ended=True))


@attempt(slow=True)
def certificate_that_was_revoked(site: Site) -> str:
    """A right certificate, a minute after the gateways have a list on which it stands; a connection of before too."""
    _control(site)
    place = "/etc/hopshive-gateway/tls/revoked.pem"
    gateways = site.lab.group("gateway")
    before = {host.name: host.run("cat", place).stdout for host in gateways}
    with tempfile.TemporaryDirectory() as directory:
        card = _signed(site, Path(directory), [_account(_right(site))])
        if _user(site, card) != _account(_right(site)):
            raise NotTriedError("control: the certificate is refused before")
        try:
            for host in gateways:
                host.run("tee", place, stdin=_revoked(site, card))
            time.sleep(REVOKED_WITHIN)
            return _refused(site, card)
        finally:
            for host in gateways:
                host.run("tee", place, stdin=before[host.name])


def _revoked(site: Site, card: Card) -> str:
    """A revocation list with a certificate."""
    name, key = _authority(site)
    now = datetime.now(UTC)
    serial = x509.load_pem_x509_certificate(card.certificate.read_bytes()).serial_number
    entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now - HOUR).build()
    built = x509.CertificateRevocationListBuilder().issuer_name(name).last_update(now - HOUR).next_update(now + HOUR)
    signed = built.add_revoked_certificate(entry).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


@attempt()
def certificate_for_another_project(site: Site) -> str:
    """The certificate of a person, for a session in a project where the person is no member."""
    card = _control(site)
    account = _account(card)
    others = [one.name for one in site.inventory.projects.values() if account not in one.members]
    if not others:
        raise NotTriedError(f"{account} is a member everywhere")
    try:
        user = _user(site, card, database=others[0])
    except HiveError as error:
        return sentence(error)
    raise NotHeldError(f"the session is {user}")


@attempt()
def gateway_with_headers_of_its_own(site: Site) -> str:
    """Headers that the gateway sends itself, from a client with a certificate: another user, another login, doAs."""
    card = _control(site)
    account, owner = _account(card), site.cast.owner
    headers = {
        "X-Hopshive-User": "hive",
        "X-Hopshive-Subject": "CN=hive",
        "X-Hopshive-Authorization": basic("hive", "hive")["Authorization"],
        "X-Hopshive-Database": site.cast.victim,
        "Authorization": basic(owner.login, owner.password)["Authorization"],
        "Cookie": "hive.server2.auth=cu=hive",
        "X-Forwarded-For": "127.0.0.1",
        "X-Original-URI": "/session",
    }
    for path in ("/cliservice", "/cliservice?doAs=hive", "/cliservice/1?doAs=hive&user.name=hive"):
        user = _user(site, card, headers, path)
        if user != account:
            raise NotHeldError(f"at {path} the session of {account} is {user}")
    return f"the session is {user}"


@attempt()
def paths_of_the_gateway(site: Site) -> str:
    """Paths that would reach the question for a token, other pages of HiveServer2, or files."""
    context = _control(site).context(site)
    host = site.lab.one("gateway")
    paths = (
        "/session",
        "/cliservice/../session",
        "/cliservice/%2e%2e/session",
        "//session",
        "/%73ession",
        "/session/",
        "/v1/session",
        "/cliservice/../../etc/passwd",
        "/jmx",
        "/conf",
        "/cliservice/..",
        "/cliservice/%2e%2e/jmx",
        "/cliservice%0d%0aX-A:b",
        "/cliservice;x",
    )
    for path in paths:
        for method in ("GET", "POST"):
            answer = site.web.ask(host, GATEWAY, method, path, context=context)
            if answer.status < 400 or "x-hopshive-token" in answer.headers:
                raise NotHeldError(f"{method} {path} is answered {answer}")
    return str(answer)


@attempt()
def requests_within_a_request(site: Site) -> str:
    """A second request in the body of the first (Content-Length beside chunks), and line ends in headers."""
    context = _control(site).context(site)
    host = site.lab.one("gateway")
    inner = b"GET /session HTTP/1.1\r\nHost: x\r\n\r\n"
    for head in (
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Content-Length: 0\r\nContent-Length: 5\r\n",
        b"X-A: b\rX-Hopshive-User: hive\r\nContent-Length: 0\r\n",
    ):
        found = site.web.raw(
            host, GATEWAY, b"POST /cliservice HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n0\r\n\r\n" + inner, context
        )
        if b"X-Hopshive-Token" in found or b"HTTP/1.1 200" in found:
            raise NotHeldError(f"{head!r} is answered {found[:200]!r}")
    return found.partition(b"\r\n")[0].decode(errors="replace") or "the connection was closed"


@attempt()
def gateway_with_old_tls(site: Site) -> str:
    """TLS 1.1, and weak ciphers, at the gateway, the login service and HiveServer2."""
    found: list[str] = []
    places = [(site.lab.one("login"), 9443), (site.server2, 10000), (site.server2, 10001)]
    if site.lab.group("gateway"):
        places.append((site.lab.one("gateway"), GATEWAY))
    for host, port in places:
        for name, prepare in (("TLS 1.1", _old), ("a weak cipher", _weak)):
            context = ssl.create_default_context(cafile=site.inventory.authority)
            prepare(context)
            try:
                site.web.raw(host, port, b"x", context)
            except (ssl.SSLError, OSError) as error:
                found.append(str(error))
                continue
            raise NotHeldError(f"{host.name}:{port} takes {name}")
    return found[-1]


def _old(context: ssl.SSLContext) -> None:
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1


def _weak(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("NULL:aNULL:RC4:3DES:DES:EXPORT:CAMELLIA:SEED:PSK:@SECLEVEL=0")
