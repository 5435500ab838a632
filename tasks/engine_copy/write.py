"""A copy of a character that exporters cannot get wrong: plain meshes, one armature, baked actions.

The original is not touched. A copy that was made for the same target before is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.animation.curves import Curve, add_track, new_action, play_action
from ...bridge.animation.drivers import drive_key, drive_key_by_angle
from ...bridge.held import find_all_again
from ...bridge.meshes.copies import add_key, copy_mesh, skin_by, write_groups
from ...bridge.meshes.data import mesh_of
from ...bridge.names import free_name, name_within
from ...bridge.owned import Tag, mark, unmark
from ...bridge.restoring import undone_on_failure
from ...bridge.rigs.copies import follow_rotation, list_bone_curves, new_armature, read_rests
from ...deformers.engine_copy.bone_motion import BoneMotion, find_bone_motion, without_scale
from ...deformers.engine_copy.keys import read_angle
from ...deformers.rig.joint_angles import evaluate_hat
from ..installed.feature import Subject
from ..steps import Steps
from .copies import Copy, find_copy, read_copy, read_parts, remove_parts
from .export import export_measured
from .plan import CopyPlan
from .read import UNMOVED
from .report import Report, store_report
from .show import is_hidden, set_hidden, show_copy
from .source import Part
from .targets import SUFFIXES, TARGETS

# Difference of a key's values within which a driver stands for what was fitted
SAME_VALUE = 1e-3


def write_copy(_subject: Subject, plan: CopyPlan) -> Steps[Report]:
    """Make a copy, or make it anew, write its file, and measure it; on any error, or if closed, all is as it was."""
    armature, target = plan.source.character.armature, plan.source.options.target
    with _former_kept(armature, target), undone_on_failure() as undo:
        made: list[int] = []
        undo.callback(remove_parts, made)
        copy = make_copy(plan, made)
        set_hidden(copy.collection, bpy.context.view_layer, True)
        report = plan.report
        if target in SUFFIXES:
            report = yield from export_measured(plan, copy)
        store_report(armature, report)
    return report


@contextmanager
def _former_kept(armature: bpy.types.Object, target: str) -> Iterator[None]:
    """Set a former copy aside: it is removed at the end, and restored on any error."""
    former = find_copy(armature, target)
    if former is None:
        yield
        return
    layer = bpy.context.view_layer
    is_active, is_shown = layer.objects.active in list(former.objects), not is_hidden(former, layer)
    parts = read_parts(former)
    unmark(former, Tag.COPY_FOR)
    for part in find_all_again(parts).values():
        part.name = f".{part.name}"
    try:
        yield
    except BaseException:  # somebody may have deleted some of it meanwhile
        for uid, part in find_all_again(parts).items():
            part.name = parts[uid]
            if isinstance(part, bpy.types.Collection):
                mark(part, Tag.COPY_FOR, target)
        raise
    remove_parts(parts)
    layer.update()
    if is_shown:
        show_copy(armature, target, layer)
    if is_active:
        layer.objects.active = read_copy(armature, target)[0].armature


def make_copy(plan: CopyPlan, made: list[int]) -> Copy:
    """Make a copy; `made` gets the `session_uid` of each of its parts at once."""
    character, target = plan.source.character, plan.source.options.target
    rests, bones, label = plan.rests, plan.bones, TARGETS[target]
    armature = new_armature(character.armature.name, plan.names, rests, plan.lengths, bones.parents)
    _note(made, armature)
    armature.matrix_world = Matrix(character.world.tolist())
    rounded = read_rests(armature, plan.names)
    if np.abs(rounded - rests).max() > 1e-6 * max(1.0, float(np.abs(rests).max())):  # a roll that Blender has rounded
        bones = find_bone_motion(rounded, bones.parents, plan.moves @ rounded)
    meshes: list[bpy.types.Object] = []
    for part in character.parts:
        meshes.append(_copy_part(plan, part, made))
        skin_by(meshes[-1], armature)
    for number, helper in enumerate(plan.fit.helpers, len(plan.names) - len(plan.fit.helpers)):
        if helper.turn_share is not None:  # it follows a rule instead of baked curves
            follow_rotation(armature, plan.names[number], plan.names[helper.joint], helper.turn_share)
            bones.rotations[:, number] = (1.0, 0.0, 0.0, 0.0)
    _bake(plan, bones, armature, meshes, made)
    collection = bpy.data.collections.new(f"{character.armature.name} for {label}")
    made.append(collection.session_uid)
    bpy.context.scene.collection.children.link(collection)
    mark(collection, Tag.COPY_OF, character.armature)
    mark(collection, Tag.COPY_FOR, target)
    originals = [character.armature, *(part.obj for part in character.parts)]
    for obj, source in zip([armature, *meshes], originals, strict=True):
        collection.objects.link(obj)
        obj.name = obj.data.name = f"{source.name} for {label}"
        # No pointer: files for exporters would take the original along
        mark(obj, Tag.COPY_OF, source.name)
    return Copy(collection, armature, meshes, [obj.name for obj in originals])


def _note(made: list[int], obj: bpy.types.Object) -> None:
    made += obj.session_uid, cast(Any, obj.data).session_uid


def _copy_part(plan: CopyPlan, part: Part, made: list[int]) -> bpy.types.Object:
    scale, rest = plan.source.character.scale, part.rest
    space = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    space = np.diag([scale, scale, scale, 1.0]) @ space
    copy = copy_mesh(part.obj, part.obj.name, scale * rest.armature_points, space)
    _note(made, copy)
    write_groups(copy, plan.names, plan.fit.bones[part.own], plan.fit.values[part.own])
    for name, key in zip(plan.correctives, plan.fit.keys, strict=True):
        if key.offsets[part.own].any():
            add_key(copy, name, scale * key.offsets[part.own])
    return copy


def _bake(plan: CopyPlan, bones: BoneMotion, armature: Any, meshes: list[bpy.types.Object], made: list[int]) -> None:
    """Give the armature object the actions of a copy, each in a muted track of its name; it plays the first.

    Shape keys are animated by custom properties of the object, so that one action holds the whole motion.
    """
    keyed = _drive_correctives(plan, bones, armature, meshes)
    driven = _drive_face_keys(plan, armature, meshes)
    moves = any(clip.worlds is not None for clip in plan.source.clips)
    actions = []
    for clip in plan.source.clips:
        frames, rows = np.array(clip.frames), np.arange(clip.first, clip.first + len(clip.frames))
        curves = list_bone_curves(plan.names, bones, frames, rows)
        curves += [_property_curve(name, frames, plan.fit.key_values[rows, index]) for name, index in keyed.items()]
        for name, (mesh, key) in driven.items():
            curves.append(_property_curve(name, frames, clip.keys[mesh][:, key]))
        if moves:
            curves += _list_object_curves(armature, frames, clip.worlds)
        actions.append(new_action(f"{clip.action} for {TARGETS[plan.source.options.target]}", curves))
        made.append(actions[-1].session_uid)
        mark(actions[-1], Tag.COPY_OF, clip.action)
        add_track(armature, clip.action, actions[-1], clip.frames.start)
    if actions:
        play_action(armature, actions[0])


def _property_curve(name: str, frames: np.ndarray, values: np.ndarray) -> Curve:
    return Curve(f'["{bpy.utils.escape_identifier(name)}"]', 0, frames, values, "Shape Keys")


def _drive_correctives(
    plan: CopyPlan, bones: BoneMotion, armature: Any, meshes: list[bpy.types.Object]
) -> dict[str, int]:
    """Have bones drive the corrective keys, so that they follow any pose; those that none can are returned.

    They follow custom properties of their names, which the actions have to animate.
    """
    keyed, names, fit = {}, plan.names, plan.fit
    rests = read_rests(armature, [names[key.joint] for key in fit.keys])
    for index, (name, key, rest) in enumerate(zip(plan.correctives, fit.keys, rests, strict=True)):
        axis = rest[:3, :3].T @ key.axis
        turned = bones.rotations[:, key.joint]
        turned = np.where(turned[:, :1] < 0.0, -turned, turned)
        values = evaluate_hat(read_angle(turned, axis), key.angles)
        is_found = np.abs(values - fit.key_values[:, index]).max(initial=0.0) <= SAME_VALUE
        if not is_found:
            keyed[name] = index
            armature[name] = 0.0
        for mesh in meshes:
            blocks = mesh_of(mesh).shape_keys
            if blocks is None or name not in blocks.key_blocks:
                continue
            if is_found:
                drive_key_by_angle(blocks.key_blocks[name], armature, names[key.joint], axis, key.angles)
            else:
                drive_key(blocks.key_blocks[name], armature, name)
    return keyed


def _drive_face_keys(plan: CopyPlan, armature: Any, meshes: list[bpy.types.Object]) -> dict[str, tuple[int, int]]:
    """Have a custom property drive each shape key that is animated: its mesh and key by the property's name."""
    driven, clips = {}, plan.source.clips
    for number, (mesh, part) in enumerate(zip(meshes, plan.source.character.parts, strict=True)):
        values = np.concatenate([clip.keys[number] for clip in clips]) if clips else np.empty((0, 0))
        for index in range(1, values.shape[1]):
            key = mesh_of(mesh).shape_keys.key_blocks[index]
            if np.ptp(values[:, index]) < UNMOVED:
                key.value = float(values[0, index])
                continue
            taken = {*armature.keys(), *plan.correctives, Tag.COPY_OF}
            name = free_name(name_within(part.name, f": {key.name}"), taken)
            armature[name] = 0.0
            drive_key(key, armature, name)
            driven[name] = number, index
    return driven


def _list_object_curves(armature: bpy.types.Object, frames: np.ndarray, worlds: np.ndarray | None) -> list[Curve]:
    """Curves of the armature object's transform; it is at rest in clips that do not move it."""
    still = np.array(armature.matrix_world)[None].repeat(len(frames), axis=0)
    poses = without_scale(still if worlds is None else worlds)
    motion = find_bone_motion(np.eye(4)[None], np.array([-1]), poses[:, None])
    armature.rotation_mode = "QUATERNION"
    channels = ("location", motion.locations[:, 0]), ("rotation_quaternion", motion.rotations[:, 0])
    return [
        Curve(channel, index, frames, values[:, index], "Object Transforms")
        for channel, values in channels
        for index in range(values.shape[1])
    ]
