"""One line of the log for each login, refused or not. None holds a password, a code or a token."""

from __future__ import annotations

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

LONGEST = 254


@dataclass
class Record:
    """What is known of a request so far. `by`: password, password+code, token, provider, certificate."""

    name: str = ""
    address: str = ""
    database: str = ""
    by: str = "password"
    account: str = ""
    user: str = ""

    def accepted(self, what: str = "Login") -> None:
        """The request was granted."""
        log.info("%s accepted.", what, extra={"fields": self._fields()})

    def refused(self, code: str, reason: str, what: str = "Login") -> None:
        """The request was not granted; `code` is what the client was told, `reason` is why."""
        log.warning("%s refused.", what, extra={"fields": {**self._fields(), "code": code, "reason": reason}})

    def _fields(self) -> dict[str, str]:
        shown = {
            "name": self.name,
            "account": self.account,
            "user": self.user,
            "database": self.database,
            "address": self.address,
            "by": self.by,
        }
        return {field: plain(value) for field, value in shown.items() if value}


def plain(text: str) -> str:
    """A text from a client, for one line of a log: characters that do not print are escaped."""
    cut = text[:LONGEST]
    return cut if cut.isprintable() else cut.encode("unicode_escape").decode()
