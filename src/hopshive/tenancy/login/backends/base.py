"""What each back end does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hopshive.tenancy.login.errors import Unavailable
from hopshive.tenancy.names import BadName, check_account

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Credentials:
    """What a person typed. `whole`: password and code as they came, if the client knows only a password. `at`: when.

    No representation of it shows a secret.
    """

    name: str
    password: str = field(repr=False)
    code: str = field(default="", repr=False)
    whole: str = field(default="", repr=False)
    at: float = 0.0


@dataclass(frozen=True)
class Person:
    """A person who proved it. `projects`: roles by project. `code`: the one-time code that was right, which is spent then."""

    account: str
    projects: Mapping[str, str] = field(default_factory=dict)
    code: str = field(default="", repr=False)


class Backend(Protocol):
    """For one event loop. `title`: as the beginning of a sentence."""

    title: str

    async def authenticate(self, typed: Credentials) -> Person:
        """The person who typed this. Raises Denied, and Unavailable if that cannot be known now."""

    async def probe(self) -> None:
        """Raises Unavailable unless it could answer now."""

    async def projects(self, account: str) -> Mapping[str, str] | None:
        """Roles of an account by project as of now; None if that is known at a login alone."""

    async def close(self) -> None:
        """Give connections and threads back."""


def account_of(title: str, found: object) -> str:
    """The account that a back end gave. Raises Unavailable: the site's data must change, not the password."""
    if isinstance(found, str):
        try:
            return check_account(found)
        except BadName as error:
            raise Unavailable(title, f"it gave an account that cannot be one: {error}") from None
    raise Unavailable(title, "it gave no account")
