"""Motions: similar frames, loops, and joined actions."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty, StringProperty

from ...bridge.rigs.actions import find_rate
from ...options import MotionOptions
from ...settings.motion import find_names, find_transition, motion_settings
from ...settings.properties import copy_options, read_options, with_options
from ...tasks.motion.compare import Comparison, compare_actions
from ...tasks.motion.report import Report
from ...tasks.motion.seams import join_actions, make_loop
from ...tasks.steps import Steps
from ..computing import ComputingOperator
from ..selection import active_armature, needs_armature


class MotionOperator(ComputingOperator):
    """Mix-in: for the actions of the active character's armature."""

    requires = (needs_armature,)

    def read_options(self, context: bpy.types.Context) -> MotionOptions:
        """The operator's options; the scene's for those that are not set."""
        copy_options(MotionOptions, motion_settings(context), self, only_unset=True)
        return read_options(MotionOptions, self)

    def read_frames(self, context: bpy.types.Context, names: tuple[str, str]) -> tuple[int, int] | None:
        """The given frames, or the frames of the active transition if it is between two actions; None for the best."""
        if self.is_set("from_frame") or self.is_set("to_frame"):
            return self.from_frame, self.to_frame
        armature = active_armature(context)
        chosen = find_transition(context, armature) if find_names(context, armature) == names else None
        return None if chosen is None else (chosen.first, chosen.second)

    def finish(self, context: bpy.types.Context, report: Report) -> Any:
        """Store and report the result."""
        motion_settings(context).report = "\n".join(report.describe())
        return report


class SUPPLE_OT_motion_compare(MotionOperator, bpy.types.Operator):
    """Compare all frames of two actions, or of one action with itself, and list the best transitions"""

    bl_label = "Compare Actions"

    first: StringProperty(name="Action", description="Action; the action chosen in the panel if not given")
    second: StringProperty(name="Second", description="Action; the action chosen in the panel if not given")

    subject = "the comparison"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        armature = active_armature(context)
        names = find_names(context, armature)
        first = self.first or names[0]
        second = self.second or (first if self.first else names[1])
        return compare_actions(armature, first, second, motion_settings(context).blend, find_rate(context.scene))

    def finish(self, context: bpy.types.Context, report: Comparison) -> str:
        """List the transitions."""
        settings = motion_settings(context)
        settings.armature, settings.compared_first, settings.compared_second = (
            report.armature, report.first, report.second,
        )  # fmt: skip
        settings.transitions.clear()
        for one in report.transitions:
            line = settings.transitions.add()
            line.first, line.second, line.difference = one.first, one.second, one.difference
        settings.active, settings.report = 0, ""
        return ". ".join(report.describe()[:2])


@with_options(MotionOptions)
class SUPPLE_OT_motion_loop(MotionOperator, bpy.types.Operator):
    """Make the action loop, in a new action that the armature plays as a strip"""

    bl_label = "Make Loop"

    first: StringProperty(name="Action", description="Action; the action chosen in the panel if not given")
    to_frame: IntProperty(
        name="First Frame", description="First frame of the loop; the most similar frame if not given"
    )
    from_frame: IntProperty(
        name="Last Frame",
        description="Last frame before the jump to the first frame; the most similar frame if not given",
    )

    subject = "the loop"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        armature, options = active_armature(context), self.read_options(context)
        name = self.first or find_names(context, armature)[0]
        return make_loop(armature, name, find_rate(context.scene), options, self.read_frames(context, (name, name)))


@with_options(MotionOptions)
class SUPPLE_OT_motion_join(MotionOperator, bpy.types.Operator):
    """Continue the first action with the second, in a new action that the armature plays as a strip"""

    bl_label = "Join Actions"

    first: StringProperty(name="Action", description="Action; the action chosen in the panel if not given")
    second: StringProperty(name="Second", description="Action; the action chosen in the panel if not given")
    from_frame: IntProperty(
        name="From Frame", description="Frame of the first action; the most similar frame if not given"
    )
    to_frame: IntProperty(
        name="To Frame", description="Frame of the second action; the most similar frame if not given"
    )

    subject = "the joined actions"

    def list_steps(self, context: bpy.types.Context) -> Steps:
        armature, options = active_armature(context), self.read_options(context)
        names = find_names(context, armature)
        first, second = self.first or names[0], self.second or names[1]
        frames = self.read_frames(context, (first, second))
        return join_actions(armature, first, second, find_rate(context.scene), options, frames)
