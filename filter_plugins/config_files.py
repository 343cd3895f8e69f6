"""Filters that render the configuration files of Hadoop and Hive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def site_xml(properties: Mapping[str, Any], comment: str) -> str:
    """A site file: properties by name; a null one is left out, booleans become true and false, XML is escaped."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- {escape(comment).replace('--', '- -')} -->",
        "<configuration>",
    ]
    for name in sorted(properties):
        value = properties[name]
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        lines += [
            "  <property>",
            f"    <name>{escape(name)}</name>",
            f"    <value>{escape(text)}</value>",
            "  </property>",
        ]
    return "\n".join([*lines, "</configuration>", ""])


def site_files(sites: Mapping[str, Mapping[str, Any]], directory: str, comment: str) -> list[dict[str, str]]:
    """Site files by name, as the module hopshive_files takes them."""
    return [{"path": f"{directory}/{name}", "content": site_xml(sites[name], comment)} for name in sites]


def named_files(files: Mapping[str, str], directory: str) -> list[dict[str, str]]:
    """Texts by file name, as the module hopshive_files takes them."""
    return [{"path": f"{directory}/{name}", "content": files[name]} for name in files]


def file_texts(paths: Sequence[str]) -> dict[str, str]:
    """Texts of files of the controller by file name, in the order of the names."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(map(Path, paths))}


def same_files(names: Sequence[str], content: str, directory: str) -> list[dict[str, str]]:
    """Files of several names with one text, as the module hopshive_files takes them."""
    return named_files(dict.fromkeys(names, content), directory)


def as_directories(paths: Sequence[str], **attributes: str) -> list[dict[str, str]]:
    """Directories with the same attributes (`mode`, `owner`, `group`), as the module hopshive_files takes them."""
    return [{"path": path, **attributes} for path in paths]


def with_lists(properties: Mapping[str, Any], lists: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Properties that are lists with commas, with the words of `lists` by name before those that they have."""
    found = dict(properties)
    for name, words in lists.items():
        given = [word for word in str(properties.get(name) or "").split(",") if word.strip() and word not in words]
        if words or given:
            found[name] = ",".join([*words, *given])
    return found


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {
            "as_directories": as_directories,
            "file_texts": file_texts,
            "named_files": named_files,
            "same_files": same_files,
            "site_files": site_files,
            "site_xml": site_xml,
            "with_lists": with_lists,
        }
