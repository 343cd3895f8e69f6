"""What a replica knows about itself: whether it reaches its database and its back end, and has a key that signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.daemon.health import Contact

if TYPE_CHECKING:
    from hopshive.database import Server
    from hopshive.tenancy.login.metrics import LoginMetrics

WHO = "The login service"
# Seconds for which a contact counts: both are asked more often.
LATELY = 15.0


class Wellbeing:
    """`database` and `backend` are told what happens to them, by any thread."""

    def __init__(self, server: Server, title: str, metrics: LoginMetrics) -> None:
        self.database = Contact(server.place, LATELY, WHO)
        self.backend = Contact(title[0].lower() + title[1:], LATELY, WHO)
        # Why no token can be signed; empty if one can.
        self.keys = "The login service has not read its keys yet."
        metrics.up.labels(what="database").set_function(lambda: not self.database.problem)
        metrics.up.labels(what="backend").set_function(lambda: not self.backend.problem)

    @property
    def problems(self) -> list[str]:
        """In sentences; empty if all is well."""
        return [said for said in (self.database.problem, self.backend.problem, self.keys) if said]
