"""The gateway: how it proves itself, and whom the subject of a client certificate names.

The gateway has checked the certificate against authority and revocation list. So the subject is believed if, and only if, the
gateway is: by a secret, or by a certificate of its own that the TLS handshake has verified.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.x509.oid import NameOID

from hopshive.tenancy.login.errors import Denied, Malformed
from hopshive.tenancy.names import BadName, parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.tenancy.login.settings import Gateway

_ATTRIBUTES = {"CN": NameOID.COMMON_NAME, "UID": NameOID.USER_ID}
LONGEST = 1000


def names_of(certificate: Mapping[str, Any]) -> set[str]:
    """Common name and DNS names of a verified certificate, as ssl.getpeercert has it; of none, none."""
    subject = {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
    return subject | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}


def require_gateway(settings: Gateway, secret: str, authorization: str, certificate: Mapping[str, Any]) -> None:
    """Raises Denied unless the caller is a gateway. `certificate` was verified against gateway.authority, or is empty."""
    if settings.authority and names_of(certificate) & set(settings.names):
        return
    given = _password(authorization)
    if not secret or not given:
        raise Denied("a caller that is no gateway", "Only a gateway may ask for the session of a certificate.")
    if not hmac.compare_digest(given.encode(), secret.encode()):
        raise Denied("a wrong secret of the gateway", "Only a gateway may ask for the session of a certificate.")


def user_of(settings: Gateway, subject: str) -> tuple[str, str]:
    """Project and account of a subject in the form of RFC 4514; an account names no project. Raises Malformed and Denied."""
    if not subject or len(subject) > LONGEST:
        raise Malformed("X-Hopshive-Subject holds the subject of a certificate (RFC 4514).")
    try:
        found = x509.Name.from_rfc4514_string(subject).get_attributes_for_oid(_ATTRIBUTES[settings.attribute])
    except ValueError:
        raise Malformed("X-Hopshive-Subject is no subject of a certificate (RFC 4514).") from None
    if len(found) != 1:
        raise Denied(f"a certificate with {len(found)} {settings.attribute}", "The certificate names no user.")
    try:
        return parts(str(found[0].value))
    except BadName:
        raise Denied("a certificate whose subject is no user", "The certificate names no user.") from None


def _password(authorization: str) -> str:
    """The password of HTTP Basic; empty if there is none."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
