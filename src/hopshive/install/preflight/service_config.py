"""Checks a service's configuration before it is written, and names the variable of each wrong setting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopshive import config
from hopshive.config import ConfigError
from hopshive.tenancy.login import settings as login

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True)
class Service:
    """A service with a file of settings, which a role of that name writes."""

    role: str
    path: Path
    check: Callable[[object, Path], object]

    @property
    def extra(self) -> str:
        """The variable with settings that the user adds."""
        return f"{self.role}_config_extra"


CLEANER = Service("cleaner", config.DEFAULT_PATH, config.checked)
LOGIN = Service("login", login.DEFAULT_PATH, login.checked)
SERVICES = (CLEANER, LOGIN)


def config_faults(service: Service, content: object, templates: Mapping[str, object], extra: object) -> dict[str, str]:
    """For each variable to correct, a sentence about what the service would refuse.

    `templates`: the configuration as the role writes it. `extra`: the settings that the user adds. The service's check
    ends at the first wrong setting, so this function removes that setting and checks the rest again.
    """
    found: dict[str, list[str]] = {}
    added = {setting for setting, _ in _leaves(extra)}
    sources = {
        setting: source[0]
        for setting, template in _leaves(templates)
        if setting not in added and (source := re.search(rf"\b(?:{service.role}|cluster)_\w+", str(template)))
    }
    while True:
        try:
            service.check(content, service.path)
        except ConfigError as error:
            text = str(error).removeprefix(f"{service.path}: ").rstrip(".")
            setting = next((name for name in _names(content) if _is_about(text, name)), "")
            if setting or not found:
                found.setdefault(sources.get(setting, service.extra), []).append(text)
            if not setting:
                break
            content = _without(content, setting)
        else:
            break
    return {variable: "; ".join(texts) for variable, texts in found.items()}


def _is_about(text: str, setting: str) -> bool:
    return re.match(rf"(unknown setting |the section )?{re.escape(setting)}(?![\w.])", text) is not None


def _names(settings: object, prefix: str = "") -> Iterator[str]:
    """The name of each setting, and of each group of settings."""
    for name, value in settings.items() if isinstance(settings, dict) else ():
        yield f"{prefix}{name}"
        yield from _names(value, f"{prefix}{name}.")


def _without(settings: object, setting: str) -> object:
    """The settings without one of them."""
    if not isinstance(settings, dict):
        return settings
    head, _, rest = setting.partition(".")
    if not rest:
        return {name: value for name, value in settings.items() if name != head}
    return {name: _without(value, rest) if name == head else value for name, value in settings.items()}


def _leaves(settings: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Each setting, such as `mirror.grace`, with its value."""
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
