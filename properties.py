"""What Supple keeps on an object, and how it is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    BoolVectorProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

SETTINGS_VERSION = 2

METHOD_ITEMS = (
    ("SSD", "SSD", "Linear blending: fast, collapses at bent elbows and twisted wrists"),
    ("DLB", "DLB", "Dual quaternion blending: keeps volume, as Preserve Volume does, without its tears"),
    ("DLBNT", "DLBNT", "Dual quaternion blending with non-rigid transforms: keeps volume and follows scaled bones"),
    ("PARTICLES", "Particles", "A solid body of particles under the skin: bends and twists as flesh, keeps its volume"),
    (
        "PARTICLES_2010",
        "Yamamoto & Tokoi 2010",
        "Particles as they were published: for study, slow, takes seconds for each pose",
    ),
)
PARTICLE_METHODS = ("PARTICLES", "PARTICLES_2010")
"""Methods that fill the body with particles."""

FILL_ITEMS = (
    ("UNIFORM", "Uniform", "Particles of one size"),
    ("TWO_LEVEL", "Two Levels", "Particles of three times the radius in the core"),
)
COLOR_ITEMS = (
    ("BONE", "Bone", "A color for each bone that particles follow"),
    ("RADIUS", "Radius", "A color for each size of particles"),
)
NODES_PROBLEM = (
    ""
    if hasattr(bpy.types, "GeometryNodeBoneInfo") and hasattr(bpy.types, "FunctionNodeMatrixSVD")
    else "Nodes that read bones need Blender 5.1 or later"
)
"""Why this Blender can not evaluate by nodes; empty where it can."""

EVALUATE_ITEMS = (
    ("NODES", "Nodes", "The node modifier deforms the skin: also where Supple is not installed (Blender 5.1 or later)"),
    (
        "PYTHON",
        "Python",
        "Supple deforms the skin, while it is installed: in every Blender, with B-Bones and envelopes",
    ),
)
ORDER_ITEMS = (
    ("GH", "Stretch First", "M = G H: the skin is stretched at rest, then turned with the bones"),
    ("HG", "Turn First", "M = H G: the skin is turned with the bones, then stretched where it is"),
)
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
DISPLAY_ITEMS = (
    ("KIND", "By Kind", "Folds and bones as bumps in the materials, bulges as displacement"),
    ("BUMP", "Bump", "All patterns as bumps in the materials: seen in Material Preview and in renders"),
    ("DISPLACEMENT", "Displacement", "All patterns move the skin: the mesh has to be fine enough, or subdivided"),
)
WEIGHT_COLOR_ITEMS = (
    ("CHOSEN", "Chosen Bones", "From blue to red by the weight of the selected bones, or of the active vertex group"),
    ("BONES", "All Bones", "Each bone has a color of its own, mixed by the weights"),
)
BAKE_ITEMS = (
    ("NONE", "Live", "The skin is deformed by Supple"),
    ("PC2", "Point Cache", "The skin is deformed by a baked point cache"),
    ("SHAPE_KEYS", "Shape Keys", "The skin is deformed by baked shape keys"),
)


listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose settings were changed."""

pattern_listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose patterns were changed."""


@dataclass
class ParticleReport:
    """What can be told of an object's particles.

    Attributes
    ----------
    count : int
    solid_share : float or None
        Share of the skin that follows particles, 0 to 1; None where the method does not tell.
    messages : tuple of str
        What could not be filled, and what is done instead.
    milliseconds : float or None
        What the latest pose took.
    volume : float or None
        Volume in the latest pose, at rest 1; None where it was not measured.
    """

    count: int
    solid_share: float | None = None
    messages: tuple[str, ...] = ()
    milliseconds: float | None = None
    volume: float | None = None


particle_reports: dict[int, ParticleReport] = {}
"""Of the objects that Python deforms by a method of particles, by `session_uid`; never saved."""


def _show_change(settings: ObjectSettings | ParticleSettings, _context: bpy.types.Context) -> None:
    """Pass a change on, and have the depsgraph run: the live preview compares settings with those it has bound."""
    settings.id_data.update_tag()
    for listener in listeners:
        listener(settings.id_data)


def _redraw(manager: bpy.types.WindowManager, _context: bpy.types.Context) -> None:
    for window in manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def _show_pattern(settings: ObjectSettings | PatternSettings, _context: bpy.types.Context) -> None:
    for listener in pattern_listeners:
        listener(settings.id_data)


def _is_grey_source(_settings: PatternSettings, image: bpy.types.Image) -> bool:
    """Whether an image may be offered as a height map."""
    return image.source in ("FILE", "GENERATED")


class StrokePoint(bpy.types.PropertyGroup):
    """A point of the stroke that a pattern lies along."""

    location: FloatVectorProperty(name="Location", subtype="TRANSLATION")


class PatternSettings(bpy.types.PropertyGroup):
    """`object.supple.patterns[...]`"""

    name: StringProperty(name="Name", description="Name of the pattern", default="Pattern", update=_show_pattern)
    number: IntProperty(options={"HIDDEN"})
    show: BoolProperty(name="Show", description="Show this pattern", default=True, update=_show_pattern)
    kind: EnumProperty(
        name="Kind", description="What the picture does to the skin", items=KIND_ITEMS, update=_show_pattern
    )
    image: PointerProperty(
        name="Picture",
        description="Grey height map",
        type=bpy.types.Image,
        poll=_is_grey_source,
        update=_show_pattern,
    )
    bone: StringProperty(name="Bone", description="Bone whose turning brings the pattern out", update=_show_pattern)
    other_bone: StringProperty(
        name="Other Bone", description="Bone that the angle is measured against", update=_show_pattern
    )
    axis: EnumProperty(name="Axis", description="Which turning counts", items=AXIS_ITEMS, update=_show_pattern)
    direction: EnumProperty(
        name="Direction", description="Which way of turning counts", items=DIRECTION_ITEMS, update=_show_pattern
    )
    law: EnumProperty(name="Law", description="How much an angle brings out", items=LAW_ITEMS, update=_show_pattern)
    start: FloatProperty(
        name="Start",
        description="Angle up to which nothing is seen",
        subtype="ANGLE",
        min=-math.pi,
        max=math.pi,
        update=_show_pattern,
    )
    full: FloatProperty(
        name="Full",
        description="Angle from which on all is seen",
        subtype="ANGLE",
        default=math.pi / 2,
        min=-math.pi,
        max=math.pi,
        update=_show_pattern,
    )
    gain: FloatProperty(
        name="Gain",
        description="Factor k of k log(angle + 1)",
        default=1.0,
        soft_min=-4,
        soft_max=4,
        update=_show_pattern,
    )
    strength: FloatProperty(
        name="Strength",
        description="Height from black to white, in the object's units; negative turns it round",
        default=0.01,
        subtype="DISTANCE",
        precision=4,
        step=1,
        update=_show_pattern,
    )
    softness: FloatProperty(
        name="Soft Edge",
        description="How far in from its edges the pattern fades out: 1 reaches its middle",
        default=0.2,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=_show_pattern,
    )
    depth: FloatProperty(
        name="Depth",
        description="How deep the bone lies at rest: at 1 just under the skin, at 0 in full view",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=_show_pattern,
    )
    space: EnumProperty(name="Place In", description="Where it lies", items=SPACE_ITEMS, update=_show_pattern)
    location: FloatVectorProperty(
        name="Location",
        description="Place of the center on the mesh at rest",
        subtype="TRANSLATION",
        precision=4,
        update=_show_pattern,
    )
    uv: FloatVectorProperty(
        name="UV", description="Place of the center in the UV map", size=2, precision=4, step=1, update=_show_pattern
    )
    turn: FloatProperty(name="Turn", description="Turned counter-clockwise by", subtype="ANGLE", update=_show_pattern)
    size: FloatVectorProperty(
        name="Size",
        description="Width and height: in the object's units, in a UV map in its own",
        size=2,
        default=(0.1, 0.1),
        precision=4,
        step=1,
        update=_show_pattern,
    )
    flip: BoolProperty(name="Flip", description="Mirror the picture left to right", update=_show_pattern)
    stroke: CollectionProperty(type=StrokePoint, options={"HIDDEN"})
    placed_in: StringProperty(options={"HIDDEN"})
    driven: StringProperty(options={"HIDDEN"})
    slot: IntProperty(options={"HIDDEN"})
    note: StringProperty(options={"HIDDEN"})


class ParticleSettings(bpy.types.PropertyGroup):
    """`object.supple.particles`"""

    count: IntProperty(
        name="Particles",
        description="How many particles fill the mesh",
        get=lambda settings: settings.bound_count,
    )
    stiffness: FloatProperty(
        name="Stiffness",
        description="How much the flesh keeps to its bones: 1 is flesh, less is softer",
        default=1.0,
        min=0.01,
        max=100.0,
        soft_min=0.1,
        soft_max=10.0,
        update=_show_change,
    )
    iterations: IntProperty(
        name="Iterations",
        description="More let the particles come nearer to rest and take longer; in the viewport and in renders",
        default=8,
        min=1,
        max=1000,
        soft_max=32,
        update=_show_change,
    )
    iterations_dragging: IntProperty(
        name="Dragging",
        description="Iterations while something is being dragged: once it is let go, those of the viewport follow",
        default=4,
        min=1,
        max=1000,
        soft_max=32,
        update=_show_change,
    )
    iterations_bake: IntProperty(
        name="Bake", description="Iterations of each baked frame", default=16, min=1, max=1000, soft_max=64
    )
    target_count: IntProperty(
        name="Particles",
        description="How many particles there should be, about, where Smallest Radius is 0",
        default=2000,
        min=20,
        max=50_000,
        soft_max=10_000,
        update=_show_change,
    )
    smallest_radius: FloatProperty(
        name="Smallest Radius",
        description="Radius of the smallest particles: thinner parts follow the joints. 0 finds it by the number",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        precision=4,
        step=1,
        subtype="DISTANCE",
        update=_show_change,
    )
    volume: FloatProperty(
        name="Keep Volume",
        description="Share of the lost or gained volume that is made good",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=_show_change,
    )
    group: StringProperty(
        name="Solid Group",
        description="Vertex group that limits the particles: 0 follows the joints, 1 the particles",
        update=_show_change,
    )
    fill: EnumProperty(
        name="Fill",
        description="How the mesh is filled",
        items=FILL_ITEMS,
        default="TWO_LEVEL",
        update=_show_change,
    )
    radius: FloatProperty(
        name="Radius",
        description="Radius of the small particles. 0 finds one that gives some 1000",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        precision=4,
        step=1,
        subtype="DISTANCE",
        update=_show_change,
    )
    show: BoolProperty(name="Show Particles", description="Draw the particles as spheres in the viewport")
    color: EnumProperty(name="Color", description="What the spheres are colored by", items=COLOR_ITEMS, default="BONE")
    show_rest: BoolProperty(name="At Rest", description="Draw the particles where they are at rest")
    bound_count: IntProperty(options={"HIDDEN"})

    def choices(self) -> dict[str, Any]:
        """What binds a mesh by a method of particles, by the names that Params has for it."""
        named = {name: getattr(self, name) for name in ("stiffness", "smallest_radius", "fill", "radius")}
        return named | {"count": self.target_count}


class ObjectSettings(bpy.types.PropertyGroup):
    """`object.supple`"""

    method: EnumProperty(
        name="Method",
        description="How the joints' transforms are blended over the skin",
        items=METHOD_ITEMS,
        default="DLBNT",
        update=_show_change,
    )
    order: EnumProperty(
        name="Order",
        description="Which comes first where bones are scaled",
        items=ORDER_ITEMS,
        default="GH",
        update=_show_change,
    )
    evaluate: EnumProperty(
        name="Evaluate",
        description="What computes the deformation",
        items=EVALUATE_ITEMS,
        default="PYTHON" if NODES_PROBLEM else "NODES",
        update=_show_change,
    )
    linear_group: StringProperty(
        name="Linear Group",
        description="Vertex group that mixes in linear blending: 0 follows the method, 1 is linear",
        update=_show_change,
    )
    particles: PointerProperty(type=ParticleSettings)
    patterns: CollectionProperty(type=PatternSettings)
    active_pattern: IntProperty(name="Active Pattern", options={"HIDDEN"})
    pattern_display: EnumProperty(
        name="Show As", description="How patterns are shown", items=DISPLAY_ITEMS, update=_show_pattern
    )
    pattern_level: IntProperty(
        name="Subdivide",
        description="How often the skin is subdivided before patterns displace it, after all other modifiers",
        min=0,
        max=6,
        update=_show_pattern,
    )
    pattern_key: StringProperty(options={"HIDDEN"})
    pattern_count: IntProperty(options={"HIDDEN"})
    pattern_state: StringProperty(options={"HIDDEN"})
    pattern_message: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    evaluate_problem: StringProperty(name="Why Not Nodes", options={"HIDDEN"})
    version: IntProperty(default=SETTINGS_VERSION, options={"HIDDEN"})
    is_bound: BoolProperty(name="Bound", options={"HIDDEN"})
    armature_modifier: StringProperty(name="Armature Modifier", options={"HIDDEN"})
    carrier: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    watcher: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    bound_groups: StringProperty(name="Bound Groups", options={"HIDDEN"})
    bound_space: FloatVectorProperty(name="Bound Space", size=(4, 4), subtype="MATRIX", options={"HIDDEN"})
    is_handed_over: BoolProperty(name="Handed Over", options={"HIDDEN"})
    bake: EnumProperty(name="Bake", items=BAKE_ITEMS, options={"HIDDEN"})
    cache_modifier: StringProperty(name="Cache Modifier", options={"HIDDEN"})
    baked_keys: StringProperty(name="Baked Keys", options={"HIDDEN"})
    live_toggles: BoolVectorProperty(size=2, default=(True, True), options={"HIDDEN"})
    message: StringProperty(name="Message", options={"HIDDEN", "SKIP_SAVE"})
    weights_report: StringProperty(
        name="Weights Report", description="What came of automatic weights, or of the latest check", options={"HIDDEN"}
    )


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """Supple's settings of an object."""
    return obj.supple


_register_classes, _unregister_classes = bpy.utils.register_classes_factory(
    (StrokePoint, PatternSettings, ParticleSettings, ObjectSettings)
)


def register() -> None:
    _register_classes()
    bpy.types.Object.supple = PointerProperty(type=ObjectSettings, name="Supple", description="Skin deformation")
    bpy.types.WindowManager.supple_show_weights = BoolProperty(
        name="Show Weights", description="Color the posed skin by weights, in Object and Pose Mode", update=_redraw
    )
    bpy.types.WindowManager.supple_weight_colors = EnumProperty(
        name="Weight Colors", description="What the skin is colored by", items=WEIGHT_COLOR_ITEMS, update=_redraw
    )


def unregister() -> None:
    del bpy.types.WindowManager.supple_weight_colors
    del bpy.types.WindowManager.supple_show_weights
    del bpy.types.Object.supple
    _unregister_classes()
