"""Who may import whom, down to the packages in each part. Read from the source; nothing runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Parts of the product and packages in them, and what each may import beside itself. A part's name alone stands for all
# of it, `part/` for the modules in its top folder.
MAY_IMPORT = {
    "deformers/errors": set(),
    "deformers/method": {"deformers/errors"},
    "deformers/geometry": {"deformers/errors"},
    "deformers/algebra": set(),
    "deformers/rig": {"deformers/errors", "deformers/algebra"},
    "deformers/skinning": {
        "deformers/errors",
        "deformers/method",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
    },
    "deformers/particles": {
        "deformers/errors",
        "deformers/method",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/skinning",
    },
    "deformers/automatic_weights": {
        "deformers/errors",
        "deformers/method",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
    },
    "deformers/weight_editing": {
        "deformers/errors",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/automatic_weights",
    },
    "deformers/patterns": {"deformers/errors", "deformers/geometry"},
    "deformers/anatomy": {"deformers/errors", "deformers/geometry"},
    "deformers/measures": {"deformers/errors", "deformers/geometry", "deformers/rig"},
    "deformers/engine_copy": {"deformers/errors", "deformers/geometry", "deformers/algebra", "deformers/rig"},
    "deformers/corrections": {
        "deformers/errors",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/measures",
    },
    "deformers/posing": {"deformers/errors", "deformers/geometry", "deformers/algebra", "deformers/rig"},
    "deformers/motion": {"deformers/errors", "deformers/algebra"},
    "deformers/": {
        "deformers/errors",
        "deformers/method",
        "deformers/rig",
        "deformers/skinning",
        "deformers/particles",
    },
    "nodes": {"deformers"},
    "bridge": {"deformers", "nodes"},
    "settings": {"deformers"},
    "tasks/": {"deformers", "nodes", "bridge", "settings"},
    "tasks/patterns": {"deformers", "nodes", "bridge", "settings", "tasks/"},
    "tasks/weights": {"deformers", "nodes", "bridge", "settings", "tasks/"},
    "tasks/skin": {"deformers", "nodes", "bridge", "settings", "tasks/", "tasks/patterns"},
    "tasks/bake": {"deformers", "bridge", "settings", "tasks/", "tasks/skin"},
    "tasks/farm": {"deformers", "bridge", "settings", "tasks/", "tasks/skin", "tasks/bake"},
    "tasks/check": {"deformers", "bridge", "settings", "tasks/", "tasks/skin", "tasks/weights"},
    "tasks/compare": {"deformers", "bridge", "settings", "tasks/", "tasks/skin"},
    "tasks/engine_copy": {"deformers", "bridge", "settings", "tasks/", "tasks/skin", "tasks/patterns"},
    "tasks/corrections": {"deformers", "bridge", "settings", "tasks/", "tasks/skin"},
    "tasks/handles": {"deformers", "bridge", "settings", "tasks/", "tasks/weights"},
    "tasks/pose": {"deformers", "bridge", "settings", "tasks/", "tasks/skin"},
    "tasks/motion": {"deformers", "bridge", "settings", "tasks/"},
    "translations": set(),
    "viewport": {"deformers", "bridge", "tasks", "settings", "translations"},
    "preview": {"deformers", "bridge", "tasks", "settings"},
    "cli": {"deformers", "bridge", "tasks", "settings"},
    "operators": {"deformers", "bridge", "tasks", "settings", "viewport", "preview", "translations"},
    "ui": {"settings", "tasks/", "tasks/patterns", "translations"},
    "registration": {"translations", "settings", "preview", "viewport", "cli", "operators", "ui"},
    "__init__": {"registration"},
}
FULLEST = {"deformers": 13, "tasks": 13}
"""Most files in a folder: more of them no longer show what is in it."""

NOT_PRODUCT = {"benchmarks", "demo", "docs", "tests", "tools"}
BLENDER_MODULES = {"bpy", "bmesh", "mathutils", "gpu", "addon_utils"}
PARTS = {name.partition("/")[0] for name in MAY_IMPORT}
PRODUCT = sorted(
    path.relative_to(ROOT).as_posix()
    for part in PARTS
    for path in [ROOT / f"{part}.py", *(ROOT / part).rglob("*.py")]
    if path.is_file()
)
MODULES = {file.removesuffix(".py").removesuffix("/__init__") for file in PRODUCT}


def row_of(module: str) -> str:
    """The row of MAY_IMPORT that a module, a path from the root without its ending, belongs to."""
    part, _, rest = module.partition("/")
    package = f"{part}/{rest.partition('/')[0]}"
    return next(name for name in (package, f"{part}/", part) if name in MAY_IMPORT)


def imported_modules(tree: ast.Module, file: str) -> Iterator[str]:
    """Yield the path of what a relative import names, module or not, and ``.name`` for an absolute import."""
    package = Path(file).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f".{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield f".{node.module}"
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            base = [name for name in base if name]
            for alias in node.names:
                target = "/".join([*base, alias.name])
                yield target if target in MODULES or not base else "/".join(base)


def is_allowed(package: str, target: str) -> bool:
    """Whether modules of a package may import a module: of their own package, or of a package below it."""
    wanted = row_of(target)
    # What a part's `__init__` offers, such as `from ..deformers import SkinningError`, is there for other parts alone.
    return wanted == package or bool({wanted, wanted.partition("/")[0]} & MAY_IMPORT[package])


def violations(source: str, file: str) -> list[str]:
    tree = ast.parse(source)
    package = row_of(file.removesuffix(".py").removesuffix("/__init__"))
    part = package.partition("/")[0]
    found = []
    for name in imported_modules(tree, file):
        if name.startswith("."):
            top = name[1:].partition(".")[0]
            if top in {*PARTS, "supple", "bl_ext"} - {"__init__"}:
                found.append(f"imports {name[1:]} by an absolute name: use a relative import")
            if part == "deformers" and top in BLENDER_MODULES:
                found.append(f"imports {top}, and deformers run without Blender")
            if part in ("operators", "ui") and top == "numpy":
                found.append("imports numpy: arrays are for viewport, tasks and what is below them")
        elif name.partition("/")[0] not in PARTS or not is_allowed(package, name):
            found.append(f"imports {name}, which is not below {package}")
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


def test_every_part_and_package_has_its_row() -> None:
    parts = {path.stem for path in ROOT.glob("*.py")} | {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert parts - NOT_PRODUCT == PARTS
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/__init__.py")}
    packages = {package for package in packages if package.partition("/")[0] in PARTS}
    assert packages == {name for name in MAY_IMPORT if (ROOT / name).is_dir() and name.partition("/")[2]}


def test_rows_make_no_circle() -> None:
    below: dict[str, set[str]] = {}
    for name, allowed in MAY_IMPORT.items():
        assert all(other in below or any(row.startswith(f"{other}/") for row in below) for other in allowed), name
        below[name] = allowed


def find_circle(links: dict[str, set[str]]) -> list[str]:
    """Names that lead back to the first of them, or none."""
    done: set[str] = set()

    def follow(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        found = next((circle for other in sorted(links[name]) if (circle := follow(other, [*path, name]))), [])
        done.add(name)
        return found

    return next((circle for name in sorted(links) if (circle := follow(name, []))), [])


def test_modules_make_no_circle() -> None:
    links = {
        file.removesuffix(".py").removesuffix("/__init__"): {
            name
            for name in imported_modules(ast.parse((ROOT / file).read_text(encoding="utf-8")), file)
            if name in MODULES
        }
        for file in PRODUCT
    }
    packages = {"/".join(file.split("/")[:-1]) for file in PRODUCT if file.endswith("__init__.py")}
    for name, names in links.items():
        links[name] = {other for other in names if other != name and not (other in packages and name.startswith(other))}
    assert find_circle(links) == []


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]


@pytest.mark.parametrize("part", FULLEST)
def test_no_folder_is_too_full(part: str) -> None:
    counts = {folder.name: len(list(folder.glob("*.py"))) for folder in [ROOT / part, *(ROOT / part).iterdir()]}
    assert max(counts.values()) <= FULLEST[part], counts


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("deformers/skinning/linear.py", "import bpy"),
        ("deformers/skinning/linear.py", "def bind():\n    from mathutils import Matrix"),
        ("deformers/skinning/linear.py", "from ...bridge import meshes"),
        ("deformers/skinning/linear.py", "from ..patterns import heights"),
        ("deformers/skinning/linear.py", "from .. import SkinningError"),
        ("deformers/geometry/solid.py", "from ..rig.rest import Rest"),
        ("bridge/meshes.py", "from .. import tasks"),
        ("bridge/meshes.py", "from ..tasks.stack import resolve"),
        ("tasks/skin/bind.py", "from supple.deformers import linear"),
        ("tasks/skin/bind.py", "from ...bridge import meshes\nmesh.vertices.foreach_get('co', out)"),
        ("tasks/weights/edits.py", "from ..skin.bind import bind"),
        ("tasks/stack.py", "from .skin.bind import bind"),
        ("ui/panels.py", "from ..tasks.skin.bind import bind"),
        ("preview.py", "from .operators import bind"),
        ("operators/bind.py", "import numpy as np"),
        ("ui/panels.py", "from numpy import array"),
        ("__init__.py", "from .tasks import skin"),
    ],
)
def test_a_violation_is_found(file: str, source: str) -> None:
    assert len(violations(source, file)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("deformers/skinning/linear.py", "import numpy as np\nfrom ..errors import SkinningError\nfrom . import polar"),
        ("deformers/__init__.py", "from .skinning import ssd\nfrom .errors import SkinningError"),
        ("bridge/meshes.py", "import bpy\nfrom ..deformers import ssd\nmesh.vertices.foreach_get('co', out)"),
        ("tasks/skin/bind.py", "from ..stack import resolve\nfrom ...deformers.rig.rest import Rest"),
        ("registration.py", "from . import settings, ui"),
    ],
)
def test_what_is_allowed_passes(file: str, source: str) -> None:
    assert violations(source, file) == []
