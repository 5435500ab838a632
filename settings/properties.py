"""Properties that library overrides keep when the file is saved, unlike Blender's own; and properties of options."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

import bpy
import numpy as np

from ..deformers.errors import LARGEST_NUMBER
from ..deformers.option import Option
from ..options import TaskOptions, rows_of

LARGEST_INT = 2**31 - 1

# Blender stores infinity as this value in floats without limits of their own: checks still see it as infinite.
CUT_OFF = 2.0 * LARGEST_NUMBER

(
    BoolProperty, BoolVectorProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, IntVectorProperty,
    PointerProperty, StringProperty,
) = (
    partial(kind, override={"LIBRARY_OVERRIDABLE"})
    for kind in (
        bpy.props.BoolProperty, bpy.props.BoolVectorProperty, bpy.props.EnumProperty, bpy.props.FloatProperty,
        bpy.props.FloatVectorProperty, bpy.props.IntProperty, bpy.props.IntVectorProperty, bpy.props.PointerProperty,
        bpy.props.StringProperty,
    )
)  # fmt: skip

FloatProperty, FloatVectorProperty = (
    partial(kind, min=-CUT_OFF, max=CUT_OFF) for kind in (FloatProperty, FloatVectorProperty)
)

CollectionProperty = partial(bpy.props.CollectionProperty, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})


Chosen = TypeVar("Chosen", bound=TaskOptions)


def make_property(option: Option, is_stored: bool = True, **functions: Any) -> Any:
    """The property of an option, made with `functions` such as `update`.

    A number with `items` is stored as an enum, for the panel; scripts give operators the number.
    """
    default, keys = option.default, option.keys
    common: dict[str, Any] = {"name": option.label, "description": option.tooltip, **functions}
    if keys and (is_stored or isinstance(default, str)):
        common |= {"default": str(default).upper()} if default in keys else {}
        return EnumProperty(items=tuple((str(key).upper(), *texts) for key, *texts in option.items), **common)
    if isinstance(default, bool):
        return BoolProperty(default=default, **common)
    slider = zip(("soft_min", "soft_max"), option.slider, strict=True)
    limits = {"min": option.lowest, "max": option.highest} | {name: end for name, end in slider if end is not None}
    if isinstance(default, int):
        return IntProperty(
            default=default, **common, **{name: int(min(end, LARGEST_INT)) for name, end in limits.items()}
        )
    fine = option.fine or ((4, 1) if option.unit == "DISTANCE" else None)
    shown = {} if fine is None else {"precision": fine[0], "step": fine[1]}
    return FloatProperty(default=default, subtype=option.unit, **common, **limits, **shown)


def factor(default: float, label: str, tooltip: str, **more: Any) -> Any:
    """The property of a number from 0 to 1, drawn as a bar."""
    return FloatProperty(name=label, description=tooltip, default=default, min=0.0, max=1.0, subtype="FACTOR", **more)


def distance(default: float, label: str, tooltip: str, **more: Any) -> Any:
    """The property of a length that is not negative, with digits for tenths of millimeters."""
    return FloatProperty(
        name=label, description=tooltip, default=default, min=0.0, precision=4, subtype="DISTANCE", **more
    )


def with_options(kind: type[TaskOptions]) -> Callable[[type], type]:
    """Give a class of settings, or an operator, the properties of a task's options, before its own."""

    def add(owner: type) -> type:
        is_stored = not issubclass(owner, bpy.types.Operator)
        made = {each.name: make_property(each, is_stored) for each in rows_of(kind) if each.label}
        owner.__annotations__ = made | owner.__annotations__
        return owner

    return add


def find_nan(owner: Any, names: Collection[str] = ()) -> tuple[Any, bpy.types.FloatProperty] | None:
    """The first NaN, which limits do not stop: its owner and its property; collections are searched too.

    `names`: the properties to look at; all if not given.
    """
    for prop in owner.bl_rna.properties:
        if names and prop.identifier not in names:
            continue
        if isinstance(prop, bpy.types.FloatProperty) and np.isnan(getattr(owner, prop.identifier)).any():
            return owner, prop
        if isinstance(prop, bpy.types.CollectionProperty):
            found = next(filter(None, map(find_nan, getattr(owner, prop.identifier))), None)
            if found is not None:
                return found
    return None


def draw_option(layout: bpy.types.UILayout, owner: Any, option: Option) -> None:
    """Draw an option with its name in the left column; a value with a word shows the word before it."""
    name = option.name
    if option.word is None or getattr(owner, name) != option.word[0]:
        layout.prop(owner, name)
        return
    parts = layout.split(factor=0.4)
    label = parts.row()
    label.alignment = "RIGHT"
    label.label(text=option.label)
    row = parts.row()
    row.use_property_split = False
    row.prop(owner, name, text=option.word[1])


def _read(option: Option, owner: Any) -> Any:
    stored = getattr(owner, option.name)
    return {str(key).upper(): key for key in option.keys}.get(stored, stored)


def read_options(kind: type[Chosen], owner: Any, **others: Any) -> Chosen:
    """A task's options, from settings or an operator and from `others` that are not properties."""
    chosen = {each.name: _read(each, owner) for each in rows_of(kind) if each.label}
    return kind(**(chosen | others))


def copy_options(kind: type[TaskOptions], source: Any, target: Any, only_unset: bool = False) -> None:
    """Copy options between settings and an operator; with `only_unset`, those that the target does not set."""
    for each in rows_of(kind):
        if each.label and not (only_unset and target.properties.is_property_set(each.name)):
            is_enum = isinstance(getattr(target, each.name), str)
            value = _read(each, source)
            setattr(target, each.name, str(value).upper() if is_enum else value)
