"""Settings of preset files (JSON): of rigs, of landmarks and of fitted skeletons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from .errors import SkinningError

T = TypeVar("T")
# From the name and the value of a setting to the value of a field; it raises SkinningError for a wrong value
Reader = Callable[[str, Any], Any]


def read_settings(preset: type[T], key: str, content: Any, readers: Mapping[str, Reader], /, **known: Any) -> T:
    """Make a preset from the content of its file.

    Raises SkinningError if a setting is missing, unknown or wrong.

    Parameters
    ----------
    preset : type
        A dataclass; settings for fields with a default are optional.
    key : str
        Name of the file, for messages.
    content : object
        Parsed JSON.
    readers : dict of str to Reader
        By the names of the settings.
    **known
        Values of the other fields.
    """
    try:
        demand(isinstance(content, dict) and bool(content), "it cannot be read: look for a missing comma or brace")
        unknown = [name for name in content if name not in readers]
        demand(not unknown, f"there is no setting {', '.join(map(repr, unknown))}: use {', '.join(readers)}")
        needed = {its.name for its in fields(preset) if its.default is MISSING and its.default_factory is MISSING}  # pyright: ignore[reportArgumentType]
        missing = [name for name in readers if name in needed and name not in content]
        demand(not missing, f"{', '.join(missing)} are missing: add them")
        return preset(**known, **{name: readers[name](name, value) for name, value in content.items()})
    except SkinningError as error:
        raise SkinningError(f"Preset '{key}': {error}") from None


def demand(is_right: bool, problem: str) -> None:
    """Raise a problem with a setting.

    Raises
    ------
    SkinningError
        With the problem as its text, unless `is_right`.
    """
    if not is_right:
        raise SkinningError(problem)


def read_text(name: str, value: Any) -> str:
    """Read a text that is not empty."""
    demand(isinstance(value, str) and bool(value), f"{name} must be a text")
    return value


def read_number(name: str, value: Any) -> float:
    """Read a number below 1000."""
    demand(isinstance(value, int | float) and abs(value) < 1000.0, f"{name} must be a number")
    return value


def read_names(name: str, value: Any) -> tuple[str, ...]:
    """Read a name or a list of names."""
    names = [value] if isinstance(value, str) else value
    demand(isinstance(names, list) and all(isinstance(one, str) and one for one in names), f"{name} must be names")
    return tuple(names)


def read_sides(_name: str, value: Any) -> tuple[str, str]:
    """Read the parts of bone names that stand for left and right."""
    demand(
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(side, str) for side in value)
        and value[0] != value[1],
        'sides are the bone name parts for left and right: list two, such as "sides": ["L", "R"]',
    )
    return value[0], value[1]


def one_of(allowed: Sequence[str]) -> Reader:
    """Make a reader of one of several words."""

    def read(name: str, value: Any) -> str:
        demand(value in allowed, f"{name} must be one of {', '.join(allowed)}")
        return value

    return read
