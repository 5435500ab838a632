"""Settings of dragging the skin, and the pins that are stored with an armature."""

from __future__ import annotations

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
    """`object.supple.pins[...]` of an armature: a point of the skin that stays in place during drags."""

    mesh: PointerProperty(type=bpy.types.Object)
    vertices: IntVectorProperty(size=3, options={"HIDDEN"})
    shares: FloatVectorProperty(size=3, options={"HIDDEN"})
    count: IntProperty(options={"HIDDEN"})
    holds_rotation: BoolProperty(name="Keep Direction", description="Also keep the direction of the skin")


@with_options(DragOptions)
class DragSettings(bpy.types.PropertyGroup):
    """`scene.supple_drag`"""
