"""The rules of Blender's platform for extensions, each of the zip that users install."""

import ast
import re
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = {"bridge/files/child_session.py", "bridge/files/exchange_session.py"}
"""What Supple runs as processes of their own. Each listens to its input in a thread that touches nothing of Blender."""

MODULES = {
    "threading": "Blender's data is no data for threads",
    "multiprocessing": "as threading",
    "concurrent": "as threading",
    "_bpy": "Blender's own",
    "_bpy_internal": "Blender's own",
    "bl_ext": "extensions are no parts of one another",
    "bl_i18n_utils": "Blender's own",
    "bl_operators": "Blender's own",
    "bl_ui": "Blender's own",
    "bl_ui_utils": "Blender's own",
    "addon_utils": "Blender's own",
}
"""What no module may import, and why."""

CALLS = {"eval", "exec", "print", "compile", "__import__"}
NETWORK = {"asyncio", "ftplib", "http", "imaplib", "requests", "smtplib", "socket", "urllib"}
PERMISSIONS = {"open": "files", "clipboard": "clipboard"}
"""What needs a permission, by the name of an attribute. Camera and microphone need modules, and none are bundled."""

TAGS = {
    *("3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine"),
    *("Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material", "Modeling", "Mesh", "Node", "Object"),
    *("Paint", "Physics", "Pipeline", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System"),
    *("Text Editor", "Tracking", "User Interface", "UV"),
}
"""Those of add-ons that the platform knows."""

SHORT = 64
"""Letters that Blender shows of a line."""

LICENSED = {"demo/human/human.blend": ("demo/human/README.md", "demo/human/CC0-1.0.md")}
"""What others have made, where that says who, and the text of its license."""

OWN_DATA = re.compile(r"(presets/.*|translations/ja_JP)\.json|tasks/farm/(supple-bake\.js|readme-\w+\.txt)")
LARGEST = 2_000_000
"""Bytes of the zip."""


@pytest.fixture(scope="module")
def files(package: Path) -> dict[str, bytes]:
    """Everything that is in the zip."""
    with zipfile.ZipFile(package) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


@pytest.fixture(scope="module")
def trees(files: dict[str, bytes]) -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in files.items() if name.endswith(".py")}


@pytest.fixture(scope="module")
def manifest(files: dict[str, bytes]) -> dict[str, Any]:
    return tomllib.loads(files["blender_manifest.toml"].decode())


def find_forbidden(tree: ast.Module) -> Iterator[str]:
    """Yield what a module must not do."""
    for node in ast.walk(tree):
        yield from (f"import {root}" for root in list_roots(node) if root in MODULES)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
            yield node.func.id
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.path":
            yield "sys.path"
        elif isinstance(node, ast.Attribute) and re.fullmatch(r"_dyn_ui_initialize|_bl_\w+|_bpy", node.attr):
            yield node.attr
        elif isinstance(node, ast.Name) and node.id == "bl_info":
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "bl_ext." in node.value:
            yield node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and is_of_add_ons(node.value):
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "").startswith("extension_path"):
            yield from [ast.unparse(node)] if any(isinstance(given, ast.Constant) for given in node.args) else []


def list_roots(node: ast.AST) -> list[str]:
    """The packages that a statement imports from, other than Supple itself."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or ""]
    return [name.partition(".")[0] for name in names]


def is_of_add_ons(owner: ast.expr) -> bool:
    """Whether it is the list of add-ons in the preferences, where Supple's own name stands."""
    return isinstance(owner, ast.Attribute) and owner.attr == "addons"


def test_no_module_does_what_the_platform_forbids(trees: dict[str, ast.Module]) -> None:
    found = {(name, what) for name, tree in trees.items() for what in find_forbidden(tree)}
    assert found == {(name, "import threading") for name in SCRIPTS}


FORBIDDEN = [
    "import threading", "from concurrent.futures import ThreadPoolExecutor", "import bl_ui.space_view3d", "eval(x)",
    "print(x)", "sys.path.insert(0, x)", "context.preferences.addons['supple']", "x = 'bl_ext.blender_org.supple'",
    "bpy.utils.extension_path_user('supple')", "bl_info = {}", "menu._dyn_ui_initialize()",
]  # fmt: skip


@pytest.mark.parametrize("text", FORBIDDEN)
def test_what_is_forbidden_is_found(text: str) -> None:
    assert len([*find_forbidden(ast.parse(text))]) == 1


def find_needed(trees: Iterable[ast.Module]) -> set[str]:
    """The permissions that code needs."""
    found = set()
    for node in chain.from_iterable(map(ast.walk, trees)):
        if NETWORK & set(list_roots(node)):
            found.add("network")
        elif isinstance(node, ast.Attribute) and node.attr in PERMISSIONS:
            found.add(PERMISSIONS[node.attr])
    return found


def test_permissions_are_those_that_are_used(trees: dict[str, ast.Module], manifest: dict[str, Any]) -> None:
    assert manifest["permissions"].keys() == find_needed(trees.values())
    assert find_needed([ast.parse("import urllib.request\nmanager.clipboard = ''")]) == {"network", "clipboard"}
    for reason in manifest["permissions"].values():
        assert 0 < len(reason) <= SHORT
        assert reason[-1].isalnum()


def test_the_manifest_says_what_the_platform_shows(manifest: dict[str, Any]) -> None:
    assert 0 < len(manifest["tagline"]) <= SHORT
    assert manifest["tagline"][-1].isalnum()
    assert manifest["tags"]
    assert set(manifest["tags"]) <= TAGS
    assert manifest["website"].startswith("https://")
    assert manifest["website"].endswith("/"), "pages are named after it"
    assert re.fullmatch(r"[\w. -]+", manifest["maintainer"])
    assert all(name.startswith("SPDX:") for name in manifest["license"])
    assert "wheels" not in manifest


def test_everything_is_for_users_and_licensed(files: dict[str, bytes], package: Path) -> None:
    """What is neither code nor Supple's own data says where it is from, and under which license."""
    papers = {name for pair in LICENSED.values() for name in pair}
    others = {name for name in files if not name.endswith(".py") and not OWN_DATA.fullmatch(name)}
    assert others == {"blender_manifest.toml", "LICENSE"} | LICENSED.keys() | papers
    assert b"GNU GENERAL PUBLIC LICENSE" in files["LICENSE"]
    for source, text in LICENSED.values():
        assert Path(text).name.encode() in files[source]
    assert package.stat().st_size < LARGEST
