"""What Supple stores of each skin pattern on an object."""

from __future__ import annotations

import math
from functools import partial

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
"""Settings that say how compression brings a pattern out, and whether it does."""

SPACES = tuple(item[0] for item in SPACE_ITEMS)

Bool, Enum, Float, FloatVector, Pointer, String = (
    partial(kind, update=show_pattern)
    for kind in (BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, PointerProperty, StringProperty)
)
"""Properties whose changes are shown on the object."""


def _is_still_image(_settings: PatternSettings, image: bpy.types.Image) -> bool:
    """Whether an image may be offered as a height map."""
    return image.source in ("FILE", "GENERATED")


class StrokePoint(bpy.types.PropertyGroup):
    """A point of the stroke that a pattern lies along."""

    location: FloatVectorProperty(name="Location", subtype="TRANSLATION")


class PatternSettings(bpy.types.PropertyGroup):
    """`object.supple.patterns[...]`"""

    name: String(name="Name", description="Name of the pattern", default="Pattern")
    number: IntProperty(options={"HIDDEN"})
    show: Bool(name="Show", description="Show this pattern on the skin", default=True)
    kind: Enum(name="Kind", description="Effect of the height map on the skin", items=KIND_ITEMS)
    image: Pointer(
        name="Height Map",
        description="Gray image whose values are heights",
        type=bpy.types.Image,
        poll=_is_still_image,
    )
    bone: String(name="Bone", description="Bone whose rotation drives the pattern, or whose limb presses into the skin")
    first_bone: String(
        name="From Bone",
        description="First bone of a chain whose rotations add up; the last is the pattern's Bone. Empty: only Bone",
    )
    other_bone: String(
        name="Other Bone", description="Bone against which the angle is measured, or whose limb presses, too"
    )
    axis: Enum(name="Axis", description="Rotation axis of the bone that drives the pattern", items=AXIS_ITEMS)
    direction: Enum(name="Direction", description="Direction of rotation that shows the pattern", items=DIRECTION_ITEMS)
    law: Enum(name="Law", description="How much of the pattern shows at each angle", items=LAW_ITEMS)
    start: Float(
        name="Start",
        description="Angle at which the pattern starts to appear",
        subtype="ANGLE",
        min=-math.pi,
        max=math.pi,
    )
    full: Float(
        name="Full",
        description="Angle at which the whole pattern is visible",
        subtype="ANGLE",
        default=math.pi / 2,
        min=-math.pi,
        max=math.pi,
    )
    gain: Float(name="Gain", description="Factor k in k log(angle + 1)", default=1.0, soft_min=-4, soft_max=4)
    driver: Enum(name="Driven By", description="What drives the pattern", items=DRIVER_ITEMS)
    compression_angle: Float(
        name="Along",
        description="Direction in the height map along which compression is measured. Folds lie across it: 0 is "
        "along the width, 90 along the height",
        subtype="ANGLE",
        default=math.pi / 2,
    )
    compression_start: Float(
        name="Start",
        description="Compression or stretch at which the pattern starts to appear, or depth of the limb, in percent of "
        "the pattern's smaller side",
        subtype="PERCENTAGE",
        default=5.0,
        soft_min=0.0,
        soft_max=100.0,
    )
    compression_full: Float(
        name="Full",
        description="Compression or stretch at which the whole pattern is visible, or depth of the limb, in percent of "
        "the pattern's smaller side",
        subtype="PERCENTAGE",
        default=30.0,
        soft_min=0.0,
        soft_max=100.0,
    )
    compression_gain: Float(
        name="Gain",
        description="Factor k in k log(compression + 1), where 1 is the full length",
        default=4.0,
        soft_min=-10,
        soft_max=10,
    )
    compression_smoothing: Float(
        name="Smoothing",
        description="Radius over which compression is averaged, as a share of the smaller side of the pattern",
        default=0.1,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    compression_spread: Enum(
        name="Amount", description="Whether compression drives each part of the pattern on its own", items=SPREAD_ITEMS
    )
    strength: Float(
        name="Strength",
        description="Height of white above black, in the object's units; negative values push in",
        default=0.01,
        subtype="DISTANCE",
        precision=4,
        step=1,
    )
    softness: Float(
        name="Soft Edge",
        description="How far the pattern fades out from its edges: 1 reaches its middle",
        default=0.2,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    depth: Float(
        name="Depth",
        description="Depth of the bone below the skin at rest: just under the skin at 1, fully visible at 0",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    space: Enum(name="Place On", description="What to place the pattern on", items=SPACE_ITEMS)
    location: FloatVector(
        name="Location",
        description="Center of the pattern on the mesh at rest",
        subtype="TRANSLATION",
        precision=4,
    )
    uv: FloatVector(name="UV", description="Center of the pattern in the UV map", size=2, precision=4, step=1)
    turn: Float(name="Rotation", description="Counter-clockwise rotation of the pattern", subtype="ANGLE")
    size: FloatVector(
        name="Size",
        description="Width and height, in the object's units or those of the UV map",
        size=2,
        default=(0.1, 0.1),
        unit="LENGTH",
        precision=4,
        step=1,
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
    flip: Bool(name="Flip", description="Mirror the height map left to right")
    stroke: CollectionProperty(type=StrokePoint, options={"HIDDEN"})
    placed_in: StringProperty(options={"HIDDEN"})
    driven: StringProperty(options={"HIDDEN"})
    slot: IntProperty(options={"HIDDEN"})
    note: StringProperty(options={"HIDDEN"})


def driving_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature whose bones drive an object's patterns: of its first Armature modifier, else its parent."""
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None:
            return modifier.object
    return obj.parent if obj.parent is not None and obj.parent.type == "ARMATURE" else None


def register() -> None:
    bpy.types.WindowManager.supple_pattern_part = bpy.props.EnumProperty(
        name="Settings of the Pattern", description="Which settings of the active pattern are shown", items=PART_ITEMS
    )


def unregister() -> None:
    del bpy.types.WindowManager.supple_pattern_part
