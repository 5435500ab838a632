"""Settings and results that Supple stores: on objects, bones and actions, in scenes, and in the window.

`settings_of(obj)` of `objects` reads `object.supple`. `character` has the same settings for all ticked meshes of an
armature. `events` tells listeners about changes. `PLACES` lists all data-blocks that have settings of Supple.

Property groups have no methods: Blender 4.2 keeps an unregistered class, and a method keeps its module alive with it;
Blender as a module then crashes when Python ends.
"""

from functools import partial
from typing import Any

import bpy
from bpy import props, types

from . import (
    bones,
    character,
    checks,
    corrections,
    dragging,
    engine_copy,
    motion,
    objects,
    particles,
    patterns,
    side_by_side,
    weights,
)
from .events import draw_nothing, redraw, unsaved
from .properties import PointerProperty

# A class comes after the classes that its properties hold.
CLASSES = (
    bones.SwingSettings,
    bones.MadeBone,
    bones.ArmatureSettings,
    bones.BoneSettings,
    corrections.CorrectionSettings,
    dragging.SkinPin,
    dragging.DragSettings,
    patterns.StrokePoint,
    patterns.PatternSettings,
    particles.ParticleSettings,
    objects.ObjectSettings,
    character.CharacterSettings,
    weights.WeightSettings,
    checks.FindingSettings,
    checks.CheckSettings,
    engine_copy.EngineCopySettings,
    motion.TransitionSettings,
    motion.MotionSettings,
)


def group(kind: type, label: str, tooltip: str, property_kind: Any = props.PointerProperty) -> Any:
    """A group of settings as a property of a data-block."""
    return property_kind(type=kind, name=label, description=tooltip)


# Overridable: the settings of a linked character can be changed in a library override.
own_group = partial(group, property_kind=PointerProperty)

PLACES: dict[Any, dict[str, Any]] = {
    types.Object: {
        "supple": own_group(objects.ObjectSettings, "Supple", "Skin deformation"),
        "supple_engine_copy": group(
            engine_copy.EngineCopySettings, "Engine Copy", "The copy of an armature's character for game engines"
        ),
    },
    types.Bone: {"supple": own_group(bones.BoneSettings, "Supple", "Skin deformation")},
    types.Armature: {"supple": own_group(bones.ArmatureSettings, "Supple", "Skin deformation")},
    types.Action: {
        "supple_is_copied": props.BoolProperty(
            name="Copied", description="Include this action in engine copies", default=True
        )
    },
    types.Scene: {
        "supple_drag": group(dragging.DragSettings, "Supple Drag", "Settings of dragging the skin"),
        "supple_character": group(
            character.CharacterSettings, "Character", "The character that the active object belongs to"
        ),
        "supple_weights": group(weights.WeightSettings, "Supple Weights", "Settings of automatic weights"),
        "supple_motion": group(motion.MotionSettings, "Supple Motion", "How motions are compared, looped and joined"),
    },
    types.WindowManager: {
        "supple_show_weights": props.BoolProperty(
            name="Show Weights",
            description="Color the posed skin by weight in Object Mode and Pose Mode",
            update=redraw,
            **unsaved("weights", off=False),
        ),
        "supple_weight_colors": props.EnumProperty(
            name="Weight Colors",
            description="What the colors of the skin show",
            items=objects.WEIGHT_COLOR_ITEMS,
            update=redraw,
        ),
        "supple_pattern_part": props.EnumProperty(
            name="Settings of the Pattern",
            description="Which settings of the active pattern are shown",
            items=patterns.PART_ITEMS,
        ),
        "supple_ghosts": props.EnumProperty(
            name="Ghosts",
            description="Methods to show next to the character",
            items=side_by_side.GHOST_ITEMS,
            options={"ENUM_FLAG"},
            default=side_by_side.FIRST_GHOSTS,
            update=redraw,
        ),
        "supple_check": group(
            checks.CheckSettings, "Supple Check", "Display of check results, and of heat on the skin"
        ),
    },
}

_register_classes, _unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    _register_classes()
    for owner, properties in PLACES.items():
        for name, definition in properties.items():
            setattr(owner, name, definition)


def unregister() -> None:
    draw_nothing()
    side_by_side.hide_ghosts()
    for owner, properties in PLACES.items():
        for name in properties:
            delattr(owner, name)
    _unregister_classes()
