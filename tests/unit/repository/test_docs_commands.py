"""What the tests of docs take for a command, where it runs, and what counts as the output that a page shows."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from jobs.flights.job import arguments
from tests.docs.not_run import REASONS, pattern_of
from tests.docs.page import PAGES, BadPage, Block, Command, parse, read
from tests.docs.reader import Reader, follows, shell_of
from tests.docs.shown import compare, lines_of
from tests.docs.terminal import Silence, Terminal
from tests.warehouse import read_lab

ROOT = Path(__file__).parents[3]


def only(text: str) -> Block:
    (block,) = parse("page.md", text)
    return block


# What a page has.


def test_each_line_of_a_fence_is_a_command() -> None:
    block = only("Say:\n```\nmake lab      # all of it\n\nspark-submit \\\n  job.py '#1'\n```\n")
    assert block.name == "page.md:2"
    assert block.commands == (Command(3, "make lab"), Command(5, "spark-submit job.py '#1'"))


def test_with_a_dollar_the_lines_between_are_output() -> None:
    block = only("```\n$ one\n$ two \\\n    more\nfirst\n  second\n\n$ three\nthird\n```\n")
    assert block.commands == (
        Command(2, "one", ()),
        Command(3, "two more", ("first", "  second")),
        Command(8, "three", ("third",)),
    )


@pytest.mark.parametrize("language", ["text", "yaml", "xml"])
def test_other_languages_hold_no_commands(language: str) -> None:
    assert parse("page.md", f"```{language}\nmake lab\n```\n") == []


def test_statements_stand_in_fences_of_their_language() -> None:
    block = only("<!-- shows: | 1 |; a b -->\n```sql\nSELECT 1;\nSELECT 2;\n```\n")
    assert (block.language, [command.text for command in block.commands]) == ("sql", ["SELECT 1;", "SELECT 2;"])
    assert block.shows == ("| 1 |", "a b")


def test_cells_that_begin_with_a_command_are_one_block() -> None:
    text = (
        "<!-- exit: 3 hopshive status -->\n| say | |\n|---|---|\n| `hopshive status`, `--json` | as `make lab` says |\n"
    )
    block = only(text + "| `hopshive-edge` | a host |\n| `make x \\| y` | |\n")
    assert (block.line, block.language) == (2, "table")
    assert block.commands == (Command(4, "hopshive status"), Command(6, "make x | y"))
    assert block.exit_code(block.commands[0]) == 3


def test_a_command_in_a_sentence_is_one_with_its_host() -> None:
    text = "Say `docker exec hopshive-master hopshive status`, or `hopshive held`."
    assert only(text).commands == (Command(1, "docker exec hopshive-master hopshive status"),)


def test_a_comment_may_hold_commands_that_no_reader_sees() -> None:
    blocks = parse("page.md", "<!-- run: one -->\n<!-- run:\ntwo\nthree\n-->\n```\nfour\n```\n")
    assert [(block.language, block.line) for block in blocks] == [("run", 1), ("run", 2), ("", 6)]
    commands = [command for block in blocks for command in block.commands]
    assert commands == [Command(1, "one"), Command(3, "two"), Command(4, "three"), Command(7, "four")]


def test_an_exit_code_is_that_of_the_first_command_that_begins_so() -> None:
    block = only("<!-- exit: 1 beeline; 3 hopshive status -->\n```\nbeeline x\nbeeline x\nhopshive status\n```\n")
    assert [block.exit_code(command) for command in block.commands] == [1, 0, 3]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- varies: 12 -->\n```\nhopshive undo 13\n```\n",
        "<!-- exit: 1 other -->\n```\none\n```\n",
        "<!-- exit: one -->\n```\none\n```\n",
        "<!-- note: this -->\n",
        "<!-- varies: 1 -->\nA sentence.\n```\n1\n```\n",
        "<!-- shows: 1 -->\n```text\n1\n```\n",
        "```\nmake lab\n",
    ],
)
def test_a_mark_that_cannot_be_meant_so_is_refused(text: str) -> None:
    with pytest.raises(BadPage, match=r"^page\.md:\d: "):
        parse("page.md", text)


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_commands_and_only_known_marks(page: str) -> None:
    assert len(read(page)) > 0


def test_each_reason_is_that_of_a_command() -> None:
    commands = [command.text for page in PAGES for block in read(page) for command in block.commands]
    assert set(REASONS) - {pattern_of(command) for command in commands} == set()


def test_the_command_of_the_job_has_options_that_the_job_knows() -> None:
    (command,) = [one.text for block in read("docs/job.md") for one in block.commands if "nycflights.py" in one.text]
    given = arguments(shlex.split(command.partition("nycflights.py ")[2]))
    assert (given.hive_url.split("/")[0], str(given.json)) == ("jdbc:hive2:", "/tmp/nycflights.json")  # noqa: S108


# What is the same.


def test_what_is_shown_is_compared_word_for_word() -> None:
    assert compare(["a  b", "c"], "a b\r\n\x1b[32mc\x1b[0m\r\n").line is None
    assert compare(["a b", "c"], "a b\nd\n").line == "c"
    assert compare(["a b"], "a b\nc\n").line == "(the end)"
    assert compare([], "a\n").line == "(the end)"
    assert compare(["1 object"], "2 objects\n").line == "1 object"


def test_frames_may_be_as_wide_as_they_are() -> None:
    assert lines_of("+-----------+\n|  a   | b |\n└──────────┘\n") == ["+---+", "| a | b |", "└───┘"]


def test_dots_are_any_text_or_any_lines() -> None:
    assert compare(["Error: ... 'trips'"], "Error: at 1:14 'trips'\n").line is None
    assert compare(["...", "b", "..."], "a\nb\nc\nd\n").line is None
    assert compare(["b", "..."], "b\n").line is None
    assert compare(["...", "x", "..."], "a\nb\n").line == "x"


def test_moments_are_always_others() -> None:
    assert compare(["at 2026-11-25 00:46:20 UTC"], "at 2027-01-02 03:04:05 UTC\n").line is None
    assert compare(["at 2026-11-25 00:46:20 UTC"], "at noon\n").line is not None


def test_what_varies_has_other_numbers_and_hosts_and_nothing_else() -> None:
    hosts = ["lab-master", "lab-worker"]
    shown, varies = ["leader lab-master, epoch 8"], ["lab-master, epoch 8"]
    assert compare(shown, "leader lab-worker, epoch 12\n", varies, hosts).line is None
    assert compare(shown, "leader lab-worker, era 12\n", varies, hosts).line is not None
    assert compare(shown, "leader lab-other, epoch 12\n", varies, hosts).line is not None
    assert compare(["| 2 |", "after 12 s"], "| 3 |\nafter 1.5 s\n", ["after 12 s"]).line == "| 2 |"


def test_what_varies_more_than_that_has_a_pattern() -> None:
    varies = [r"0 events = \d+ events(, [\d.]+ s)?"]
    assert compare(["lag  0 events"], "lag 33 events, 0.6 s\n", varies).line is None
    assert compare(["lag  0 events"], "lag some events\n", varies).line is not None


def test_what_stood_in_the_place_of_a_number_is_told() -> None:
    seen = compare(["removal 29 of 29", "29.5"], "removal 3 of 4\n29.5\n", ["29"])
    assert seen.values == {"29": "3"}


# The reader.


def reader() -> Reader:
    return Reader(read_lab(ROOT / "inventories/lab"), read_lab(ROOT / "molecule/default/inventory"))


def test_hosts_and_addresses_are_those_of_the_lab_that_is_there() -> None:
    one = reader()
    assert one.here("docker exec hopshive-edge x") == "docker exec molecule-default-edge x"
    assert one.here("systemctl stop hopshive-cleaner") == "systemctl stop hopshive-cleaner"
    assert one.here("http://10.213.96.11:9870") == "http://10.213.97.11:9870"
    assert one.there("leader molecule-default-worker") == "leader hopshive-worker"


def test_a_number_that_was_printed_is_said_in_the_next_command() -> None:
    one = reader()
    text = "<!-- varies: 29 -->\n```\n$ echo removal 7\nremoval 29\n$ test 29 -eq 7\n```\n"
    one.follow(only(text))
    assert one.here("hopshive undo 29") == "hopshive undo 7"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```\n$ echo a\nb\n```\n", "page.md:2: echo a\nThe page shows: b\n--- it printed\na"),
        ("```\ntrue\nfalse\n```\n", "page.md:3: false\nIts exit code is 1, not 0"),
        ("<!-- shows: b -->\n```\necho a\n```\n", "No line of the whole block is: b"),
        ("```sql\nSELECT 1;\n```\n", "The page has not opened a shell for it."),
    ],
)
def test_what_is_wrong_names_page_line_command_and_output(text: str, why: str) -> None:
    with pytest.raises(AssertionError) as wrong:
        reader().follow(only(text))
    assert why in str(wrong.value).replace("\r\n", "\n")


def test_what_is_left_out_is_not_run() -> None:
    reader().follow(only("```\nfalse\ntrue\n```\n"), frozenset({"false"}))


def test_a_shell_is_one_that_waits_for_its_user() -> None:
    assert shell_of("docker exec -it hopshive-edge beeline -n spark -p ''") == "sql"
    assert shell_of("docker exec hopshive-edge beeline -e 'SELECT 1'") is None
    assert shell_of("docker exec -it -u spark hopshive-edge pyspark") == "python"
    assert shell_of("docker exec -it hopshive-edge bash -l") == "bash"
    assert follows("docker exec -it hopshive-master journalctl -u hive-metastore -f")


def test_a_command_has_a_terminal_and_ends_by_ctrl_c(tmp_path: Path) -> None:
    with Terminal("test -t 0 && test -t 1 && stty size && echo ready && cat", tmp_path) as terminal:
        terminal.expect("ready", 10)
        terminal.write("\x03")
        assert terminal.end(10) != 0
    assert terminal.printed.split()[:2] == ["50", "220"]


def test_what_does_not_come_is_told_with_what_came(tmp_path: Path) -> None:
    with (
        Terminal("echo first; sleep 60", tmp_path) as terminal,
        pytest.raises(Silence, match=r"second did not come, 1 s passed:\nfirst"),
    ):
        terminal.expect("second", 1)


def test_what_ended_is_told_by_its_exit_code(tmp_path: Path) -> None:
    with Terminal("exit 3", tmp_path) as terminal:
        assert terminal.end(10) == 3
        terminal.write("anybody?\n")
        with pytest.raises(Silence, match="here did not come, ended with 3"):
            terminal.expect("here", 10)
