"""Computed corrections: from Particles at some angles of joints, or from a mesh that has the shape."""

from __future__ import annotations

from typing import cast

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ...deformers import SkinningError
from ...options import BEST, SHAPES, FleshOptions
from ...settings.character import find_armature
from ...settings.objects import settings_of
from ...settings.properties import read_options, with_options
from ...tasks.corrections.from_method import CorrectedFrom
from ...tasks.corrections.from_source import correct_from
from ...tasks.flesh.add import add_flesh, remove_flesh
from ...tasks.flesh.pick import pick_shape, show_joint
from ...tasks.steps import Steps
from ...tasks.subject.chosen_bones import find_chosen_bones, split_names
from ...tasks.subject.corrected import find_corrected, list_bones, list_flesh
from ...tasks.subject.shown_joint import ShownJoint, choose, close, show
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator
from .sculpted import (
    find_active_correction,
    joints_property,
    left_mode,
    list_to_correct,
    needs_meshes_to_correct,
    needs_none_under_way,
    out_of_mode,
    suggest_bones,
)

PARTICLES = "PARTICLES"

BONE = StringProperty(
    name="Bone",
    description="Whose joint it is; the selected one, or that of the active correction, if empty",
    search=suggest_bones,
    search_options={"SUGGESTION"},
    options=SKIP,
)


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


def find_bone(context: bpy.types.Context, given: str) -> str:
    """The given bone, the first chosen one, or that of the active correction; raises SkinningError for none."""
    if given:
        return given
    armature, corrected = find_armature(context), find_corrected(context)
    if armature is not None and armature.mode == "POSE" and (chosen := find_chosen_bones(armature)):
        return chosen[0]
    if corrected is None or not settings_of(corrected).corrections:
        raise SkinningError("Select a bone in Pose Mode, or a correction of the list, and press Pick Flesh")
    return list_bones(find_active_correction(corrected))[0]


@with_options(FleshOptions)
class SUPPLE_OT_flesh_pick(ComputingOperator, bpy.types.Operator):
    """Show the shapes that the skin of this joint can have, bent as far as it goes: click one to take it. What was
    computed before is at hand, the rest is computed first"""

    bl_label = "Pick Flesh"
    bl_options = {"REGISTER"}
    requires = (needs_none_under_way, needs_meshes_to_correct)

    bone: BONE

    subject = "the shapes"
    canceled = "Pick Flesh canceled: nothing was changed"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        return out_of_mode(context, show_joint(list_to_correct(context), find_bone(context, self.bone), self.quality))

    def finish(self, context: bpy.types.Context, result: ShownJoint) -> ShownJoint:
        show(cast(bpy.types.Object, find_armature(context)), result)
        return result


@with_options(FleshOptions)
class SUPPLE_OT_flesh_take(ComputingOperator, bpy.types.Operator):
    """Give the skin of the joint this shape when it bends this way. It stays when flesh is added again"""

    bl_label = "Take Shape"
    requires = (needs_none_under_way, needs_meshes_to_correct)

    bone: BONE
    way: IntProperty(
        name="Way", description="Which way of bending, from 0 on; -1 for all", default=-1, min=-1, options=SKIP
    )
    shape: EnumProperty(
        name="Shape",
        description="Of the skin there",
        items=(*((key, label.capitalize(), "") for key, label in SHAPES.items()), (BEST, "Best", "What measures best")),
        default=BEST,
        options=SKIP,
    )

    subject = "the flesh"
    canceled = "Take Shape canceled: nothing was changed"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        bone = find_bone(context, self.bone)
        steps = pick_shape(list_to_correct(context), bone, self.way, self.shape, self.quality)
        return out_of_mode(context, steps)

    def finish(self, context: bpy.types.Context, result: tuple[CorrectedFrom, list[int]]) -> CorrectedFrom:
        report, chosen = result
        choose(find_armature(context), find_bone(context, self.bone), chosen)
        return report


class SUPPLE_OT_flesh_close(SuppleOperator, bpy.types.Operator):
    """Close the pictures of the shapes"""

    bl_label = "Close"
    bl_options = {"INTERNAL"}

    def run(self, _context: bpy.types.Context) -> None:
        close()


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
