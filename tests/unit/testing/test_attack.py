"""The tool of `make attack`: what counts as held, and how it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.attack import __main__ as tool
from tests.attack import attempt as attempts
from tests.attack.attempt import CATALOGUE, Attempt, Mark, NotHeldError, NotTriedError, Result
from tests.attack.inventory import NoTenancyError, parsed
from tests.attack.inventory import cast as cast_of
from tests.attack.victim import difference, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attack.site import Site


class Lab:
    """In place of a site: `found` is what the attempt turns out to have done."""

    def __init__(self, found: str = "") -> None:
        self.found = found
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1

    def harm(self) -> str:
        found, self.found = self.found, ""
        return found


def made(run: Callable[[Any], str], found: str = "", known: str = "") -> tuple[Mark, str]:
    one = Attempt("name", "group", "What it tries.", run, known=known)
    return attempts.judged(one, cast("Site", Lab(found)))


def raising(error: Exception) -> Callable[[Any], str]:
    def run(_: Any) -> str:
        raise error

    return run


def test_an_attempt_without_an_effect_is_held() -> None:
    assert made(lambda _: "refused") == (Mark.HELD, "refused")


def test_an_effect_counts_whatever_was_answered() -> None:
    mark, answer = made(lambda _: "refused", found="the marker of sales was read")
    assert (mark, answer) == (Mark.BROKEN, "the marker of sales was read; it was answered: refused")


def test_an_effect_counts_after_an_attempt_that_failed() -> None:
    assert made(raising(OSError("lost")), found="a file is gone")[0] is Mark.BROKEN


def test_what_says_that_it_was_not_held_is_not_held() -> None:
    assert made(raising(NotHeldError("let in"))) == (Mark.BROKEN, "let in")


def test_a_control_that_fails_is_no_success() -> None:
    assert made(raising(NotTriedError("control: no token"))) == (Mark.UNTRIED, "control: no token")


def test_an_error_of_the_attempt_itself_is_no_success() -> None:
    assert made(raising(ValueError("x"))) == (Mark.UNTRIED, "ValueError: x")


def test_what_is_documented_is_shown_as_such() -> None:
    assert made(raising(NotHeldError("listed")), known="no Kerberos") == (Mark.OPEN, "listed (no Kerberos)")
    assert made(lambda _: "refused", known="no Kerberos") == (Mark.HELD, "refused")


def results(*marks: Mark) -> list[Result]:
    one = Attempt("name", "group", "What it tries.", lambda _: "")
    return [Result(one, mark, "answer") for mark in marks]


@pytest.mark.parametrize(
    ("marks", "code"),
    [
        ((Mark.HELD, Mark.HELD), 0),
        ((Mark.HELD, Mark.OPEN), 0),
        ((Mark.HELD, Mark.BROKEN), 1),
        ((Mark.HELD, Mark.UNTRIED), 1),
        ((), 1),
    ],
)
def test_the_exit_code_says_whether_all_was_held(marks: tuple[Mark, ...], code: int) -> None:
    assert attempts.code(results(*marks)) == code


def test_the_last_line_counts_each_mark() -> None:
    assert attempts.summary(results(Mark.HELD, Mark.HELD, Mark.BROKEN, Mark.OPEN)) == (
        "4 attempts: 2 held, 1 not held, 0 not tried, 1 not protected as documented"
    )


def test_an_answer_is_one_line_that_no_terminal_obeys() -> None:
    assert attempts.short("one\n\x1b[31mtwo") == "one [31mtwo"
    assert attempts.short("x" * 200) == "x" * (attempts.SHOWN - 3) + "..."


def test_the_quick_form_leaves_out_what_is_slow() -> None:
    fast, slow = (Attempt(name, "group", "What.", lambda _: "", slow=name == "slow") for name in ("fast", "slow"))
    assert tool.choose([fast, slow], (), quick=True) == [fast]
    assert tool.choose([fast, slow], ("slow",), quick=False) == [slow]
    assert tool.choose([fast, slow], ("group",), quick=False) == [fast, slow]


def test_the_table_and_the_file_have_each_attempt(capsys: pytest.CaptureFixture[str]) -> None:
    tool.show(results(Mark.HELD, Mark.BROKEN))
    shown = capsys.readouterr().out
    assert "2 attempts: 1 held, 1 not held" in shown
    assert "no: name: What it tries." in shown
    assert results(Mark.BROKEN)[0].row()["held"] == "no"


def test_there_are_sixty_attempts_each_with_a_sentence() -> None:
    assert len([one for one in CATALOGUE if not one.slow]) >= 60
    assert [one.name for one in CATALOGUE if not one.sentence.endswith(".")] == []


def test_two_attempts_have_two_names() -> None:
    with pytest.raises(ValueError, match="two attempts are named"):
        attempts.register(CATALOGUE[0].name, "group", "What.", lambda _: "")


def test_a_difference_names_what_is_other() -> None:
    before: dict[str, object] = {"file a": 1, "file b": 1, "file c": 1}
    assert difference(before, dict(before)) == ""
    now: dict[str, object] = {"file a": 1, "file b": 2, "file d": 3}
    assert difference(before, now) == "file c is gone; file d is new: 3; file b: 1 -> 2"


def test_a_uri_has_a_path() -> None:
    assert path_of("hdfs://master:8020/warehouse/sales.db") == "/warehouse/sales.db"


PEOPLE = {
    "alice@example.org": {"account": "alice", "password": "a"},
    "carol@example.org": {"account": "carol", "password": "c", "totp": "JBSWY3DPEHPK3PXP"},
    "dave@example.org": {"account": "dave", "password": "d"},
}


def inventory(readers: list[str]) -> dict[str, Any]:
    """As Ansible has it; `readers`: projects that may read the first one."""
    projects = {
        "sales": {"id": 20000, "members": {"alice": {"id": 30000, "role": "owner"}}, "readers": readers},
        "plans": {
            "id": 20002,
            "members": {"carol": {"id": 30010, "role": "owner"}, "dave": {"id": 30011}},
            "readers": ["sales"],
        },
    }
    other = {"authority": "/tls/authority.pem", "sealing": "s", "gateway": "g", "clients": "", "separator": "+"}
    return {"people": PEOPLE, "projects": projects, **other}


def test_the_outsider_has_no_rights_in_the_victims_project() -> None:
    found = cast_of(parsed(inventory([])))
    assert (found.victim, found.owner_user, found.outsider_user) == ("sales", "sales__alice", "plans__dave")
    assert found.coder is not None
    assert found.coder.account == "carol"


def test_a_lab_without_an_outsider_is_refused() -> None:
    with pytest.raises(NoTenancyError, match="an owner of the one, and a writing member of the other"):
        cast_of(parsed(inventory(["plans"])))
