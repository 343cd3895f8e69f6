"""Answers of services over HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from typing import Any

from hopshive.services.health.answer import NoAnswer, WrongAnswer, reason
from hopshive.tls import context, distrust

# Characters of a reason that a server gives.
LONGEST = 300


def fetch_json(url: str, timeout: float, authority: str = "") -> Any:
    """The JSON at a URL; raises NoAnswer for everything else."""
    body = fetch(url, timeout, "application/json", authority)
    try:
        return json.loads(body)
    except ValueError:
        raise NoAnswer(f"{url} answered with something that is not JSON") from None


def fetch(url: str, timeout: float, accept: str = "*/*", authority: str = "", status: int = 200) -> bytes:
    """The content at a URL; raises NoAnswer unless the status is `status`.

    Over HTTPS the server is verified against the certificates of the file `authority`, or those of the system.
    """
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise NoAnswer(f"{url} has no valid port") from None
    connection = http.client.HTTPConnection(parts.hostname or "", port, timeout=timeout)
    if parts.scheme == "https":
        try:
            trust = context(authority)
        except OSError as error:
            raise WrongAnswer(f"{authority} is no file of certificates: {reason(error)}") from None
        connection = http.client.HTTPSConnection(parts.hostname or "", port, timeout=timeout, context=trust)
    try:
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        body = response.read()
    except ssl.SSLCertVerificationError as error:
        raise NoAnswer(distrust(error, authority)) from None
    except TimeoutError:
        raise NoAnswer(f"nothing came back within {timeout:.0f} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(reason(error)) from None
    finally:
        connection.close()
    if response.status != status:
        # A service that says why says it in its first line.
        said = body.decode(errors="replace").strip().splitlines() if response.status == 503 else []
        more = f": {said[0][:LONGEST]}" if said and response.headers.get_content_type() == "text/plain" else ""
        raise NoAnswer(f"{url} answered {response.status} {response.reason}{more}")
    return body
