"""Swing: tails, ears and hair that lag and settle, added, updated and removed."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import StringProperty

from ..bridge.rigs.swings import list_idle, list_swinging
from ..deformers import SkinningError
from ..options import SwingOptions, rows_of
from ..settings.character import find_armature, find_shown
from ..settings.motion import motion_settings
from ..settings.properties import draw_option, read_options, with_options
from ..tasks.steps import Steps
from ..tasks.subject.chosen_bones import find_chosen_bones
from ..tasks.swing.add import Readings, add_region_swing, add_swing, update_swing
from ..tasks.swing.choose import choose_chains
from ..tasks.swing.remove import remove_swing
from ..tasks.swing.report import SwingReport
from ..tasks.weights.reports import list_names
from ..translations import translate
from .base import SuppleOperator
from .computing import ComputingOperator
from .motion import needs_armature


def needs_swing(context: bpy.types.Context) -> str:
    armature = find_armature(context)
    is_there = armature is not None and armature.type == "ARMATURE" and (list_swinging(armature) or list_idle(armature))
    return "" if is_there else "Use Add Swing first"


def list_selected(armature: bpy.types.Object) -> list[str]:
    """Names of the bones that are selected in Pose Mode."""
    return find_chosen_bones(armature) if armature.mode == "POSE" else []


class SwingOperator(ComputingOperator):
    """Mix-in: computes the swing of the active character's armature."""

    subject = "the swing"
    canceled = "Canceled: nothing was changed"

    def run(self, context: bpy.types.Context) -> Any:
        return self.take(context, self.list_steps(context, cast(bpy.types.Object, find_armature(context))))

    def list_steps(self, context: bpy.types.Context, armature: bpy.types.Object) -> Steps[SwingReport]:
        """What is done, step by step."""
        raise AssertionError("each operator has its own")

    def finish(self, context: bpy.types.Context, report: SwingReport) -> str:
        """Keep and say what was computed."""
        motion_settings(context).report = "\n".join(report.describe())
        return ". ".join(report.describe())


@with_options(SwingOptions)
class SUPPLE_OT_swing_add(SwingOperator, bpy.types.Operator):
    """Make tails, ears, hair, cloaks and bones of flesh lag behind the actions and swing: the bones selected in Pose
    Mode, or else all bones with such names"""

    bl_idname = "supple.swing_add"
    bl_label = "Add Swing"
    requires = (needs_armature,)

    region: StringProperty(
        name="Region",
        description="Vertex group that swings as flesh: it gets a bone, which takes weights of its parent",
    )
    _readings: Readings | None = None
    """Kept while settings are adjusted after it: Blender then undoes what was done, and executes this instance."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.ask(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        if not self.region:
            armature = cast(bpy.types.Object, find_armature(context))
            layout.label(text=translate(self._describe_chains(armature)), icon="BONE_DATA", translate=False)
        if (mesh := find_shown(context)) is not None:
            layout.prop_search(self, "region", mesh, "vertex_groups")
        for option in rows_of(SwingOptions):
            draw_option(layout, self, option)

    def _describe_chains(self, armature: bpy.types.Object) -> str:
        """The first bones of what is going to swing."""
        try:
            chains, _ = choose_chains(armature, read_options(SwingOptions, self), list_selected(armature))
        except SkinningError as error:
            return str(error)
        return list_names([chain.bones[0] for chain in chains])

    def list_steps(self, context: bpy.types.Context, armature: bpy.types.Object) -> Steps[SwingReport]:
        options, mesh = read_options(SwingOptions, self), find_shown(context)
        if self._readings is None or self.options.is_repeat_last:
            self._readings = {}
        if self.region and mesh is not None:
            return add_region_swing(armature, context.scene, options, mesh, self.region, self._readings)
        return add_swing(armature, context.scene, options, list_selected(armature), self._readings)


class SUPPLE_OT_swing_update(SwingOperator, bpy.types.Operator):
    """Compute the swing again, after actions, bones or the frame rate have changed"""

    bl_idname = "supple.swing_update"
    bl_label = "Update Swing"
    requires = (needs_armature, needs_swing)

    def list_steps(self, context: bpy.types.Context, armature: bpy.types.Object) -> Steps[SwingReport]:
        return update_swing(armature, context.scene)


class SUPPLE_OT_swing_remove(SuppleOperator, bpy.types.Operator):
    """Remove the swing of the bones selected in Pose Mode, or of all bones; the actions are as they were before"""

    bl_idname = "supple.swing_remove"
    bl_label = "Remove Swing"
    requires = (needs_armature, needs_swing)

    def run(self, context: bpy.types.Context) -> str:
        armature = cast(bpy.types.Object, find_armature(context))
        return ". ".join(remove_swing(armature, list_selected(armature)))


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_OT_swing_add, SUPPLE_OT_swing_update, SUPPLE_OT_swing_remove)
)
