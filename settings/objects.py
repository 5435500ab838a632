"""Settings of an object."""

from __future__ import annotations

import bpy

from ..deformers import DEFAULT_METHOD, METHODS, Option
from ..deformers.method import BLENDER, PYTHON, STRETCH
from .choices import METHOD_ITEMS, options_of, properties_of
from .corrections import CorrectionSettings
from .dragging import SkinPin
from .events import show_change, show_pattern
from .particles import ParticleSettings
from .patterns import PatternSettings
from .properties import (
    BoolProperty,
    BoolVectorProperty,
    CollectionProperty,
    EnumProperty,
    FloatVectorProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
    distance,
)

SETTINGS_VERSION = 8

# Methods that fill the inside of a skin with particles
PARTICLE_METHODS = tuple(method.key for method in METHODS.values() if method.fills_solid)

DISPLAY_ITEMS = (
    ("KIND", "Automatic", "Folds and bones as bumps in the materials, bulges as displacement"),
    ("BUMP", "Bump", "Add all patterns as bumps to the materials: visible in Material Preview and in renders"),
    ("DISPLACEMENT", "Displacement", "Displace the skin with all patterns: needs a fine mesh, or Subdivide"),
)
WEIGHT_COLOR_ITEMS = (
    ("CHOSEN", "Chosen Bones", "Weight of the selected bones, or of the active vertex group, from blue to red"),
    ("BONES", "All Bones", "A color for each bone, mixed by the weights"),
)
BAKE_ITEMS = (
    ("NONE", "Live", "The skin is deformed by Supple"),
    ("PC2", "Point Cache", "The skin is deformed by a baked point cache"),
    ("SHAPE_KEYS", "Shape Keys", "The skin is deformed by baked shape keys"),
)

EVALUATE_ITEMS = (
    (BLENDER, "Blender", "Blender's own modifiers deform the skin", "NONE", 0),
    (PYTHON, "Python", "Supple deforms the skin", "NONE", 1),
    (STRETCH, "Stretch", "Blender's modifiers deform the skin by two hidden armatures", "NONE", 2),
)

TWIST_ITEMS = (
    ("OFF", "Off", "Limbs twist at their joints", "NONE", 0),
    ("AUTO", "Auto", "Limbs, and other bones that actions twist far, take up twists along their length", "NONE", 1),
)

SKIN_OPTIONS = (
    Option("method", "Method", "How the skin follows the bones", items=METHOD_ITEMS, default=DEFAULT_METHOD),
    Option(
        "twist", "Twist",
        "Whether forearms, shins and other limbs take up twists along their bones, by B-Bone segments",
        items=TWIST_ITEMS, default="AUTO",
    ),
    *options_of(method for method in METHODS.values() if not method.fills_solid),
)  # fmt: skip
# Several meshes can get these options, and those of the skin, at once.
PATTERN_OPTIONS = (
    Option(
        "pattern_display", "Show As", "Show patterns by moving the skin, or as bumps in its materials",
        items=DISPLAY_ITEMS, default="KIND",
    ),
    Option(
        "pattern_level", "Subdivide", default=0, highest=6,
        tooltip="Number of subdivisions of the skin, after all other modifiers, before patterns displace it",
    ),
)  # fmt: skip


LIMB_BONES = (
    "Bones that keep out of each other, separated by commas, and groups of such bones by semicolons; all limbs if empty"
)


class ObjectSettings(bpy.types.PropertyGroup):
    """`object.supple`"""

    linear_group: StringProperty(
        name="Parts as Blender",
        description="Vertex group of parts that deform as with Blender's own Armature modifier, such as a skirt: 0 "
        "follows the method, 1 is linear blending",
        update=show_change,
    )
    is_ticked: BoolProperty(
        name="Ticked", description="Include this mesh in Bind, Bake and shared settings", default=True
    )
    particles: PointerProperty(type=ParticleSettings)
    patterns: CollectionProperty(type=PatternSettings)
    active_pattern: IntProperty(name="Active Pattern", options={"HIDDEN"})
    pattern_full: BoolProperty(
        name="Show in Full",
        description="Show each pattern in full in any pose, for inspection. Also affects renders",
        update=show_pattern,
    )
    pattern_key: StringProperty(options={"HIDDEN"})
    pattern_count: IntProperty(options={"HIDDEN"})
    pattern_state: StringProperty(options={"HIDDEN"})
    pattern_message: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    corrections: CollectionProperty(type=CorrectionSettings)
    active_correction: IntProperty(name="Active Correction", options={"HIDDEN"})
    pins: CollectionProperty(type=SkinPin)
    is_corrected: BoolProperty(name="Being Corrected", options={"HIDDEN"})
    posed_copy: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    corrected: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    corrected_key: StringProperty(options={"HIDDEN"})
    corrected_pose: StringProperty(options={"HIDDEN"})
    evaluate: EnumProperty(name="Deformed By", items=EVALUATE_ITEMS, options={"HIDDEN"})
    evaluate_problem: StringProperty(name="Why Not Blender", options={"HIDDEN"})
    is_problem_closed: BoolProperty(options={"HIDDEN"})
    version: IntProperty(default=SETTINGS_VERSION, options={"HIDDEN"})
    is_bound: BoolProperty(name="Bound", options={"HIDDEN"})
    armature_modifier: StringProperty(name="Armature Modifier", options={"HIDDEN"})
    carrier: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    watcher: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    bound_groups: StringProperty(name="Bound Groups", options={"HIDDEN"})
    bound_space: FloatVectorProperty(name="Bound Space", size=(4, 4), subtype="MATRIX", options={"HIDDEN"})
    is_handed_over: BoolProperty(name="Handed Over", options={"HIDDEN"})
    is_muted: BoolProperty(name="As Blender", options={"HIDDEN"})
    had_preserve_volume: BoolProperty(name="Had Preserve Volume", options={"HIDDEN"})
    bake: EnumProperty(name="Bake", items=BAKE_ITEMS, options={"HIDDEN"})
    cache_modifier: StringProperty(name="Cache Modifier", options={"HIDDEN"})
    baked_keys: StringProperty(name="Baked Keys", options={"HIDDEN"})
    live_toggles: BoolVectorProperty(size=2, default=(True, True), options={"HIDDEN"})
    own_modifiers: IntVectorProperty(size=2, options={"HIDDEN"})
    message: StringProperty(name="Message", options={"HIDDEN", "SKIP_SAVE"})
    remedy: StringProperty(name="Remedy", options={"HIDDEN", "SKIP_SAVE"})
    dismissed: StringProperty(options={"HIDDEN"})
    fixes: IntProperty(options={"HIDDEN"})
    is_handle: BoolProperty(name="Handle", options={"HIDDEN"})
    layer_order: IntProperty(
        name="Order",
        description="Place among the layers, 1 for the outermost; 0 to find it from the meshes at rest",
        min=0,
    )
    layer_gap: distance(
        0.004,
        "Gap",
        "Distance that is kept to other layers, on a character 1.8 m tall; where it is less at rest, that",
        soft_max=0.02,
    )
    layer_give: distance(
        0.012,
        "Give",
        "The farthest that this mesh moves back beneath tight clothes, on a character 1.8 m tall",
        soft_max=0.05,
    )
    layer_limbs: BoolProperty(
        name="Limbs", description="Keep limbs out of each other: each gives way by half, but for hands, which do not"
    )
    limb_bones: StringProperty(name="Only Bones", description=LIMB_BONES)
    offers_layers: BoolProperty(options={"HIDDEN"})
    is_parented_by_supple: BoolProperty(options={"HIDDEN"})
    weights_report: StringProperty(
        name="Weights Report", description="Results of automatic weights, or of the last check", options={"HIDDEN"}
    )


PROPERTIES = properties_of(SKIN_OPTIONS) | properties_of(PATTERN_OPTIONS, lambda _: {"update": show_pattern})
ObjectSettings.__annotations__ |= {name: f"PROPERTIES[{name!r}]" for name in PROPERTIES}


def needs_supple(settings: ObjectSettings) -> bool:
    """Whether a bound object is deformed by Supple, not by Blender's own modifiers."""
    return settings.evaluate == PYTHON


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """Supple's settings of an object."""
    return obj.supple
