"""A copy shown: beside what it is a copy of, in the frame where both differ most."""

from __future__ import annotations

import bpy
import numpy as np

from ...deformers import SkinningError
from ...settings.engine_copy import ORIGINAL_KEY
from .copy import TARGETS, Copy, find_copy
from .examples import Clip
from .report import Report, read_report


def show_copy(armature: bpy.types.Object, target: str, layer: bpy.types.ViewLayer) -> bpy.types.Object:
    """Make the armature of a copy the active object, with nothing else selected.

    Parameters
    ----------
    armature : Object
        Of the original.
    target : str
        Key of `TARGETS`.
    layer : ViewLayer

    Raises
    ------
    SkinningError
        Where there is no copy, or it is hidden.
    """
    copy = read_copy(armature, target)[0].armature
    if copy.name not in layer.objects or copy.hide_get(view_layer=layer):
        raise SkinningError(f"'{copy.name}' is hidden: show its collection in this view layer")
    for obj in layer.objects.selected:
        obj.select_set(False)
    copy.select_set(True)
    layer.objects.active = copy
    return copy


def read_copy(armature: bpy.types.Object, target: str) -> tuple[Copy, tuple[Clip, ...]]:
    """The copy of a character, and the actions that it has; raises SkinningError where there is none.

    Parameters
    ----------
    armature : Object
        Of the original.
    target : str
        Key of `TARGETS`.
    """
    collection = find_copy(armature, target)
    objects = sorted(collection.objects, key=lambda obj: obj.name) if collection is not None else []
    found = [obj for obj in objects if obj.type == "ARMATURE"]
    if collection is None or not found:
        raise SkinningError(f"'{armature.name}' has no engine copy for {TARGETS[target]}, or it is gone: make it first")
    meshes = [obj for obj in objects if obj.type == "MESH"]
    names = [str(obj.get(ORIGINAL_KEY, obj.name)) for obj in (found[0], *meshes)]
    world = np.array(found[0].matrix_world, np.float64)
    clips, first = [], 0
    for track in found[0].animation_data.nla_tracks if found[0].animation_data is not None else ():
        for strip in track.strips:
            frames = range(round(strip.action_frame_start), round(strip.action_frame_end) + 1)
            clips.append(Clip(track.name, frames, first))
            first += len(frames)
    return Copy(collection, found[0], meshes, names, [], 1.0, world, []), tuple(clips)


def go_to_worst(armature: bpy.types.Object, scene: bpy.types.Scene) -> Report:
    """Have a character and its copy play the action in which they differ most, and go to the frame.

    Raises
    ------
    SkinningError
        Where there is no such frame, or the action or the copy is gone.
    """
    report = read_report(armature)
    if report is None or not report.apart.action:
        raise SkinningError("The copy was fitted to a range of motion alone, which is in no frame: add an action")
    copy = read_copy(armature, report.target)[0].armature
    action = bpy.data.actions.get(report.apart.action)
    tracks = copy.animation_data.nla_tracks if copy.animation_data is not None else ()
    baked = next(
        (strip.action for track in tracks for strip in track.strips if track.name == report.apart.action), None
    )
    if action is None or baked is None:
        raise SkinningError(f"Action '{report.apart.action}' is gone or renamed: make the engine copy anew")
    for owner, played in ((armature, action), (copy, baked)):
        data = owner.animation_data or owner.animation_data_create()
        if data.action != played:
            data.action = played
            if hasattr(data, "action_slot") and data.action_slot is None:  # 4.4 and later
                data.action_slot = played.slots[0]
    scene.frame_set(report.apart.frame)
    return report
