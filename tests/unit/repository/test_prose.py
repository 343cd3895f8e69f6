"""The repository's text is read once: no phrase of tests/support/prose.py comes back, and first sentences are short.

To add a kind of file, add a line to KINDS with a function that yields its texts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import cells, form_of, of_markdown, paragraphs, sentences, too_full, too_wide
from tests.support.playbooks import of_template, of_yaml, vague
from tests.support.prose import PHRASES, ROOT, FileKind, Text, complaints, first_sentence, of_java, of_python, of_tests

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "python": FileKind(
        places=(
            "src",
            "jobs",
            "tools",
            "tests/answers",
            "tests/bench",
            "tests/faults",
            "tests/fuzz",
            "tests/support",
        ),
        suffix=".py",
        read=of_python,
    ),
    "tests": FileKind(
        places=(
            "tests/unit",
            "tests/integration",
            "tests/ndb_cluster",
            "tests/identity_provider",
            "tests/warehouse",
            "tests/contract",
            "tests/docs",
            "molecule",
        ),
        suffix=".py",
        read=of_tests,
    ),
    "java": FileKind(places=("roles",), suffix=".java", read=of_java),
    "yaml": FileKind(
        places=("site.yml", "playbooks", "roles", "inventories", "molecule", "filter_plugins"),
        suffix=".yml",
        read=of_yaml,
        form=vague,
    ),
    "templates": FileKind(places=("templates", "roles"), suffix=".j2", read=of_template),
    "plugins": FileKind(
        places=("library", "lookup_plugins", "filter_plugins", "action_plugins", "doc_fragments", "module_utils"),
        suffix=".py",
        read=of_python,
    ),
    "pages": FileKind(
        places=("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"),
        suffix=".md",
        read=of_markdown,
        form=form_of,
    ),
}


@cache
def said(kind: str) -> dict[Path, list[str]]:
    return KINDS[kind].said()


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_read_once(kind: str) -> None:
    found = [one for path, all_of_it in said(kind).items() if not KINDS[kind].excused(path) for one in all_of_it]
    assert found == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_reads_well_leaves_the_list(kind: str) -> None:
    unclean = {KINDS[kind].excused(path) for path in said(kind)}
    assert [one for one in KINDS[kind].not_clean if one not in unclean] == [], "these are clean: take them off"


@pytest.mark.parametrize("kind", KINDS)
def test_each_place_has_files(kind: str) -> None:
    assert [place for place in KINDS[kind].places if not (ROOT / place).exists()] == []
    assert list(KINDS[kind].files())


def test_a_phrase_is_named_with_file_line_and_better_words(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        '"""It is one."""\n\n# First line,\n# then begun\n# Anew.\nx = (\n    f"{1} tells "\n    "of it"\n)\n'
        'y = "Who waits is late. Who knows?"\n'
    )
    assert list(complaints(of_python(path))) == [
        f"module.py:5: 'Anew'; better: {PHRASES['anew']}",
        "module.py:7: 'tells of'; better: report, name, describe",
        "module.py:10: 'Who'; better: the noun first: the process that ..., users who ...",
    ]


def test_a_name_of_code_is_no_phrase() -> None:
    assert list(complaints([Text("a.py", 1, "begun_anew and shallow")])) == []


def test_a_long_comment_and_a_long_docstring_are_named(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    long = " ".join(["word"] * 26)
    path.write_text(f'"""{long}."""\n# {long}\nx = "{long}"  # {long}\n\n# A block:\n# {long}\n')
    assert [one.partition(": ")[0] for one in complaints(of_python(path))] == [
        "module.py:2",
        "module.py:3",
        "module.py:1",
    ]


def test_a_sentence_ends_at_its_mark() -> None:
    assert first_sentence("One `a. b` two. Three.\n\nFour") == "One `code` two."
    assert first_sentence("One\ntwo\n\nthree. Four") == "One\ntwo"


def test_a_name_without_an_object_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yml"
    named = ["Watch it", "Let it look", "Begin anew", "Ask whether it answers", "Look what is there", "Copy the unit"]
    path.write_text("".join(f"- name: {one}\n  msg: {{name: bash}}\n" for one in named))
    assert [one.partition(";")[0] for one in vague(path)] == [
        "tasks.yml:1: 'Watch it'",
        "tasks.yml:3: 'Let it look'",
        "tasks.yml:7: 'Ask whether it answers'",
        "tasks.yml:9: 'Look what is there'",
    ]


def test_yaml_is_read_by_names_messages_descriptions_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "tasks.yml"
    path.write_text(
        "# One\n- name: Two\n  fail:\n    msg: Three {{ four }}\n  vars: {user: nobody, description: Five}\n"
    )
    assert [(one.line, one.text) for one in of_yaml(path)] == [(2, "Two"), (4, "Three {}"), (5, "Five"), (1, "One")]


def test_a_template_is_read_by_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "unit.j2"
    path.write_text("#!/bin/sh\n# One\nuser=nobody\n{#- two\n three -#}\n")
    assert [(one.line, one.text) for one in of_template(path)] == [(2, "One"), (4, "two\n three")]


def test_a_class_is_read_by_its_comments_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "One.java"
    path.write_text('/**\n * One.\n * Two.\n */\nclass One { // three\n    String url = "http://four \\" five";\n}\n')
    assert [(one.line, " ".join(one.text.split())) for one in of_java(path)] == [
        (1, "One. Two."),
        (5, "three"),
        (6, 'http://four \\" five'),
    ]


def test_a_page_is_read_by_its_sentences() -> None:
    text = (
        "# A head\n\nOne `a. b` [two](x.md).\nThree.\n- Four\n  five.\n```\nno\n```\n<!-- no -->\n| six | `7 \\| 8` |\n"
    )
    assert list(paragraphs(text)) == [(3, "One `a. b` [two](x.md).\nThree."), (5, "Four\nfive.")]
    assert list(cells(text)) == [(11, "six"), (11, "`code`")]
    assert sentences("One `a. b` [two](x.md).\n**Three.** Four") == ["One `code` two.", "Three.", "Four"]


def test_what_is_wrong_with_a_page_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"Short. Then\n{'word ' * 26}\n\n| {'word ' * 26}|\n")
    assert [one.partition(": ")[0] for one in complaints(of_markdown(path))] == ["page.md:1", "page.md:4"]
    wide = "word " * 25
    text = f"{wide}\n{'x' * 130}\n```\n$ {wide}\n{wide}\n```\n{wide}\n| {wide} |\n"
    assert [one.partition(": ")[0] for one in too_wide("page.md", text)] == ["page.md:1", "page.md:4", "page.md:7"]
    assert list(too_full("page.md", "| One. Two. Three. | One. Two. Three. Four. |\n")) == [
        "page.md:1: a cell of 4 sentences, 3 are the most"
    ]
