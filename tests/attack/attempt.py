"""What an attempt is, which there are, and what became of one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attack.site import Site

# Characters of an answer that the table shows.
SHOWN = 110


class NotHeldError(Exception):
    """The attempt had an effect that it must not have; the message says which."""


class NotTriedError(Exception):
    """The attempt says nothing: its control failed, or what it needs is not there. The message says what."""


class Mark(Enum):
    """What became of an attempt. `OPEN`: it is known, and documented, that nothing holds it."""

    HELD = "yes"
    BROKEN = "no"
    UNTRIED = "not tried"
    OPEN = "not protected"


@dataclass(frozen=True)
class Attempt:
    """`sentence` says what is tried. `slow`: left out of the quick form. `known`: why nothing holds it, or ""."""

    name: str
    group: str
    sentence: str
    run: Callable[[Site], str]
    slow: bool = False
    known: str = ""


@dataclass(frozen=True)
class Result:
    """`answer`: what the attempt was answered, or the effect that it had."""

    attempt: Attempt
    mark: Mark
    answer: str
    seconds: float = 0.0

    def row(self) -> dict[str, object]:
        """As it stands in the JSON file."""
        return {
            "attempt": self.attempt.name,
            "group": self.attempt.group,
            "tries": self.attempt.sentence,
            "answer": self.answer,
            "held": self.mark.value,
            "seconds": round(self.seconds, 2),
        }


class Target(Protocol):
    """What judges whether an attempt had an effect."""

    def begin(self) -> None:
        """An attempt begins: what was heard before is forgotten."""

    def harm(self) -> str:
        """What the attempt has done to others or learned about them; "" for nothing. What it changed is as before afterwards."""


CATALOGUE: list[Attempt] = []
Function = TypeVar("Function", bound="Callable[[Site], str]")


def attempt(*, slow: bool = False, known: str = "") -> Callable[[Function], Function]:
    """Add a function to the catalogue; its name and its docstring are those of the attempt. It returns what it was answered."""

    def add(function: Function) -> Function:
        group = function.__module__.rpartition(".")[2].replace("_", " ")
        register(function.__name__.replace("_", " "), group, (function.__doc__ or "").strip(), function, slow, known)
        return function

    return add


def register(
    name: str, group: str, sentence: str, run: Callable[[Site], str], slow: bool = False, known: str = ""
) -> None:
    """Add one of a table of attempts that differ by a value. Raises ValueError for a second one of a name."""
    if any(one.name == name for one in CATALOGUE):
        raise ValueError(f"two attempts are named {name}")
    if not sentence:
        raise ValueError(f"the attempt {name} has no sentence that says what it tries")
    CATALOGUE.append(Attempt(name, group, sentence, run, slow, known))


def judged(one: Attempt, site: Site) -> tuple[Mark, str]:
    """Make an attempt, then look what it has done. An attempt that fails in a way of its own says nothing."""
    try:
        site.begin()
        answer = one.run(site)
    except NotHeldError as error:
        mark, answer = Mark.BROKEN, str(error)
    except NotTriedError as error:
        mark, answer = Mark.UNTRIED, str(error)
    except Exception as error:  # one attempt must not end the others
        mark, answer = Mark.UNTRIED, f"{type(error).__name__}: {error}"
    else:
        mark = Mark.HELD
    # Also after a failure: the next attempt begins with everything as it was.
    if harm := site.harm():
        mark, answer = Mark.BROKEN, f"{harm}; it was answered: {answer}"
    if one.known and mark is Mark.BROKEN:
        mark, answer = Mark.OPEN, f"{answer} ({one.known})"
    return mark, answer


def code(results: list[Result]) -> int:
    """The exit code: 1 if an attempt was not held, or could not be made, or if there was none."""
    wrong = [one for one in results if one.mark in (Mark.BROKEN, Mark.UNTRIED)]
    return 1 if wrong or not results else 0


def summary(results: list[Result]) -> str:
    """One line with the number of each mark."""
    count = {mark: sum(one.mark is mark for one in results) for mark in Mark}
    return (
        f"{len(results)} attempts: {count[Mark.HELD]} held, {count[Mark.BROKEN]} not held,"
        f" {count[Mark.UNTRIED]} not tried, {count[Mark.OPEN]} not protected as documented"
    )


def short(text: str, width: int = SHOWN) -> str:
    """One line of at most so many characters, and nothing that a terminal obeys."""
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= width else line[: width - 3] + "..."
