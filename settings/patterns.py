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
    ("WRINKLE", "Folds", "Raise the skin where the height map is lighter than mid-gray, and lower it where darker"),
    ("BULGE", "Bulge", "Swell the skin by the height map: black is flat"),
    ("BONE", "Bone", "Push a shape up through the skin without changing the shape: black is flat"),
)
AXIS_ITEMS = (
    ("X", "X", "Swing of the bone about its own X axis, against its rest and its parent"),
    ("Y", "Y", "Twist of the bone about its own length, against its rest and its parent"),
    ("Z", "Z", "Swing of the bone about its own Z axis, against its rest and its parent"),
    ("BETWEEN", "Pair", "Angle between the bone and another bone, beyond the angle at rest"),
)
DIRECTION_ITEMS = (
    ("POSITIVE", "+", "Positive angles bring the pattern out"),
    ("NEGATIVE", "-", "Negative angles bring the pattern out"),
    ("BOTH", "Both", "Positive and negative angles bring the pattern out"),
)
LAW_ITEMS = (
    ("RANGE", "From To", "Nothing up to the start angle, everything from the full angle on, and smooth between"),
    ("LOG", "Logarithm", "As published: gain times log(angle + 1), counted from the start angle in radians"),
)
DRIVER_ITEMS = (
    ("ANGLE", "Angle", "The rotation of a joint brings the pattern out"),
    ("COMPRESSION", "Compression", "The pattern comes out where the posed skin is pushed together"),
    ("STRETCH", "Stretch", "The pattern comes out where the posed skin is stretched"),
    ("BOTH", "Angle x Compression", "The pattern comes out where the skin is pushed together while a joint rotates"),
)
SPREAD_ITEMS = (
    ("VERTEX", "Local", "Each part of the pattern comes out as far as the skin is pushed together there"),
    ("PATTERN", "Whole", "All of the pattern comes out by the mean over it"),
)
SPACE_ITEMS = (
    ("SURFACE", "Surface", "Lie on the skin in true size and across seams; needs no UV map"),
    ("UV", "UV Map", "Lie in the UV map and end at its seams"),
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
    kind: Enum(name="Kind", description="What the height map does to the skin", items=KIND_ITEMS)
    image: Pointer(
        name="Height Map",
        description="Gray image whose values are heights",
        type=bpy.types.Image,
        poll=_is_still_image,
    )
    bone: String(name="Bone", description="Bone whose rotation brings the pattern out")
    first_bone: String(
        name="From Bone",
        description="First of a chain of bones that ends with Bone: all their rotations add up. Empty for Bone alone",
    )
    other_bone: String(name="Other Bone", description="Bone that the angle is measured against")
    axis: Enum(name="Axis", description="Axis of the bone's rotation that drives the pattern", items=AXIS_ITEMS)
    direction: Enum(
        name="Direction", description="Direction of rotation that brings the pattern out", items=DIRECTION_ITEMS
    )
    law: Enum(name="Law", description="How much of the pattern an angle brings out", items=LAW_ITEMS)
    start: Float(
        name="Start",
        description="Angle at which the pattern begins to appear",
        subtype="ANGLE",
        min=-math.pi,
        max=math.pi,
    )
    full: Float(
        name="Full",
        description="Angle from which on the whole pattern is seen",
        subtype="ANGLE",
        default=math.pi / 2,
        min=-math.pi,
        max=math.pi,
    )
    gain: Float(name="Gain", description="Factor k of k log(angle + 1)", default=1.0, soft_min=-4, soft_max=4)
    driver: Enum(name="Driven By", description="What brings the pattern out", items=DRIVER_ITEMS)
    compression_angle: Float(
        name="Along",
        description="Direction of the height map along which the skin is pushed together or stretched: 0 is its width, "
        "90 its height, across folds that lie level in it",
        subtype="ANGLE",
        default=math.pi / 2,
    )
    compression_start: Float(
        name="Start",
        description="Compression, or stretch, at which the pattern begins to appear",
        subtype="PERCENTAGE",
        default=5.0,
        soft_min=0.0,
        soft_max=100.0,
    )
    compression_full: Float(
        name="Full",
        description="Compression, or stretch, from which on the whole pattern is seen",
        subtype="PERCENTAGE",
        default=30.0,
        soft_min=0.0,
        soft_max=100.0,
    )
    compression_gain: Float(
        name="Gain",
        description="Factor k of k log(compression + 1), where all of the length is 1",
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
        name="Amount", description="Whether compression has the pattern come out part by part", items=SPREAD_ITEMS
    )
    strength: Float(
        name="Strength",
        description="Height of white above black, in the object's units; negative values push in what came out",
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
        description="Depth of the bone at rest: at 1 just under the skin, at 0 fully visible",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    space: Enum(name="Place On", description="What the pattern is laid on", items=SPACE_ITEMS)
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
