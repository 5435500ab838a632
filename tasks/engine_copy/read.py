"""Read a character with its actions, to be copied for engines: all refusals are here, and nothing is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.copies import check_keys
from ...bridge.meshes.data import mesh_of, read_key_values
from ...bridge.modifiers import is_layer_modifier, is_named_for_patterns, is_supple_modifier
from ...bridge.names import free_name
from ...bridge.rigs.actions import AT_A_TIME, alone, list_frames, set_frames, visit_frames
from ...bridge.rigs.armatures import Skeleton, read_pose
from ...deformers import Pose, SkinningError
from ...deformers.engine_copy.bone_motion import without_scale
from ...deformers.errors import find_unusable
from ...deformers.measures.bends import list_bent_poses
from ...deformers.rig.rest import check_space
from ...options import CopyOptions
from ...settings.choices import BAKING
from ..installed.feature import Subject
from ..layers.present import find_kept
from ..left_out import sort_out, try_each
from ..skin.model import PosableSkin, SkinSource
from ..skin.poses import find_skeleton
from ..steps import Steps
from ..subject.actions import list_seen_actions
from ..subject.character import (
    check_modifiers_above,
    find_skinned,
    has_armature_modifier,
    modifiers_above,
    read_character,
)
from ..subject.stack import SkinnedObject
from .displacement import find_displacement
from .export import check_path
from .hung import read_hung
from .plan import READ
from .source import Clip, CopiedCharacter, CopySource, Part, put_in_a_row

# Of an armature object: bones of less are none to Blender
LEAST_SCALE = 1e-9

# Part by which the scales of an object may differ, to count as one
EVEN = 1e-4

# Share of all vertices that a joint must move to be bent in the range of motion
LEAST_SKIN = 1e-3

# Frames times joints: with as many helpers again and a half, what bones do in them takes a gigabyte as curves
MOST_MATRICES = 250_000

# Range of values, or of entries of a matrix, in which nothing moves
UNMOVED = 1e-6


def read_source(subject: Subject, options: CopyOptions, output: Path | None, folder: Path) -> Steps[CopySource]:
    """Read a character and all its poses; without a range of motion if actions show patterns, which it would lack.

    Raises SkinningError if the character cannot be copied.

    Parameters
    ----------
    subject : Subject
        Meshes of one armature, some of them bound, and objects that hang on its bones.
    output : Path or None
        File to be written.
    folder : Path
        For temporary files.
    """
    character = read_copied(subject.meshes)
    armature, joints = character.armature, character.skeleton.joints
    actions = _choose_actions(armature, options)
    _check_length(actions, len(joints.parents))
    if output is not None:
        check_path(output, options.target)
    poses: list[Pose] = []
    amounts: list[list[np.ndarray]] = []
    total = sum(len(list_frames(action)) for action in actions)
    for action, frames in ((action, list_frames(action)) for action in actions):
        for start in range(0, len(frames), AT_A_TIME):
            for depsgraph in visit_frames(armature, action, frames[start : start + AT_A_TIME]):
                poses.append(read_pose(armature.evaluated_get(depsgraph), character.skeleton.rolled))
                shown = [part.displacement for part in character.parts]
                amounts.append([np.zeros(0) if one is None else one.read(depsgraph) for one in shown])
            yield READ * len(poses) / total
    if options.bend and not any(values.any() for frame in amounts for values in frame):
        poses += _bend_joints(character, options.bend)
    if not poses:
        raise SkinningError(
            f"Range of Motion finds no joint of '{armature.name}' that bends the skin: animate it, or export "
            "it directly"
        )
    clips: list[Clip] = []
    for action in actions:  # a linked one may have the name of another
        name = free_name(action.name, {clip.action for clip in clips})
        clips.append(_read_clip(character, name, action, sum(len(clip.frames) for clip in clips)))
        yield READ
    hints = None
    if any(pose.hints is not None for pose in poses):
        hints = np.array([np.zeros(len(joints.parents)) if pose.hints is None else pose.hints for pose in poses])
    matrices = np.array([pose.rest_to_pose for pose in poses])
    return CopySource(character, options, output, folder, tuple(clips), matrices, hints, amounts)


def read_copied(objects: Iterable[bpy.types.Object]) -> CopiedCharacter:
    """Read the meshes of one armature, and objects that hang on its bones, and bind them as they are deformed.

    Raises SkinningError if there is nothing to copy, or the meshes are not of one character.
    """
    objects = list(objects)
    if not any(map(has_armature_modifier, objects)):
        raise SkinningError("Nothing to copy: select a mesh that has an Armature modifier, or its armature")
    skinned, left_out = sort_out(filter(has_armature_modifier, objects), find_skinned)
    armatures = list(dict.fromkeys(one.armature for one in skinned))
    armature = armatures[0]
    if len(armatures) > 1:
        names = ", ".join(f"'{armature.name}'" for armature in armatures)
        raise SkinningError(f"The meshes belong to {len(armatures)} armatures ({names}): copy one character at a time")
    if not any(one.settings.is_bound for one in skinned):
        raise SkinningError(
            f"No mesh of '{armature.name}' is bound: bind it first, or export it directly, because exporters "
            "write the result of Blender's Armature modifier"
        )
    scale, world = _read_world(armature)
    skeleton = find_skeleton(armature)
    of_object = {one.obj: one for one in skinned}
    parts, unread = sort_out(of_object, lambda obj: _read_part(of_object[obj], skeleton))
    hung, unhung = try_each(
        (obj for obj in objects if not has_armature_modifier(obj)), lambda obj: _read_hung(obj, armature, skeleton)
    )
    kept = find_kept(armature, [part.obj for part in parts], len(skeleton.joints.parents))
    row = put_in_a_row(replace(part, lost=_list_lost(part.obj, kept)) for part in (*parts, *hung))
    millimeters = 1000.0 * scale * bpy.context.scene.unit_settings.scale_length
    return CopiedCharacter(armature, skeleton, row, scale, world, millimeters, kept, [*left_out, *unread, *unhung])


def _read_world(armature: bpy.types.Object) -> tuple[float, np.ndarray]:
    """The scale of an armature object, and its matrix without it, shape (4, 4).

    Raises SkinningError if the scale is zero, uneven or mirrored: no bones of an engine have it.
    """
    matrix = np.array(armature.matrix_world, np.float64)
    check_space(matrix)
    scale = float(np.linalg.norm(matrix[:3, :3], axis=0).mean())
    if scale < LEAST_SCALE:
        raise SkinningError(f"'{armature.name}' has zero scale: give it a scale other than zero")
    if not _is_scaled(matrix, scale):
        raise SkinningError(
            f"'{armature.name}' has a mirrored or non-uniform scale, which engines do not support in bones: "
            "apply its scale first"
        )
    return scale, without_scale(matrix[None])[0]


def _is_scaled(matrix: np.ndarray, scale: float) -> bool:
    """Whether a matrix, shape (4, 4), has a scale along all axes, and is not mirrored."""
    scales = np.linalg.norm(matrix[:3, :3], axis=0)
    return bool(np.abs(scales - scale).max() <= EVEN * scale and np.linalg.det(matrix[:3, :3]) > 0.0)


def _read_part(skinned: SkinnedObject, skeleton: Skeleton) -> Part:
    obj = skinned.obj
    check_keys(obj)
    check_modifiers_above(skinned, modifiers_above(obj, skinned.deforming))
    rest = read_character(skinned, skeleton).rest
    skin = PosableSkin.of(SkinSource.of(skinned))
    skin = skin.at(skin.choices.read_quality(skinned.settings, BAKING))
    return Part(obj.name, obj, rest, _list_keys(obj), skin, find_displacement(obj, rest))


def _read_hung(obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton) -> Part:
    rest = read_hung(obj, armature, skeleton)
    check_keys(obj)
    return Part(obj.name, obj, rest, _list_keys(obj))


def _list_keys(obj: bpy.types.Object) -> list[str]:
    keys = mesh_of(obj).shape_keys
    return [] if keys is None else [key.name for key in keys.key_blocks]


def _list_lost(obj: bpy.types.Object, kept: Collection[str]) -> tuple[str, ...]:
    """Modifiers with a visible effect that are not in the copy."""
    return tuple(
        f"{obj.name}: {modifier.name}"
        for modifier in obj.modifiers
        if (modifier.show_viewport or modifier.show_render)
        and modifier.type != "ARMATURE"
        and not is_supple_modifier(modifier)
        and not is_named_for_patterns(modifier)
        and not (obj.name in kept and is_layer_modifier(modifier))
    )


def _choose_actions(armature: bpy.types.Object, options: CopyOptions) -> list[bpy.types.Action]:
    """The actions to be copied; raises SkinningError if there is nothing to fit to."""
    found = list_seen_actions(armature)
    if options.actions is not None:
        missing = sorted(set(options.actions) - {action.name for action in found})
        if missing:
            raise SkinningError(f"No action '{missing[0]}' moves bones of '{armature.name}': choose another action")
        found = [action for action in found if action.name in options.actions]
    if not found and not options.bend:
        raise SkinningError(
            f"There is nothing to fit the copy of '{armature.name}' to: choose an action that moves its bones, or "
            "turn on Range of Motion"
        )
    return found


def _check_length(actions: Sequence[bpy.types.Action], joint_count: int) -> None:
    """Raise SkinningError if actions have more frames than there is memory for."""
    lengths = [len(list_frames(action)) for action in actions]
    most = MOST_MATRICES // joint_count
    if sum(lengths) > most:
        longest = actions[int(np.argmax(lengths))]
        raise SkinningError(
            f"The actions have {sum(lengths):,} frames, too many for a copy with {joint_count} bones; "
            f"'{longest.name}' alone has {max(lengths):,}: choose fewer actions, shorten them, or delete stray keys "
            f"far away, to get down to {most:,} frames"
        )


def _bend_joints(character: CopiedCharacter, angle: float) -> list[Pose]:
    """A range of motion: each joint with skin is bent and twisted to each side by an angle, radians, and half of it."""
    skin, count = character.skin, len(character.skin.points)
    held = np.bincount(skin.weights.joints, skin.weights.values, len(skin.joints.parents))
    chosen = held >= LEAST_SKIN * count
    return [
        Pose(pose.rest_to_pose)
        for one in (angle, 0.5 * angle)
        for pose in list_bent_poses(skin.weights, count, skin.joints, one, chosen)
    ]


def _read_clip(character: CopiedCharacter, name: str, action: bpy.types.Action, first: int) -> Clip:
    """Read the motion of an action besides the bones; the user's pose, frame and meshes stay as they are.

    Raises SkinningError if the armature object changes its scale, or has an unusable matrix.
    """
    armature, frames = character.armature, list_frames(action)
    meshes = [mesh_of(part.obj) for part in character.parts]
    worlds: list[Any] = []
    keys: list[list[tuple[float, ...]]] = [[] for _ in meshes]
    with alone(armature, action) as scene, _shown(scene, meshes, action):
        for depsgraph in set_frames(scene, frames):
            world = np.array(armature.evaluated_get(depsgraph).matrix_world, np.float64)
            if find_unusable(world).any() or not _is_scaled(world, character.scale):
                raise SkinningError(
                    f"'{armature.name}' is scaled or too far away in frame {depsgraph.scene.frame_current} of action "
                    f"'{name}': animate the scale of its root bone instead, and check the location of the object"
                )
            worlds.append(world)
            for mesh, values in zip(meshes, keys, strict=True):
                values.append(read_key_values(mesh, depsgraph))
    moved = np.array(worlds) if np.ptp(worlds, axis=0).max() > UNMOVED else None
    return Clip(name, frames, first, [np.array(values, float).reshape(len(frames), -1) for values in keys], moved)


@contextmanager
def _shown(scene: bpy.types.Scene, meshes: Sequence[bpy.types.Mesh], action: bpy.types.Action) -> Iterator[None]:
    """Have a scene evaluate the shape keys of meshes, those that an action has a slot for by that."""
    animated = [mesh for mesh in meshes if mesh.shape_keys is not None and mesh.shape_keys.animation_data is not None]
    shown, changed = [], []
    try:
        for mesh in animated:
            shown.append(bpy.data.objects.new("Supple Keys", mesh))
            scene.collection.objects.link(shown[-1])
            data: Any = mesh.shape_keys.animation_data
            slots = [slot for slot in getattr(action, "slots", ()) if slot.target_id_type == "KEY"]  # 4.4 and later
            before = data.action, getattr(data, "action_slot", None)
            if slots and before[0] != action:
                changed.append((data, *before))
                data.action = action
                known = before[1].identifier if before[1] is not None else ""
                data.action_slot = next((slot for slot in slots if slot.identifier == known), slots[0])
        yield
    finally:
        for data, former, slot in changed:
            data.action = former
            if slot is not None:
                data.action_slot = slot
        for obj in shown:
            bpy.data.objects.remove(obj)
