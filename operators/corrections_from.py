"""Corrections made by themselves: from Particles, at some angles of joints, or from a mesh that has the shape."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import StringProperty

from ..deformers import SkinningError
from ..settings.character import find_armature
from ..tasks.corrections.flesh import remove_flesh
from ..tasks.corrections.from_source import correct_from
from ..tasks.subject.chosen_bones import find_chosen_bones
from ..tasks.subject.corrected import list_flesh
from ..translations import translate
from .base import SuppleOperator
from .computing import ComputingOperator
from .corrections import (
    SKIP,
    joints_property,
    left_mode,
    list_to_correct,
    needs_meshes_to_correct,
    needs_none_under_way,
    out_of_mode,
    split_names,
)

PARTICLES = "PARTICLES"


class SUPPLE_OT_corrections_from(ComputingOperator, bpy.types.Operator):
    """Correct joints at some angles with the shape that Particles give, or correct this pose with the shape of another
    mesh"""

    bl_idname = "supple.corrections_from"
    bl_label = "Correct From"
    requires = (needs_none_under_way, needs_meshes_to_correct)

    source: StringProperty(
        name="Source",
        description="A method such as PARTICLES, or the name of a mesh with the same vertices in the wanted shape",
        default=PARTICLES,
        options=SKIP,
    )
    joints: joints_property("Bones to bend, separated by commas; those that gain most if empty")
    angles: StringProperty(
        name="Angles",
        description="Angles to bend each joint by, in degrees, separated by commas",
        default="40, 80, 120",
    )

    computes = True
    subject = "the corrections"
    canceled = "Correct From canceled: nothing was changed"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        armature = find_armature(context)
        if not self.joints and armature is not None and armature.mode == "POSE":
            self.joints = ", ".join(find_chosen_bones(armature))
        title = "Correct From Particles" if self.source == PARTICLES else "Correct From Another Mesh"
        return cast(set[str], context.window_manager.invoke_props_dialog(self, title=title, confirm_text="Correct"))

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        if self.source != PARTICLES:
            layout.prop_search(self, "source", context.view_layer, "objects", icon="OBJECT_DATA")
        is_mesh = self.source != PARTICLES
        layout.prop(self, "joints", placeholder=translate("Where it differs" if is_mesh else "Those that gain most"))
        if not is_mesh:
            layout.prop(self, "angles")

    def run(self, context: bpy.types.Context) -> Any:
        joints, angles = split_names(self.joints), read_angles(self.angles)
        steps = correct_from(list_to_correct(context), self.source, joints, angles)
        return self.take(context, out_of_mode(context, steps))

    def finish(self, _context: bpy.types.Context, report: Any) -> str:
        """Say what was made."""
        return ". ".join(report.describe())


def needs_flesh(context: bpy.types.Context) -> str:
    is_there = list_flesh(list_to_correct(context))
    return "" if is_there else "Select a mesh that has an Armature modifier and flesh, or press Add Flesh"


class SUPPLE_OT_flesh_add(ComputingOperator, bpy.types.Operator):
    """Bend each joint with Particles, which behave like flesh, and store the change as shape keys with drivers. They
    play fast, also without Supple. Replaces earlier flesh"""

    bl_idname = "supple.flesh_add"
    bl_label = "Add Flesh"
    requires = (needs_none_under_way, needs_meshes_to_correct)
    computes = True
    subject = "the flesh"
    canceled = "Flesh canceled: nothing was changed"

    def run(self, context: bpy.types.Context) -> Any:
        return self.take(context, out_of_mode(context, correct_from(list_to_correct(context))))

    def finish(self, _context: bpy.types.Context, report: Any) -> str:
        """Say what was made."""
        return ". ".join(report.describe())


class SUPPLE_OT_flesh_remove(SuppleOperator, bpy.types.Operator):
    """Remove the shape keys that were made from Particles; other corrections stay"""

    bl_idname = "supple.flesh_remove"
    bl_label = "Remove Flesh"
    requires = (needs_none_under_way, needs_flesh)

    def run(self, context: bpy.types.Context) -> str:
        with left_mode(context):
            count, left_out = remove_flesh(list_to_correct(context))
        self.tell_left_out(left_out)
        return f"{count} corrections from Particles were removed"


def read_angles(text: str) -> tuple[float, ...]:
    """Degrees of a list with commas; raises SkinningError where there is something else."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise SkinningError(
            f"'{text}' are not angles: write degrees separated by commas, such as 40, 80, 120"
        ) from None


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_OT_corrections_from, SUPPLE_OT_flesh_add, SUPPLE_OT_flesh_remove)
)
