"""Every command of the pages that a reader follows runs on the scenario's lab, and prints what the page shows.

By the alphabet it follows test_job.py, whose tables the quick start reads.
"""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.not_run import REASONS, pattern_of
from tests.docs.page import PAGES, ROOT, Block, Command, read
from tests.docs.reader import Reader
from tests.docs.ways import printed
from tests.warehouse import read_lab

if TYPE_CHECKING:
    from collections.abc import Iterator

# Molecule's own copy of it has other names.
INVENTORY = Path(__file__).parents[1] / "inventory"
BLOCKS = [block for page in PAGES for block in read(page)]
LEFT_OUT = {
    command.text: REASONS[pattern]
    for block in BLOCKS
    for command in block.commands
    if (pattern := pattern_of(command.text))
}
RUN = [block for block in BLOCKS if any(command.text not in LEFT_OUT for command in block.commands)]


def a_reader() -> Reader:
    return Reader(read_lab(ROOT / "inventories/lab"), read_lab(INVENTORY))


@pytest.fixture(name="reader", scope="module")
def reader_of_each_page() -> Iterator[dict[str, Reader]]:
    """By page: what a page opens and prints is no other's."""
    readers = {page: a_reader() for page in PAGES}
    yield readers
    for one in readers.values():
        one.close()


def test_what_is_not_run_is_printed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nNot run, of the pages' commands:")
        for text, why in LEFT_OUT.items():
            print(f"  {text}: {why}")


@pytest.fixture(name="followed", scope="module")
def blocks_that_were_followed() -> list[Block]:
    return []


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.name)
def test_a_block_does_what_the_page_says(reader: dict[str, Reader], followed: list[Block], block: Block) -> None:
    # A block counts on what those before it made and printed: the number of a removal, for example.
    before = [one for one in RUN[: RUN.index(block)] if one.page == block.page and one not in followed]
    assert not before, f"{before[0].name} stands before it and was not followed to its end"
    reader[block.page].follow(block, frozenset(LEFT_OUT))
    followed.append(block)
    # Each page's last block leaves nothing open for the next page.
    if block == [one for one in RUN if one.page == block.page][-1]:
        reader[block.page].close()


def test_each_way_in_that_make_lab_prints_leads_in(reader: dict[str, Reader]) -> None:
    said = printed(INVENTORY)
    quickstart = reader["docs/quickstart.md"]
    tried = {quickstart.here(command.text) for block in RUN for command in block.commands}
    ways = re.findall(r"docker exec .*", said)
    pages = re.findall(r"http://\S+", said)
    assert len(ways) == 5
    assert len(pages) == 5
    one = a_reader()
    for way in ways:
        # The others stand in the quick start, where they were tried.
        if way not in tried:
            one.follow(Block("make lab", 0, "sentence", (Command(0, way),)))
    one.close()
    for page in pages:
        assert urllib.request.urlopen(page, timeout=30).status == 200, page  # noqa: S310 - http, see above
