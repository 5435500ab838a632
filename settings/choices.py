"""Choices of the skinning methods as properties, made from the options of each method, and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isclose
from typing import Any

import bpy

from ..deformers import METHODS, Method, Option, SkinningError, UnsupportedError
from .events import show_change
from .properties import make_property

METHOD_ITEMS = tuple((method.key, method.label, method.tooltip, "NONE", method.number) for method in METHODS.values())

# Moments at which a choice may have a value of its own, in a property such as `iterations_bake`
DRAGGING, BAKING = "dragging", "bake"


def options_of(methods: Iterable[Method]) -> list[Option]:
    """Options of methods, with their defaults. Methods that share an option have one default for it."""
    return [replace(choice, default=method.default_of(choice)) for method in methods for choice in method.choices]


def _follow(_option: Option) -> dict[str, Any]:
    return {"update": show_change}


def properties_of(options: Iterable[Option], access: Callable[[Option], dict[str, Any]] = _follow) -> dict[str, Any]:
    """Options as properties, by name; `access` gives the functions that each is made with.

    A group of properties takes them as annotations in words, which Blender evaluates. Properties themselves would live
    as long as the class, with the modules that they call: see `settings` on Blender 4.2.
    """
    return {option.name: make_property(option, **access(option)) for option in options}


def store_of(settings: Any, method: Method) -> bpy.types.PropertyGroup:
    """The settings of an object that hold the choices of a method."""
    return settings.particles if method.fills_solid else settings


def find_method(key: str) -> Method:
    """The method of a key; raises UnsupportedError for an unknown key, such as from a later version of Supple."""
    if key not in METHODS:
        raise UnsupportedError(
            f"This version of Supple has no such method: choose {', '.join(METHODS)}, and bind again"
        )
    return METHODS[key]


def are_same(stored: Any, value: Any) -> bool:
    """Whether a property stores a value; Blender rounds numbers."""
    return isclose(stored, value, abs_tol=1e-6) if isinstance(value, float) else stored == value


def read_params(settings: Any, key: str) -> Any:
    """The chosen `Params` of a method; options of single poses have their defaults.

    Raises
    ------
    UnsupportedError
        If the method is unknown.
    """
    method = find_method(key)
    store = store_of(settings, method)
    return method.params(
        **{choice.name: getattr(store, choice.name) for choice in method.choices if not choice.per_pose}
    )


def read_pose_choices(settings: Any, key: str, moment: str = "") -> dict[str, Any]:
    """Chosen values of options of single poses, by fields of `Params`, at a moment such as `DRAGGING`."""
    method = METHODS[key]
    store = store_of(settings, method)
    chosen = {}
    for choice in method.choices:
        if choice.per_pose:
            own = f"{choice.name}_{moment}"
            chosen[choice.name] = getattr(store, own if hasattr(store, own) else choice.name)
    return chosen


def write_choices(settings: Any, key: str, given: Mapping[str, Any]) -> None:
    """Set choices of a method, given by name; SkinningError if the method has no such choice, or not such a value."""
    method = find_method(key)
    choices = {choice.name: choice for choice in method.choices}
    for name, value in given.items():
        if name not in choices:
            raise SkinningError(f"{method.key} has no option for {name.replace('_', ' ')}: leave it out")
        choices[name].check(value)
        setattr(store_of(settings, method), name, value)
