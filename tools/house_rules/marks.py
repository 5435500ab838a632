"""Custom properties of Supple's are read and written by `bridge/owned.py` alone: no other module spells their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .sources import Source

OWNER = "bridge/owned.py"
NAME = re.compile(r"supple_\w+")

# Parts that spell other names: of attributes and node groups, of properties of the window manager, of shaders
OTHER_NAMES = {"nodes", "ui", "viewport"}

# Modules with names of attributes and vertex groups of meshes, and of properties that Blender's types get
OTHER_MODULES = {
    "bridge/animation/correction_drivers.py",
    "bridge/meshes/charts.py",
    "bridge/meshes/posed_copies.py",
    "settings/__init__.py",
    "tasks/skin/former.py",
}


def spell(source: Source) -> Iterator[int]:
    """Lines on which a module spells the name of a custom property."""
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
            yield node.lineno


def check(sources: list[Source]) -> list[str]:
    return [
        f"{source.file}:{line}: a mark of Supple's is a Tag of {OWNER}: add one there, and use mark and read_mark"
        for source in sources
        if source.file not in {OWNER, *OTHER_MODULES} and source.part not in OTHER_NAMES
        for line in spell(source)
    ]
