"""What is shown of a check of a character, and of heat on the skin: in the window, never saved."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..options import CheckOptions
from .events import draw_nothing, redraw, unsaved
from .properties import with_options
from .side_by_side import GHOST_ITEMS, LINEAR

FILTER_ITEMS = (
    ("ALL", "All", "Faults of weights and of poses"),
    ("WEIGHTS", "Weights", "Mistakes in weights"),
    ("POSES", "Poses", "Where poses spoil the skin by the method in use"),
)
HEAT_ITEMS = (
    ("NONE", "Off", "No heat on the skin"),
    ("STRETCH", "Stretch", "How far the skin is drawn out, red, or pressed together, blue"),
    ("OVERLAP", "Overlap", "How deep the skin is inside the body"),
    ("DIFFERENCE", "Distance", "How far the skin is from where another method has it"),
    ("COPY", "Copy", "How far the skin of an engine copy is from that of the character"),
)


def _redraw(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    redraw(context.window_manager, context)


class FindingSettings(bpy.types.PropertyGroup):
    """A line of the list: which fault of the armature's report it is, and what is drawn of it."""

    number: IntProperty(options={"HIDDEN"})
    mesh: StringProperty(name="Mesh", options={"HIDDEN"})
    bone: StringProperty(name="Bone", options={"HIDDEN"})
    text: StringProperty(name="Fault", options={"HIDDEN"})
    details: StringProperty(name="Details", options={"HIDDEN"})
    key: StringProperty(options={"HIDDEN"})
    is_of_weights: BoolProperty(options={"HIDDEN"})
    can_fix: BoolProperty(options={"HIDDEN"})
    is_mended: BoolProperty(options={"HIDDEN"})


@with_options(CheckOptions)
class CheckSettings(bpy.types.PropertyGroup):
    """`window_manager.supple_check`"""

    armature: StringProperty(name="Armature", options={"HIDDEN"})
    poses: IntProperty(name="Poses", options={"HIDDEN"})
    findings: CollectionProperty(type=FindingSettings)
    active: IntProperty(name="Active Fault", description="Fault that is shown, mended or dismissed", min=0)
    shown: EnumProperty(name="Show", description="Which faults are listed", items=FILTER_ITEMS)
    shows_dismissed: BoolProperty(name="Dismissed", description="List faults that you have dismissed, too")
    heat: EnumProperty(
        name="Heat",
        description="What is drawn in colors on the skin of the character",
        items=HEAT_ITEMS,
        update=_redraw,
        **unsaved("heat"),
    )
    other: EnumProperty(
        name="From",
        description="Method that the skin is compared with",
        items=GHOST_ITEMS,
        default=LINEAR,
        update=_redraw,
    )
    full: FloatProperty(
        name="Full",
        description="Length at the end of the scale of colors",
        subtype="DISTANCE",
        default=0.02,
        min=0.0001,
        soft_max=1.0,
        update=_redraw,
    )


def check_settings(context: bpy.types.Context) -> Any:
    """What is shown of a check."""
    return context.window_manager.supple_check


def forget_check(manager: bpy.types.WindowManager) -> None:
    """Drop the list, and switch heat off: another file has other characters, perhaps of the same names.

    Blender 5.2 does so itself; 4.2 keeps what the window manager holds.
    """
    settings: Any = manager.supple_check
    settings.armature = ""
    settings.findings.clear()
    draw_nothing()


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((FindingSettings, CheckSettings))


def register() -> None:
    _register_classes()
    bpy.types.WindowManager.supple_check = PointerProperty(
        type=CheckSettings, name="Supple Check", description="What is shown of a check, and of heat on the skin"
    )


def unregister() -> None:
    draw_nothing()
    del bpy.types.WindowManager.supple_check
    _unregister_classes()
