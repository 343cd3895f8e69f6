"""TLS to a database: the context of a connection, and its faults as texts that name the option of the login."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pymysql
from pymysql.constants import CR

if TYPE_CHECKING:
    from hopshive.database.connection import Server

# OpenSSL's numbers for a certificate of another host name or address: X509_V_ERR_HOSTNAME_MISMATCH, ..._IP_ADDRESS_MISMATCH.
_OTHER_HOST = frozenset({62, 64})


def context(server: Server) -> ssl.SSLContext | None:
    """The context that a server's options ask for, None without `ca_cert`. Raises pymysql.OperationalError."""
    if not server.ca_cert:
        given = {
            "client_cert": server.client_cert,
            "client_key": server.client_key,
            "check_hostname": server.check_hostname,
        }
        if alone := [name for name, value in given.items() if value]:
            raise _fault(f"{alone[0]} needs ca_cert, the file with the authority of the server's certificate")
        return None
    if server.client_key and not server.client_cert:
        raise _fault("client_key needs client_cert, the certificate of that key")
    try:
        made = ssl.create_default_context(cafile=server.ca_cert)
    except OSError as error:
        raise _fault(f"ca_cert {server.ca_cert} cannot be read as certificates: {error}") from error
    # The certificates that MySQL and MariaDB generate lack extensions that Python 3.13 requires. PyMySQL does the same.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    made.check_hostname = server.check_hostname is not False
    if server.client_cert:
        try:
            made.load_cert_chain(server.client_cert, server.client_key or None)
        except OSError as error:
            files = f"client_cert {server.client_cert}" + (
                f", client_key {server.client_key}" * bool(server.client_key)
            )
            raise _fault(f"{files}: not a certificate with its key: {error}") from error
    return made


def explained(error: pymysql.OperationalError, server: Server) -> pymysql.OperationalError:
    """The error, or if TLS failed, one that says which option does not fit the server."""
    cause = getattr(error, "original_exception", None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        if cause.verify_code in _OTHER_HOST:
            return _fault(
                f"the server's certificate is for another host than {server.host} ({cause.verify_message}). Set login_host"
                " to a name in the certificate, or check_hostname to false"
            )
        return _fault(
            f"ca_cert {server.ca_cert} does not vouch for the certificate of {server.host} ({cause.verify_message})"
        )
    if isinstance(cause, ssl.SSLError):
        return _fault(f"TLS with {server.host} failed: {cause}")
    if server.ca_cert and error.args and error.args[0] == CR.CR_SSL_CONNECTION_ERROR:
        return _fault(f"{server.host} offers no TLS, which ca_cert requires. Turn TLS on there, or leave ca_cert out")
    return error


def _fault(text: str) -> pymysql.OperationalError:
    return pymysql.OperationalError(CR.CR_SSL_CONNECTION_ERROR, text)
