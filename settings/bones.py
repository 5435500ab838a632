"""What Supple stores on a bone."""

from __future__ import annotations

import bpy

from .properties import BoolProperty, FloatProperty, PointerProperty


def _show_change(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    settings.id_data.update_tag()  # skeletons are compared where an armature has changed


class BoneSettings(bpy.types.PropertyGroup):
    """`bone.supple`"""

    has_sharpness: BoolProperty(
        name="Own Sharpness",
        description="Bend the skin at this bone's joint with its parent by a sharpness of its own, with Centers",
        update=_show_change,
    )
    sharpness: FloatProperty(
        name="Sharpness",
        description="How pointed this bone's joint with its parent is: 0 keeps its roundness, 1 is linear blending",
        default=0.25,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=_show_change,
    )


_register_class, _unregister_class = bpy.utils.register_classes_factory((BoneSettings,))


def register() -> None:
    _register_class()
    bpy.types.Bone.supple = PointerProperty(type=BoneSettings, name="Supple", description="Skin deformation")


def unregister() -> None:
    del bpy.types.Bone.supple
    _unregister_class()
