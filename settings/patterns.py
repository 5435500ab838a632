"""What Supple keeps of each skin pattern on an object."""

from __future__ import annotations

import math

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .events import show_pattern

KIND_ITEMS = (
    ("WRINKLE", "Folds", "Goes out where the picture is lighter than mid-grey, and in where it is darker"),
    ("BULGE", "Bulge", "Swells by the picture: black is flat"),
    ("BONE", "Bone", "Rises through the skin and keeps its shape: black is flat"),
)
AXIS_ITEMS = (
    ("X", "X", "How far the bone is swung about its own X axis, against its rest and its parent"),
    ("Y", "Y", "How far the bone is twisted about its own length, against its rest and its parent"),
    ("Z", "Z", "How far the bone is swung about its own Z axis, against its rest and its parent"),
    ("BETWEEN", "Pair", "Angle between the bone and another one, beyond that at rest"),
)
DIRECTION_ITEMS = (
    ("POSITIVE", "+", "Turning by positive angles brings the pattern out"),
    ("NEGATIVE", "-", "Turning by negative angles brings the pattern out"),
    ("BOTH", "Both", "Turning either way brings the pattern out"),
)
LAW_ITEMS = (
    ("RANGE", "From To", "Nothing up to one angle, all from another one on, and smooth between"),
    ("LOG", "Logarithm", "As published: gain times log(angle + 1), counted from the start angle in radians"),
)
SPACE_ITEMS = (
    ("SURFACE", "Surface", "The pattern lies on the skin, in its true size, across seams; no UV map is needed"),
    ("UV", "UV Map", "The pattern lies in the UV map and ends at its seams"),
)


def _is_grey_source(_settings: PatternSettings, image: bpy.types.Image) -> bool:
    """Whether an image may be offered as a height map."""
    return image.source in ("FILE", "GENERATED")


class StrokePoint(bpy.types.PropertyGroup):
    """A point of the stroke that a pattern lies along."""

    location: FloatVectorProperty(name="Location", subtype="TRANSLATION")


class PatternSettings(bpy.types.PropertyGroup):
    """`object.supple.patterns[...]`"""

    name: StringProperty(name="Name", description="Name of the pattern", default="Pattern", update=show_pattern)
    number: IntProperty(options={"HIDDEN"})
    show: BoolProperty(name="Show", description="Show this pattern", default=True, update=show_pattern)
    kind: EnumProperty(
        name="Kind", description="What the picture does to the skin", items=KIND_ITEMS, update=show_pattern
    )
    image: PointerProperty(
        name="Picture",
        description="Grey height map",
        type=bpy.types.Image,
        poll=_is_grey_source,
        update=show_pattern,
    )
    bone: StringProperty(name="Bone", description="Bone whose turning brings the pattern out", update=show_pattern)
    other_bone: StringProperty(
        name="Other Bone", description="Bone that the angle is measured against", update=show_pattern
    )
    axis: EnumProperty(name="Axis", description="Which turning counts", items=AXIS_ITEMS, update=show_pattern)
    direction: EnumProperty(
        name="Direction", description="Which way of turning counts", items=DIRECTION_ITEMS, update=show_pattern
    )
    law: EnumProperty(name="Law", description="How much an angle brings out", items=LAW_ITEMS, update=show_pattern)
    start: FloatProperty(
        name="Start",
        description="Angle up to which nothing is seen",
        subtype="ANGLE",
        min=-math.pi,
        max=math.pi,
        update=show_pattern,
    )
    full: FloatProperty(
        name="Full",
        description="Angle from which on all is seen",
        subtype="ANGLE",
        default=math.pi / 2,
        min=-math.pi,
        max=math.pi,
        update=show_pattern,
    )
    gain: FloatProperty(
        name="Gain",
        description="Factor k of k log(angle + 1)",
        default=1.0,
        soft_min=-4,
        soft_max=4,
        update=show_pattern,
    )
    strength: FloatProperty(
        name="Strength",
        description="Height from black to white, in the object's units; negative turns it round",
        default=0.01,
        subtype="DISTANCE",
        precision=4,
        step=1,
        update=show_pattern,
    )
    softness: FloatProperty(
        name="Soft Edge",
        description="How far in from its edges the pattern fades out: 1 reaches its middle",
        default=0.2,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=show_pattern,
    )
    depth: FloatProperty(
        name="Depth",
        description="How deep the bone lies at rest: at 1 just under the skin, at 0 in full view",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=show_pattern,
    )
    space: EnumProperty(name="Place In", description="Where it lies", items=SPACE_ITEMS, update=show_pattern)
    location: FloatVectorProperty(
        name="Location",
        description="Place of the center on the mesh at rest",
        subtype="TRANSLATION",
        precision=4,
        update=show_pattern,
    )
    uv: FloatVectorProperty(
        name="UV", description="Place of the center in the UV map", size=2, precision=4, step=1, update=show_pattern
    )
    turn: FloatProperty(name="Turn", description="Turned counter-clockwise by", subtype="ANGLE", update=show_pattern)
    size: FloatVectorProperty(
        name="Size",
        description="Width and height: in the object's units, in a UV map in its own",
        size=2,
        default=(0.1, 0.1),
        precision=4,
        step=1,
        update=show_pattern,
    )
    flip: BoolProperty(name="Flip", description="Mirror the picture left to right", update=show_pattern)
    stroke: CollectionProperty(type=StrokePoint, options={"HIDDEN"})
    placed_in: StringProperty(options={"HIDDEN"})
    driven: StringProperty(options={"HIDDEN"})
    slot: IntProperty(options={"HIDDEN"})
    note: StringProperty(options={"HIDDEN"})
