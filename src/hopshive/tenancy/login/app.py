"""The HTTP of the login service: paths, JSON, headers. What is decided stands in `service`."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from hopshive.tenancy.login.codes import is_code
from hopshive.tenancy.login.errors import Denied, Limited, LoginError, Malformed
from hopshive.tenancy.login.gateway import ANSWER, AUTHORIZATION, TOKEN, USER, basic, require_gateway, user_of
from hopshive.tenancy.login.service import Asked
from hopshive.tenancy.login.tokens import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from hopshive.tenancy.login.clock import Clock
    from hopshive.tenancy.login.metrics import LoginMetrics
    from hopshive.tenancy.login.proxies import Proxies
    from hopshive.tenancy.login.service import LoginService
    from hopshive.tenancy.login.settings import LoginSettings
    from hopshive.tenancy.login.wellbeing import Wellbeing

log = logging.getLogger(__name__)

# Bytes of a request's body, and seconds in which it must have come.
LARGEST = 64 * 1024
PATIENCE = 10.0
# Seconds for which a verifier may keep the public keys; a new key is published longer before it signs.
KEYS_FOR = 30
_NO_STORE = {"Cache-Control": "no-store"}


class LoginApp:
    """The pages. `gateway_secret`: what the gateway proves itself by; empty: not by a secret."""

    def __init__(
        self,
        settings: LoginSettings,
        service: LoginService,
        wellbeing: Wellbeing,
        metrics: LoginMetrics,
        clock: Clock,
        gateway_secret: str,
        proxies: Proxies,
    ) -> None:
        self._settings = settings
        self._service = service
        self._wellbeing = wellbeing
        self._metrics = metrics
        self._clock = clock
        self._gateway_secret = gateway_secret
        self._proxies = proxies

    def routes(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/login", self._login, methods=["POST"]),
                Route("/v1/revoke", self._revoke, methods=["POST"]),
                Route("/v1/session", self._session, methods=["GET"]),
                Route("/.well-known/jwks.json", self._keys, methods=["GET"]),
                Route("/healthz", self._healthz, methods=["GET"]),
                Route("/metrics", self._show_metrics, methods=["GET"]),
            ],
            exception_handlers={LoginError: _login_error, HTTPException: _http_error, Exception: _crash},
        )

    async def _login(self, request: Request) -> Response:
        fields = await _fields(request, required=("name", "password"), optional=("code", "database"))
        if fields.get("code") and not is_code(fields["code"]):
            raise Malformed("code is six to eight digits.")
        granted = await self._service.login(Asked(**fields, address=self._address(request)))
        return JSONResponse(asdict(granted), headers=_NO_STORE)

    async def _revoke(self, request: Request) -> Response:
        fields = await _fields(request, optional=("name",))
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise refused("no token")
        account = await self._service.revoke(token.strip(), fields.get("name", ""), self._address(request))
        return JSONResponse({"revoked": account}, headers=_NO_STORE)

    async def _session(self, request: Request) -> Response:
        try:
            return await self._session_of(request)
        except LoginError as error:
            response = await _login_error(request, error)
            response.headers[ANSWER] = bytes(response.body).decode("ascii")
            return response

    async def _session_of(self, request: Request) -> Response:
        settings = self._settings.gateway
        certificate = request.scope.get("extensions", {}).get("tls", {}).get("peer", {})
        # Counted by the address of the caller itself: a caller that is no gateway can write the header.
        peer = _peer(request)
        try:
            require_gateway(settings, self._gateway_secret, request.headers.get("authorization", ""), certificate)
        except Denied as error:
            log.warning("A caller is no gateway.", extra={"fields": {"address": peer, "reason": error.reason}})
            await self._service.strike(peer)
            raise
        project, account = user_of(settings, request.headers.get("x-hopshive-subject", ""))
        database = request.headers.get("x-hopshive-database", "")
        granted = await self._service.session(project, account, database, self._address(request))
        found = {USER: granted.user, TOKEN: granted.token, AUTHORIZATION: basic(granted.account, granted.token)}
        return Response(headers={**_NO_STORE, **found})

    async def _keys(self, _: Request) -> Response:
        published = self._service.ring.jwks(self._clock.now())
        return JSONResponse(published, headers={"Cache-Control": f"max-age={KEYS_FOR}"})

    async def _healthz(self, _: Request) -> Response:
        if problems := self._wellbeing.problems:
            return PlainTextResponse("\n".join(problems) + "\n", 503)
        return PlainTextResponse("The login service is alive and reaches its database and its back end.\n")

    async def _show_metrics(self, _: Request) -> Response:
        return Response(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)

    def _address(self, request: Request) -> str:
        """Of the client."""
        return self._proxies.client(_peer(request), request.headers.getlist("x-forwarded-for"))


def _peer(request: Request) -> str:
    """Of the other end of the connection."""
    return request.client.host if request.client else ""


async def _fields(request: Request, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> dict[str, str]:
    """The texts of a JSON object. Raises Malformed, which shows no value."""
    body = await _body(request)
    if not body and not required:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("The body is a JSON object.") from None
    if not isinstance(found, dict):
        raise Malformed("The body is a JSON object.")
    for name in required:
        if name not in found:
            raise Malformed(f"{name} is missing.")
    if set(found) - {*required, *optional}:
        raise Malformed(f"The fields are {', '.join((*required, *optional))}.")
    for name, value in found.items():
        if not (isinstance(value, str) or (value is None and name in optional)):
            raise Malformed(f"{name} is a text.")
        # A lone surrogate is no character, and nothing downstream could write it.
        if value is not None and not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
            raise Malformed(f"{name} is not Unicode.")
    return {name: value for name, value in found.items() if value is not None}


async def _body(request: Request) -> bytes:
    """All of it. Raises Malformed for one that is too large, or too slow."""
    found = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                found += part
                if len(found) > LARGEST:
                    raise Malformed(f"The body has {LARGEST} bytes at most.")
    except TimeoutError:
        raise Malformed(f"The body did not come within {PATIENCE:g} s.") from None
    return bytes(found)


def _error(status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII: a header holds it too.
    body = json.dumps({"error": code, "message": sentence})
    return Response(body, status, {**_NO_STORE, **(headers or {})}, "application/json")


async def _login_error(_: Request, error: Any) -> Response:
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Limited) else {}
    return _error(error.status, error.code, error.sentence, headers)


async def _http_error(request: Request, error: Any) -> Response:
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return _error(
            405, "method_not_allowed", f"The methods of {request.url.path} are {allowed}.", {"Allow": allowed}
        )
    if error.status_code == 404:
        return _error(404, "not_found", "There is no such path. The API begins with /v1/.")
    return _error(error.status_code, "malformed", "The request is not HTTP as this service reads it.")


async def _crash(_: Request, error: Exception) -> Response:
    log.error("A request failed: %s.", type(error).__name__, exc_info=error)
    return _error(500, "internal", "The login service failed: its log says why.")
