"""Characters as *Make Supple* makes them: with flesh played from shape keys, and *Stay Outside* if offered.

They are opened in their files, and posed in Blender.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix

from harness import api, find, open_file, read_posed, read_vertices, take_all
from benchmarks.characters import Part
from deformers.geometry.vectors import transform_points

SAME = 1e-4  # Share of a part's size by which Blender's points may differ from those of the method alone


def add_flesh(objects: Sequence[bpy.types.Object]) -> None:
    """Make the corrections that the sheets' FLESH is judged by."""
    api().Character(objects[0].find_armature()).flesh(meshes=objects)


def play_flesh(
    assets: Path, name: str, parts: Sequence[Part], poses: Sequence[np.ndarray], plain: Sequence[Sequence[np.ndarray]]
) -> list[list[np.ndarray]]:
    """Open a character, make it supple, correct it and pose it: for each pose the points of each part, armature space.

    Parameters
    ----------
    poses : sequence of float arrays, shape (B, 4, 4)
        From rest to pose, of the bones that deform.
    plain : sequence of sequences of float arrays, shape (V, 3)
        For each pose, each part's points by the method alone: what the file shows without corrections.

    Raises
    ------
    ValueError
        Where the file's meshes are not those of the parts, or its points without corrections are others.
    """
    armature = open_file(assets, name)
    meshes = [_find_mesh(part, armature) for part in parts]
    make_supple(meshes)
    bones = parts[0].shape.names
    stored = armature.animation_data.action if armature.animation_data else None
    shown = _play(armature, meshes, bones, poses)
    for now, wanted in zip(shown, plain, strict=True):
        for part, points, others in zip(parts, now, wanted, strict=True):
            if (off := np.abs(points - others).max() / part.shape.diagonal) > SAME:
                raise ValueError(f"{name}: {part.name} is off by {off:.1e} of its size before it is corrected")
    pose_bones(armature, bones, np.tile(np.eye(4), (len(bones), 1, 1)))
    if stored is not None:
        armature.animation_data.action = stored
    try:
        add_flesh(meshes)
    except api().SkinningError as error:
        print(f"{name} is played without corrections: {error}", flush=True)
        return shown
    with suppress(api().SkinningError):  # no mesh lies over another
        print(f"{name}: {'. '.join(api().Character(armature).layers(meshes=meshes).describe())}", flush=True)
    return _play(armature, meshes, bones, poses)


def _find_mesh(part: Part, armature: bpy.types.Object) -> bpy.types.Object:
    """The file's mesh of a part, which has its vertices in the same order."""
    obj = bpy.data.objects[part.name]
    points = _to_armature(obj, armature, read_vertices(obj.data.vertices))
    if points.shape != part.shape.points.shape or np.abs(points - part.shape.points).max() > 1e-5 * part.shape.diagonal:
        raise ValueError(f"{part.name} has other vertices in its file than in the stored arrays")
    return obj


def _to_armature(obj: bpy.types.Object, armature: bpy.types.Object, points: np.ndarray) -> np.ndarray:
    space = np.array(armature.matrix_world.inverted() @ obj.matrix_world)
    return transform_points(space, points)


def make_supple(meshes: Sequence[bpy.types.Object]) -> None:
    """Bind weighted meshes as *Make Supple* does."""
    bind = find("tasks.skin.bind")  # unlike `api`, this also sets the defaults of the method
    bpy.context.view_layer.update()
    prepared = take_all(bind.prepare_supple(meshes))
    bind.bind_prepared(prepared)
    bpy.context.view_layer.update()
    for _, error in prepared.failed:
        print(error, flush=True)


def _play(
    armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], bones: Sequence[str], poses: Sequence[np.ndarray]
) -> list[list[np.ndarray]]:
    """The points of each mesh in each pose, armature space."""
    if armature.animation_data:
        armature.animation_data.action = None
    found = []
    for pose in poses:
        pose_bones(armature, bones, pose)
        found.append([_to_armature(obj, armature, read_posed(obj)) for obj in meshes])
    return found


def pose_bones(armature: bpy.types.Object, bones: Sequence[str], pose: np.ndarray) -> None:
    """Set an armature's bones so that each goes from rest as its matrix says; others go with the bone above them."""
    moved = {bone: Matrix(matrix) for bone, matrix in zip(bones, pose.tolist(), strict=True)}
    for bone in armature.pose.bones:  # those above come first
        above = moved[bone.parent.name] if bone.parent else Matrix()
        own, rest = moved.setdefault(bone.name, above), bone.bone.matrix_local
        bone.matrix_basis = rest.inverted() @ above.inverted() @ own @ rest
    armature.update_tag(refresh={"DATA"})
    bpy.context.view_layer.update()
