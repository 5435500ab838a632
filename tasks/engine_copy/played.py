"""Motion of an action besides the bones: shape keys, and the armature object itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_key_values
from ...bridge.rigs.actions import alone, set_frames
from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from .examples import EVEN, Clip, CopiedCharacter, read_world

# Range of values, or of entries of a matrix, in which nothing moves
UNMOVED = 1e-6


@dataclass(frozen=True, eq=False)
class Played:
    """Motion of a clip besides the bones.

    Attributes
    ----------
    keys : list of float arrays, shape (n, shape keys of the mesh)
        For each mesh, the values of its shape keys in the frames of the clip; (n, 0) if it has none.
    worlds : float array, shape (n, 4, 4), or None
        Matrices of the armature object; None if it stays where it is.
    """

    keys: list[np.ndarray]
    worlds: np.ndarray | None


def read_played(subject: CopiedCharacter, clip: Clip, action: bpy.types.Action | None) -> Played:
    """Read the motion of a clip; the user's pose, frame and meshes stay as they are.

    Parameters
    ----------
    action : Action or None
        None for the armature's own animation.

    Raises
    ------
    SkinningError
        If the armature object changes its scale, or has an unusable matrix.
    """
    meshes = [mesh_of(part.obj) for part in subject.parts]
    worlds: list[Any] = []
    keys: list[list[tuple[float, ...]]] = [[] for _ in meshes]
    with alone(subject.armature, action) as scene, _shown(scene, meshes, action):
        for depsgraph in set_frames(scene, clip.frames):
            worlds.append(np.array(subject.armature.evaluated_get(depsgraph).matrix_world, np.float64))
            _check_world(worlds[-1], subject, clip.action, depsgraph.scene.frame_current)
            for mesh, values in zip(meshes, keys, strict=True):
                values.append(read_key_values(mesh, depsgraph))
    moved = np.array(worlds)
    return Played(
        [np.array(values, np.float64).reshape(len(clip.frames), -1) for values in keys],
        moved if np.ptp(moved, axis=0).max() > UNMOVED else None,
    )


def _check_world(world: np.ndarray, subject: CopiedCharacter, action: str, frame: int) -> None:
    """See that a matrix of the armature object, shape (4, 4), is one that its copy can have."""
    scale, _ = read_world(subject.armature)
    scales = np.linalg.norm(world[:3, :3], axis=0)
    is_same = np.abs(scales - scale).max() <= EVEN * scale and np.linalg.det(world[:3, :3]) > 0.0
    if find_unusable(world).any() or not is_same:
        raise SkinningError(
            f"'{subject.armature.name}' is scaled or too far away in frame {frame} of action '{action}': animate the "
            "scale of its root bone instead, and check the location of the object"
        )


@contextmanager
def _shown(scene: bpy.types.Scene, meshes: Sequence[bpy.types.Mesh], action: bpy.types.Action | None) -> Iterator[None]:
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
