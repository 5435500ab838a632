"""How long functions, modules and tests may be: past that, there is a seam to look for."""

import ast

import pytest

from .test_layers import PRODUCT, ROOT

LONGEST_FUNCTION = 50
"""Lines of a function of the product, its docstring not counted."""

LONGEST_MODULE, LONGEST_TESTS = 400, 600
TESTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py"))


def measure_functions(source: str) -> dict[str, int]:
    """Lines of each function by its name, without its docstring and decorators."""
    lengths = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            has_docstring = ast.get_docstring(node) is not None and isinstance(first, ast.Expr)
            docstring = first.end_lineno - first.lineno + 1 if has_docstring else 0
            lengths[node.name] = node.end_lineno - node.lineno + 1 - docstring
    return lengths


@pytest.mark.parametrize("file", PRODUCT)
def test_functions_are_short(file: str) -> None:
    lengths = measure_functions((ROOT / file).read_text(encoding="utf-8"))
    assert {name: count for name, count in lengths.items() if count > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize(
    ("file", "limit"), [(file, LONGEST_MODULE) for file in PRODUCT] + [(file, LONGEST_TESTS) for file in TESTS]
)
def test_modules_are_short(file: str, limit: int) -> None:
    assert len((ROOT / file).read_text(encoding="utf-8").splitlines()) <= limit


def test_lines_of_a_function_by_hand() -> None:
    source = 'def short() -> int:\n    """Say\n\n    it.\n    """\n    return 1\n\n\ndef none() -> None: ...\n'
    assert measure_functions(source) == {"short": 2, "none": 1}
