"""Display of a check's results, and of heat on the skin: in the window, never saved."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ..options import CheckOptions
from .events import draw_nothing, redraw, unsaved
from .properties import FloatProperty, with_options
from .side_by_side import GHOST_ITEMS, LINEAR

FILTER_ITEMS = (
    ("ALL", "All", "Faults of weights and of poses"),
    ("WEIGHTS", "Weights", "Mistakes in weights"),
    ("POSES", "Poses", "Where poses damage the skin with the current method"),
)
HEAT_ITEMS = (
    ("NONE", "Off", "No heat on the skin"),
    ("STRETCH", "Stretch", "Stretch of the skin in red, and compression in blue"),
    ("OVERLAP", "Overlap", "How deep the skin is inside the body"),
    ("DIFFERENCE", "Distance", "Distance between the skin and the result of another method"),
    ("COPY", "Copy", "Distance between the skin of an engine copy and that of the character"),
)


def _redraw(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    redraw(context.window_manager, context)


def _fold(settings: Any, _context: bpy.types.Context) -> None:
    if not settings.is_open:
        cool(settings)


class FindingSettings(bpy.types.PropertyGroup):
    """A line of the list: the number of the fault in the armature's report, and its texts."""

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
    active: IntProperty(name="Active Fault", description="Fault to show, fix or dismiss", min=0)
    is_open: BoolProperty(name="Faults", description="List the faults that the last check found", update=_fold)
    shown: EnumProperty(name="Show", description="Which faults are listed", items=FILTER_ITEMS)
    shows_dismissed: BoolProperty(name="Dismissed", description="Also list dismissed faults")
    heat: EnumProperty(
        name="Heat",
        description="Values to show as colors on the skin of the character",
        items=HEAT_ITEMS,
        update=_redraw,
        **unsaved("heat"),
    )
    other: EnumProperty(
        name="From", description="Method to compare with", items=GHOST_ITEMS, default=LINEAR, update=_redraw
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
    """The display of the check's results."""
    return context.window_manager.supple_check


def forget_check(manager: bpy.types.WindowManager) -> None:
    """Clear the list and turn heat off: another file has other characters, perhaps of the same names.

    Blender 5.2 does so itself; 4.2 keeps data of the window manager.
    """
    close_check(manager.supple_check)
    draw_nothing()


def close_check(settings: Any) -> None:
    """Clear the list, and turn off the heat that showed its faults."""
    settings.armature, settings.is_open = "", False
    settings.findings.clear()
    cool(settings)


def cool(settings: Any) -> None:
    """Turn off heat that shows faults; the heat of a comparison stays."""
    if settings.heat in ("STRETCH", "OVERLAP"):
        settings.heat = "NONE"
