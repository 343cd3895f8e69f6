"""Filters that turn people of an inventory into what the login service reads."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleFilterError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Those of `hopshive-login hash-password`: HASHER in src/hopshive/tenancy/login/backends/people.py.
_TIME_COST = 2
_MEMORY_KIB = 19456
_LANES = 1
_LENGTH = 32
_SALT_BYTES = 16


def hashed_people(people: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The people by login name, each with the argon2id hash of the password in the password's place.

    The salt comes from name and password, so a further run changes nothing. That suits passwords that were made at
    random, such as those of a lab. Raises AnsibleFilterError for a person without a password.
    """
    # A controller without login services may lack argon2-cffi.
    from argon2 import low_level

    found = {}
    for name, person in people.items():
        password = str(person.get("password") or "")
        if not password:
            raise AnsibleFilterError(f"{name} has no password.")
        salt = hashlib.sha256(f"{name}\0{password}".encode()).digest()[:_SALT_BYTES]
        hashed = low_level.hash_secret(
            password.encode(), salt, _TIME_COST, _MEMORY_KIB, _LANES, _LENGTH, low_level.Type.ID
        )
        found[name] = {**person, "password": hashed.decode()}
    return found


class FilterModule:
    """Called by Ansible."""

    def filters(self) -> dict[str, Any]:
        """The filters by name."""
        return {"hashed_people": hashed_people}
