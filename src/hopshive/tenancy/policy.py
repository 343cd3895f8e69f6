"""The policy of a warehouse: which rows, columns and values of its tables people see, as a site writes it in YAML.

A rule hides rows (`filter`), replaces values (`masks`) or refuses columns (`refused`) of the tables that its patterns match, for
the people whom it names. HiveServer2 reads the policy as JSON (roles/server2/files/policy), which `render` writes.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from hopshive.config import ConfigError
from hopshive.tenancy.names import BadName, check_project, parts

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

# What the Java reads.
VERSION = 1
FIELDS = ("name", "tables", "to", "except", "filter", "masks", "refused")
PEOPLE = ("users", "projects")
# SQL of each mask; Hive casts it to the column's type. {column} is the column in quotes.
MASKS = {
    "nullify": "NULL",
    "hash": "sha2(CAST({column} AS STRING), 256)",
    "last4": "mask_show_last_n(CAST({column} AS STRING), 4, 'x', 'x', 'x', 'x', '1')",
    "first4": "mask_show_first_n(CAST({column} AS STRING), 4, 'x', 'x', 'x', 'x', '1')",
    "year": "concat(substr(CAST({column} AS STRING), 1, 4), '-01-01')",
}
COLUMN = "{column}"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PATTERN = re.compile(r"[a-z0-9_*]+\.[a-z0-9_*]+")
_IDENTIFIER = re.compile(r"[^`.,:;\s]+")
# Texts in quotes, which may hold anything; then comments and the end of a statement, which would end more than the expression.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`", re.DOTALL)
_FORBIDDEN = re.compile(r"--|/\*|;|['\"`]")


@dataclass(frozen=True)
class People:
    """People by the user of their session, and by the project that the session is in; `everyone` is all of them."""

    users: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    everyone: bool = False

    def json(self) -> dict[str, Any]:
        """As HiveServer2 reads them."""
        return {"everyone": self.everyone, "users": list(self.users), "projects": list(self.projects)}


@dataclass(frozen=True)
class Rule:
    """A checked rule. `tables` are patterns `database.table`, in which * is any text; masks are SQL by column."""

    name: str
    tables: tuple[str, ...]
    to: People
    excepted: People
    filter: str = ""
    masks: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """As HiveServer2 reads it."""
        patterns = [pattern.replace(".", "[.]").replace("*", "[^.]*") for pattern in self.tables]
        found = {
            "name": self.name,
            "tables": "|".join(patterns),
            "to": self.to.json(),
            "except": self.excepted.json(),
            "masks": dict(self.masks),
            "refused": list(self.refused),
        }
        return found | ({"filter": self.filter} if self.filter else {})


class _Loader(yaml.SafeLoader):
    """Refuses a key that comes twice: the first one would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise ConfigError(f"line {node.start_mark.line + 1}: {key} is there twice.")
        return super().construct_mapping(node, deep)


def read(text: str, place: str, members: Mapping[str, Collection[str]] | None = None) -> list[Rule]:
    """The rules of a policy, in their order.

    `place` names the file in messages. `members`: users of each project; without it, names of people are checked for their form
    alone.

    Raises:
        ConfigError: something is wrong; the message names the file, the rule, and the table or column.
    """
    try:
        content = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{place} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or list(content) != ["rules"] or not isinstance(content["rules"], list):
        raise ConfigError(f"{place} must hold `rules:` with a list, and nothing else.")
    rules = [_rule(one, f"{place}: rule {number}", members) for number, one in enumerate(content["rules"], 1)]
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{place}: two rules are called {name}.")
    return rules


def render(rules: list[Rule]) -> str:
    """The JSON that HiveServer2 reads."""
    return json.dumps({"version": VERSION, "rules": [rule.json() for rule in rules]}, indent=1, sort_keys=True) + "\n"


def _rule(content: object, place: str, members: Mapping[str, Collection[str]] | None) -> Rule:
    if not isinstance(content, dict):
        raise ConfigError(f"{place} must hold settings as `name: value`.")
    name = content.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(f"{place} needs a name of lower case letters, digits and underscores.")
    place = f"{place} ({name})"
    _only(content, FIELDS, place)
    masks = dict(_masks(content.get("masks", {}), place))
    refused = tuple(_column(column, place) for column in _texts(content.get("refused", []), f"{place}: refused"))
    condition = _sql(content["filter"], f"{place}: filter") if "filter" in content else ""
    for column in refused:
        if column in masks:
            raise ConfigError(f"{place}: the column {column} has a mask and is refused. Leave one of both.")
    if not masks and not refused and not condition:
        raise ConfigError(f"{place} hides nothing: it has no filter, no masks and no refused.")
    excepted = _people(content["except"], f"{place}: except", members) if "except" in content else People()
    to = _people(content["to"], f"{place}: to", members) if "to" in content else People(everyone=True)
    return Rule(name, tuple(_tables(content.get("tables"), place)), to, excepted, condition, masks, refused)


def _tables(content: object, place: str) -> Iterator[str]:
    found = _texts(content, f"{place}: tables")
    if not found:
        raise ConfigError(f"{place}: tables must name a table at least.")
    for pattern in found:
        if not _PATTERN.fullmatch(pattern.lower()):
            raise ConfigError(
                f"{place}: tables: {pattern!r} is no database.table. Names have letters, digits, underscores, and * for any text."
            )
        yield pattern.lower()


def _people(content: object, place: str, members: Mapping[str, Collection[str]] | None) -> People:
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{place} must name people as `users:` or `projects:`.")
    _only(content, PEOPLE, place)
    users = tuple(_texts(content.get("users", []), f"{place}.users"))
    projects = tuple(_texts(content.get("projects", []), f"{place}.projects"))
    for user in users:
        try:
            project, _ = parts(user)
        except BadName as error:
            raise ConfigError(f"{place}.users: {user}: {error}") from None
        if members is not None and project and user not in members.get(project, ()):
            raise ConfigError(f"{place}.users: {user} is not a member of a project.")
    for project in projects:
        try:
            check_project(project)
        except BadName as error:
            raise ConfigError(f"{place}.projects: {project}: {error}") from None
        if members is not None and project not in members:
            raise ConfigError(f"{place}.projects: there is no project {project}.")
    if not users and not projects:
        raise ConfigError(f"{place} must name a user or a project.")
    return People(users, projects)


def _masks(content: object, place: str) -> Iterator[tuple[str, str]]:
    if not isinstance(content, dict):
        raise ConfigError(f"{place}: masks must hold `column: mask`.")
    seen: set[str] = set()
    for name, mask in content.items():
        column = _column(name, place)
        where = f"{place}: masks.{column}"
        if column in seen:
            raise ConfigError(f"{where} is there twice, in another case.")
        seen.add(column)
        if isinstance(mask, dict) and list(mask) == ["sql"]:
            sql = _sql(mask["sql"], where)
        elif isinstance(mask, str) and mask in MASKS:
            sql = MASKS[mask]
        else:
            raise ConfigError(
                f"{where} is {mask!r}; it must be one of {', '.join(MASKS)}, or `sql:` with an expression."
            )
        yield column, sql.replace(COLUMN, f"`{column}`")


def _column(name: object, place: str) -> str:
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise ConfigError(f"{place}: {name!r} is no name of a column.")
    return name.lower()


def _sql(content: object, place: str) -> str:
    if not isinstance(content, str) or not content.strip():
        raise ConfigError(f"{place} must be an expression of SQL.")
    bare = _QUOTED.sub("''", content).replace("''", "")
    found = _FORBIDDEN.search(bare)
    if found:
        raise ConfigError(f"{place} has {found[0]!r}: quotes come in pairs, and there is no comment and no semicolon.")
    depth = 0
    for letter in bare:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            break
    if depth:
        raise ConfigError(f"{place}: parentheses must come in pairs.")
    return content.strip()


def _only(content: Mapping[Any, object], known: tuple[str, ...], place: str) -> None:
    for name in content:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{place}: {name} is unknown.{meant} Known are {', '.join(known)}.")


def _texts(content: object, place: str) -> list[str]:
    if not isinstance(content, list) or not all(isinstance(one, str) for one in content):
        raise ConfigError(f"{place} must be a list of texts.")
    return content
