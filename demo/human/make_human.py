"""Make human.blend and human.npz from mh_human_game.blend (see README.md beside this file): fewer vertices, one action.

Run it in a Python that has Blender 4.2's module bpy, whose files all later Blenders open:

    python demo/human/make_human.py .../mh_human_game.blend
    zstd -d < human.blend | zstd --ultra -22 > smaller.blend && mv smaller.blend human.blend
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np

SHARES = {"body": 0.3, "tights": 0.6, "skirt": 1.0}
"""What decimation leaves of each mesh's faces: the body is mostly toes, ears and what lies in the mouth."""

ACTION = "cmu_02_01_walk"


def decimate(obj: bpy.types.Object, share: float) -> None:
    """Take edges out of a mesh, alike on both sides; weights are blended."""
    modifier = obj.modifiers.new("Decimate", "DECIMATE")
    modifier.ratio, modifier.use_symmetry, modifier.symmetry_axis = share, True, "X"
    with bpy.context.temp_override(object=obj):
        bpy.ops.object.modifier_move_to_index(modifier=modifier.name, index=0)
        bpy.ops.object.modifier_apply(modifier=modifier.name)


def rename() -> bpy.types.Object:
    """Give objects, data and action short names; the armature."""
    for obj in list(bpy.data.objects):
        part = obj.name.rpartition("_")[2]
        obj.name = obj.data.name = {"rig": "Rig", "body": "Body", "skirt": "Skirt", "tights": "Tights"}[part]
    bpy.data.actions[ACTION].name = "Walk"
    return bpy.data.objects["Rig"]


def read_weights(meshes: list[bpy.types.Object], bones: list[str]) -> dict[str, np.ndarray]:
    """Weights as the rows vertex, bone, value, of all meshes one after the other."""
    rows, start = [], 0
    for obj in meshes:
        names = [group.name for group in obj.vertex_groups]
        rows += [
            (start + vertex.index, bones.index(names[entry.group]), entry.weight)
            for vertex in obj.data.vertices
            for entry in vertex.groups
            if entry.weight > 0.0
        ]
        start += len(obj.data.vertices)
    vertices, numbers, values = zip(*rows, strict=True)
    return {
        "w_vert": np.array(vertices, np.int32), "w_bone": np.array(numbers, np.int16),
        "w_val": np.array(values, np.float32),
    }  # fmt: skip


def read_shape(meshes: list[bpy.types.Object]) -> dict[str, np.ndarray]:
    """Points and triangles of all meshes, armature space, meters; which vertices are whose."""
    points, triangles, parts = [], [], []
    for number, obj in enumerate(meshes):
        mesh, start = obj.data, sum(map(len, points))
        mesh.calc_loop_triangles()
        points.append(np.array([vertex.co for vertex in mesh.vertices], np.float32))
        triangles.append(np.array([tuple(t.vertices) for t in mesh.loop_triangles], np.int32) + start)
        parts.append(np.full(len(points[-1]), number, np.int16))
    return {
        "V": np.concatenate(points), "tris": np.concatenate(triangles), "part": np.concatenate(parts),
        "part_names": np.array([obj.name for obj in meshes]),
    }  # fmt: skip


def read_bones(armature: bpy.types.Object) -> dict[str, np.ndarray]:
    """Names, parents, heads and tails of the bones, armature space, meters; rest matrices (B, 4, 4)."""
    bones = list(armature.data.bones)
    names = [bone.name for bone in bones]
    return {
        "bone_names": np.array(names),
        "bone_parent": np.array([names.index(bone.parent.name) if bone.parent else -1 for bone in bones]),
        "bone_head": np.array([bone.head_local for bone in bones], np.float32),
        "bone_tail": np.array([bone.tail_local for bone in bones], np.float32),
        "bone_rest": np.array([bone.matrix_local for bone in bones], np.float32),
        "bone_deform": np.array([bone.use_deform for bone in bones]),
    }


def frames_of(action: bpy.types.Action) -> range:
    """Whole frames of an action."""
    start, end = action.frame_range
    return range(int(start), int(end) + 1)


def read_action(armature: bpy.types.Object) -> dict[str, np.ndarray]:
    """Matrices (F, B, 3, 4) of the pose's bones at each frame of the action, armature space."""
    poses, frames = [], frames_of(bpy.data.actions["Walk"])
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        poses.append([bone.matrix[:3] for bone in armature.pose.bones])
    return {"pose_Walk": np.array(poses, np.float32), "frames_Walk": np.array(frames)}


def main() -> None:
    """Write both files beside this one."""
    folder = Path(__file__).resolve().parent
    bpy.ops.wm.open_mainfile(filepath=str(Path(sys.argv[1]).resolve()))
    for name in [action.name for action in bpy.data.actions if action.name != ACTION]:
        bpy.data.actions.remove(bpy.data.actions[name])
    armature = rename()
    armature.animation_data_create().action = bpy.data.actions["Walk"]
    meshes = [bpy.data.objects[name] for name in ("Body", "Tights", "Skirt")]
    for obj in meshes:
        decimate(obj, SHARES[obj.name.lower()])
    scene = bpy.context.scene
    frames = frames_of(bpy.data.actions["Walk"])
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    bones = read_bones(armature)
    arrays: dict[str, Any] = (
        read_shape(meshes) | read_weights(meshes, list(bones["bone_names"])) | bones | read_action(armature)
    )
    np.savez_compressed(folder / "human.npz", **arrays)
    scene.frame_set(scene.frame_start)
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "human.blend"), compress=True)


if __name__ == "__main__":
    main()
