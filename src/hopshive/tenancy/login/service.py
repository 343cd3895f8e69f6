"""The decisions of the login service: from what a client sent to a token, or to an error. Without HTTP."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from hopshive.tenancy.login import codes, keys, limits, revocations, tokens
from hopshive.tenancy.login.audit import Record
from hopshive.tenancy.login.backends.base import Credentials
from hopshive.tenancy.login.clock import read_now
from hopshive.tenancy.login.errors import Denied, Forbidden, LoginError, Malformed, NotAMember, Unavailable
from hopshive.tenancy.login.tokens import Bearer, refused
from hopshive.tenancy.members import role_of
from hopshive.tenancy.names import BadName, Typed, check_account, project_user, typed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from hopshive.database import Transaction
    from hopshive.tenancy.login.backends.base import Backend, Person
    from hopshive.tenancy.login.clock import Clock
    from hopshive.tenancy.login.metrics import LoginMetrics
    from hopshive.tenancy.login.pool import Pool
    from hopshive.tenancy.login.provider import IdentityProvider
    from hopshive.tenancy.login.settings import LoginSettings

Result = TypeVar("Result")
# Characters of a password that anything looks at.
LONGEST_PASSWORD = 1024
# Seconds between two looks whether attempts of the same name have ended.
AGAIN = 0.1


@dataclass(frozen=True)
class Asked:
    """A login as a client sent it. `address`: of the client. No representation of it shows a secret."""

    name: str
    password: str = field(repr=False)
    code: str = field(default="", repr=False)
    database: str = ""
    address: str = ""


@dataclass(frozen=True)
class Granted:
    """The user that the client is from now on. `expires_in`: seconds of life of the token."""

    user: str
    account: str
    project: str
    role: str
    token: str = field(repr=False)
    expires_in: int


@dataclass(frozen=True)
class _Standing:
    """What the database says of an account: `role` in the project that was asked for; `now` by its clock."""

    role: str
    now: float
    revoked: bool = False
    spent: bool = False


class LoginService:
    """For one event loop. All that it knows is in the database and the back end; `ring` is refreshed."""

    def __init__(
        self,
        settings: LoginSettings,
        pool: Pool,
        backend: Backend,
        provider: IdentityProvider | None,
        clock: Clock,
        metrics: LoginMetrics,
    ) -> None:
        self.ring = keys.KeyRing()
        self._settings = settings
        self._pool = pool
        self._backend = backend
        self._provider = provider
        self._clock = clock
        self._metrics = metrics
        self._later: set[asyncio.Task[None]] = set()

    async def login(self, asked: Asked) -> Granted:
        """Let a person in by password or token. Raises LoginError."""
        token = tokens.is_token(asked.password)
        record = Record("", asked.address, asked.database, "token" if token else "password")

        async def work() -> Granted:
            try:
                who = typed(asked.name, asked.database, self._settings.no_project, nameless=token)
            except BadName as error:
                # The audit leaves out what cannot be a name: it may be a token or a password in the wrong field.
                raise Malformed(str(error)) from None
            record.name = asked.name
            return await (self._by_token if token else self._by_password)(asked, who, record)

        return await self._recorded(work, record)

    async def session(self, project: str, account: str, database: str, address: str) -> Granted:
        """Let the holder of a client certificate in, which a gateway has checked. Raises LoginError."""
        record = Record("", address, database, "certificate", account)

        async def work() -> Granted:
            try:
                asked = typed("", database, self._settings.no_project, nameless=True).project
            except BadName as error:
                raise Malformed(str(error)) from None
            # A certificate of a project's user is for that project alone.
            if project and asked and project != asked:
                raise NotAMember(account, asked)
            said = await self._backend.projects(account) or {}
            wanted = project or asked
            standing = await self._pool.run(lambda tx: self._standing(tx, account, wanted, said))
            life = standing.now + self._settings.tokens.lifetime
            return self._grant(Bearer(account, wanted, standing.now, life, "certificate"), standing, record)

        return await self._recorded(work, record)

    async def revoke(self, token: str, name: str, address: str) -> str:
        """Refuse all tokens that a person has so far: the token's own, or another for an operator. Returns the account."""
        record = Record(name, address, by="token")

        async def work() -> str:
            bearer = await self._bearer(token, record)
            account = name or bearer.account
            try:
                check_account(account)
            except BadName as error:
                raise Malformed(str(error)) from None

            def revoke(tx: Transaction) -> bool:
                if revocations.is_revoked(tx, bearer.account, bearer.checked):
                    return False
                revocations.revoke(tx, account)
                return True

            if account != bearer.account and bearer.account not in self._settings.operators:
                raise Forbidden("Only an operator may revoke the tokens of another person.")
            if not await self._pool.run(revoke):
                raise refused("a token that was revoked")
            self._metrics.revocations.inc()
            return account

        return await self._recorded(work, record, "Revocation")

    async def strike(self, address: str) -> None:
        """Count a wrong attempt of an address that was no login. Raises Limited and Unavailable."""
        of = limits.subjects(self._settings.limits, "", address)
        await self._pool.run(lambda tx: limits.strike(tx, of, self._settings.limits.window))

    async def settled(self) -> None:
        """Wait for what was left to do after an answer."""
        await asyncio.gather(*self._later, return_exceptions=True)

    # --- ways in ------------------------------------------------------------------------------------------------------

    async def _by_password(self, asked: Asked, who: Typed, record: Record) -> Granted:
        password, code = asked.password, asked.code
        if not code:
            password, code = codes.split(asked.password, self._settings.code_separator)
        record.by = "password+code" if code else "password"
        of = limits.subjects(self._settings.limits, who.name, asked.address)
        await self._begin(of)
        try:
            if not asked.password or len(asked.password) > LONGEST_PASSWORD or "\0" in asked.password:
                raise Denied("a password that is empty, too long, or holds NUL")
            credentials = Credentials(who.name, password, code, asked.password, self._clock.now())
            person = await self._backend.authenticate(credentials)
        except Denied:
            await self._pool.run(lambda tx: limits.end(tx, of, wrong=True))
            raise
        except BaseException:
            self._afterwards(self._pool.run(lambda tx: limits.end(tx, of)))
            raise
        record.account = person.account
        standing = await self._pool.run(lambda tx: self._accept(tx, person, who.project, of))
        if standing.spent:
            raise Denied("a one-time code that was used before")
        bearer = Bearer(
            person.account,
            who.project,
            standing.now,
            standing.now + self._settings.tokens.lifetime,
            "password",
            projects=person.projects if self._settings.membership != "table" else {},
        )
        return self._grant(bearer, standing, record, who.name)

    async def _by_token(self, asked: Asked, who: Typed, record: Record) -> Granted:
        bearer = await self._bearer(asked.password, record)
        if who.name and who.name.casefold() not in {name.casefold() for name in bearer.names}:
            raise await self._struck(refused("a token of another person"), record.address)
        project = who.project or bearer.project
        said = await self._backend.projects(bearer.account)
        projects = bearer.projects if said is None else said
        standing = await self._pool.run(
            lambda tx: self._standing(tx, bearer.account, project, projects, bearer.checked)
        )
        if standing.revoked:
            raise refused("a token that was revoked")
        life = min(bearer.expires, standing.now + self._settings.tokens.lifetime)
        # HiveServer2 asks with the name, and each time with the token of the answer before.
        return self._grant(replace(bearer, project=project, expires=life), standing, record, bearer.login or who.name)

    async def _bearer(self, token: str, record: Record) -> Bearer:
        """The person of a token, as the token says. Raises LoginError; a wrong token counts against the address."""
        now = self._clock.now()
        try:
            if self._provider is not None and tokens.issuer_of(token) == self._settings.provider.issuer:
                record.by = "provider"
                bearer = await self._provider.verify(token, now)
            else:
                bearer = tokens.verify(self._settings.tokens, await self._ring_for(token), now, token)
        except Denied as error:
            raise await self._struck(error, record.address) from None
        record.account = bearer.account
        return bearer

    async def _ring_for(self, token: str) -> keys.KeyRing:
        """The keys, as they are in the database if the token names one that another replica may have made."""
        kid = tokens.key_of(token)
        if not any(key.kid == kid for key in self.ring.keys):
            known = await self._pool.run(lambda tx: keys.read(tx, None, self.ring))
            if any(key.kid == kid for key in known.keys):
                return known
        return self.ring

    async def _struck(self, error: Denied, address: str) -> LoginError:
        """The error of a wrong token, which was counted; or that there were too many."""
        try:
            await self.strike(address)
        except LoginError as worse:
            return worse
        return error

    # --- the database -------------------------------------------------------------------------------------------------

    async def _begin(self, of: Sequence[limits.Subject]) -> None:
        """An attempt begins, as soon as others of the same name have ended. Raises Limited."""
        until = time.monotonic() + self._settings.timeout / 2
        while True:
            try:
                await self._pool.run(lambda tx: limits.begin(tx, of, self._settings.limits.window))
            except limits.Busy:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(AGAIN)
            else:
                return

    def _accept(self, tx: Transaction, person: Person, project: str, of: Sequence[limits.Subject]) -> _Standing:
        """The password was right: spend the code, and end the attempt."""
        if person.code and not codes.spend(tx, person.account, person.code):
            limits.end(tx, of, wrong=True)
            return _Standing("", read_now(tx), spent=True)
        limits.end(tx, of, right=True)
        return self._standing(tx, person.account, project, person.projects)

    def _standing(
        self, tx: Transaction, account: str, project: str, said: Mapping[str, str], checked: float | None = None
    ) -> _Standing:
        """`said`: roles by project, from the back end. `checked`: of a token, which may be revoked."""
        role = ""
        if project and self._settings.membership in ("table", "both"):
            role = role_of(tx, project, account)
        if project and not role and self._settings.membership in ("backend", "both"):
            role = said.get(project, "")
        revoked = checked is not None and revocations.is_revoked(tx, account, checked)
        return _Standing(role, read_now(tx), revoked)

    # --- the answer ---------------------------------------------------------------------------------------------------

    def _grant(self, bearer: Bearer, standing: _Standing, record: Record, login: str = "") -> Granted:
        """Raises Forbidden and NotAMember."""
        if bearer.account in self._settings.reserved:
            raise Forbidden(f"The account {bearer.account} is that of a service: no person logs in as it.")
        if bearer.project and not standing.role:
            raise NotAMember(bearer.account, bearer.project)
        try:
            user = project_user(bearer.project, bearer.account)
        except BadName as error:
            raise Forbidden(str(error)) from None
        record.user = user
        token = tokens.issue(self._settings.tokens, self.ring, standing.now, bearer, login)
        expires_in = max(0, int(bearer.expires) - int(standing.now))
        return Granted(user, bearer.account, bearer.project, standing.role, token, expires_in)

    async def _recorded(self, work: Callable[[], Awaitable[Result]], record: Record, what: str = "Login") -> Result:
        """Do it within the time of one login, and tell log and metrics. Raises LoginError."""
        began = time.monotonic()
        self._metrics.under_way.inc()
        try:
            async with asyncio.timeout(self._settings.timeout):
                found = await work()
        except (LoginError, TimeoutError) as raised:
            error = raised if isinstance(raised, LoginError) else Unavailable("The login service", "out of time")
            self._count(record, error.code, began)
            record.refused(error.code, error.reason, what)
            if error.counts:
                await asyncio.sleep(began + self._settings.limits.refusal_seconds - time.monotonic())
            raise error from None
        finally:
            self._metrics.under_way.dec()
        self._count(record, "accepted", began)
        record.accepted(what)
        return found

    def _count(self, record: Record, result: str, began: float) -> None:
        self._metrics.logins.labels(by=record.by, result=result).inc()
        self._metrics.seconds.labels(by=record.by).observe(time.monotonic() - began)

    def _afterwards(self, work: Coroutine[None, None, None]) -> None:
        """Do it although the request has ended; a failure was logged where it happened."""
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._later.discard(task)
        if not task.cancelled():
            task.exception()
