"""Nothing of a file is ever executed. Read from the source; nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("bridge", "deformers", "nodes", "operators", "settings", "tasks", "ui", "viewport")
MODULES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.py"), *(found for folder in SHIPPED for found in (ROOT / folder).rglob("*.py")))
)

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

STARTS_BLENDER = "bridge/exchange.py"
"""Starts a Blender of its own, with a script of Supple's."""

HANDS_TEXT_ON = {"texts", "driver_namespace", "script_python_file", "python_file_run"}
"""Attributes by which Blender is given Python to run."""


def find_problems(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Call):
            called = node.func
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            is_pattern = isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "re"
            names = [name] if name in CALLS and not is_pattern else []
            if any(
                keyword.arg == "allow_pickle" and getattr(keyword.value, "value", True) for keyword in node.keywords
            ):
                names = ["allow_pickle"]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] in IMPORTS]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module] if (node.module or "").split(".")[0] in IMPORTS else []
        elif isinstance(node, ast.Attribute):
            names = [node.attr] if node.attr in HANDS_TEXT_ON else []
        yield from (f"line {node.lineno}: {name}" for name in names)


@pytest.mark.parametrize("module", MODULES)
def test_no_module_executes_text(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    allowed = {"subprocess"} if module == STARTS_BLENDER else set()
    assert [problem for problem in find_problems(tree) if problem.split(": ")[1] not in allowed] == []


def test_only_blender_itself_is_started() -> None:
    tree = ast.parse((ROOT / STARTS_BLENDER).read_text(encoding="utf-8"))
    (start,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and "Popen" in ast.unparse(node.func))
    assert ast.unparse(start.args[0]) == "[*command, str(SESSION), *between, str(path)]"
    assert all(keyword.arg != "shell" for keyword in start.keywords)


@pytest.mark.parametrize(
    "text",
    [
        "eval(x)", "exec(x)", "a.compile(x)", "__import__(x)", "import pickle", "from subprocess import run",
        "os.system(x)", "bpy.data.texts.new('x')", "np.load(x, allow_pickle=True)", "bpy.app.driver_namespace['f'] = f",
    ],
)  # fmt: skip
def test_what_is_looked_for_is_found(text: str) -> None:
    assert list(find_problems(ast.parse(text)))


def test_only_one_module_writes_expressions_of_drivers() -> None:
    """What it writes, `tests/blender/bad_input/test_hostile_files.py` looks at."""
    found = [
        module
        for module in MODULES
        for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr == "expression" and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.keyword) and node.arg == "expression")
    ]
    assert set(found) == {"bridge/drivers.py"}
