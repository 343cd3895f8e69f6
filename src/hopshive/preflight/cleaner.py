"""The cleaner's configuration before it is written: the daemon's own checks, with the variable that each setting comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hopshive.config import DEFAULT_PATH, ConfigError, checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXTRA = "cleaner_config_extra"


def config_fault(content: object, templates: Mapping[str, object], extra: object) -> tuple[str, str] | None:
    """What the daemon would refuse in its configuration: the variable to correct, and a sentence.

    `templates` is the configuration as the role writes it, `extra` the settings that the user adds to it.
    """
    try:
        checked(content, DEFAULT_PATH)
    except ConfigError as error:
        text = str(error).removeprefix(f"{DEFAULT_PATH}: ").rstrip(".")
        added = {setting for setting, _ in _leaves(extra)}
        for setting, template in _leaves(templates):
            source = re.search(r"\b(?:cleaner|cluster)_\w+", str(template))
            if source and setting not in added and re.match(rf"{re.escape(setting)}(?![\w.])", text):
                return source[0], text
        return EXTRA, text
    return None


def _leaves(settings: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Each setting, such as `mirror.grace`, with its value."""
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
