"""What can go wrong with the schema."""

from __future__ import annotations

from hopshive.errors import Refused


class SchemaError(Refused):
    """The schema is not as it must be, or could not be made so; the message is a sentence for the operator."""
