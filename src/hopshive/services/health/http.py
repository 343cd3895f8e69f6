"""Answers of services over HTTP."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import Any

from hopshive.services.health.answer import NoAnswer, reason


def fetch_json(url: str, timeout: float) -> Any:
    """The JSON at a URL; raises NoAnswer for everything else."""
    body = fetch(url, timeout, "application/json")
    try:
        return json.loads(body)
    except ValueError:
        raise NoAnswer(f"{url} answered with something that is not JSON") from None


def fetch(url: str, timeout: float, accept: str = "*/*") -> bytes:
    """The content at a URL; raises NoAnswer unless the status is 200."""
    parts = urllib.parse.urlsplit(url)
    factory = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        port = parts.port
    except ValueError:
        raise NoAnswer(f"{url} has no valid port") from None
    connection = factory(parts.hostname or "", port, timeout=timeout)
    try:
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request("GET", path, headers={"Accept": accept})
        response = connection.getresponse()
        body = response.read()
    except TimeoutError:
        raise NoAnswer(f"nothing came back within {timeout:.0f} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(reason(error)) from None
    finally:
        connection.close()
    if response.status != 200:
        raise NoAnswer(f"{url} answered {response.status} {response.reason}")
    return body
