"""One replica: the HTTPS port, and what it does by itself, such as looking for new keys."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hopshive.config import ConfigError
from hopshive.errors import Refused
from hopshive.tenancy.login import backends, keys, revocations
from hopshive.tenancy.login.app import LoginApp
from hopshive.tenancy.login.clock import Clock, read_now
from hopshive.tenancy.login.errors import LoginError
from hopshive.tenancy.login.metrics import LoginMetrics
from hopshive.tenancy.login.pool import Pool
from hopshive.tenancy.login.provider import IdentityProvider
from hopshive.tenancy.login.proxies import resolved
from hopshive.tenancy.login.service import LoginService
from hopshive.tenancy.login.wellbeing import Wellbeing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hopshive.daemon.notify import Notifier
    from hopshive.database import Transaction
    from hopshive.tenancy.login.settings import LoginSettings

log = logging.getLogger(__name__)

# Seconds between two looks: for keys and the time of the database, at the back end, at the certificate's files; between two
# collections of rows that expired; between two signs of life to systemd.
KEYS = 5.0
PROBE = 5.0
CERTIFICATE = 5.0
PRUNE = 60.0
ALIVE = 1.0
# Seconds that requests under way have when the service is told to end.
GRACE = 10
# Bytes of a request's line and headers, and seconds for which a silent connection is kept.
HEADERS = 32 * 1024
IDLE = 30
# Connections that wait for being accepted.
BACKLOG = 512


class Replica:
    """One process of any number. Raises Refused where only a human can help."""

    def __init__(self, settings: LoginSettings, notifier: Notifier) -> None:
        self._settings = settings
        self._notifier = notifier
        server = settings.server()
        self._metrics = LoginMetrics()
        self._clock = Clock()
        self._sealer = keys.Sealer(settings.sealing_secret(), settings.tokens.sealing_key_file)
        self._secret = settings.gateway_secret()
        self._tls = Tls(settings)
        self._backend = backends.make(settings)
        self._wellbeing = Wellbeing(server, self._backend.title, self._metrics)
        self._pool = Pool(server, settings.names, settings.database.connections, self._wellbeing.database)
        # What only looks does not wait for logins, and they do not wait for it.
        self._own_pool = Pool(server, settings.names, 1, self._wellbeing.database)
        self._refused: Refused | None = None
        self._ready = False

    async def run(self) -> None:
        """Until SIGTERM. Raises Refused."""
        settings = self._settings
        provider = IdentityProvider(settings.provider) if settings.provider.issuer else None
        service = LoginService(settings, self._pool, self._backend, provider, self._clock, self._metrics)
        self._metrics.key_age.set_function(lambda: self._key_age(service))
        proxies = resolved(settings.listen.proxies)
        app = LoginApp(settings, service, self._wellbeing, self._metrics, self._clock, self._secret, proxies)
        listener = _listen(settings.listen.host, settings.listen.port)
        server = uvicorn.Server(self._uvicorn(app))
        # uvicorn raises the signal again when it has ended.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        # Before the port is open: a key that cannot be unsealed ends the start.
        await self._look_for_keys(service, server)
        loops = [
            asyncio.create_task(_every(KEYS, lambda: self._look_for_keys(service, server))),
            asyncio.create_task(_every(PROBE, self._probe)),
            asyncio.create_task(_every(PRUNE, self._prune)),
            asyncio.create_task(_every(CERTIFICATE, self._tls.renew)),
            asyncio.create_task(_every(ALIVE, lambda: self._tell(server))),
        ]
        try:
            if self._refused is None:
                await server.serve(sockets=[listener])
        finally:
            self._notifier.stopping()
            for loop in loops:
                loop.cancel()
            await service.settled()
            await self._backend.close()
            if provider is not None:
                await provider.close()
            self._pool.close()
            self._own_pool.close()
        if self._refused is not None:
            raise self._refused
        if not server.started:
            listen = settings.listen
            raise Refused(
                f"{listen.host}:{listen.port} (listen.host, listen.port) cannot be served: see the line above."
            )

    def _uvicorn(self, app: LoginApp) -> uvicorn.Config:
        listen = self._settings.listen
        return uvicorn.Config(
            app.routes(),
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=listen.connections,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=GRACE,
            h11_max_incomplete_event_size=HEADERS,
            ssl_context_factory=lambda _, __: self._tls.context,
        )

    async def _look_for_keys(self, service: LoginService, server: uvicorn.Server) -> None:
        settings = self._settings.tokens

        def look(tx: Transaction) -> tuple[keys.KeyRing, float, Refused | None]:
            try:
                return keys.ensure(tx, self._sealer, settings.lifetime, service.ring), read_now(tx), None
            except Refused as error:
                # Of the other keys, those that are still there verify, and those that this replica has opened sign.
                return keys.read(tx, None, service.ring), read_now(tx), error

        began = bool(service.ring.keys)
        try:
            service.ring, now, refused = await self._own_pool.run(look)
        except LoginError:
            self._wellbeing.keys = "" if service.ring.keys else self._wellbeing.keys
            return
        self._clock.set(now)
        self._wellbeing.keys = str(refused) if refused else ""
        if refused is not None:
            log.error("%s", refused)
            if not began:
                self._refused = refused
                server.should_exit = True

    async def _probe(self) -> None:
        try:
            await self._backend.probe()
        except LoginError as error:
            self._wellbeing.backend.failed(f"{error.reason[:1].upper()}{error.reason[1:]}.".replace("..", "."))
        else:
            self._wellbeing.backend.reached()

    async def _prune(self) -> None:
        await self._own_pool.run(revocations.prune)

    async def _tell(self, server: uvicorn.Server) -> None:
        if server.started and not self._ready:
            self._ready = True
            self._notifier.ready()
        problems = self._wellbeing.problems
        self._notifier.status(problems[0] if problems else "serving")
        self._notifier.alive()

    def _key_age(self, service: LoginService) -> float:
        now = self._clock.now()
        key = service.ring.signer(now)
        return now - key.signs_from if key else 0.0


class Tls:
    """The context of the port. Files that change are read again: connections from then on have them."""

    def __init__(self, settings: LoginSettings) -> None:
        self._listen = settings.listen
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
        authority = settings.gateway.authority
        if authority:
            try:
                self.context.load_verify_locations(authority)
            except OSError as error:
                raise ConfigError(
                    f"{authority} (gateway.authority) is no file of certificates: {_why(error)}."
                ) from None
            # Asked for, never required: people have none.
            self.context.verify_mode = ssl.CERT_OPTIONAL
        self._stamp = self._look()
        self._load()

    async def renew(self) -> None:
        """Read the files again if they changed; what cannot be used is logged, and the former certificate stays."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._load()
        except ConfigError as error:
            log.error("%s The former certificate stays.", error)
        else:
            log.info("%s was read again.", self._listen.certificate)

    def _load(self) -> None:
        """Raises ConfigError."""
        listen = self._listen
        try:
            # First into a context of its own: a certificate without its key would spoil the one that serves.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(listen.certificate, listen.key)
            self.context.load_cert_chain(listen.certificate, listen.key)
        except OSError as error:
            raise ConfigError(
                f"{listen.certificate} and {listen.key} (listen.certificate, listen.key) cannot be used: {_why(error)}."
            ) from None

    def _look(self) -> list[tuple[int, int]]:
        found = []
        for name in (self._listen.certificate, self._listen.key):
            try:
                status = Path(name).stat()
            except OSError:
                found.append((0, 0))
            else:
                found.append((status.st_mtime_ns, status.st_ino))
        return found


class _Protocol(H11Protocol):
    """Hands the certificate of a client, which the handshake has verified, to the application."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert") or {}
        app = self.app

        async def with_certificate(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("extensions", {})["tls"] = {"peer": certificate}
            await app(scope, receive, send)

        self.app = with_certificate


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again. What it raises is logged, and does not end it."""
    while True:
        began = time.monotonic()
        try:
            await work()
        except LoginError:
            # Logged where it happened.
            pass
        except Exception:
            log.exception("What the service does by itself failed.")
        await asyncio.sleep(max(0.1, seconds - (time.monotonic() - began)))


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections as soon as it is served. Raises ConfigError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"{host}:{port} (listen.host, listen.port) cannot be served: {_why(error)}.") from None
    # Connections inherit it. asyncio sets it on sockets that name their protocol, which these do not. Without it the second part
    # of an answer waits 40 ms, until the client has acknowledged the first one.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _why(error: OSError) -> str:
    return error.strerror or str(error)
