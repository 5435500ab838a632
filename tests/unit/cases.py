"""Cases of one test, where nothing but values differs between them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

import pytest

Test = Callable[..., None]


def each(names: str | tuple[str, ...], values: Iterable[object]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but all cases are subtests of one test, which costs less.

    Not for a test that changes something outside of itself, as a file: there each case is a test.
    """
    names = tuple(names.replace(" ", "").split(",")) if isinstance(names, str) else names
    rows = [dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values]

    def decorate(function: Test) -> Test:
        inner, inner_rows = getattr(function, "walked", (function, [{}]))

        def walk(subtests: pytest.Subtests, **fixtures: object) -> None:
            for number, row in enumerate(cases):
                with subtests.test(", ".join(map(describe, row.values())), number=number):
                    inner(**fixtures, **row)

        cases = [row | more for row in rows for more in inner_rows]
        given = [name for name in inspect.signature(inner).parameters if name not in cases[0]]
        kinds = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("subtests", *given)]
        walk.__signature__ = inspect.Signature(kinds)
        walk.__name__, walk.__doc__, walk.__module__ = inner.__name__, inner.__doc__, inner.__module__
        walk.walked = inner, cases
        return walk

    return decorate


def describe(value: object) -> str:
    is_short = isinstance(value, str | float | int | tuple | None) and len(str(value)) < 40
    return str(value) if is_short else getattr(value, "__name__", type(value).__name__)
