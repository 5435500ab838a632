"""Settings of bones and armatures, and the data of swings."""

from __future__ import annotations

import bpy

from .events import show_bones
from .properties import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    PointerProperty,
    StringProperty,
    factor,
)

SPREAD_ITEMS = (
    ("AUTO", "Auto", "Where a short bone follows a long bone, such as the hand after the forearm", "NONE", 0),
    ("ON", "On", "Spread the twist along the previous bone and the bones in line with it", "NONE", 1),
    ("OFF", "Off", "Keep the twist at the joint", "NONE", 2),
)


def _show_change(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    settings.id_data.update_tag()  # skeletons are compared where an armature has changed


class SwingSettings(bpy.types.PropertyGroup):
    """`bone.supple.swing`: how a chain swings, on the lag bone of its first bone."""

    part: StringProperty(name="Part", options={"HIDDEN"})
    frequency: FloatProperty(name="Frequency", options={"HIDDEN"})
    damping: FloatProperty(name="Damping", options={"HIDDEN"})
    amount: FloatProperty(name="Amount", options={"HIDDEN"})
    gravity: FloatProperty(name="Gravity", options={"HIDDEN"})
    is_everywhere: BoolProperty(name="All Actions", options={"HIDDEN"})
    fades: BoolProperty(name="Less Where Animated", options={"HIDDEN"})


class MadeBone(bpy.types.PropertyGroup):
    """`armature.data.supple.made`: a bone that was made for a swing, by its name, also once it was deleted."""

    owner: StringProperty(name="Owner", options={"HIDDEN"})
    is_lag: BoolProperty(name="Lag Bone", options={"HIDDEN"})
    has_weights: BoolProperty(name="Weights", options={"HIDDEN"})


class ArmatureSettings(bpy.types.PropertyGroup):
    """`armature.data.supple`"""

    made: CollectionProperty(type=MadeBone, options={"HIDDEN"})


class BoneSettings(bpy.types.PropertyGroup):
    """`bone.supple`"""

    has_sharpness: BoolProperty(
        name="Own Sharpness",
        description="With Centers, use a separate sharpness for this bone's joint with its parent",
        update=_show_change,
    )
    sharpness: factor(
        0.25,
        "Sharpness",
        "How sharply this bone's joint with its parent bends: 0 is round, 1 is linear blending",
        update=_show_change,
    )
    spread_twist: EnumProperty(
        name="Spread Twist",
        description="Spread this bone's twist along the whole previous bone",
        items=SPREAD_ITEMS,
        default="AUTO",
        update=show_bones,
    )
    is_handle: BoolProperty(
        name="Handle",
        description="This bone follows a point or a vertex of a cage: it is not part of the skeleton",
        options={"HIDDEN"},
        update=_show_change,
    )
    is_lag: BoolProperty(
        name="Lag Bone",
        description="This bone has the keys of a swing: another bone copies its rotation",
        options={"HIDDEN"},
    )
    is_flesh: BoolProperty(
        name="Flesh",
        description="This bone was added for a region that swings, and has weights of its parent",
        options={"HIDDEN"},
    )
    has_lag: BoolProperty(name="Swings", description="A lag bone was made for this bone", options={"HIDDEN"})
    swing: PointerProperty(type=SwingSettings, options={"HIDDEN"})
