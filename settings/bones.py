"""What Supple stores on a bone."""

from __future__ import annotations

import bpy

from .properties import BoolProperty, EnumProperty, FloatProperty, PointerProperty

TWIST_ITEMS = (
    ("OFF", "Off", "Joints twist by half a turn at most", "NONE", 0),
    ("AUTO", "Auto", "By as many turns as actions ask for, and along the bone before hands and feet", "NONE", 1),
    *((str(count), str(count), "Each joint stands for so many more joints between its bones", "NONE", 1 + count)
      for count in range(1, 6)),
)  # fmt: skip
SPREAD_ITEMS = (
    ("AUTO", "Auto", "Where a long bone is before a short one, as the forearm before the hand", "NONE", 0),
    ("ON", "On", "Spread the twist along the bone before, and what is in line with it", "NONE", 1),
    ("OFF", "Off", "Leave the twist at the joint", "NONE", 2),
)


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
    has_twist: BoolProperty(
        name="Own Twist",
        description="Give this bone's joint with its parent a twist of its own, instead of the mesh's",
        update=_show_change,
    )
    twist: EnumProperty(
        name="Twist",
        description="How this bone's joint with its parent twists",
        items=TWIST_ITEMS,
        default="AUTO",
        update=_show_change,
    )
    spread_twist: EnumProperty(
        name="Spread Twist",
        description="Whether this bone's twist runs along the whole bone before it",
        items=SPREAD_ITEMS,
        default="AUTO",
        update=_show_change,
    )
    is_handle: BoolProperty(
        name="Handle",
        description="This bone follows a point or a vertex of a cage: it is no part of the skeleton",
        options={"HIDDEN"},
        update=_show_change,
    )


_register_class, _unregister_class = bpy.utils.register_classes_factory((BoneSettings,))


def register() -> None:
    _register_class()
    bpy.types.Bone.supple = PointerProperty(type=BoneSettings, name="Supple", description="Skin deformation")


def unregister() -> None:
    del bpy.types.Bone.supple
    _unregister_class()
