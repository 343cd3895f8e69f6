"""Which package of src/hopshive may import which, and what of it a host needs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
# Each line may import the lines below it, and nothing beside it or above it. `remote` comes later.
LAYERS = (
    ("cli",),
    ("commands",),
    ("duties", "operations"),
    ("consistency", "remote", "install"),
    ("tenancy",),
    ("services", "daemon", "acid"),
    ("config", "metastore"),
    ("hdfs",),
    ("database",),
    ("access", "errors", "tls", "wording"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Spark drivers import it, beside their own Thrift.
ACID = "acid"
# What imports the package on the controller and on hosts, beside its commands.
CALLERS = ("library", "module_utils", "filter_plugins", "lookup_plugins", "action_plugins", "roles", "jobs")


@dataclass(frozen=True)
class Import:
    """`module` imports `what`, in a line of a file. `typed`: only for type hints, under TYPE_CHECKING."""

    module: str
    what: str
    file: str
    line: int
    typed: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.what}"


def module_of(path: Path, source: Path = SRC) -> str:
    """`hopshive.hdfs.paths` of src/hopshive/hdfs/paths.py."""
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> Mapping[str, Path]:
    return {module_of(path): path for path in (SRC / "hopshive").rglob("*.py")}


def read(path: Path, module: str = "", known: Mapping[str, Path] | None = None) -> Iterator[Import]:
    """The imports of the package in one file, wherever they stand."""
    known = modules() if known is None else known
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in node.body
        for inner in ast.walk(part)
    }
    file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hopshive":
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in known else node.module for name in whole]
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names if alias.name.split(".")[0] == "hopshive"]
        else:
            continue
        for what in dict.fromkeys(found):
            yield Import(module, what, file, node.lineno, id(node) in typed)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(one for module, path in sorted(modules().items()) for one in read(path, module))


def layer(module: str) -> str:
    """`hdfs` of hopshive.hdfs.paths; empty for hopshive itself, which any package may import."""
    return [*module.split("."), ""][1]


def upwards(found: Iterable[Import]) -> list[str]:
    """Imports of another package that does not stand below."""
    return [
        f"{one}: {layer(one.module)} may import only what stands below it in LAYERS"
        for one in found
        if layer(one.module)
        and layer(one.what)
        and layer(one.module) != layer(one.what)
        and LEVEL[layer(one.module)] >= LEVEL[layer(one.what)]
    ]


def circles(edges: Mapping[str, Mapping[str, Import]]) -> list[str]:
    """A sentence for each circle: the imports that close it."""
    found: list[str] = []
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> None:
        if node in way:
            circle = [*way[way.index(node) :], node]
            found.append("; ".join(str(edges[a][b]) for a, b in pairwise(circle)))
            return
        if node in done:
            return
        for following in edges.get(node, {}):
            visit(following, [*way, node])
        done.add(node)

    for node in edges:
        visit(node, [])
    return found


def test_each_package_has_its_place_among_the_layers() -> None:
    assert {layer(module) for module in modules()} - {""} <= LEVEL.keys()


def test_a_package_imports_only_those_below_it() -> None:
    assert upwards(imports()) == []


def test_what_points_upwards_is_told_with_file_and_import(tmp_path: Path) -> None:
    path = tmp_path / "paths.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hopshive.consistency import origin\n"
    )
    assert upwards(read(path, "hopshive.hdfs.paths")) == [
        "paths.py:3 imports hopshive.consistency.origin: hdfs may import only what stands below it in LAYERS"
    ]


def test_no_module_imports_itself_through_others() -> None:
    """Imports for type hints do not count: they are none when the program runs, and two classes may speak of each other.

    A module's package is imported with it, so what the package imports counts, except for modules of that package.
    """
    edges: dict[str, dict[str, Import]] = {module: {} for module in modules()}
    for one in imports():
        parents = [one.what.rpartition(".")[0]] if one.what.count(".") > 1 else []
        for what in (one.what, *(name for name in parents if not f"{one.module}.".startswith(f"{name}."))):
            if not one.typed and what != one.module:
                edges[one.module].setdefault(what, one)
    assert circles(edges) == []


def test_no_package_imports_itself_through_others() -> None:
    """Packages that stand side by side in one: there imports for type hints count too."""
    packages = {module for module, path in modules().items() if path.name == "__init__.py"}
    edges: dict[str, dict[str, Import]] = {}
    for one in imports():
        own, other = one.module.split("."), one.what.split(".")
        same = next((at for at, pair in enumerate(zip(own, other, strict=False)) if pair[0] != pair[1]), 0)
        sides = ".".join(own[: same + 1]), ".".join(other[: same + 1])
        if same and (not one.typed or packages & set(sides)):
            edges.setdefault(sides[0], {}).setdefault(sides[1], one)
    assert circles(edges) == []


def test_a_circle_is_told_with_its_imports() -> None:
    one, two = Import("a", "b", "a.py", 1), Import("b", "a", "b.py", 2)
    assert circles({"a": {"b": one}, "b": {"a": two}}) == ["a.py:1 imports b; b.py:2 imports a"]


def test_nothing_that_only_tests_or_docs_use_is_in_the_wheel() -> None:
    reached = {"hopshive", "hopshive.cli", *(module for module in modules() if layer(module) == ACID)}
    for place in CALLERS:
        for path in (ROOT / place).rglob("*.py"):
            reached |= {one.what for one in read(path)}
        for path in (ROOT / place).rglob("*.yml"):
            reached |= modules().keys() & set(re.findall(r"\bhopshive(?:\.\w+)+", path.read_text()))
    edges: dict[str, set[str]] = {}
    for one in imports():
        edges.setdefault(one.module, set()).add(one.what)
    while more := {what for module in reached for what in edges.get(module, ())} - reached:
        reached |= more
    packages = {package for module in reached for package in accumulate(module.split("."), "{}.{}".format)}
    assert sorted(modules().keys() - reached - packages) == [], "these belong to tests/ or tools/"


@pytest.mark.parametrize("module", sorted(module for module in modules() if layer(module) == ACID))
def test_a_spark_driver_needs_the_standard_library_alone(module: str) -> None:
    program = f"import sys; sys.path.insert(0, {str(SRC)!r}); import {module}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
