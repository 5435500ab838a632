"""Who may import whom, down to the packages in each part; and what else belongs into one part alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .sources import Source

# Parts of the product and packages in them, and what each may import beside itself. A part's name alone stands for all
# of it, `part/` for the modules in its top folder.
MAY_IMPORT = {
    "deformers/errors": set(),
    "deformers/option": {"deformers/errors"},
    "deformers/method": {"deformers/option"},
    "deformers/geometry": {"deformers/errors"},
    "deformers/algebra": set(),
    "deformers/rig": {"deformers/errors", "deformers/algebra"},
    "deformers/skinning": {
        "deformers/errors",
        "deformers/option",
        "deformers/method",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
    },
    "deformers/particles": {
        "deformers/errors",
        "deformers/option",
        "deformers/method",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/skinning",
    },
    "deformers/automatic_weights": {
        "deformers/errors",
        "deformers/option",
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
    "deformers/preset_files": {"deformers/errors"},
    "deformers/anatomy": {"deformers/errors", "deformers/geometry", "deformers/preset_files"},
    "deformers/fit": {"deformers/errors", "deformers/geometry", "deformers/preset_files"},
    "deformers/layers": {"deformers/errors", "deformers/geometry"},
    "deformers/measures": {"deformers/errors", "deformers/geometry", "deformers/rig", "deformers/layers"},
    "deformers/engine_copy": {"deformers/errors", "deformers/geometry", "deformers/algebra", "deformers/rig"},
    "deformers/corrections": {
        "deformers/errors",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/measures",
    },
    "deformers/flesh": {
        "deformers/errors",
        "deformers/geometry",
        "deformers/algebra",
        "deformers/rig",
        "deformers/corrections",
    },
    "deformers/posing": {"deformers/errors", "deformers/geometry", "deformers/algebra", "deformers/rig"},
    "deformers/motion": {"deformers/errors", "deformers/geometry", "deformers/algebra"},
    "deformers/swing": {"deformers/errors", "deformers/algebra"},
    "deformers/": {
        "deformers/errors",
        "deformers/option",
        "deformers/method",
        "deformers/rig",
        "deformers/skinning",
        "deformers/particles",
    },
    "options": {"deformers"},
    "bridge/owned": set(),
    "nodes": {"deformers", "bridge/owned"},
    "bridge/": {"deformers", "nodes", "bridge/owned"},
    "bridge/files": {"deformers"},
    "bridge/meshes": {"deformers", "nodes", "bridge/", "bridge/owned"},
    "bridge/images": {"deformers", "bridge/", "bridge/files", "bridge/owned"},
    "bridge/animation": {"deformers", "bridge/", "bridge/meshes"},
    "bridge/rigs": {"deformers", "nodes", "bridge/", "bridge/owned", "bridge/meshes", "bridge/animation"},
    "settings": {"deformers", "options", "bridge/owned"},
    "tasks/": {"deformers", "nodes", "bridge", "settings"},
    "tasks/subject": {"deformers", "options", "nodes", "bridge", "settings", "tasks/"},
    "tasks/installed": {"deformers", "bridge", "tasks/"},
    "tasks/patterns": {"deformers", "nodes", "bridge", "settings", "tasks/", "tasks/installed", "tasks/subject"},
    "tasks/weights": {"deformers", "options", "nodes", "bridge", "settings", "tasks/", "tasks/subject"},
    "tasks/skin": {
        "deformers",
        "nodes",
        "bridge",
        "settings",
        "tasks/",
        "tasks/installed",
        "tasks/subject",
        "tasks/patterns",
    },
    "tasks/bake": {"deformers", "bridge", "settings", "tasks/", "tasks/subject", "tasks/skin"},
    "tasks/farm": {"deformers", "bridge", "settings", "tasks/", "tasks/subject", "tasks/skin", "tasks/bake"},
    "tasks/layers": {"deformers", "nodes", "bridge", "settings", "tasks/", "tasks/installed", "tasks/subject"},
    "tasks/side_by_side": {"deformers", "bridge", "settings", "tasks/", "tasks/subject", "tasks/skin"},
    "tasks/engine_copy": {
        "deformers",
        "options",
        "bridge",
        "settings",
        "tasks/",
        "tasks/installed",
        "tasks/subject",
        "tasks/layers",
        "tasks/skin",
        "tasks/patterns",
    },
    "tasks/corrections": {
        "deformers",
        "bridge",
        "settings",
        "tasks/",
        "tasks/installed",
        "tasks/subject",
        "tasks/skin",
    },
    "tasks/flesh": {
        "deformers",
        "options",
        "bridge",
        "settings",
        "tasks/",
        "tasks/installed",
        "tasks/subject",
        "tasks/skin",
        "tasks/corrections",
    },
    "tasks/check": {
        "deformers",
        "options",
        "bridge",
        "settings",
        "tasks/",
        "tasks/subject",
        "tasks/skin",
        "tasks/weights",
        "tasks/layers",
        "tasks/flesh",
        "tasks/corrections",
    },
    "tasks/handles": {
        "deformers",
        "bridge",
        "settings",
        "tasks/",
        "tasks/installed",
        "tasks/subject",
        "tasks/weights",
    },
    "tasks/pose": {"deformers", "options", "bridge", "settings", "tasks/", "tasks/subject", "tasks/skin"},
    "tasks/fit": {"deformers", "options", "bridge", "settings", "tasks/", "tasks/subject"},
    "tasks/motion": {"deformers", "options", "bridge", "settings", "tasks/", "tasks/subject"},
    "tasks/swing": {"deformers", "options", "bridge", "tasks/", "tasks/installed", "tasks/subject"},
    "tasks/features": {
        "tasks/flesh",
        "tasks/engine_copy",
        "tasks/handles",
        "tasks/layers",
        "tasks/patterns",
        "tasks/skin",
        "tasks/swing",
    },
    "translations": set(),
    "viewport": {"deformers", "bridge", "tasks", "settings", "translations"},
    "live": {"bridge", "settings", "tasks"},
    "api": {"deformers", "options", "bridge", "tasks", "settings", "translations"},
    "cli": {"deformers", "options", "bridge", "tasks", "settings", "translations", "api"},
    "operators": {"deformers", "options", "bridge", "tasks", "settings", "viewport", "translations"},
    "ui": {
        "options",
        "settings",
        "tasks/",
        "tasks/features",
        "tasks/installed",
        "tasks/layers",
        "tasks/subject",
        "tasks/patterns",
        "translations",
    },
    "registration": {"translations", "settings", "live", "viewport", "cli", "operators", "ui"},
    "__init__": {"registration"},
}

BLENDER_MODULES = {"bpy", "bmesh", "mathutils", "gpu", "addon_utils"}
PARTS = {name.partition("/")[0] for name in MAY_IMPORT}
TABLE = "tools/house_rules/layers.py:1"


def row_of(module: str) -> str:
    """The row of MAY_IMPORT that a module, a path from the root without its ending, belongs to."""
    part, _, rest = module.partition("/")
    package = f"{part}/{rest.partition('/')[0]}"
    return next((name for name in (package, f"{part}/", part) if name in MAY_IMPORT), "")


def imported_modules(source: Source, modules: set[str]) -> Iterator[tuple[int, str]]:
    """Yield by line the path of what a relative import names, module or not, and ``.name`` for an absolute import."""
    package = source.file.split("/")[:-1]
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, f".{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, f".{node.module}"
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], *filter(None, (node.module or "").split("."))]
            for alias in node.names:
                target = "/".join([*base, alias.name])
                yield node.lineno, target if target in modules or not base else "/".join(base)


def is_allowed(package: str, target: str) -> bool:
    """Whether modules of a package may import a module: of their own package, or of a package below it."""
    wanted = row_of(target)
    # What a part's `__init__` offers, such as `from ..deformers import SkinningError`, is there for other parts alone.
    return wanted == package or bool({wanted, wanted.partition("/")[0]} & MAY_IMPORT.get(package, set()))


def check_source(source: Source, modules: set[str]) -> Iterator[str]:
    """Yield what a module imports or calls and must not; `modules` are those of the product."""
    package = row_of(source.module)
    for line, name in imported_modules(source, modules):
        where = f"{source.file}:{line}: imports {name.removeprefix('.')}"
        if name.startswith("."):
            top = name[1:].partition(".")[0]
            if top in {*PARTS, "supple", "bl_ext"} - {"__init__"}:
                yield f"{where} by an absolute name: use a relative import"
            if source.part in ("deformers", "options") and top in BLENDER_MODULES:
                yield f"{where}, and {source.part} run without Blender: read it in bridge, and give it as an array"
            if source.part in ("operators", "ui") and top == "numpy":
                yield f"{where}: arrays are for viewport, tasks and what is below them"
        elif not is_allowed(package, name):
            yield f"{where}, which is not below {package}: move what is needed down, or change MAY_IMPORT of layers.py"
    if source.part not in ("bridge", "nodes"):
        for node in source.nodes:
            if isinstance(node, ast.Attribute) and node.attr in ("foreach_get", "foreach_set"):
                yield f"{source.file}:{node.lineno}: {node.attr} is for bridge and nodes alone: call a function there"


def check_rows(modules: set[str], packages: set[str]) -> Iterator[str]:
    """Yield what MAY_IMPORT lacks, what it has too much, and what makes its rows a circle."""
    rooms = {name for name in packages if name.count("/") == 1 and name.partition("/")[0] not in MAY_IMPORT}
    for name in sorted(({name for name in modules if "/" not in name} | rooms) - MAY_IMPORT.keys() - PARTS):
        yield f"{TABLE}: give {name} a row in MAY_IMPORT (or list a part in NOT_PRODUCT of sources.py)"
    below: set[str] = set()
    for name, allowed in MAY_IMPORT.items():
        if name.rstrip("/") not in modules:
            yield f"{TABLE}: {name} is gone: take its row out of MAY_IMPORT"
        for other in sorted(allowed - below):
            if not any(row.startswith(f"{other}/") for row in below):
                yield f"{TABLE}: {name} may import {other}, which comes after it: rows go upwards, without a circle"
        below.add(name)


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


def check(sources: list[Source]) -> list[str]:
    modules = {source.module for source in sources}
    packages = {source.module for source in sources if source.file.endswith("__init__.py")}
    found = list(check_rows(modules, packages))
    links = {}
    for source in sources:
        found += check_source(source, modules)
        names = {name for _, name in imported_modules(source, modules)} & modules - {source.module}
        # A package's own `__init__` is no more than its name here.
        links[source.module] = {name for name in names if not (name in packages and source.module.startswith(name))}
    if circle := find_circle(links):
        way = " -> ".join([*circle, circle[0]])
        found.append(f"{circle[0]}.py:1: imports itself, {way}: move what both need into a module below")
    return found
