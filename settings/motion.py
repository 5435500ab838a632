"""How motions are compared, looped and joined, and the transitions that were found: `scene.supple_motion`."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import CollectionProperty, IntProperty, StringProperty

from ..options import MotionOptions
from .properties import FloatProperty, with_options


class TransitionSettings(bpy.types.PropertyGroup):
    """A line of the list: from a frame of the first action to one of the second."""

    first: IntProperty(name="From Frame", options={"HIDDEN"})
    second: IntProperty(name="To Frame", options={"HIDDEN"})
    difference: FloatProperty(name="Difference", options={"HIDDEN"})


@with_options(MotionOptions)
class MotionSettings(bpy.types.PropertyGroup):
    """`scene.supple_motion`"""

    first: StringProperty(
        name="Action", description="Action to compare, to loop, or to start with; the active action if empty"
    )
    second: StringProperty(
        name="Second", description="Action to compare with, or to join at the end; the first action again if empty"
    )
    armature: StringProperty(name="Armature", options={"HIDDEN"})
    compared_first: StringProperty(name="First Action", options={"HIDDEN"})
    compared_second: StringProperty(name="Second Action", options={"HIDDEN"})
    transitions: CollectionProperty(type=TransitionSettings)
    active: IntProperty(name="Active Transition", description="Transition that Make Loop and Join Actions use", min=0)
    report: StringProperty(name="Report", options={"HIDDEN"})


def motion_settings(context: bpy.types.Context) -> Any:
    """The scene's settings of motions."""
    return context.scene.supple_motion


def find_transition(context: bpy.types.Context, armature: bpy.types.Object) -> Any:
    """The active transition, if it is of the actions that are chosen, and of an armature; else None."""
    settings = motion_settings(context)
    chosen = armature.name, *find_names(context, armature)
    compared = settings.armature, settings.compared_first, settings.compared_second
    if chosen != compared or not settings.transitions:
        return None
    return settings.transitions[min(settings.active, len(settings.transitions) - 1)]


def find_names(context: bpy.types.Context, armature: bpy.types.Object) -> tuple[str, str]:
    """The names of the chosen actions: the playing action if none is chosen, and the first again for no second."""
    settings = motion_settings(context)
    data = armature.animation_data
    playing = data.action.name if data is not None and data.action is not None else ""
    first = settings.first or playing
    return first, settings.second or first
