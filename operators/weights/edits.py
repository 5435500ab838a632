"""Edit weights, check them, and select vertices with mistakes."""

from __future__ import annotations

import math
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ...bridge.meshes.data import mesh_of
from ...deformers.weight_editing.transfer import Params
from ...settings.character import find_armature
from ...settings.properties import FloatProperty, factor
from ...tasks.steps import Steps
from ...tasks.weights import checks, edits, transfer
from ...tasks.weights.reports import count, list_names
from ...tasks.weights.targets import Scope
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator
from ..selection import describe_hidden, meshes_to_weight, needs_meshes_to_weight

BONES_ITEMS = (
    ("ALL", "All Bones", "All bones whose vertex groups are not locked"),
    ("ACTIVE", "Active Group", "Only the bone of the active vertex group. The other bones share the remaining weight"),
    (
        "SELECTED",
        "Selected Bones",
        "Only the selected bones of the armature. The other bones share the remaining weight",
    ),
)
SMOOTH_ITEMS = (
    ("SURFACE", "Surface", "Smooth along the skin"),
    ("SOLID", "Solid", "Smooth through the volume inside the skin, even between parts that are not connected"),
)
DIRECTION_ITEMS = (
    ("POSITIVE", "+X to -X", "Copy weights from the positive X side to the negative X side"),
    ("NEGATIVE", "-X to +X", "Copy weights from the negative X side to the positive X side"),
    ("BOTH", "Average", "Give both sides the average of their weights"),
)
KIND_ITEMS = (
    ("UNWEIGHTED", "Unweighted", "Vertices with no weights"),
    ("OVER_INFLUENCED", "Too Many Bones", "Vertices with more bones than the limit"),
    ("SUMS", "Not Normalized", "Vertices whose weights do not sum to 1"),
    ("SEAMS", "Seams", "Vertices at the same location with different weights: a pose tears them apart"),
    ("ISLANDS", "Islands", "Patches of weight separate from the bone's other weights"),
    ("FAR", "Far From Bone", "Vertices weighted to a bone far away, with other bones closer"),
    ("ANY", "All Mistakes", "Vertices with any of these mistakes"),
)


def needs_source(context: bpy.types.Context) -> str:
    meshes = meshes_to_weight(context)
    if context.active_object in meshes and len(meshes) >= 2:
        return ""
    return "Select a mesh that has an Armature modifier last, after the meshes to copy its weights to"


def split_source(context: bpy.types.Context) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """The mesh to copy weights from, and the meshes to copy them to."""
    source = cast(bpy.types.Object, context.active_object)
    return source, [obj for obj in meshes_to_weight(context) if obj.data != source.data]


class EditOperator(ComputingOperator):
    """Mix-in: edits weights of all or selected vertices of the selected meshes, for all or some bones."""

    requires = (needs_meshes_to_weight,)
    subject = "the weights"
    canceled = "Canceled: no weight was changed"

    selected_only: BoolProperty(
        name="Selected Only",
        description="Change only selected vertices. On by default in Edit Mode and with a paint mask",
        options=SKIP,
    )
    bones: EnumProperty(name="Bones", description="Bones whose weights may change", items=BONES_ITEMS)

    def scope(self, meshes: list[bpy.types.Object]) -> Scope:
        """The vertices and bones to change."""
        if not self.is_set("selected_only"):
            self.selected_only = any(edits.has_mask(obj) for obj in meshes)
        return Scope(self.selected_only, self.bones)

    def list_steps(self, context: bpy.types.Context) -> Steps[list[str]]:
        if left := describe_hidden(context):
            self.tell(left)
        return self.edit(context, meshes_to_weight(context))

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        """Edit meshes; returns messages."""
        raise AssertionError("each operator has its own")


class AskingOperator(EditOperator):
    """Mix-in: a click opens a dialog with the options and the planned changes; scripts run without it."""

    # Whether `draw` draws the dialog, and not Adjust Last Operation after the change
    is_asking = False

    def run(self, context: bpy.types.Context) -> Any:
        self.is_asking = False
        return super().run(context)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        def begin() -> set[str]:
            self.watch(context)
            self.is_asking = True
            return self.ask(context) if self.wants_to_ask(context) else self.execute(context)

        return self.attempt(begin)

    def wants_to_ask(self, context: bpy.types.Context) -> bool:
        """Whether to open the dialog; sets the options that it starts with."""
        self.scope(meshes_to_weight(context))
        return True

    def draw(self, context: bpy.types.Context) -> None:
        operator = cast(bpy.types.Operator, self)
        layout = operator.layout
        for icon, text in self.explain(context) if self.is_asking else ():
            layout.label(text=translate(text), icon=icon, translate=False)
        column = layout.column()
        column.use_property_split = True
        for name in operator.properties.bl_rna.properties.keys():
            if name != "rna_type":
                column.prop(operator, name)

    def explain(self, context: bpy.types.Context) -> list[tuple[Any, str]]:
        """Lines on the planned changes: an icon and a text each."""
        raise AssertionError("each operator has its own")


class AllAskingOperator(AskingOperator):
    """Mix-in: asks before it changes all vertices, and changes selected vertices at once."""

    def wants_to_ask(self, context: bpy.types.Context) -> bool:
        return not self.scope(meshes_to_weight(context)).selected_only

    def explain(self, context: bpy.types.Context) -> list[tuple[Any, str]]:
        meshes = meshes_to_weight(context)
        vertices = count(sum(len(mesh_of(obj).vertices) for obj in meshes), "vertex")
        which = "Only selected vertices change" if self.selected_only else f"All {vertices} change"
        return [("MESH_DATA", list_names([obj.name for obj in meshes])), ("INFO", which)]


class SUPPLE_OT_weights_smooth(AllAskingOperator, bpy.types.Operator):
    """Average the weights of neighboring vertices, for softer bends"""

    bl_label = "Smooth"

    method: EnumProperty(name="Method", description="Neighbors to average", items=SMOOTH_ITEMS)
    strength: factor(0.5, "Strength", "Influence of the neighbors' weights on each vertex, in each repeat")
    repeats: IntProperty(
        name="Repeats", description="Number of smoothing passes", default=4, min=1, soft_max=50, max=1000
    )

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.smooth_weights(meshes, self.scope(meshes), self.method, self.strength, self.repeats)


class SUPPLE_OT_weights_sharpen(AllAskingOperator, bpy.types.Operator):
    """Strengthen the largest weights of each vertex, for crisper bends"""

    bl_label = "Sharpen"

    amount: factor(0.3, "Amount", "How much the largest weights grow: at 1, each vertex follows a single bone")

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.sharpen_weights(meshes, self.scope(meshes), self.amount)


class SUPPLE_OT_weights_limit(EditOperator, bpy.types.Operator):
    """Keep only the largest weights of each vertex, and report the weight removed"""

    bl_label = "Limit"

    limit: IntProperty(
        name="Bones per Vertex", description="Maximum number of bones per vertex", default=4, min=1, soft_max=12
    )

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.limit_weights(meshes, self.scope(meshes), self.limit)


class SUPPLE_OT_weights_normalize(EditOperator, bpy.types.Operator):
    """Scale the weights of each vertex to a sum of 1"""

    bl_label = "Normalize"

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.normalize_weights(meshes, self.scope(meshes))


class SUPPLE_OT_weights_stiffen(EditOperator, bpy.types.Operator):
    """Let parts such as buckles, plates and horns move as one piece: those with selected vertices, or those found"""

    bl_label = "Stiffen"

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.stiffen_weights(meshes, self.scope(meshes))


class SUPPLE_OT_weights_prune(EditOperator, bpy.types.Operator):
    """Remove small weights, and distribute them among the other bones of the vertex"""

    bl_label = "Prune"

    threshold: factor(0.01, "Below", "Remove weights smaller than this", precision=3, step=1)

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.prune_weights(meshes, self.scope(meshes), self.threshold)


class SUPPLE_OT_weights_mirror(AskingOperator, bpy.types.Operator):
    """Copy weights to the other side, between left and right bones of matching names"""

    bl_label = "Mirror"

    direction: EnumProperty(name="Direction", description="Which side to copy from", items=DIRECTION_ITEMS)

    def explain(self, context: bpy.types.Context) -> list[tuple[Any, str]]:
        meshes = meshes_to_weight(context)
        lines: list[tuple[Any, str]] = [("MESH_DATA", list_names([obj.name for obj in meshes]))]
        armature = find_armature(context)
        if armature is not None:
            lines.append(("MOD_MIRROR", f"Copies {edits.describe_sides(armature, self.direction)}"))
        return lines

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        return edits.mirror_weights(meshes, self.scope(meshes), self.direction)


class SUPPLE_OT_weights_transfer(AskingOperator, bpy.types.Operator):
    """Copy weights from the active mesh to the other selected meshes, such as from a body to its clothes"""

    bl_label = "Transfer"
    requires = (needs_source,)

    reach: factor(
        Params.reach,
        "Reach",
        "Maximum distance from the active mesh for a vertex to take weights, relative to the size of the vertex's own "
        "mesh. Vertices farther away get smoothly filled-in weights",
        precision=3,
    )
    angle: FloatProperty(
        name="Angle",
        description="Maximum angle between the two surfaces for a vertex to take weights",
        default=Params.angle,
        min=0.0,
        max=math.pi,
        subtype="ANGLE",
    )

    # Names of the meshes with weights that Transfer replaces; read when the dialog opens
    painted = ""

    def wants_to_ask(self, context: bpy.types.Context) -> bool:
        source, targets = split_source(context)
        self.painted = list_names([obj.name for obj in transfer.list_painted(source, targets)])
        self.scope(targets)
        return True

    def explain(self, context: bpy.types.Context) -> list[tuple[Any, str]]:
        source, targets = split_source(context)
        lines: list[tuple[Any, str]] = [
            ("EXPORT", f"From {source.name}: it does not change"),
            ("IMPORT", f"To {list_names([obj.name for obj in targets])}"),
        ]
        return [*lines, ("ERROR", f"Replaces the weights of {self.painted}")] if self.painted else lines

    def edit(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        source, targets = split_source(context)
        return transfer.transfer_weights(source, targets, self.scope(targets), Params(self.reach, self.angle))


class SUPPLE_OT_weights_clean(SuppleOperator, bpy.types.Operator):
    """Remove vertex groups of bones that have no weight on any vertex"""

    bl_label = "Remove Empty Groups"
    requires = (needs_meshes_to_weight,)

    def run(self, context: bpy.types.Context) -> list[str]:
        return edits.clean_groups(meshes_to_weight(context))


class CheckOperator(SuppleOperator):
    """Mix-in: looks for mistakes in the weights of the selected meshes."""

    requires = (needs_meshes_to_weight,)

    limit: IntProperty(
        name="Bones per Vertex", description="Report vertices with more bones than this", default=4, min=1
    )


class SUPPLE_OT_weights_check(CheckOperator, bpy.types.Operator):
    """Find vertices without weights, with too many bones or wrong sums, or with weights far from their bones"""

    bl_label = "Check"

    def run(self, context: bpy.types.Context) -> list[str]:
        return checks.check_weights(meshes_to_weight(context), self.limit)


class SUPPLE_OT_weights_select(CheckOperator, bpy.types.Operator):
    """Select the vertices with a kind of mistake, in Edit Mode"""

    bl_label = "Select"

    kind: EnumProperty(name="Kind", description="Kind of mistake to select", items=KIND_ITEMS)

    def run(self, context: bpy.types.Context) -> list[str]:
        meshes = meshes_to_weight(context)
        found = checks.find_vertices(meshes, self.kind, self.limit)
        checks.show_selection(context, meshes)
        return checks.select_vertices(found)
