"""Computed corrections: from Particles at some angles of joints, or from a mesh that has the shape."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ...deformers import SkinningError
from ...options import FleshOptions
from ...settings.character import find_armature
from ...settings.properties import read_options, with_options
from ...tasks.corrections.from_source import correct_from
from ...tasks.flesh.add import add_flesh, remove_flesh
from ...tasks.steps import Steps
from ...tasks.subject.chosen_bones import find_chosen_bones, split_names
from ...tasks.subject.corrected import list_flesh
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator
from .sculpted import (
    joints_property,
    left_mode,
    list_to_correct,
    needs_meshes_to_correct,
    needs_none_under_way,
    out_of_mode,
)

PARTICLES = "PARTICLES"


class SUPPLE_OT_corrections_from(ComputingOperator, bpy.types.Operator):
    """Correct joints at some angles with the shape that Particles give, or correct this pose with the shape of another
    mesh"""

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
        return self.ask(context, "Correct", title=title, width=300)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.start_columns()
        if self.source != PARTICLES:
            layout.prop_search(self, "source", context.view_layer, "objects", icon="OBJECT_DATA")
        is_mesh = self.source != PARTICLES
        unnamed = "Where it differs" if is_mesh else "Elbows, knees, hips, shoulders"
        layout.prop(self, "joints", placeholder=translate(unnamed))
        if not is_mesh:
            layout.prop(self, "angles")

    def list_steps(self, context: bpy.types.Context) -> Steps:
        joints, angles = split_names(self.joints), read_angles(self.angles)
        return out_of_mode(context, correct_from(list_to_correct(context), self.source, joints, angles))


def needs_flesh(context: bpy.types.Context) -> str:
    is_there = list_flesh(list_to_correct(context))
    return "" if is_there else "Select a mesh that has an Armature modifier and flesh, or press Add Flesh"


@with_options(FleshOptions)
class SUPPLE_OT_flesh_add(ComputingOperator, bpy.types.Operator):
    """Bend each joint, choose the best shape of its skin, such as that of elastic flesh, and store it as shape keys
    with drivers. They play fast, also without Supple. Replaces earlier flesh"""

    bl_label = "Add Flesh"
    requires = (needs_none_under_way, needs_meshes_to_correct)
    computes = True
    subject = "the flesh"
    canceled = "Flesh canceled: nothing was changed"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        return out_of_mode(context, add_flesh(list_to_correct(context), read_options(FleshOptions, self)))


class SUPPLE_OT_flesh_remove(SuppleOperator, bpy.types.Operator):
    """Remove the shape keys of flesh and those made from Particles; other corrections stay"""

    bl_label = "Remove Flesh"
    requires = (needs_none_under_way, needs_flesh)

    def run(self, context: bpy.types.Context) -> str:
        with left_mode(context):
            count, left_out = remove_flesh(list_to_correct(context))
        self.tell_left_out(left_out)
        return f"{count} keys of flesh were removed"


def read_angles(text: str) -> tuple[float, ...]:
    """Read degrees separated by commas; raises SkinningError for anything else."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise SkinningError(
            f"'{text}' are not angles: write degrees separated by commas, such as 40, 80, 120"
        ) from None
