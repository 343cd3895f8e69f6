"""Filters over the system's accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def unlike_accounts(wanted: Mapping[str, int], database: Mapping[str, Sequence[str] | None]) -> list[dict[str, Any]]:
    """The accounts (name to id) that getent's passwd or group does not have with that id, as [{name, id}]."""
    found = {name: fields[1] for name, fields in database.items() if fields}
    return [{"name": name, "id": number} for name, number in wanted.items() if found.get(name) != str(number)]


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"unlike_accounts": unlike_accounts}
