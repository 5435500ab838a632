"""Settings of dragging the skin, and the pins that are stored with an armature."""

from __future__ import annotations

from typing import Any

import bpy

from ..options import DragOptions
from .properties import (
    BoolProperty,
    FloatVectorProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    with_options,
)


class SkinPin(bpy.types.PropertyGroup):
    """`object.supple.pins[...]` of an armature: a point of a skin that stays where it is while another is dragged."""

    mesh: PointerProperty(type=bpy.types.Object)
    vertices: IntVectorProperty(size=3, options={"HIDDEN"})
    shares: FloatVectorProperty(size=3, options={"HIDDEN"})
    count: IntProperty(options={"HIDDEN"})
    holds_rotation: BoolProperty(name="Keep Direction", description="Also keep the direction of the skin")


@with_options(DragOptions)
class DragSettings(bpy.types.PropertyGroup):
    """`scene.supple_drag`"""


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((SkinPin, DragSettings))
scene: Any = bpy.types.Scene


def register() -> None:
    _register_classes()
    scene.supple_drag = bpy.props.PointerProperty(
        type=DragSettings, name="Supple Drag", description="Settings of dragging the skin"
    )


def unregister() -> None:
    del scene.supple_drag
    _unregister_classes()
