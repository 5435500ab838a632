"""Supple's panel among the properties of a bone."""

from __future__ import annotations

import bpy


class BONE_PT_supple(bpy.types.Panel):
    """How the skin bends at this bone"""

    bl_label = "Supple"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "bone"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.bone is not None and context.bone.use_deform

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.bone.supple
        layout.use_property_split = True
        row = layout.row(heading="Own Sharpness")
        row.prop(settings, "has_sharpness", text="")
        column = row.column()
        column.enabled = settings.has_sharpness
        column.prop(settings, "sharpness", text="")
        layout.prop(settings, "spread_twist")


register, unregister = bpy.utils.register_classes_factory((BONE_PT_supple,))
