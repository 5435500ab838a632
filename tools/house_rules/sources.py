"""The modules of the product as text and syntax tree, read once for all rules."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_PRODUCT = {"benchmarks", "demo", "docs", "tests", "tools"}


@dataclass(frozen=True)
class Source:
    """A module: its path from the root, with slashes, and its text."""

    file: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.file)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of the tree that stands on a line; not what it only consists of, such as operators."""
        return [node for node in ast.walk(self.tree) if hasattr(node, "lineno")]

    @property
    def module(self) -> str:
        """Its path without an ending; a package's `__init__` is the package."""
        return self.file.removesuffix(".py").removesuffix("/__init__")

    @property
    def part(self) -> str:
        """The folder of the root that it is in, or its own name: "tasks", "live"."""
        return self.module.partition("/")[0]


def read_product() -> list[Source]:
    parts = sorted({path.parent for path in ROOT.glob("*/__init__.py")} - {ROOT / name for name in NOT_PRODUCT})
    paths = [*sorted(ROOT.glob("*.py")), *(path for part in parts for path in sorted(part.rglob("*.py")))]
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
