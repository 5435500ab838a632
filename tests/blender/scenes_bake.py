"""What tests of bakes share: an animated tube with face keys, baked, and what it plays."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from scenes import (
    add_face_key,
    add_tube,
    animate_key,
    animate_tube,
    bind,
    curves_of,
    distance,
    evaluated_points,
    points_at,
    snapshot,
    turn,
    update,
)
from supple.tasks.bake.caches import bake_cache
from supple.tasks.bake.shape_keys import bake_shape_keys
from supple.tasks.skin.baked import show_cache

FRAMES = range(1, 11)
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""
HEADER = struct.Struct("<12siiffi")
FACE_KEYS = ("no keys", "still", "keyed", "driven", "on a strip")
KINDS = ("PC2", "SHAPE_KEYS")


def add_character(face: str = "no keys") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small animated tube and its armature, between two frames; with two face keys, the second as `face` says."""
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    if face != "no keys":
        add_face_key(obj, "Smile").value = 0.3
        frown = add_face_key(obj, "Frown", size=-0.2)
        frown.value = 0.6
        if face in ("keyed", "on a strip"):
            animate_key(frown)
        if face == "on a strip":
            data = obj.data.shape_keys.animation_data
            data.nla_tracks.new().strips.new("Face", 1, data.action)
            data.action = None
        if face == "driven":
            frown.driver_add("value").driver.expression = "0.1 * frame"
        obj.active_shape_key_index = 1
    bpy.context.scene.frame_set(6, subframe=0.5)
    return obj, armature


def add_bound(face: str = "no keys") -> tuple[bpy.types.Object, bpy.types.Object]:
    """The same, bound."""
    obj, armature = add_character(face)
    bind(obj)
    return obj, armature


def remove_characters() -> None:
    """Make room for the next: what is bound takes time in each frame."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    update()


def steps_of(kind: str, obj: bpy.types.Object, path: Path, frames: range = FRAMES) -> Iterator[int]:
    if kind == "PC2":
        return bake_cache(obj, bpy.context.scene, path, frames)
    return bake_shape_keys([obj], bpy.context.scene, frames)


def bake_with(kind: str, obj: bpy.types.Object, path: Path, frames: range = FRAMES) -> None:
    """Bake to the end and have the object play it."""
    assert list(steps_of(kind, obj, path, frames)) == list(range(1, len(frames) + 1))
    if kind == "PC2":
        show_cache(obj, path)
    assert obj.supple.bake == kind


def read_cache(path: Path) -> tuple[tuple, np.ndarray]:
    """The fields of a PC2 file's header, and its samples, float32, shape (F, V, 3)."""
    data = path.read_bytes()
    fields = HEADER.unpack(data[: HEADER.size])
    return fields, np.frombuffer(data[HEADER.size :], "<f4").reshape(fields[5], fields[2], 3)


def live_points(obj: bpy.types.Object, frames: range = FRAMES) -> np.ndarray:
    """Points at each frame, shape (F, V, 3); the scene's frame is put back."""
    scene = bpy.context.scene
    frame, subframe = scene.frame_current, scene.frame_subframe
    points = np.stack([points_at(obj, at) for at in frames])
    scene.frame_set(frame, subframe=subframe)
    return points


def assert_plays(obj: bpy.types.Object, live: np.ndarray, frames: range = FRAMES) -> None:
    """The object has the points that it had live, and relies on neither Supple's modifier nor the Armature modifier."""
    assert not any(m.show_viewport or m.show_render for m in obj.modifiers if m.type in ("NODES", "ARMATURE"))
    assert max(distance(live[0], points) for points in live) > 100 * TOLERANCE
    for frame, expected, points in zip(frames, live, live_points(obj, frames), strict=True):
        assert distance(expected, points) <= TOLERANCE, frame


def animation_of(owner: bpy.types.ID | None) -> Any:
    """Everything that animates a data-block."""
    data = owner.animation_data if owner is not None else None
    if data is None:
        return None
    slot = getattr(data, "action_slot", None)
    curves = [
        (curve.data_path, [(*point.co, *point.handle_left, point.interpolation) for point in curve.keyframe_points])
        for curve in (curves_of(data.action) if data.action else ())
    ]
    drivers = [(curve.data_path, curve.driver.expression) for curve in data.drivers]
    tracks = [[(each.name, each.action.name, each.frame_start) for each in track.strips] for track in data.nla_tracks]
    return (data.action and data.action.name, slot and slot.identifier, curves, drivers, tracks)


def everything(obj: bpy.types.Object) -> dict:
    """All that a user can see of an object, its mesh, what animates them, and the scene's time."""
    scene = bpy.context.scene
    return snapshot(obj) | {
        "animation": [animation_of(owner) for owner in (obj, obj.data, obj.data.shape_keys)],
        "actions": [(action.name, action.users, len(curves_of(action))) for action in bpy.data.actions],
        "frame": (scene.frame_current, scene.frame_subframe),
        "active": bpy.context.view_layer.objects.active,
    }


def changes(before: dict, after: dict) -> dict:
    """What is not as it was: {name: (before, after)}."""
    return {
        name: (before.get(name), after.get(name))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def assert_live(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """The object still follows its bones."""
    before = evaluated_points(obj)
    turn(armature, "bone.2", (-1.0, 0.4, 0.0))
    assert distance(before, evaluated_points(obj)) > 100 * TOLERANCE


def pack(points: int = 2, start: float = 1.0, step: float = 1.0, samples: int = 2, version: int = 1) -> bytes:
    """A PC2 file with random points."""
    body = np.random.default_rng(0).random((samples, points, 3)).astype("<f4").tobytes()
    return HEADER.pack(b"POINTCACHE2\0", version, points, start, step, samples) + body
