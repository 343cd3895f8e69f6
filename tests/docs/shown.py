"""Whether a command printed what a page shows of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# What differs each time, wherever it stands.
ALWAYS = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC)?", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC)?"),
    (r"CID-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"CID-[0-9a-f-]{36}"),
)
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07|[\x00-\x08\x0e-\x1f]")
_NUMBER = re.compile(r"\d[\d.,]*")


@dataclass(frozen=True)
class Comparison:
    """`line` is the first expected one that nothing matches; `values` what stood where a page's number varies."""

    line: str | None = None
    values: dict[str, str] = field(default_factory=dict)


def lines_of(text: str) -> list[str]:
    """Lines as an eye compares them: without colours, frames as narrow as can be, one blank between words."""
    lines = []
    for line in re.split(r"[\r\n]+", _CONTROL.sub("", text)):
        narrow = re.sub(r"([-─═━])\1{2,}", r"\1\1\1", re.sub(r"\s+", " ", line)).strip()
        if narrow:
            lines.append(narrow)
    return lines


def compare(shown: Sequence[str], printed: str, varies: Sequence[str] = (), hosts: Sequence[str] = ()) -> Comparison:
    """A line `...` is any number of lines, `...` in a line any text; numbers and hosts in `varies` may be others.

    `part = pattern` in `varies` says by a regular expression what else may stand there.
    """
    expected = lines_of("\n".join(shown))
    actual = "".join(f"{line}\n" for line in lines_of(printed))
    names: dict[str, str] = {}
    pattern = ""
    for number, line in enumerate(expected):
        pattern += r"(?:.*\n)*?" if line == "..." else _pattern(line, varies, hosts, names) + r"\n"
        if not re.match(pattern, actual):
            return Comparison(expected[number])
    found = re.fullmatch(pattern, actual)
    if not found:
        return Comparison("(the end)")
    return Comparison(None, {text: found[name] for name, text in names.items()})


def _pattern(line: str, varies: Sequence[str], hosts: Sequence[str], names: dict[str, str]) -> str:
    """A regular expression for a line; `names` gets the group of each part that varies."""
    pairs = [phrase.split(" = ") for phrase in varies]
    patterns = {" ".join(pair[0].split()): pair[1] if pair[1:] else _others(pair[0], hosts) for pair in pairs}
    phrases = sorted(patterns, key=len, reverse=True)
    tokens = [r"\.\.\.", *(source for source, _ in ALWAYS)]
    tokens += [rf"(?<![\w.]){re.escape(phrase)}(?![\w])" for phrase in phrases]
    result = ""
    for index, part in enumerate(re.split(f"({'|'.join(tokens)})", line)):
        if index % 2 == 0:
            result += re.escape(part)
        elif part == "...":
            result += ".*"
        elif always := next((target for source, target in ALWAYS if re.fullmatch(source, part)), None):
            result += always
        else:
            text = patterns[part]
            if part in names.values():
                result += text
            else:
                result += f"(?P<v{len(names)}>{text})"
                names[f"v{len(names)}"] = part
    return result


def _others(phrase: str, hosts: Sequence[str]) -> str:
    """Any number where one stands, any host where one stands."""
    result, phrase = "", " ".join(phrase.split())
    host = "|".join(map(re.escape, hosts)) or r"(?!)"
    for index, part in enumerate(re.split(rf"({host}|{_NUMBER.pattern})", phrase)):
        if index % 2 == 0:
            result += re.escape(part)
        else:
            result += f"(?:{host})" if part in hosts else r"\d[\d.,]*"
    return result
