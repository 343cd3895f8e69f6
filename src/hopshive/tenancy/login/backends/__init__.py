"""What knows people and their passwords: the platform, a directory, or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.config import secret
from hopshive.tenancy.login.backends.directory import Directory
from hopshive.tenancy.login.backends.people import PeopleFile
from hopshive.tenancy.login.backends.platform import PlatformRest

if TYPE_CHECKING:
    from hopshive.tenancy.login.backends.base import Backend
    from hopshive.tenancy.login.settings import LoginSettings


def make(settings: LoginSettings) -> Backend:
    """The back end of the configuration. Raises Refused if it cannot be used at all."""
    if settings.backend == "platform":
        return PlatformRest(settings.platform)
    if settings.backend == "ldap":
        return Directory(settings.ldap, secret(settings.ldap.bind_password_file, "ldap.bind_password_file"))
    return PeopleFile(settings.file.path)
