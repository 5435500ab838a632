"""Automatic weights, with progress and Esc to cancel."""

from __future__ import annotations

from functools import partial
from typing import Any

import bpy
from bpy.props import BoolProperty

from ..bridge.rigs.carriers import is_hidden_object
from ..options import WeightOptions
from ..settings.objects import settings_of
from ..settings.properties import read_options, with_options
from ..settings.weights import CHOICES, CLICKED_MODE
from ..tasks.subject.character import list_deformed
from ..tasks.weights import automatic as weights
from .computing import ComputingOperator

SELECT = "Select a mesh that has an Armature modifier, or a mesh together with its armature"


def chosen_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """The armature that is active or selected, where it is the only one."""
    chosen = {obj for obj in (context.active_object, *context.selected_objects) if obj and obj.type == "ARMATURE"}
    return chosen.pop() if len(chosen) == 1 else None


def chosen_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes, and the active one while it is edited or painted.

    Where nothing is selected, the active mesh; where no mesh is, all visible ones that the active armature deforms.
    """
    active = context.active_object
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH" and not is_hidden_object(obj)]
    meshes = [obj for obj in meshes if not settings_of(obj).is_handle]
    if active is None or active in meshes:
        return meshes
    if (
        active.type == "MESH"
        and not settings_of(active).is_handle
        and (active.mode != "OBJECT" or (not context.selected_objects and active.visible_get()))
    ):
        return [*meshes, active]
    if active.type == "ARMATURE" and not meshes:
        return [obj for obj in list_deformed(context.view_layer, active) if obj.visible_get()]
    return meshes


def describe_hidden(context: bpy.types.Context) -> str:
    """The meshes that `chosen_meshes` leaves out because they are hidden; "" where there are none."""
    active = context.active_object
    if active is None or active.type != "ARMATURE" or any(obj.type == "MESH" for obj in context.selected_objects):
        return ""
    hidden = [obj.name for obj in list_deformed(context.view_layer, active) if not obj.visible_get()]
    return f"Left as they are: {', '.join(hidden)}" if hidden else ""


def needs_meshes(context: bpy.types.Context) -> str:
    """Meshes whose weights are made or edited."""
    return "" if chosen_meshes(context) else SELECT


class WeightsOperator(ComputingOperator):
    """Mix-in: automatic weights in one go from Python, and by another Blender from the user interface."""

    subject = "the weights"
    computes = True
    canceled = "Automatic weights canceled: nothing was changed"

    def weight(
        self,
        context: bpy.types.Context,
        meshes: list[bpy.types.Object],
        options: WeightOptions,
        armature: bpy.types.Object | None,
    ) -> Any:
        """Weight meshes, and `finish`; raises SkinningError where that can not be."""
        self._jobs = weights.prepare(meshes, options, armature)
        return self.compute(context, partial(weights.compute_all, self._jobs))

    def finish(self, _context: bpy.types.Context, results: list[weights.Result]) -> Any:
        """Write what was computed, and report it."""
        for report in weights.apply(self._jobs, results):
            self.tell(" ".join(report.summarize()))


@with_options(WeightOptions)
class SUPPLE_OT_weights_auto(WeightsOperator, bpy.types.Operator):
    """Compute the weights of the selected meshes for the bones of their armature, treating all meshes as one solid"""

    bl_idname = "supple.weights_auto"
    bl_label = "Automatic Weights"
    requires = (needs_meshes,)

    mirror: BoolProperty(
        name="Mirror",
        description="Give both sides of the armature the same weights. Follows the mesh's X Mirror if not set",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("mode"):
            self.mode = CLICKED_MODE
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> Any:
        meshes = chosen_meshes(context)
        if not self.properties.is_property_set("mirror"):
            self.mirror = any(obj.use_mesh_mirror_x for obj in meshes)
        choices = {name: getattr(self, name) for name in CHOICES}
        options = read_options(WeightOptions, self, mirror=self.mirror, choices=choices)
        if left := describe_hidden(context):
            self.tell(left)
        return self.weight(context, meshes, options, chosen_armature(context))


SUPPLE_OT_weights_auto.__annotations__ |= CHOICES

register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_weights_auto,))
