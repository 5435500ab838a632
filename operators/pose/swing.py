"""Swing: add, update and remove the swing of tails, ears and hair, which lag and settle."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import StringProperty

from ...deformers import SkinningError
from ...options import SwingOptions, rows_of
from ...settings.character import find_armature, find_shown
from ...settings.motion import motion_settings
from ...settings.properties import draw_option, read_options, with_options
from ...tasks.installed.engine import remove
from ...tasks.installed.feature import Subject
from ...tasks.steps import Steps
from ...tasks.subject.chosen_bones import find_chosen_bones
from ...tasks.swing.add import SWING, add_region_swing, add_swing, update_swing
from ...tasks.swing.choose import choose_chains
from ...tasks.swing.read import Readings
from ...tasks.swing.report import SwingReport
from ...tasks.weights.reports import list_names
from ...translations import translate
from ..base import SuppleOperator
from ..computing import ComputingOperator
from ..selection import active_armature, needs_armature


def needs_swing(context: bpy.types.Context) -> str:
    armature = find_armature(context)
    is_there = armature is not None and armature.type == "ARMATURE" and SWING.is_in(Subject(armature))
    return "" if is_there else "Use Add Swing first"


def list_selected(armature: bpy.types.Object) -> list[str]:
    """Names of the bones that are selected in Pose Mode."""
    return find_chosen_bones(armature) if armature.mode == "POSE" else []


class SwingOperator(ComputingOperator):
    """Mix-in: computes the swing of the active character's armature."""

    subject = "the swing"

    def finish(self, context: bpy.types.Context, report: SwingReport) -> Any:
        """Store and report the result."""
        motion_settings(context).report = "\n".join(report.describe())
        return report


@with_options(SwingOptions)
class SUPPLE_OT_swing_add(SwingOperator, bpy.types.Operator):
    """Make tails, ears, hair, cloaks and bones of flesh lag behind the actions and swing: the bones selected in Pose
    Mode, or else all bones with such names"""

    bl_label = "Add Swing"
    requires = (needs_armature,)

    region: StringProperty(
        name="Region",
        description="Vertex group that swings as flesh: it gets a bone, which takes weights of its parent",
    )
    # Kept for Adjust Last Operation: Blender undoes the swing, and executes this instance again.
    _readings: Readings | None = None

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.ask(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.start_columns()
        if not self.region:
            layout.label(
                text=translate(self._describe_chains(active_armature(context))), icon="BONE_DATA", translate=False
            )
        if (mesh := find_shown(context)) is not None:
            layout.prop_search(self, "region", mesh, "vertex_groups")
        for option in rows_of(SwingOptions):
            draw_option(layout, self, option)

    def _describe_chains(self, armature: bpy.types.Object) -> str:
        """The first bones of the chains that will swing, or why none will."""
        try:
            chains, _ = choose_chains(armature, read_options(SwingOptions, self), list_selected(armature))
        except SkinningError as error:
            return str(error)
        return list_names([chain.bones[0] for chain in chains])

    def list_steps(self, context: bpy.types.Context) -> Steps[SwingReport]:
        armature = active_armature(context)
        options, mesh = read_options(SwingOptions, self), find_shown(context)
        if self._readings is None or self.options.is_repeat_last:
            self._readings = {}
        if self.region and mesh is not None:
            return add_region_swing(armature, context.scene, options, mesh, self.region, self._readings)
        return add_swing(armature, context.scene, options, list_selected(armature), self._readings)


class SUPPLE_OT_swing_update(SwingOperator, bpy.types.Operator):
    """Compute the swing again, after actions, bones or the frame rate have changed"""

    bl_label = "Update Swing"
    requires = (needs_armature, needs_swing)

    def list_steps(self, context: bpy.types.Context) -> Steps[SwingReport]:
        return update_swing(active_armature(context), context.scene)


class SUPPLE_OT_swing_remove(SuppleOperator, bpy.types.Operator):
    """Remove the swing of the bones selected in Pose Mode, or of all bones; the actions are as they were before"""

    bl_label = "Remove Swing"
    requires = (needs_armature, needs_swing)

    def run(self, context: bpy.types.Context) -> str:
        armature = active_armature(context)
        return ". ".join(remove(SWING, Subject(armature), list_selected(armature)))
