"""Nothing of a file is ever executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .sources import Source

CALLS = {"eval", "exec", "compile", "__import__", "execfile", "system", "popen", "startfile", "spawn", "as_module"}
"""Names of functions that execute text, or what a text names."""

IMPORTS = {
    "pickle",
    "cPickle",
    "shelve",
    "marshal",
    "dill",
    "subprocess",
    "code",
    "codeop",
    "runpy",
    "importlib",
    "ctypes",
}
"""Modules that do."""

HANDS_TEXT_ON = {"texts", "driver_namespace", "script_python_file", "python_file_run"}
"""Attributes by which Blender is given Python to run."""

STARTS = {
    "bridge/files/child.py": "[*command, str(script), *between, *words]",
    "bridge/files/render_frames.py": "[sys.executable or '', '-I', __file__, '--relay', err.encoding]",
}
"""Modules that start a process, by this command alone: Blender, or its Python, with a script of Supple's."""

ALLOWED = {
    *((file, "subprocess") for file in STARTS),
    ("bridge/files/child.py", "pickle"),  # files between the two, in a folder that only this user can write to
    ("bridge/files/child_session.py", "importlib"),  # of Supple's own module
    ("bridge/files/render_frames.py", "ctypes"),  # C writes what Blender has printed, for which Python has no call
}
"""Who may import what."""

WRITES_DRIVERS = "bridge/animation/drivers.py"
"""Writes expressions of drivers; what it writes, `tests/blender/bad_input/test_hostile_files.py` looks at."""


def find_executed(node: ast.AST) -> Iterator[str]:
    """Yield what a piece of the source executes text by."""
    if isinstance(node, ast.Call):
        called = node.func
        name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
        is_pattern = isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "re"
        if name in CALLS and not is_pattern:
            yield name
        if any(keyword.arg == "allow_pickle" and getattr(keyword.value, "value", True) for keyword in node.keywords):
            yield "allow_pickle"
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] in IMPORTS)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield from [node.module] if node.module.split(".")[0] in IMPORTS else []
    elif isinstance(node, ast.Attribute) and node.attr in HANDS_TEXT_ON:
        yield node.attr


def starts_another(node: ast.AST, command: str) -> bool:
    """Whether a piece of a module of `STARTS` starts something else, or in another way."""
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or not (called.startswith("subprocess.") or called.endswith("Popen")):
        return False
    is_known = called == "subprocess.Popen" and [*map(ast.unparse, node.args)] == [command]
    return not is_known or any(keyword.arg in ("shell", "executable", None) for keyword in node.keywords)


def writes_expression(node: ast.AST) -> bool:
    is_attribute = isinstance(node, ast.Attribute) and node.attr == "expression" and isinstance(node.ctx, ast.Store)
    return is_attribute or (isinstance(node, ast.keyword) and node.arg == "expression")


def check_source(source: Source) -> Iterator[str]:
    for node in source.nodes:
        where = f"{source.file}:{getattr(node, 'lineno', 1)}"
        for name in find_executed(node):
            if (source.file, name) not in ALLOWED:
                yield f"{where}: {name} can execute what a file says: read it as data"
        if (command := STARTS.get(source.file)) and starts_another(node, command):
            yield f"{where}: only this may be started: subprocess.Popen({command}, ...)"
        if source.file != WRITES_DRIVERS and writes_expression(node):
            yield f"{where}: expressions of drivers are written by {WRITES_DRIVERS} alone: call it"


def check(sources: list[Source]) -> list[str]:
    return [found for source in sources for found in check_source(source)]
