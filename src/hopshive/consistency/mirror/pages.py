"""Pages of bound descriptors: the NameNode is asked for their directories, and what exists is bound to what it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.consistency.mirror import binding, decision
from hopshive.consistency.mirror.survey import PAGE_ROWS, read_page
from hopshive.consistency.mirror.tree import subtree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopshive.consistency.mirror.context import Context
    from hopshive.consistency.mirror.survey import Page
    from hopshive.consistency.mirror.tree import Bound, Key


def bind_page(context: Context, bound: Sequence[Bound]) -> tuple[Page, bool]:
    """The survey of one page, of which all that exists is bound; False if other transactions had locked some of it."""
    page = read_page(context, bound)
    whole = binding.rebind(context, decision.rebind(page))
    binding.spare(context, page.spared)
    return page, whole


def bind_pages(context: Context, key: Key | None, inode: int | None) -> Iterator[tuple[Page, bool]]:
    """The same of all descriptors at a row and below an inode, a page at a time."""
    for bound in subtree(context.database, key, inode, PAGE_ROWS):
        yield bind_page(context, bound)
