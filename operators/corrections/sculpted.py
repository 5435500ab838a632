"""Poses corrected on a posed copy, whose shape becomes a shape key that the pose drives; and existing corrections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ...deformers import SkinningError
from ...settings.character import list_objects, list_ticked
from ...settings.corrections import READER_ITEMS
from ...settings.objects import settings_of
from ...tasks.corrections.edit import edit
from ...tasks.corrections.keep import keep
from ...tasks.corrections.keys import find_correction, remove
from ...tasks.corrections.names import follow_names
from ...tasks.corrections.posed_copy import begin, stop
from ...tasks.corrections.poses import show_bone_pose
from ...tasks.steps import Steps
from ...tasks.subject.character import has_armature_modifier
from ...tasks.subject.chosen_bones import select_bones, split_names
from ...tasks.subject.corrected import (
    find_corrected,
    find_deforming_armature,
    list_bones,
    list_posed_copies,
    list_under_way,
)
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import SlowOperator
from ..selection import chosen_meshes

T = TypeVar("T")

SELECT = "Select a mesh that has an Armature modifier, or its armature"
UNDER_WAY = "A pose is being corrected: press Keep or Discard first"
NOT_UNDER_WAY = "Select a mesh that has an Armature modifier, and press Correct This Pose"
NO_CORRECTIONS = (
    "Select a mesh that has an Armature modifier and corrections, or make a correction with Correct This Pose"
)
MODE_ITEMS = (
    ("SCULPT", "Sculpt Mode", "Shape the pose with brushes"),
    ("EDIT", "Edit Mode", "Shape the pose by moving vertices"),
    ("OBJECT", "Object Mode", "Make the posed copy without changing the mode"),
)


def list_to_correct(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes to correct, the active first: visible selected meshes, or the ticked ones if an armature is active."""
    active = context.active_object
    if active is None or active.type not in ("MESH", "ARMATURE"):
        return []
    meshes = list_ticked(context) if active.type == "ARMATURE" else chosen_meshes(context)
    meshes = [obj for obj in meshes if has_armature_modifier(obj) and obj.visible_get(view_layer=context.view_layer)]
    return sorted(meshes, key=lambda obj: (obj != active, -len(obj.data.vertices)))


def needs_none_under_way(context: bpy.types.Context) -> str:
    return UNDER_WAY if list_under_way(context) else ""


def needs_meshes_to_correct(context: bpy.types.Context) -> str:
    return "" if list_to_correct(context) else SELECT


def needs_under_way(context: bpy.types.Context) -> str:
    return "" if list_under_way(context) else NOT_UNDER_WAY


def needs_corrections(context: bpy.types.Context) -> str:
    obj = find_corrected(context)
    return "" if obj is not None and settings_of(obj).corrections else NO_CORRECTIONS


@contextmanager
def left_mode(context: bpy.types.Context) -> Iterator[None]:
    """Leave the mode of the active mesh, and enter it again on an error or if the steps inside are canceled."""
    active = context.active_object
    mode: Any = active.mode if active is not None and active.type == "MESH" else "OBJECT"
    uid = active.session_uid if active is not None else 0
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
        # Without an undo step of its own, undoing the operator would not return to the strokes of a brush before it.
        bpy.ops.ed.undo_push(message="Set Object Mode")
    try:
        yield
    except (SkinningError, GeneratorExit):
        mode_set, active = cast(Any, bpy.ops.object.mode_set), bpy.context.active_object
        if mode != "OBJECT" and active is not None and active.session_uid == uid and mode_set.poll():
            mode_set(mode=mode)
        raise


def out_of_mode(context: bpy.types.Context, steps: Steps[T]) -> Steps[T]:
    """Take steps within `left_mode`."""
    with left_mode(context):
        return (yield from steps)


def shape(mode: Any) -> None:
    """Enter a mode with the posed copies, which are selected."""
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode=mode)


def activate_armature(context: bpy.types.Context, armature: bpy.types.Object) -> None:
    """Make an armature active, and the only selected object."""
    for obj in list_objects(context.view_layer):
        obj.select_set(obj == armature, view_layer=context.view_layer)
    context.view_layer.objects.active = armature


def suggest_bones(operator: Any, context: bpy.types.Context, text: str) -> list[str]:
    """Suggest deforming bones for the last name of a list."""
    obj = find_corrected(context)
    armature = find_deforming_armature(obj) if obj is not None else None
    if armature is None:
        return []
    before, comma, last = text.rpartition(",")
    start = f"{before}, " if comma else ""
    bones = [bone.name for bone in armature.data.bones if bone.use_deform]
    return [f"{start}{name}" for name in bones if last.strip().casefold() in name.casefold()]


def joints_property(description: str) -> Any:
    """A property for names of bones, separated by commas."""
    return StringProperty(
        name="Joints", description=description, search=suggest_bones, search_options={"SUGGESTION"}, options=SKIP
    )


class SUPPLE_OT_correct_pose(SlowOperator, bpy.types.Operator):
    """Replace the character with a copy in this pose, to sculpt or edit until you keep or discard it"""

    bl_label = "Correct This Pose"
    requires = (needs_none_under_way, needs_meshes_to_correct)
    subject = "the posed copy"

    mode: EnumProperty(name="Mode", description="How to shape the posed copy", items=MODE_ITEMS, options=SKIP)

    def work(self, context: bpy.types.Context) -> None:
        meshes = list_to_correct(context)
        armature = find_deforming_armature(meshes[0])
        if others := [obj.name for obj in meshes if find_deforming_armature(obj) != armature]:
            self.tell(f"Left as they are: {', '.join(others)}", "WARNING")  # one character is corrected at a time
        with left_mode(context):
            _, left_out = begin([obj for obj in meshes if obj.name not in others], context.view_layer)
            self.tell_left_out(left_out)
        shape(self.mode)


class UnderWayOperator(SlowOperator):
    """Mix-in: ends the current correction."""

    requires = (needs_under_way,)
    subject = "the correction"

    def work(self, context: bpy.types.Context) -> str | None:
        meshes = list_under_way(context)
        with left_mode(context):
            done = self.end_correction(context, meshes)
        armature = find_deforming_armature(meshes[0])
        if armature is not None and armature.mode == "POSE":  # the user goes on posing
            activate_armature(context, armature)
        return done

    def end_correction(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> str | None:
        """End the correction of meshes; returns a message, or None."""
        raise AssertionError("each operator has its own")


class SUPPLE_OT_correction_keep(UnderWayOperator, bpy.types.Operator):
    """Store the sculpted shape as a shape key driven by this pose of the joint"""

    bl_label = "Keep"

    name: StringProperty(name="Name", description="Name of the shape key; joint and angle if empty", options=SKIP)
    mirror: BoolProperty(name="Mirror", description="Also correct the other side of the body")
    reader: EnumProperty(name="Driven By", description="What drives the correction", items=READER_ITEMS, options=SKIP)
    joints: joints_property(
        "Bones whose rotation drives the correction, separated by commas; the bones at the sculpted spot if empty"
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.watch(context)
        return self.ask(context, title="Keep", width=300)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.start_columns()
        layout.prop(self, "mirror")
        if any(settings_of(copy).corrected_key for copy in list_posed_copies(context)):
            return  # an edited correction keeps its name and its driver
        layout.prop(self, "name", placeholder=translate("Joint and angle"))
        layout.prop(self, "joints", placeholder=translate("At the sculpted spot"))
        layout.prop(self, "reader")

    def end_correction(self, context: bpy.types.Context, _meshes: list[bpy.types.Object]) -> str:
        copies = list_posed_copies(context)
        if not copies:
            raise SkinningError("The posed copy was deleted: press Discard to show the character again")
        joints = split_names(self.joints)
        return keep(copies, context.view_layer, self.name, self.mirror, joints, self.reader).describe()


class SUPPLE_OT_correction_discard(UnderWayOperator, bpy.types.Operator):
    """Remove the posed copy, and show the character again unchanged"""

    bl_label = "Discard"

    def end_correction(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> None:
        stop(meshes, context.view_layer)


def suggest_corrections(_operator: Any, context: bpy.types.Context, text: str) -> list[str]:
    """Suggest names of corrections of the active mesh."""
    obj = find_corrected(context)
    names = [] if obj is None else [correction.name for correction in settings_of(obj).corrections]
    return [name for name in names if text.casefold() in name.casefold()]


class CorrectionOperator(SuppleOperator):
    """Mix-in: acts on one correction: the one named by `key`, or the active one in the list."""

    requires = (needs_corrections, needs_none_under_way)

    key: StringProperty(
        name="Correction", description="Name of the correction's shape key; the active correction if empty",
        search=suggest_corrections, options=SKIP,
    )  # fmt: skip

    def run(self, context: bpy.types.Context) -> None:
        obj = cast(bpy.types.Object, find_corrected(context))
        follow_names(obj)
        with left_mode(context):
            self.act(context, obj, find_correction(obj, self.key) if self.key else find_active_correction(obj))

    def act(self, context: bpy.types.Context, obj: bpy.types.Object, correction: Any) -> None:
        """Act on a correction of a mesh."""
        raise AssertionError("each operator has its own")


def find_active_correction(obj: bpy.types.Object) -> Any:
    """The active entry in the list of corrections, which is not empty."""
    settings = settings_of(obj)
    return settings.corrections[min(settings.active_correction, len(settings.corrections) - 1)]


class SUPPLE_OT_correction_edit(CorrectionOperator, bpy.types.Operator):
    """Go to the pose of the correction, and edit its shape again"""

    bl_label = "Edit Again"

    mode: EnumProperty(name="Mode", description="How to shape the posed copy", items=MODE_ITEMS, options=SKIP)

    def act(self, context: bpy.types.Context, obj: bpy.types.Object, correction: Any) -> None:
        _, left_out = edit(obj, correction.name, context.view_layer)
        self.tell_left_out(left_out)
        shape(self.mode)


class SUPPLE_OT_correction_pose(CorrectionOperator, bpy.types.Operator):
    """Repeat the pose in which the correction was made. Undo restores the current pose"""

    bl_label = "Go to Pose"

    def act(self, _context: bpy.types.Context, obj: bpy.types.Object, correction: Any) -> None:
        gone = show_bone_pose(find_armature_of(obj), correction.pose)
        if gone:
            self.tell(f"Bones of the pose were deleted: {', '.join(gone)}", "WARNING")


class SUPPLE_OT_correction_select(CorrectionOperator, bpy.types.Operator):
    """Select the bones that drive the correction, in Pose Mode"""

    bl_label = "Select Bone"

    def act(self, context: bpy.types.Context, obj: bpy.types.Object, correction: Any) -> None:
        armature = find_armature_of(obj)
        select_bones(armature, list_bones(correction))
        armature.hide_set(False, view_layer=context.view_layer)
        activate_armature(context, armature)
        bpy.ops.object.mode_set(mode="POSE")


class SUPPLE_OT_correction_remove(CorrectionOperator, bpy.types.Operator):
    """Remove the correction with its shape key and driver. Other corrections of its joint stay"""

    bl_label = "Delete Correction"

    def act(self, _context: bpy.types.Context, obj: bpy.types.Object, correction: Any) -> None:
        remove(obj, find_deforming_armature(obj), correction.name)


def find_armature_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The armature that deforms a mesh; raises SkinningError if there is none."""
    armature = find_deforming_armature(obj)
    if armature is None:
        raise SkinningError(f"'{obj.name}' has no Armature modifier: parent it to an armature first")
    return armature
