"""Automatic weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import bpy
from bpy.props import BoolProperty

from ...options import WeightOptions
from ...settings.properties import read_options, with_options
from ...settings.weights import CHOICES, CLICKED_MODE
from ...tasks.steps import Steps
from ...tasks.weights import automatic as weights
from ...tasks.weights.reports import Report
from ..base import SKIP
from ..computing import ComputingOperator
from ..selection import chosen_armature, describe_hidden, meshes_to_weight, needs_meshes_to_weight


def weigh(jobs: list[weights.Job]) -> Steps[list[Report]]:
    """Compute the weights of prepared jobs and write them; returns a report for each job."""
    return weights.apply(jobs, (yield partial(weights.compute_all, jobs)))


class WeightsOperator(ComputingOperator):
    """Mix-in: computes automatic weights."""

    subject = "the weights"
    computes = True
    canceled = "Automatic weights canceled: nothing was changed"

    def finish(self, _context: bpy.types.Context, reports: list[Report]) -> Any:
        """Report the weights."""
        for report in reports:
            self.tell(" ".join(report.summarize()))


@with_options(WeightOptions)
class SUPPLE_OT_weights_auto(WeightsOperator, bpy.types.Operator):
    """Compute the weights of the selected meshes for the bones of their armature, treating all meshes as one solid"""

    bl_label = "Automatic Weights"
    requires = (needs_meshes_to_weight,)

    mirror: BoolProperty(
        name="Mirror",
        description="Give both sides of the armature the same weights. Follows the mesh's X Mirror if not set",
        options=SKIP,
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if not self.is_set("mode"):
            self.mode = CLICKED_MODE
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> Any:
        meshes = meshes_to_weight(context)
        if not self.is_set("mirror"):
            self.mirror = any(obj.use_mesh_mirror_x for obj in meshes)
        choices = {name: getattr(self, name) for name in CHOICES}
        options = read_options(WeightOptions, self, mirror=self.mirror, choices=choices)
        if left := describe_hidden(context):
            self.tell(left)
        return self.take(context, weigh(weights.prepare(meshes, options, chosen_armature(context))))


SUPPLE_OT_weights_auto.__annotations__ |= CHOICES
