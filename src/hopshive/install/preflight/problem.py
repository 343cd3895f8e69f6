"""A problem that preflight found, and how a list of them reads."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Problem:
    """A sentence that names the variable or group and says what to do. A warning does not stop the run."""

    text: str
    warning: bool = False


def listed(names: Iterable[str], most: int = 4) -> str:
    """`a, b, c and 12 more`: the names in order, `most` of them at most."""
    ordered = sorted(names)
    if len(ordered) <= most:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:most])} and {len(ordered) - most} more"


def merged(findings: Iterable[tuple[str, str]], hosts: Iterable[str]) -> list[Problem]:
    """One problem per text from pairs of text and host: a value of group_vars is wrong once, not once per host.

    `{hosts}` in a text becomes `host a`, `hosts a, b`, or `all hosts` if they are all of `hosts`.
    """
    by_text: dict[str, set[str]] = {}
    for text, host in findings:
        by_text.setdefault(text, set()).add(host)
    everyone = set(hosts)
    problems = []
    for text, where in by_text.items():
        if len(where) == 1:
            name = f"host {listed(where)}"
        elif where == everyone:
            name = "all hosts"
        else:
            name = f"hosts {listed(where)}"
        problems.append(Problem(text.replace("{hosts}", name)))
    return problems


def report(problems: Sequence[Problem], place: str) -> str:
    """A headline, and below it the errors, numbered, one a line; empty without errors."""
    errors = [problem.text for problem in problems if not problem.warning]
    if not errors:
        return ""
    count = "a problem" if len(errors) == 1 else f"{len(errors)} problems"
    lines = [f"Preflight found {count} {place}; no host was changed."]
    lines += [f"  {number}. {text}" for number, text in enumerate(errors, start=1)]
    return "\n".join(lines)


def nearest(name: str, names: Iterable[str]) -> str:
    """`did you mean x?` with the name that is most alike; empty if none is alike."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""
