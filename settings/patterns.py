"""Settings of each skin pattern on an object."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import bpy

from .events import show_pattern
from .properties import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

KIND_ITEMS = (
    (
        "WRINKLE",
        "Folds",
        "Raise the skin where the height map is lighter than mid-gray, and lower it where it is darker",
    ),
    ("BULGE", "Bulge", "Inflate the skin with the height map: black is flat"),
    ("BONE", "Bone", "Push a shape out from under the skin without changing the shape: black is flat"),
)
AXIS_ITEMS = (
    ("X", "X", "Swing of the bone about its own X axis, relative to rest and to its parent"),
    ("Y", "Y", "Twist of the bone about its own length, relative to rest and to its parent"),
    ("Z", "Z", "Swing of the bone about its own Z axis, relative to rest and to its parent"),
    ("BETWEEN", "Pair", "Angle between the bone and another bone, measured from the angle at rest"),
)
DIRECTION_ITEMS = (
    ("POSITIVE", "+", "Positive angles show the pattern"),
    ("NEGATIVE", "-", "Negative angles show the pattern"),
    ("BOTH", "Both", "Positive and negative angles show the pattern"),
)
LAW_ITEMS = (
    (
        "RANGE",
        "Start to Full",
        "Nothing below the start angle, the whole pattern above the full angle, and a smooth ramp in between",
    ),
    ("LOG", "Logarithm", "As published: gain times log(angle + 1), with the angle in radians past the start angle"),
)
DRIVER_ITEMS = (
    ("ANGLE", "Angle", "The rotation of a joint drives the pattern"),
    ("COMPRESSION", "Compression", "The pattern shows where the posed skin is compressed"),
    ("STRETCH", "Stretch", "The pattern shows where the posed skin is stretched"),
    ("BOTH", "Angle x Compression", "The pattern shows where the skin is compressed while a joint rotates"),
    ("DEPTH", "Limb Depth", "The pattern shows while a limb presses into the skin, such as a thigh into the belly"),
)
SPREAD_ITEMS = (
    ("VERTEX", "Local", "Local compression drives each part of the pattern"),
    ("PATTERN", "Whole", "The mean compression over the pattern drives the whole pattern"),
)
PART_ITEMS = (
    ("PLACEMENT", "Place", "Where the pattern is on the skin, and how large"),
    ("DRIVER", "Driver", "What makes the pattern appear: the rotation of a bone, or the compression of the skin"),
    ("RELIEF", "Relief", "The height map, and how strong it is"),
)
SPACE_ITEMS = (
    ("SURFACE", "Surface", "Place patterns on the surface in true size, across seams; no UV map needed"),
    ("UV", "UV Map", "Place patterns in the UV map, where they end at seams"),
)

COMPRESSION_SETTINGS = (
    "driver", "compression_angle", "compression_start", "compression_full", "compression_gain",
    "compression_smoothing", "compression_spread",
)  # fmt: skip

SPACES = tuple(item[0] for item in SPACE_ITEMS)

Angle = partial(FloatProperty, subtype="ANGLE")
Percent = partial(FloatProperty, subtype="PERCENTAGE", soft_min=0.0, soft_max=100.0)
Share = partial(FloatProperty, subtype="FACTOR", min=0.0, max=1.0)
Position = partial(FloatVectorProperty, precision=4)


def setting(kind: Callable[..., Any], label: str, tooltip: str, **limits: Any) -> Any:
    """Make a property whose changes are shown on the object."""
    return kind(name=label, description=tooltip, update=show_pattern, **limits)


def _is_still_image(_settings: PatternSettings, image: bpy.types.Image) -> bool:
    """Whether an image may be offered as a height map."""
    return image.source in ("FILE", "GENERATED")


class StrokePoint(bpy.types.PropertyGroup):
    """A point of the stroke that a pattern lies along."""

    location: FloatVectorProperty(name="Location", subtype="TRANSLATION")


class PatternSettings(bpy.types.PropertyGroup):
    """`object.supple.patterns[...]`"""

    name: setting(StringProperty, "Name", "Name of the pattern", default="Pattern")
    number: IntProperty(options={"HIDDEN"})
    show: setting(BoolProperty, "Show", "Show this pattern on the skin", default=True)
    kind: setting(EnumProperty, "Kind", "Effect of the height map on the skin", items=KIND_ITEMS)
    image: setting(
        PointerProperty,
        "Height Map",
        "Gray image whose values are heights",
        type=bpy.types.Image,
        poll=_is_still_image,
    )
    bone: setting(StringProperty, "Bone", "Bone whose rotation drives the pattern, or whose limb presses into the skin")
    first_bone: setting(
        StringProperty,
        "From Bone",
        "First bone of a chain whose rotations add up; the last is the pattern's Bone. Empty: only Bone",
    )
    other_bone: setting(
        StringProperty, "Other Bone", "Bone against which the angle is measured, or whose limb presses, too"
    )
    axis: setting(EnumProperty, "Axis", "Rotation axis of the bone that drives the pattern", items=AXIS_ITEMS)
    direction: setting(EnumProperty, "Direction", "Direction of rotation that shows the pattern", items=DIRECTION_ITEMS)
    law: setting(EnumProperty, "Law", "How much of the pattern shows at each angle", items=LAW_ITEMS)
    start: setting(Angle, "Start", "Angle at which the pattern starts to appear", min=-math.pi, max=math.pi)
    full: setting(
        Angle, "Full", "Angle at which the whole pattern is visible", default=math.pi / 2, min=-math.pi, max=math.pi
    )
    gain: setting(FloatProperty, "Gain", "Factor k in k log(angle + 1)", default=1.0, soft_min=-4, soft_max=4)
    driver: setting(EnumProperty, "Driven By", "What drives the pattern", items=DRIVER_ITEMS)
    compression_angle: setting(
        Angle,
        "Along",
        "Direction in the height map along which compression is measured. Folds lie across it: 0 is along the width, "
        "90 along the height",
        default=math.pi / 2,
    )
    compression_start: setting(
        Percent,
        "Start",
        "Compression or stretch at which the pattern starts to appear, or depth of the limb, in percent of the "
        "pattern's smaller side",
        default=5.0,
    )
    compression_full: setting(
        Percent,
        "Full",
        "Compression or stretch at which the whole pattern is visible, or depth of the limb, in percent of the "
        "pattern's smaller side",
        default=30.0,
    )
    compression_gain: setting(
        FloatProperty,
        "Gain",
        "Factor k in k log(compression + 1), where 1 is the full length",
        default=4.0,
        soft_min=-10,
        soft_max=10,
    )
    compression_smoothing: setting(
        Share,
        "Smoothing",
        "Radius over which compression is averaged, as a share of the smaller side of the pattern",
        default=0.1,
    )
    compression_spread: setting(
        EnumProperty, "Amount", "Whether compression drives each part of the pattern on its own", items=SPREAD_ITEMS
    )
    strength: setting(
        partial(FloatProperty, subtype="DISTANCE", precision=4, step=1),
        "Strength",
        "Height of white above black, in the object's units; negative values push in",
        default=0.01,
    )
    softness: setting(
        Share, "Soft Edge", "How far the pattern fades out from its edges: 1 reaches its middle", default=0.2
    )
    depth: setting(
        Share,
        "Depth",
        "Depth of the bone below the skin at rest: just under the skin at 1, fully visible at 0",
        default=1.0,
    )
    space: setting(EnumProperty, "Place On", "What to place the pattern on", items=SPACE_ITEMS)
    location: setting(Position, "Location", "Center of the pattern on the mesh at rest", subtype="TRANSLATION")
    uv: setting(Position, "UV", "Center of the pattern in the UV map", size=2, step=1)
    turn: setting(Angle, "Rotation", "Counter-clockwise rotation of the pattern")
    size: setting(
        partial(Position, size=2, step=1),
        "Size",
        "Width and height, in the object's units or those of the UV map",
        default=(0.1, 0.1),
        unit="LENGTH",
    )
    uv_size: FloatVectorProperty(
        name="Size",
        description="Width and height, in the units of the UV map",
        size=2,
        precision=4,
        step=1,
        get=lambda pattern: pattern.size,
        set=lambda pattern, size: setattr(pattern, "size", size),
    )
    flip: setting(BoolProperty, "Flip", "Mirror the height map left to right")
    stroke: CollectionProperty(type=StrokePoint, options={"HIDDEN"})
    placed_in: StringProperty(options={"HIDDEN"})
    driven: StringProperty(options={"HIDDEN"})
    slot: IntProperty(options={"HIDDEN"})
    note: StringProperty(options={"HIDDEN"})


def driving_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Find the armature whose bones drive an object's patterns: that of its first Armature modifier, or its parent."""
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None:
            return modifier.object
    return obj.parent if obj.parent is not None and obj.parent.type == "ARMATURE" else None
