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
        for name, label in (("sharpness", "Own Sharpness"), ("twist", "Own Twist")):
            row = layout.row(heading=label)
            row.prop(settings, f"has_{name}", text="")
            column = row.column()
            column.enabled = getattr(settings, f"has_{name}")
            column.prop(settings, name, text="")
        layout.prop(settings, "spread_twist")


register, unregister = bpy.utils.register_classes_factory((BONE_PT_supple,))
