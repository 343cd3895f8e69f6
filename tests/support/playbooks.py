"""How YAML and templates read: names of tasks, messages, descriptions and comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from tests.support.prose import WORDS, Text, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MESSAGES = {"fail_msg", "success_msg", "msg"}
DESCRIPTIONS = {"description", "short_description"}

_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NOTE = re.compile(r"\{#-?(.*?)-?#\}", re.DOTALL)
_COMMENT = re.compile(r"^\s*#(?!!)\s*(.*)$")
# A verb whose object is a pronoun says nothing to a reader who sees this name alone.
_VAGUE = re.compile(
    r"\w+ (?:it|them|this|that|these|those)(?: (?:again|back|now|look|go|run|start))*"
    r"|\w+ (?:what|who|whether (?:it|they)) .*"
)


def _scalars(node: yaml.Node | None, key: str = "") -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Each text of a document, with the key that it is the value of."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _scalars(value, str(name.value))
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value, key)
    elif isinstance(node, yaml.ScalarNode):
        yield key, node


def _documents(path: Path) -> Iterator[tuple[str, yaml.ScalarNode]]:
    for document in yaml.compose_all(path.read_text(), Loader=yaml.SafeLoader):
        yield from _scalars(document)


def _comments(path: Path) -> Iterator[Text]:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := _COMMENT.match(line):
            yield Text(place(path), number, found[1])


def names(path: Path) -> Iterator[Text]:
    """Names of plays, tasks, handlers and blocks. Other names, such as those of packages, begin with a small letter."""
    for key, node in _documents(path):
        if key == "name" and node.value[:1].isupper() and node.value != node.value.upper():
            yield Text(place(path), node.start_mark.line + 1, node.value)


def of_yaml(path: Path) -> Iterator[Text]:
    """The names, messages, descriptions and comments of a file. An expression reads as {}."""
    yield from names(path)
    for key, node in _documents(path):
        if key in MESSAGES | DESCRIPTIONS:
            limit = WORDS if key in DESCRIPTIONS else None
            yield Text(place(path), node.start_mark.line + 1, _EXPRESSION.sub("{}", node.value), limit)
    yield from _comments(path)


def of_template(path: Path) -> Iterator[Text]:
    """The comments of a template: those that end up on hosts, and Jinja's own."""
    yield from _comments(path)
    source = path.read_text()
    for found in _NOTE.finditer(source):
        yield Text(place(path), source.count("\n", 0, found.start()) + 1, found[1].strip())


def vague(path: Path) -> Iterable[str]:
    """A sentence for each name whose object is only a pronoun."""
    for one in names(path):
        if _VAGUE.fullmatch(one.text):
            yield f"{one.file}:{one.line}: {one.text!r}; better: a verb and the object, which a log shows alone"
