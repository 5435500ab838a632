"""Tools that edit weights, check them, and select what was found."""

from __future__ import annotations

import math
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..deformers import SkinningError
from ..deformers.weight_editing.transfer import Params
from ..tasks.weights import checks as weight_checks
from ..tasks.weights import edits as weight_edits
from ..tasks.weights.edits import Scope
from .weights import SELECT, chosen_meshes

BONES_ITEMS = (
    ("ALL", "All Bones", "All bones whose groups are not locked"),
    ("ACTIVE", "Active Group", "The bone of the active vertex group; the others share what it leaves"),
    ("SELECTED", "Selected Bones", "The selected bones of the armature; the others share what these leave"),
)
SMOOTH_ITEMS = (
    ("SURFACE", "Surface", "Weights are evened out along the skin"),
    ("SOLID", "Solid", "Weights are evened out through the body: also between parts that do not hang together"),
)
DIRECTION_ITEMS = (
    ("POSITIVE", "+X to -X", "Weights of the side of positive X are taken over to the other one"),
    ("NEGATIVE", "-X to +X", "Weights of the side of negative X are taken over to the other one"),
    ("BOTH", "Average", "Both sides get the mean of both"),
)
KIND_ITEMS = (
    ("UNWEIGHTED", "Unweighted", "Vertices that no bone moves"),
    ("OVER_INFLUENCED", "Over-Influenced", "Vertices of more bones than the limit"),
    ("SUMS", "Not Normalized", "Vertices whose weights do not sum to 1"),
    ("SEAMS", "Seams", "Vertices at one place with different weights, which a pose tears apart"),
    ("ISLANDS", "Islands", "Spots of weight that are cut off from the rest of their bone's"),
    ("FAR", "Far From Bone", "Vertices with weight for a bone that is far away while others are near"),
    ("ANY", "All Mistakes", "Vertices with any of these"),
)


class WeightsOperator:
    """Mix-in: for the selected meshes."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not chosen_meshes(context):
            cls.poll_message_set(SELECT)
            return False
        return True

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        """Do it, and give what is to be told."""
        raise AssertionError("each operator has its own")

    def execute(self, context: bpy.types.Context) -> set[str]:
        operator = cast(bpy.types.Operator, self)
        try:
            told = self.run(context, chosen_meshes(context))
        except SkinningError as error:
            operator.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        operator.report({"INFO"}, " ".join(told))
        return {"FINISHED"}


class EditOperator(WeightsOperator):
    """Mix-in: for all vertices or the selected ones, and for all bones or some."""

    selected_only: BoolProperty(
        name="Selected Only",
        description="Change the selected vertices only; if not set, so it is in Edit Mode and where a paint mask is on",
        options={"SKIP_SAVE"},
    )
    bones: EnumProperty(name="Bones", description="Bones whose weights are changed", items=BONES_ITEMS)

    def scope(self, meshes: list[bpy.types.Object]) -> Scope:
        """Which vertices and bones the user wants to be changed."""
        operator = cast(bpy.types.Operator, self)
        if not operator.properties.is_property_set("selected_only"):
            self.selected_only = any(weight_edits.has_mask(obj) for obj in meshes)
        return Scope(self.selected_only, self.bones)


class SUPPLE_OT_weights_smooth(EditOperator, bpy.types.Operator):
    """Even weights out, so that bends get softer"""

    bl_idname = "supple.weights_smooth"
    bl_label = "Smooth"

    method: EnumProperty(name="Method", description="Where weights are evened out", items=SMOOTH_ITEMS)
    strength: FloatProperty(
        name="Strength",
        description="How much of the way each repeat goes",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    repeats: IntProperty(
        name="Repeats", description="How often weights are evened out", default=4, min=1, soft_max=50, max=1000
    )

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.smooth_weights(meshes, self.scope(meshes), self.method, self.strength, self.repeats)


class SUPPLE_OT_weights_sharpen(EditOperator, bpy.types.Operator):
    """Strengthen each vertex's strongest bones, so that bends get crisper"""

    bl_idname = "supple.weights_sharpen"
    bl_label = "Sharpen"

    amount: FloatProperty(
        name="Amount",
        description="How much the strongest bones gain: at 1 the strongest one takes all",
        default=0.3,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.sharpen_weights(meshes, self.scope(meshes), self.amount)


class SUPPLE_OT_weights_limit(EditOperator, bpy.types.Operator):
    """Keep the strongest bones of each vertex, and tell how much weight was lost with the others"""

    bl_idname = "supple.weights_limit"
    bl_label = "Limit"

    limit: IntProperty(name="Limit", description="Largest number of bones at a vertex", default=4, min=1, soft_max=12)

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.limit_weights(meshes, self.scope(meshes), self.limit)


class SUPPLE_OT_weights_normalize(EditOperator, bpy.types.Operator):
    """Have the weights of each vertex sum to 1"""

    bl_idname = "supple.weights_normalize"
    bl_label = "Normalize"

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.normalize_weights(meshes, self.scope(meshes))


class SUPPLE_OT_weights_prune(EditOperator, bpy.types.Operator):
    """Take small weights out, and give their share to the other bones of the vertex"""

    bl_idname = "supple.weights_prune"
    bl_label = "Prune"

    threshold: FloatProperty(
        name="Below", description="Smaller weights are taken out", default=0.01, min=0.0, max=1.0, precision=3, step=1
    )

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.prune_weights(meshes, self.scope(meshes), self.threshold)


class SUPPLE_OT_weights_mirror(EditOperator, bpy.types.Operator):
    """Take weights over from one side of the armature to the other, for bones of left and right names"""

    bl_idname = "supple.weights_mirror"
    bl_label = "Mirror"

    direction: EnumProperty(name="Direction", description="From which side to which", items=DIRECTION_ITEMS)

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.mirror_weights(meshes, self.scope(meshes), self.direction)


class SUPPLE_OT_weights_transfer(EditOperator, bpy.types.Operator):
    """Give the weights of the active mesh to the other selected ones, as from a body to its clothes"""

    bl_idname = "supple.weights_transfer"
    bl_label = "Transfer"

    reach: FloatProperty(
        name="Reach",
        description="Farthest that a vertex may be from the active mesh to take its weights, as a share of its own "
        "mesh's size. Others are filled in smoothly",
        default=Params.reach,
        min=0.0,
        max=1.0,
        precision=3,
        subtype="FACTOR",
    )
    angle: FloatProperty(
        name="Angle",
        description="Largest angle between the two surfaces where weights are taken over",
        default=Params.angle,
        min=0.0,
        max=math.pi,
        subtype="ANGLE",
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        active = context.active_object
        meshes = chosen_meshes(context)
        if active not in meshes or len(meshes) < 2:
            cls.poll_message_set(
                "Select a mesh that has an Armature modifier last, and before it those to give weights to"
            )
            return False
        return True

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        source = cast(bpy.types.Object, context.active_object)
        targets = [obj for obj in meshes if obj != source]
        return weight_edits.transfer_weights(source, targets, self.scope(targets), Params(self.reach, self.angle))


class SUPPLE_OT_weights_clean(WeightsOperator, bpy.types.Operator):
    """Remove vertex groups of bones in which no vertex has any weight"""

    bl_idname = "supple.weights_clean"
    bl_label = "Remove Empty Groups"

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_edits.clean_groups(meshes)


class SUPPLE_OT_weights_check(WeightsOperator, bpy.types.Operator):
    """Look for vertices without weights, with too many, with wrong sums, and for weights where they do not belong"""

    bl_idname = "supple.weights_check"
    bl_label = "Check"

    limit: IntProperty(name="Limit", description="Largest number of bones that is fine at a vertex", default=4, min=1)

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        return weight_checks.check_weights(meshes, self.limit)


class SUPPLE_OT_weights_select(WeightsOperator, bpy.types.Operator):
    """Select the vertices that a check has found, in Edit Mode"""

    bl_idname = "supple.weights_select"
    bl_label = "Select"

    kind: EnumProperty(name="Kind", description="What to select", items=KIND_ITEMS)
    limit: IntProperty(name="Limit", description="Largest number of bones that is fine at a vertex", default=4, min=1)

    def run(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> list[str]:
        found = weight_checks.find_vertices(meshes, self.kind, self.limit)
        self.show(context, meshes)
        return weight_checks.select_vertices(found)

    def show(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> None:
        """Go where selected vertices are seen: into Edit Mode, or stay in Weight Paint and show the mask."""
        painted = [obj for obj in meshes if obj.mode == "WEIGHT_PAINT"]
        for obj in painted:
            cast(bpy.types.Mesh, obj.data).use_paint_mask_vertex = True
        if not painted and context.active_object in meshes and context.mode == "OBJECT":
            bpy.ops.object.mode_set(mode="EDIT")
        context.scene.tool_settings.mesh_select_mode = (True, False, False)


register, unregister = bpy.utils.register_classes_factory(
    (
        SUPPLE_OT_weights_smooth,
        SUPPLE_OT_weights_sharpen,
        SUPPLE_OT_weights_limit,
        SUPPLE_OT_weights_normalize,
        SUPPLE_OT_weights_prune,
        SUPPLE_OT_weights_mirror,
        SUPPLE_OT_weights_transfer,
        SUPPLE_OT_weights_clean,
        SUPPLE_OT_weights_check,
        SUPPLE_OT_weights_select,
    )
)
