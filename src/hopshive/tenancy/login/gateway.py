"""The gateway: how it proves itself, and whom the subject of a client certificate names.

The gateway has checked the certificate against authority and revocation list. So the subject is believed if, and only if, the
gateway is: by a secret, or by a certificate of its own that the TLS handshake has verified.

What a client sees when no session is granted. nginx's auth_request passes 401 and 403 of the subrequest on, drops its body, and
makes 500 of each other status: a client would take a limit, or a database that is away, for a broken gateway. It sets variables
before that. So /v1/session answers with the status that it has, and puts the body's JSON into a header as well. The gateway
shows both from a named location:

  auth_request        /session;
  auth_request_set    $login_status $upstream_status;
  auth_request_set    $login_answer $upstream_http_x_hopshive_answer;
  auth_request_set    $login_wait   $upstream_http_retry_after;
  error_page          401 403 500 = @login;

  location @login {
      default_type application/json;
      add_header Cache-Control no-store always;
      add_header Retry-After $login_wait always;
      if ($login_answer = "") { return 503 '{"error": "unavailable", "message": "The login service does not answer."}'; }
      if ($login_status ~ "401$") { return 401 $login_answer; }
      if ($login_status ~ "403$") { return 403 $login_answer; }
      if ($login_status ~ "429$") { return 429 $login_answer; }
      return 503 $login_answer;
  }

No header stands for a login service that does not answer. With several of them $upstream_status lists each attempt, and its end
is the answer. proxy_intercept_errors stays off, so a status of the HiveServer2 never comes here. nginx adds no empty header.
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
# The header with the JSON of an error.
ANSWER = "X-Hopshive-Answer"
# The headers of a session that is granted: the user, the token, and what a HiveServer2 in HTTP mode takes as Authorization.
USER = "X-Hopshive-User"
TOKEN = "X-Hopshive-Token"  # noqa: S105 - the name of a header
AUTHORIZATION = "X-Hopshive-Authorization"
# nginx writes a subject with OpenSSL's names, of which RFC 4514 knows a few.
_OPENSSL_NAMES = {
    "businessCategory": NameOID.BUSINESS_CATEGORY,
    "dnQualifier": NameOID.DN_QUALIFIER,
    "emailAddress": NameOID.EMAIL_ADDRESS,
    "generationQualifier": NameOID.GENERATION_QUALIFIER,
    "GN": NameOID.GIVEN_NAME,
    "initials": NameOID.INITIALS,
    "organizationIdentifier": NameOID.ORGANIZATION_IDENTIFIER,
    "postalAddress": NameOID.POSTAL_ADDRESS,
    "postalCode": NameOID.POSTAL_CODE,
    "pseudonym": NameOID.PSEUDONYM,
    "serialNumber": NameOID.SERIAL_NUMBER,
    "street": NameOID.STREET_ADDRESS,
    "SN": NameOID.SURNAME,
    "title": NameOID.TITLE,
    "unstructuredName": NameOID.UNSTRUCTURED_NAME,
}


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
        name = x509.Name.from_rfc4514_string(subject, _OPENSSL_NAMES)
        found = name.get_attributes_for_oid(_ATTRIBUTES[settings.attribute])
    except ValueError:
        raise Malformed("X-Hopshive-Subject is no subject of a certificate (RFC 4514).") from None
    if len(found) != 1:
        raise Denied(f"a certificate with {len(found)} {settings.attribute}", "The certificate names no user.")
    try:
        return parts(str(found[0].value))
    except BadName:
        raise Denied("a certificate whose subject is no user", "The certificate names no user.") from None


def basic(name: str, token: str) -> str:
    """HTTP Basic of an account and its token: nginx has no base64 of its own."""
    return "Basic " + base64.b64encode(f"{name}:{token}".encode()).decode()


def _password(authorization: str) -> str:
    """The password of HTTP Basic; empty if there is none."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
