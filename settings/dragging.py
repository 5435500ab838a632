"""Settings of dragging the skin, and the pins that are stored with an armature."""

from __future__ import annotations

from typing import Any

import bpy

from .properties import BoolProperty, FloatVectorProperty, IntProperty, IntVectorProperty, PointerProperty

SOLVER_ITEMS = (
    (
        "ENERGY",
        "Whole Body",
        "Rotate all joints between the dragged point, the pins and the root with the least deformation of the skin",
    ),
    (
        "CHAIN",
        "Chain",
        "Rotate the joints of a chain one by one, from the last joint up: for tails, tentacles and ropes",
    ),
)
ROOT_ITEMS = (
    ("AUTO", "Auto", "Move the root if there are pins, or if no other bone can follow"),
    ("ON", "On", "Move the root"),
    ("OFF", "Off", "Keep the root in place"),
)


class DragOptions:
    """Mix-in: how bones follow a dragged point."""

    solver: bpy.props.EnumProperty(name="Solver", description="How bones follow the dragged point", items=SOLVER_ITEMS)
    iterations: bpy.props.IntProperty(
        name="Iterations",
        description="Solver iterations for each mouse movement: higher values follow faster, and are slower",
        default=5,
        min=1,
        max=100,
        soft_max=20,
    )
    chain_length: bpy.props.IntProperty(
        name="Chain Length",
        description="Number of bones in the chain, from the dragged bone up; 0 for all bones up to the root",
        default=0,
        min=0,
        soft_max=20,
    )
    move_root: bpy.props.EnumProperty(name="Move Root", description="Whether the root bone may move", items=ROOT_ITEMS)

    hold_rotation: bpy.props.BoolProperty(
        name="Hold Rotation",
        description="Pins also hold rotation: a pinned foot stays flat on the ground",
        default=True,
    )


class SkinPin(bpy.types.PropertyGroup):
    """`object.supple.pins[...]` of an armature: a point of a skin that stays where it is while another is dragged."""

    mesh: PointerProperty(type=bpy.types.Object)
    vertices: IntVectorProperty(size=3, options={"HIDDEN"})
    shares: FloatVectorProperty(size=3, options={"HIDDEN"})
    count: IntProperty(options={"HIDDEN"})
    holds_rotation: BoolProperty(name="Hold Rotation", description="Also hold rotation")


class DragSettings(DragOptions, bpy.types.PropertyGroup):
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
