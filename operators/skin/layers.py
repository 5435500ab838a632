"""Stay Outside: keep clothes out of the body, and let bodies give way beneath clothes."""

from __future__ import annotations

import bpy
from bpy.props import StringProperty

from ...settings.character import find_armature, list_meshes, list_ticked
from ...settings.objects import LIMB_BONES, settings_of
from ...tasks.features import LAYERS
from ...tasks.installed.engine import remove
from ...tasks.installed.feature import Subject
from ...tasks.layers.add import LayersReport, add_layers, keep_limbs_apart
from ...tasks.layers.mend import mend_at_rest
from ...tasks.layers.present import list_joined, list_layered
from ...tasks.subject.chosen_bones import is_selected
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import SlowOperator
from ..selection import active_armature, needs_armature

ALL = "All limbs"


def needs_clothes(context: bpy.types.Context) -> str:
    are_there = len(list_ticked(context)) > 1
    return "" if are_there else "Select a character with several ticked meshes, such as clothes and a body"


def list_layers(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Meshes of the character; if its armature was deleted, the selected meshes with all layers that belong to them."""
    if find_armature(context) is not None:
        return list_meshes(context)
    return list_joined(obj for obj in context.selected_objects if obj.type == "MESH")


def needs_layers(context: bpy.types.Context) -> str:
    meshes = list_layers(context)
    if LAYERS.is_in(Subject(find_armature(context), tuple(meshes))):
        return ""
    return ("" if meshes else needs_armature(context)) or "Use Stay Outside first"


class SUPPLE_OT_layers_add(SlowOperator, bpy.types.Operator):
    """Keep all ticked clothes of the character outside of the body, and of each other, in any pose. Used again, it
    asks for order and distances"""

    bl_label = "Stay Outside"
    requires = (needs_armature, needs_clothes)
    subject = "the layers"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.ask(context) if list_layered(list_ticked(context)) else self.execute(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        for obj in list_ticked(context):
            settings = settings_of(obj)
            row = layout.row()
            row.label(text=obj.name, icon="MESH_DATA", translate=False)
            row.prop(settings, "layer_limbs")
            row = layout.row(align=True)
            for name in ("layer_order", "layer_gap", "layer_give"):
                row.prop(settings, name)
        if any(settings_of(obj).layer_limbs for obj in list_ticked(context)):
            layout.prop(settings_of(active_armature(context)), "limb_bones", placeholder=translate(ALL))

    def work(self, context: bpy.types.Context) -> LayersReport:
        return add_layers(active_armature(context), list_ticked(context))


class SUPPLE_OT_layers_limbs(SlowOperator, bpy.types.Operator):
    """Keep the limbs of all ticked meshes out of each other, too: arms out of ribs, thighs out of the belly. In Pose
    Mode, it asks whether only the selected bones. It takes longer for each frame than clothes do"""

    bl_label = "Keep Limbs Apart"
    requires = (needs_armature,)
    subject = "the limbs"

    bones: StringProperty(name="Only Bones", description=LIMB_BONES, options=SKIP)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        armature = active_armature(context)
        selected = [bone.name for bone in armature.pose.bones if is_selected(bone)] if armature.mode == "POSE" else []
        if len(selected) < 2:
            return self.execute(context)
        self.bones = ", ".join(selected)
        return self.ask(context)

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.prop(self, "bones", placeholder=translate(ALL))

    def work(self, context: bpy.types.Context) -> LayersReport:
        return keep_limbs_apart(active_armature(context), list_ticked(context), self.bones)


class SUPPLE_OT_layers_mend(SlowOperator, bpy.types.Operator):
    """Move what sticks out of clothes at rest beneath them, in the mesh itself and its shape keys"""

    bl_label = "Mend at Rest"
    requires = (needs_armature, needs_clothes)
    subject = "the layers"

    def work(self, context: bpy.types.Context) -> str:
        return ". ".join(mend_at_rest(active_armature(context), list_ticked(context)))


class SUPPLE_OT_layers_remove(SuppleOperator, bpy.types.Operator):
    """Take off what keeps the character's clothes outside"""

    bl_label = "Remove Stay Outside"
    requires = (needs_layers,)

    def run(self, context: bpy.types.Context) -> str:
        return ". ".join(remove(LAYERS, Subject(find_armature(context), tuple(list_layers(context)))))
