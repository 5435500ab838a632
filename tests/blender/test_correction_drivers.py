"""Drivers of corrections: Blender gives the values that readers give, in each pose, by any way into it."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

import scenes
from supple.bridge.correction_drivers import drive_keys, read_local_rotations
from supple.deformers.corrections.readers import find_reader

GROUPS = {
    "bend": ("AUTO", [[Quaternion((1, 0, 0), 0.7)], [Quaternion((1, 0, 0.1), 1.9)], [Quaternion((1, 0, 0), -1.0)]]),
    "twist": ("AUTO", [[Quaternion((0, 1, 0), 1.0)], [Quaternion((0, 1, 0), -2.0)]]),
}
"""Reader that is asked for, and the poses of the corrections."""


def add_group(obj, armature, name: str, bones=("bone.1",)) -> tuple:
    """Shape keys with their drivers: their names, and the reader."""
    asked, poses = GROUPS[name]
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = []
    for _ in poses:
        key = obj.shape_key_add(name=f'{name} "key"', from_mix=False)
        key.value = 0.0
        key.data[len(keys)].co.z += 1.0
        keys.append(key.name)
    reader = find_reader(np.array(poses), [asked] * len(poses))
    drive_keys(obj, armature, list(bones), keys, reader)
    bpy.context.view_layer.update()
    return keys, reader


def read_values(obj, keys) -> np.ndarray:
    """Values of shape keys as Blender shows them."""
    return np.array([obj.data.shape_keys.key_blocks[key].value for key in keys])


def read_rotations(armature, bones=("bone.1",)) -> np.ndarray:
    graph = bpy.context.evaluated_depsgraph_get()
    return read_local_rotations(armature.evaluated_get(graph), list(bones))


@pytest.mark.parametrize("name", GROUPS)
def test_drivers_give_what_readers_give(name: str) -> None:
    obj, armature = scenes.add_tube()
    keys, reader = add_group(obj, armature, name)
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "QUATERNION"
    for rotation in np.random.default_rng(1).normal(size=(100, 4)):
        bone.rotation_quaternion = rotation
        bpy.context.view_layer.update()
        assert read_values(obj, keys) == pytest.approx(reader.read(read_rotations(armature)[None])[0], abs=1e-5)
