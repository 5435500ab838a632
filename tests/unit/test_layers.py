"""Who may import whom: deformers <- bridge <- tasks <- operators, preview, cli. Read from the source; nothing runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "deformers": set(),
    "nodes": {"deformers"},
    "bridge": {"deformers", "nodes"},
    "properties": {"deformers"},
    "weight_properties": set(),
    "tasks": {"deformers", "nodes", "bridge", "properties", "weight_properties"},
    "preview": {"deformers", "bridge", "tasks", "properties"},
    "overlay": {"deformers", "tasks", "properties"},
    "outlines": {"deformers", "bridge", "tasks", "properties"},
    "weight_overlay": {"deformers", "bridge", "tasks", "properties", "outlines", "overlay"},
    "cli": {"deformers", "bridge", "tasks", "properties"},
    "operators": {
        "deformers",
        "bridge",
        "tasks",
        "properties",
        "weight_properties",
        "preview",
        "outlines",
        "weight_overlay",
    },
    "ui": {"properties", "weight_properties"},
    "registration": {
        "properties",
        "weight_properties",
        "preview",
        "overlay",
        "weight_overlay",
        "outlines",
        "cli",
        "operators",
        "ui",
    },
    "__init__": {"registration"},
}
NOT_PRODUCT = {"benchmarks", "demo", "docs", "tests", "tools"}
BLENDER_MODULES = {"bpy", "bmesh", "mathutils", "gpu", "addon_utils"}
PRODUCT = sorted(
    path.relative_to(ROOT).as_posix()
    for part in MAY_IMPORT
    for path in [ROOT / f"{part}.py", *(ROOT / part).rglob("*.py")]
    if path.is_file()
)


def imported_modules(tree: ast.Module, file: str) -> Iterator[str]:
    """Yield ``part.module`` for a relative import (resolved from the root), ``/name`` for an absolute one."""
    package = Path(file).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"/{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield f"/{node.module}"
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *([node.module] if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def violations(source: str, file: str) -> list[str]:
    tree = ast.parse(source)
    part = Path(file).parts[0].removesuffix(".py")
    found = []
    for name in imported_modules(tree, file):
        if name.startswith("/"):
            top = name[1:].partition(".")[0]
            if top in {*MAY_IMPORT, "supple", "bl_ext"} - {"__init__"}:
                found.append(f"imports {name[1:]} by an absolute name: use a relative import")
            if part == "deformers" and top in BLENDER_MODULES:
                found.append(f"imports {top}, and deformers run without Blender")
        elif (target := name.partition(".")[0]) != part and target not in MAY_IMPORT[part]:
            found.append(f"imports {target}, which is not below {part}")
    if part not in ("bridge", "nodes"):
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        found += [
            f"calls {name}, which is for bridge and nodes alone"
            for name in sorted(names & {"foreach_get", "foreach_set"})
        ]
    return found


@pytest.mark.parametrize("file", PRODUCT)
def test_imports_point_down(file: str) -> None:
    assert violations((ROOT / file).read_text(encoding="utf-8"), file) == []


def test_every_part_of_the_product_has_its_row() -> None:
    parts = {path.stem for path in ROOT.glob("*.py")} | {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert parts - NOT_PRODUCT == set(MAY_IMPORT)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("deformers/linear.py", "import bpy"),
        ("deformers/linear.py", "def bind():\n    from mathutils import Matrix"),
        ("deformers/linear.py", "from ..bridge import meshes"),
        ("bridge/meshes.py", "from .. import tasks"),
        ("tasks/bind.py", "from supple.deformers import linear"),
        ("tasks/bind.py", "from ..bridge import meshes\nmesh.vertices.foreach_get('co', out)"),
        ("ui/panels.py", "from ..tasks.bind import bind"),
        ("preview.py", "from .operators import bind"),
        ("__init__.py", "from .tasks import bind"),
    ],
)
def test_a_violation_is_found(file: str, source: str) -> None:
    assert len(violations(source, file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("deformers/linear.py", "import numpy as np\nfrom .errors import SkinningError"),
        ("bridge/meshes.py", "import bpy\nfrom ..deformers.linear import bind\nmesh.vertices.foreach_get('co', out)"),
        ("registration.py", "from . import properties, ui"),
    ],
)
def test_what_is_allowed_passes(file: str, source: str) -> None:
    assert violations(source, file) == []
