"""Corrections in files that others read: shape keys move there as in Blender, by the curves of their drivers."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Euler
from scenes_corrections import ELBOW, OFFSET, correct
from test_engine_copy import Made
from test_engine_copy_parts import import_file, source_values

from scenes import add_tube, bind, diagonal, evaluated_points

FRAMES = range(1, 11)
POSES = {
    "ANGLE": {3: (0.6, 0.0, 0.0), 6: (1.3, 0.0, 0.0)},
    "RBF": {3: (1.2, 0.0, 0.0), 6: (0.0, 0.0, 1.0), 10: (0.8, 0.5, -0.9)},
}
"""Frames that are corrected, and how the bone stands there."""


def add_character(kind: str, method: str) -> bpy.types.Object:
    """A tube with an action that goes through poses, each of them corrected."""
    obj, armature = add_tube(rings=12, sides=8)
    obj.parent = armature
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "QUATERNION"
    for frame, pose in {1: (0.0, 0.0, 0.0), 10: (0.9, 0.3, 0.2), **POSES[kind]}.items():
        bone.rotation_quaternion = Euler(pose).to_quaternion()
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    if method:
        bind(obj, method=method)
    for number, frame in enumerate(POSES[kind], 1):
        bpy.context.scene.frame_set(frame)
        correct(obj, ELBOW, 0.8, OFFSET * number, reader=kind)
    return obj


def read_world_points(obj: bpy.types.Object) -> list[np.ndarray]:
    """What is shown in each frame, world space, float64."""
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        matrix = np.array(obj.matrix_world)
        found.append(evaluated_points(obj) @ matrix[:3, :3].T + matrix[:3, 3])
    return found


@pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="the exporter of 4.2 has Blender as a module crash at its end")
@pytest.mark.versions
@pytest.mark.parametrize(("kind", "method"), [("ANGLE", ""), ("RBF", "SSD")])
def test_gltf_with_the_plain_armature(tmp_path: Path, scene: bpy.types.Scene, method: str, kind: str) -> None:
    obj = add_character(kind, method)
    expected, values = read_world_points(obj), source_values(obj, FRAMES)
    assert values.max(axis=0).min() > 0.99
    path = tmp_path / "tube.glb"
    bpy.ops.export_scene.gltf(filepath=str(path))
    mesh = import_file(path)
    found = read_world_points(mesh)
    apart = np.linalg.norm(expected[0][:, None] - found[0], axis=2)  # at rest: vertices are in another order
    nearest = apart.argmin(axis=1)
    assert apart.min(axis=1).max() < 1e-5
    for first, second in zip(expected, found, strict=True):
        assert np.linalg.norm(first - second[nearest], axis=1).max() < 1e-4 * diagonal(first)
    assert source_values(mesh, FRAMES) == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize(("kind", "target"), [("ANGLE", "gltf"), ("RBF", "fbx")])
def test_engine_copies(tmp_path: Path, scene: bpy.types.Scene, target: str, kind: str) -> None:
    obj = add_character(kind, "DLBNT")
    made = Made(tmp_path, obj, target=target)
    values, names = source_values(obj, FRAMES), [key.name for key in obj.data.shape_keys.key_blocks[1:]]
    path = tmp_path / f"tube.{'glb' if target == 'gltf' else 'fbx'}"
    made.export(path, tmp_path / "between")
    mesh = import_file(path)
    first = int(mesh.parent.animation_data.action.frame_range[0]) if mesh.parent.animation_data.action else 0
    blocks, found = mesh.data.shape_keys.key_blocks, []
    for frame in range(len(FRAMES)):
        bpy.context.scene.frame_set(first + frame)
        found.append([blocks[name].value for name in names])
    assert np.array(found) == pytest.approx(values, abs=1e-4)
