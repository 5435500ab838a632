"""Skin patterns: add, remove, mirror, and the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ...bridge.images import thumbnails
from ...deformers import SkinningError
from ...settings.character import find_pattern_mesh
from ...settings.objects import settings_of
from ...settings.patterns import AXIS_ITEMS, DRIVER_ITEMS, KIND_ITEMS
from ...settings.properties import FloatProperty, FloatVectorProperty
from ...tasks.patterns import assets, edit, library
from ...tasks.patterns.library import OWN_IMAGE
from ...tasks.patterns.read import find_driving_armature, has_angle, has_compression
from ...tasks.patterns.spots import suggest_bone
from ...tasks.patterns.write import describe, describe_shared
from ...tasks.subject.chosen_bones import find_active_armature
from ...translations import translate
from ..base import RELATIVE_PATH, SuppleOperator
from ..computing import ComputingOperator
from ..selection import chosen_meshes

SKIP: set[Any] = {"SKIP_SAVE"}  # a button starts from the defaults each time

REGION_ITEMS = (
    (edit.WHOLE, "Whole Body", "Belly, nape, collar bones, ribs, shoulder blades, biceps, wrists, thighs and calves"),
    ("TORSO", "Torso", "Belly, nape, collar bones, ribs and shoulder blades"),
    ("ARMS", "Arms", "Biceps and wrists"),
    ("LEGS", "Legs", "Thighs and calves"),
)

AUTO_AXIS = ("AUTO", "Auto", "Axis about which this joint bends; in an unknown body, the axis in the library")


def needs_mesh(context: bpy.types.Context) -> str:
    obj = find_pattern_mesh(context)
    if obj is None:
        return "Select a mesh that has an Armature modifier"
    return "Leave Edit Mode first" if obj.data.is_editmode else ""


def needs_pattern(context: bpy.types.Context) -> str:
    return "" if settings_of(cast(bpy.types.Object, find_pattern_mesh(context))).patterns else "Add a pattern first"


def needs_armature(context: bpy.types.Context) -> str:
    is_there = find_active_armature(context.active_object) is not None
    return "" if is_there else "Select a mesh that has an Armature modifier, or an armature"


def needs_meshes_with_patterns(context: bpy.types.Context) -> str:
    is_there = any(settings_of(obj).patterns for obj in chosen_meshes(context))
    return "" if is_there else "Select a mesh that has patterns"


class PatternOperator(SuppleOperator):
    """Mix-in for operators on the active mesh, or on a mesh of the active armature."""

    requires = (needs_mesh, needs_pattern)

    def run(self, context: bpy.types.Context) -> Any:
        obj = cast(bpy.types.Object, find_pattern_mesh(context))
        before = set(describe(obj))
        done = self.change(context, obj)
        notes = " ".join(note for note in describe(obj) if note not in before)
        self.tell(f"{done}. {notes}" if notes else done, "WARNING" if notes else "INFO")

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        """Change the patterns. Returns a message about it."""
        raise AssertionError("each operator has its own")


class OnePatternOperator(PatternOperator):
    """Mix-in for operators on one pattern, which is the active pattern by default."""

    index: IntProperty(
        name="Index", description="Index of the pattern; the active pattern if not set", min=0, options=SKIP
    )

    def index_of(self, obj: bpy.types.Object) -> int:
        """Return the index that was given, or that of the active pattern."""
        return self.index if self.properties.is_property_set("index") else settings_of(obj).active_pattern


# everything that `list_presets` has returned: Blender keeps pointers to the texts
_items: list[list[Any]] = [[]]


def _find_thumbnail(entry: library.LibraryEntry) -> int:
    try:
        return thumbnails.find(entry.key, entry.draw)
    except SkinningError:  # its file cannot be read, which Add Pattern says
        return thumbnails.NONE


def list_presets(_self: Any, _context: bpy.types.Context | None) -> list[Any]:
    """List items of the library, with their thumbnails, and an item for an image file of the user."""
    entries = library.all_entries()
    items: list[Any] = [
        (entry.key, entry.label, translate(entry.description), _find_thumbnail(entry), number)
        for number, entry in enumerate(entries.values())
    ]
    items.append((OWN_IMAGE, "Own Image", "Choose a gray image file", thumbnails.NONE, len(entries)))
    if items != _items[-1]:
        _items.append(items)
    return _items[-1]


class SUPPLE_OT_pattern_add(PatternOperator, bpy.types.Operator):
    """Add a pattern to the skin, driven by a bone, by the skin's compression, or by a limb that presses into it"""

    bl_label = "Add Pattern"
    requires = (needs_mesh,)

    preset: EnumProperty(name="Pattern", description="Pattern of the library", items=list_presets)
    driver: EnumProperty(name="Driven By", description="What drives the pattern", items=DRIVER_ITEMS, options=SKIP)
    bone: StringProperty(
        name="Bone",
        description="Bone whose rotation drives the pattern, or whose limb presses into the skin",
        options=SKIP,
    )
    axis: EnumProperty(
        name="Axis",
        description="Rotation axis of the bone that drives the pattern",
        items=(AUTO_AXIS, *AXIS_ITEMS[:3]),
        options=SKIP,
    )
    uv: FloatVectorProperty(name="UV", description="Center of the pattern in the UV map", size=2, options=SKIP)
    location: FloatVectorProperty(
        name="Location",
        description="Center on the mesh at rest; the skin nearest to the bone if neither Location nor UV is set",
        subtype="TRANSLATION",
        options=SKIP,
    )
    angle: FloatProperty(
        name="Rotation", description="Counter-clockwise rotation of the pattern", subtype="ANGLE", options=SKIP
    )
    size: FloatVectorProperty(
        name="Size",
        description="Width and height, in UV units if UV is set, else in object units. Fitted to the body if not set",
        size=2,
        default=(0.1, 0.1),
        min=0.0,
        options=SKIP,
    )
    filepath: StringProperty(
        name="Image", description="Gray image file whose values are heights", subtype="FILE_PATH", options=RELATIVE_PATH
    )
    kind: EnumProperty(name="Kind", description="Effect of the image on the skin", items=KIND_ITEMS)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("preset"):
            self.preset = context.window_manager.supple_preset
        if not self.bone:
            self.bone = guess_bone(context, self.preset)
        return cast(set[str], context.window_manager.invoke_props_dialog(self, width=320))

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        obj = cast(bpy.types.Object, find_pattern_mesh(context))
        layout.prop(self, "preset")
        if self.preset == OWN_IMAGE:
            layout.prop(self, "filepath")
            layout.prop(self, "kind")
        layout.prop(self, "driver")
        try:
            layout.prop_search(self, "bone", find_driving_armature(obj).data, "bones")
        except SkinningError as error:
            layout.label(text=translate(str(error)), icon="ERROR")
        layout.prop(self, "axis")

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        given = {
            name: getattr(self, name)
            for name in ("driver", "axis", "uv", "location", "angle", "size")
            if self.properties.is_property_set(name) and getattr(self, name) != AUTO_AXIS[0]
        }
        bone = self.bone or guess_bone(context, self.preset)
        if self.preset != OWN_IMAGE:
            pattern = edit.add_from_library(obj, library.find_entry(self.preset), bone, **given)
        elif self.filepath:
            pattern = edit.add_from_file(obj, Path(bpy.path.abspath(self.filepath)), self.kind, bone, **given)
        else:
            raise SkinningError("There is no image to add: choose an image file, or a pattern of the library")
        shared = describe_shared(obj)
        done = f"Added {pattern.name}, driven by {pattern.bone}"
        if has_compression(pattern) and not has_angle(pattern):
            done = f"Added {pattern.name}, driven by the posed skin"
        return f"{done}. {shared}" if shared else done


def guess_bone(context: bpy.types.Context, preset: str) -> str:
    """Guess the bone that drives a pattern near the active bone; if it is unknown, the active bone, or ""."""
    obj = cast(bpy.types.Object, find_pattern_mesh(context))
    bone = context.active_pose_bone
    try:
        active = bone or find_driving_armature(obj).data.bones.active
        return suggest_bone(obj, preset, active.name if active is not None else "")
    except SkinningError:
        return bone.name if bone is not None else ""


class SUPPLE_OT_pattern_set_add(ComputingOperator, bpy.types.Operator):
    """Add a full set of patterns for the body, each driven by its joint: on the skin, or on the selected meshes"""

    bl_label = "Add Set of Patterns"
    requires = (needs_armature,)

    region: EnumProperty(name="Region", description="Part of the body", items=REGION_ITEMS)
    folds: EnumProperty(name="Folds Driven By", description="What drives folds", items=DRIVER_ITEMS[:-1])

    subject = "the patterns"
    canceled = "Canceled: no pattern was added"

    def run(self, context: bpy.types.Context) -> Any:
        active = cast(bpy.types.Object, context.active_object)
        armature = cast(bpy.types.Object, find_active_armature(active))
        meshes = edit.find_set_meshes(active, context.selected_objects, armature, context.view_layer)
        return self.take(context, edit.add_set(armature, meshes, self.region, self.folds))

    def finish(self, _context: bpy.types.Context, report: edit.SetReport) -> None:
        self.tell(report.describe(), "WARNING" if report.skipped else "INFO")


class SUPPLE_OT_pattern_remove(OnePatternOperator, bpy.types.Operator):
    """Remove the pattern from the skin"""

    bl_label = "Remove Pattern"

    def change(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        index = self.index_of(obj)
        name = edit.check_index(obj, index).name
        edit.remove_pattern(obj, index)
        return f"Removed {name}"


class SUPPLE_OT_pattern_remove_all(SuppleOperator, bpy.types.Operator):
    """Remove all patterns from the selected meshes, including their nodes, drivers and material bumps"""

    bl_label = "Remove All Patterns"
    requires = (needs_meshes_with_patterns,)

    def run(self, context: bpy.types.Context) -> str:
        count, left_out = edit.remove_all(chosen_meshes(context))
        self.tell_left_out(left_out)
        return f"Removed {count} patterns"


class SUPPLE_OT_pattern_mirror(OnePatternOperator, bpy.types.Operator):
    """Add the same pattern on the other side of the body, driven by the opposite bone"""

    bl_label = "Mirror Pattern"

    def change(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        pattern = edit.mirror_pattern(obj, self.index_of(obj))
        return f"Mirrored to {pattern.name}, driven by {pattern.bone}"


class SUPPLE_OT_pattern_save(PatternOperator, bpy.types.Operator):
    """Save the active pattern's height map and settings to the library, under the pattern's name"""

    bl_label = "Save to Library"

    def change(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        pattern = edit.check_index(obj, settings_of(obj).active_pattern)
        entry = library.describe_pattern(obj, pattern)
        path = library.save_entry(entry, pattern.image)
        thumbnails.forget(f"{library.SAVED}{path.stem}")
        assets.update_library()
        return f"Saved {pattern.name} to {path}"


class SUPPLE_OT_pattern_forget(SuppleOperator, bpy.types.Operator):
    """Delete a saved pattern from the library; objects with the pattern keep it"""

    bl_label = "Remove from Library"
    bl_options = set()

    preset: StringProperty(name="Pattern", description="Key of the pattern in the library, such as USER_Frown")

    def run(self, _context: bpy.types.Context) -> None:
        library.remove_saved(self.preset)
        assets.update_library()


class SUPPLE_OT_asset_library_add(SuppleOperator, bpy.types.Operator):
    """Have the Asset Browser show all patterns as bumps for any material, and node groups that take matrices apart"""

    bl_label = "Add Asset Library"
    bl_options = set()

    def run(self, _context: bpy.types.Context) -> str:
        return f"The asset library 'Supple' has {assets.add_library()} node groups"


class SUPPLE_OT_asset_library_remove(SuppleOperator, bpy.types.Operator):
    """Take the asset library out of the Asset Browser; what files use of it stays with them"""

    bl_label = "Remove Asset Library"
    bl_options = set()

    def run(self, _context: bpy.types.Context) -> None:
        assets.remove_library()


def register() -> None:
    bpy.types.WindowManager.supple_preset = EnumProperty(
        name="Library", description="Pattern to add", items=list_presets
    )


def unregister() -> None:
    del bpy.types.WindowManager.supple_preset
    thumbnails.forget_all()
