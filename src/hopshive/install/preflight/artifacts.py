"""Tarballs that replace a product: a misspelt product name would install the locked product in its place."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from hopshive.install.artifacts.errors import ArtifactError
from hopshive.install.artifacts.tarball import parse_tarballs

# Products without a lock: they come as a tarball only.
TARBALL_ONLY = ("ndb",)


def tarball_fault(tarballs: object, locked: Sequence[str]) -> str:
    """The first fault of `artifacts_tarballs`; empty without one. `locked`: products that have a lock."""
    if not isinstance(tarballs, Mapping):
        return ""
    products = [*locked, *TARBALL_ONLY]
    for product, entry in tarballs.items():
        if product not in products:
            near = difflib.get_close_matches(str(product), products, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known products are {', '.join(products)}"
            return f"there is no product {product}: {hint}"
        if not isinstance(entry, Mapping):
            return f"{product} must name source, sha256 and version"
    try:
        parse_tarballs(tarballs)
    except ArtifactError as error:
        return str(error).removeprefix("artifacts_tarballs.").rstrip(".")
    return ""
