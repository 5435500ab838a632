"""The actions that move an armature's bones, and the poses that they bring it into."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy
import numpy as np

from ...deformers import Pose, SkinningError
from ..animation.curves import iterate_curve_paths, split_bone_path
from ..owned import Tag, is_marked
from .armatures import Skeleton, read_pose

# Frames that are read before a window may draw itself
AT_A_TIME = 32

# Of an action that is read: the matrices of a rig of 200 bones take half a gigabyte then
MOST_FRAMES = 20_000


# Frames of a scene for each of its animation: Blender takes closer keys for one, and plays no cache so slowly
MOST_REMAPPED = 100

# Blender plays none after it, and none before its negative
LAST_FRAME = 1_048_574


def list_actions(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The file's actions that move bones of an armature, the one that it plays first; not those of engine copies."""
    names = {bone.name for bone in armature.pose.bones}
    playing = armature.animation_data.action if armature.animation_data else None
    found = [action for action in bpy.data.actions if not is_marked(action, Tag.COPY_OF) and moves_any(action, names)]
    return sorted(found, key=lambda action: action != playing)


def list_players(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """An armature, and then the armatures that it follows by constraints of its own or of its bones, or as a child."""
    found = [armature]
    for player in found:  # gets longer meanwhile
        constraints = [each for owner in (player, *player.pose.bones) for each in owner.constraints if each.enabled]
        targets: list[Any] = [player.parent]
        for one in constraints:
            own: Any = one
            targets += [getattr(each, "target", None) for each in (own.targets if one.type == "ARMATURE" else (own,))]
        rigs = [target for target in targets if target is not None and target.type == "ARMATURE"]
        found += [rig for rig in dict.fromkeys(rigs) if rig not in found]
    return found


def find_player(armature: bpy.types.Object, action: bpy.types.Action) -> bpy.types.Object:
    """Which of an armature and those that it follows plays an action, or is to play one that none plays now.

    Of several that have bones of the same names, that is one that is animated.
    """
    known = {bone for path in iterate_curve_paths(action) if (bone := split_bone_path(path)[0])}
    able = [player for player in list_players(armature) if known & set(player.pose.bones.keys())]
    using = [player for player in able if action in _list_played(player)]
    animated = [player for player in able if _list_played(player)]
    return [*using, *animated, *able, armature][0]


def _list_played(armature: bpy.types.Object) -> list[bpy.types.Action]:
    """The actions that an armature plays, and those of its strips."""
    data = armature.animation_data
    if data is None:
        return []
    strips = [strip.action for track in data.nla_tracks for strip in track.strips]
    return [action for action in (data.action, *strips) if action is not None]


def moves_any(action: bpy.types.Action, bones: Collection[str]) -> bool:
    """Whether an action has curves of some bones."""
    return any(split_bone_path(path)[0] in bones for path in iterate_curve_paths(action))


def find_rate(scene: bpy.types.Scene) -> float:
    """Frames a second of a scene."""
    return scene.render.fps / scene.render.fps_base


def find_times(scene: bpy.types.Scene, frames: Sequence[float]) -> np.ndarray:
    """When animation plays that is seen in frames of a scene: its Time Remapping sets both apart.

    Returns a float array, shape (n,): to the last bit as Blender has them.
    """
    length = np.float32(scene.render.frame_map_old) / np.float32(scene.render.frame_map_new)
    return (np.asarray(frames, np.float32) * length).astype(float)


def check_remapping(scene: bpy.types.Scene) -> None:
    """See that Time Remapping leaves enough time between frames of a scene.

    Raises SkinningError if they are too close in time for keys and caches.
    """
    render = scene.render
    if render.frame_map_new >= MOST_REMAPPED * render.frame_map_old:
        raise SkinningError(
            f"Time Remapping from {render.frame_map_old} to {render.frame_map_new} is too slow for a bake, which can "
            f"have less than {MOST_REMAPPED} frames for each one: reduce it"
        )


def go_to_time(scene: bpy.types.Scene, time: float) -> None:
    """Set a scene to a time of animation, between two frames if necessary: the inverse of `find_times`."""
    frame = time * scene.render.frame_map_new / scene.render.frame_map_old
    whole = math.floor(frame)
    scene.frame_set(whole, subframe=frame - whole)


def list_frames(action: bpy.types.Action) -> range:
    """All frames of an action."""
    first, last = (round(end) for end in action.frame_range)
    return range(first, last + 1)


def is_playable(first: float, last: float) -> bool:
    """Whether Blender plays all frames of a span, which numbers that are none are not part of."""
    return -LAST_FRAME <= first <= LAST_FRAME and -LAST_FRAME <= last <= LAST_FRAME


def check_length(action: bpy.types.Action, frames: Sequence[int]) -> None:
    """See that an action is not too long to be read.

    Raises SkinningError if it has more frames than can be read, such as one with stray keys far away.
    """
    if len(frames) > MOST_FRAMES:
        raise SkinningError(
            f"Action '{action.name}' has {len(frames):,} frames, but at most {MOST_FRAMES:,} can be read: shorten "
            "it, or delete stray keys far away"
        )


def read_poses(
    armature: bpy.types.Object, skeleton: Skeleton, action: bpy.types.Action | None, frames: Sequence[float]
) -> Iterator[Pose]:
    """Read the poses of an armature in frames of an action; the user's pose, frame and meshes stay as they are.

    Parameters
    ----------
    skeleton : Skeleton
        Of it.
    action : Action or None
        None for the armature's own animation.

    Yields
    ------
    Pose
        Of each frame.
    """
    for depsgraph in visit_frames(armature, action, frames):
        yield read_pose(armature.evaluated_get(depsgraph), skeleton)


def visit_frames(
    armature: bpy.types.Object, action: bpy.types.Action | None, frames: Sequence[float]
) -> Iterator[bpy.types.Depsgraph]:
    """Go through frames of an action: yields a depsgraph with only the armature and the objects that move it."""
    with alone(armature, action) as scene:
        yield from set_frames(scene, frames)


def set_frames(scene: bpy.types.Scene, frames: Sequence[float]) -> Iterator[bpy.types.Depsgraph]:
    """Set a scene to frames of its animation, or to times between them, one after the other: yields its depsgraph.

    It is set to the first twice: in a new scene, drivers of shape keys are late by one.
    """
    go_to_time(scene, frames[0])
    for frame in frames:
        go_to_time(scene, frame)
        yield scene.view_layers[0].depsgraph


@contextmanager
def alone(armature: bpy.types.Object, action: bpy.types.Action | None) -> Iterator[bpy.types.Scene]:
    """A scene with an armature, playing an action if one is given; the armature's own animation is restored
    afterward."""
    player = armature if action is None else find_player(armature, action)
    is_animated = player.animation_data is not None
    data = player.animation_data or player.animation_data_create()
    former, slot = data.action, getattr(data, "action_slot", None)
    scene = bpy.data.scenes.new("Supple Poses")
    try:
        scene.collection.objects.link(armature)
        if action is not None:
            data.action = action
            if getattr(data, "action_slot", data) is None and data.action_suitable_slots:  # 4.4 and later
                data.action_slot = data.action_suitable_slots[0]
        yield scene
    finally:
        bpy.data.scenes.remove(scene)
        if not is_animated:
            player.animation_data_clear()
        elif data.action != former:
            data.action = former
            if slot is not None:
                data.action_slot = slot


@contextmanager
def playing(armature: bpy.types.Object, action: bpy.types.Action) -> Iterator[bpy.types.Scene]:
    """A scene with an armature that plays an action, in full and without the strips under it."""
    with alone(armature, action) as scene, ExitStack() as afterward:
        data: Any = armature.animation_data
        for name, value in (("use_nla", False), ("action_influence", 1.0), ("action_blend_type", "REPLACE")):
            afterward.callback(setattr, data, name, getattr(data, name))
            setattr(data, name, value)
        yield scene
