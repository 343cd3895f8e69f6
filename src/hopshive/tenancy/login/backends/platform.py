"""People of a platform such as HopsWorks, asked by REST as in the HopsHive thesis, chapter 3.2.

A POST of name, password and code opens a session there, and a GET of the profile with its cookie says who that is. Only an
answer that is right in each of its parts lets a person in. A refusal is a 4xx that speaks of the person; all else, such as a
redirect, an error of the server or a page in place of JSON, means that the platform cannot be asked now.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from hopshive.tenancy.login.backends.base import Person, account_of
from hopshive.tenancy.login.errors import Denied, Unavailable
from hopshive.tenancy.login.web import Web, WebError, context
from hopshive.tenancy.members import MEMBER, ROLES
from hopshive.tenancy.names import BadName, project_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.tenancy.login.backends.base import Credentials
    from hopshive.tenancy.login.settings import Platform
    from hopshive.tenancy.login.web import Answer

log = logging.getLogger(__name__)

# Client errors that do not speak of the person: a wrong path or method, a slow or an overloaded server.
_NOT_OF_THE_PERSON = frozenset({404, 405, 406, 408, 410, 411, 413, 414, 415, 421, 425, 426, 429, 431})


class PlatformRest:
    """The platform. Connections are kept; sessions and cookies are not."""

    title = "The platform"

    def __init__(self, settings: Platform) -> None:
        self._settings = settings
        self._base = settings.url.rstrip("/")
        verify = context(settings.authority, "platform.authority")
        self._web = Web(verify, settings.timeout, settings.connections)
        self._farewells: set[asyncio.Task[None]] = set()

    async def authenticate(self, typed: Credentials) -> Person:
        """The person who typed this. Raises Denied and Unavailable."""
        try:
            async with asyncio.timeout(self._settings.timeout):
                cookie = await self._open(typed)
                profile = await self._profile(cookie)
        except TimeoutError:
            raise self._unavailable(f"no answer within {self._settings.timeout:g} s") from None
        except WebError as error:
            raise self._unavailable(str(error)) from None
        self._leave(cookie)
        said = _at(profile, self._settings.login_field) if self._settings.login_field else typed.name
        if not isinstance(said, str) or said.casefold() != typed.name.casefold():
            raise self._unavailable("the profile is that of another person")
        account = account_of(self.title, _at(profile, self._settings.account_field))
        return Person(account, self._projects(profile, account), typed.code)

    async def probe(self) -> None:
        """Raises Unavailable unless a server answers; without a session it refuses, which is an answer."""
        try:
            answer = await self._web.ask("GET", self._base + self._settings.profile_path)
        except WebError as error:
            raise self._unavailable(str(error)) from None
        if answer.status >= 500:
            raise self._unavailable(f"status {answer.status}")

    async def projects(self, account: str) -> None:
        """The platform says that at a login alone."""

    async def close(self) -> None:
        """Close all connections."""
        await self._web.close()

    async def _open(self, typed: Credentials) -> str:
        """The cookie of a new session. Raises Denied, Unavailable and WebError."""
        settings = self._settings
        fields = {settings.name_field: typed.name, settings.password_field: typed.password}
        if typed.code:
            fields[settings.code_field] = typed.code
        if settings.encoding == "json":
            kind, body = "application/json", json.dumps(fields)
        else:
            kind, body = "application/x-www-form-urlencoded", urlencode(fields)
        answer = await self._web.ask("POST", self._base + settings.login_path, {"content-type": kind}, body.encode())
        if 400 <= answer.status < 500 and answer.status not in _NOT_OF_THE_PERSON:
            raise Denied(f"refused by the platform ({answer.status})")
        self._require_ok(answer, settings.login_path)
        cookie = answer.cookies.get(settings.cookie, "")
        if not cookie or not cookie.isprintable() or not cookie.isascii() or set(cookie) & set(' ",;\\'):
            raise self._unavailable(f"no cookie {settings.cookie} came with the login")
        return cookie

    async def _profile(self, cookie: str) -> Any:
        settings = self._settings
        headers = {"cookie": f"{settings.cookie}={cookie}"}
        answer = await self._web.ask("GET", self._base + settings.profile_path, headers)
        self._require_ok(answer, settings.profile_path)
        return answer.json()

    def _require_ok(self, answer: Answer, path: str) -> None:
        if answer.status != 200:
            raise self._unavailable(f"{path} answered with the status {answer.status}")

    def _projects(self, profile: Any, account: str) -> Mapping[str, str]:
        """Roles by project; what cannot be a project here is left out."""
        found: dict[str, str] = {}
        listed = _at(profile, self._settings.projects_field) if self._settings.projects_field else []
        for one in listed if isinstance(listed, list) else []:
            name, role = (one.get("name"), one.get("role", MEMBER)) if isinstance(one, dict) else (one, MEMBER)
            try:
                project_user(str(name), account)
            except BadName:
                continue
            found[str(name)] = role if role in ROLES else MEMBER
        return found

    def _leave(self, cookie: str) -> None:
        """End the session without waiting for it."""
        if not self._settings.logout_path:
            return

        async def farewell() -> None:
            headers = {"cookie": f"{self._settings.cookie}={cookie}"}
            try:
                await self._web.ask("GET", self._base + self._settings.logout_path, headers)
            except WebError as error:
                log.info("A session of the platform was not ended, it expires there: %s.", error)

        task = asyncio.create_task(farewell())
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)

    def _unavailable(self, reason: str) -> Unavailable:
        log.warning("The platform at %s cannot be asked: %s.", self._base, reason)
        return Unavailable(self.title, reason)


def _at(content: Any, path: str) -> Any:
    """The value at `user.name`; None if there is none."""
    for name in path.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content
