"""What tests of corrections share: what is sculpted, and what is shown."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from scenes import add_tube, distance, edit_bones, evaluated_points, rest_points, select, turn, update
from supple.settings.objects import settings_of
from supple.tasks.corrections.keep import Kept
from supple.tasks.corrections.keep import keep as keep_by_task
from supple.tasks.corrections.posed_copy import begin as begin_by_task
from supple.tasks.subject.corrected import list_under_way

ASIDE = Vector((1.5, 0.0, 0.0))


def copy_points(copy: bpy.types.Object) -> np.ndarray:
    """Points of a posed copy, float64, shape (V, 3)."""
    points = np.empty((len(copy.data.vertices), 3), np.float32)
    copy.data.vertices.foreach_get("co", points.ravel())
    return points.astype(np.float64)


def sculpt(copy: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray) -> np.ndarray:
    """Move vertices of a posed copy that are near a center by an offset that fades; returns all points."""
    points = copy_points(copy)
    distances = np.linalg.norm(points - center, axis=1)
    points += np.maximum(0.0, 1.0 - distances / radius)[:, None] ** 2 * np.asarray(offset, float)
    copy.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
    copy.data.update()
    return points


def correct(obj: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray, **options) -> np.ndarray:
    """Correct the pose that is shown, and return what it was sculpted to."""
    layer = bpy.context.view_layer
    (copy,), _ = begin_by_task([obj], layer)
    target = sculpt(copy, center, radius, offset)
    correct.kept = keep_by_task([copy], layer, **options)
    update()
    return target


correct.kept = Kept((), (), 0, ())


def add_arms() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Two tubes beside each other in one mesh, mirror images at x = 0, each on two bones: (mesh object, armature).

    The right bones are rolled otherwise than mirroring would have it.
    """
    obj, armature = add_tube(bones=2, length=2.0)
    points = rest_points(obj)
    bottom, top = points.copy(), points.copy()
    bottom[:, 0] += 1.5
    top[:, 0] = -bottom[:, 0]
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    count = len(points)
    mesh = bpy.data.meshes.new("Arms")
    both = np.concatenate([bottom, top]).tolist()
    mesh.from_pydata(both, [], faces + [tuple(count + v for v in reversed(face)) for face in faces])
    weights = {group.name: np.zeros(count) for group in obj.vertex_groups}
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            weights[obj.vertex_groups[entry.group].name][vertex.index] = entry.weight
    obj.vertex_groups.clear()
    obj.data = mesh
    edit_bones(armature, _make_arms)
    for side, start in (("L", 0), ("R", count)):
        for bone, values in weights.items():
            group = obj.vertex_groups.new(name=f"{bone}.{side}")
            for vertex in np.flatnonzero(values).tolist():
                group.add((start + vertex,), float(values[vertex]), "REPLACE")
    select(obj)
    return obj, armature


def _make_arms(bones) -> None:
    """Make a chain along Y the left one, aside, and add the right one."""
    for bone in list(bones):
        bone.use_connect = False
    for bone in list(bones):
        other = bones.new(f"{bone.name}.R")
        other.head, other.tail, other.roll = bone.head - ASIDE, bone.tail - ASIDE, 0.8
        if bone.parent is not None:
            other.parent = bones[bone.parent.name.replace(".L", ".R")]
        bone.name = f"{bone.name}.L"
        bone.head, bone.tail = bone.head + ASIDE, bone.tail + ASIDE


def shown(obj: bpy.types.Object) -> np.ndarray:
    """Points as they are shown, float64."""
    return evaluated_points(obj).astype(np.float64)


def key_value(obj: bpy.types.Object, name: str) -> float:
    """Value of a shape key as it is evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return obj.data.shape_keys.evaluated_get(depsgraph).key_blocks[name].value


# A tube that is corrected by the buttons, as a user does it


ELBOW, OFFSET = np.array([0.0, 1.0, 0.0]), np.array([0.1, 0.05, -0.2])
POSES = {"ANGLE": [(1.2, 0.0, 0.0), (0.6, 0.0, 0.0)], "RBF": [(1.2, 0.0, 0.0), (0.0, 0.4, 1.0)]}


def tube() -> bpy.types.Object:
    return bpy.data.objects["Tube"]


def rig() -> bpy.types.Object:
    return bpy.data.objects["Rig"]


def pose(rotation=(1.2, 0.0, 0.0), bone: str = "bone.1") -> None:
    turn(rig(), bone, rotation)


def begin() -> bpy.types.Object:
    select(tube())
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    return bpy.context.active_object


def keep(**options) -> None:
    assert bpy.ops.supple.correction_keep(**options) == {"FINISHED"}
    update()


def reshape(copy: bpy.types.Object, radius: float = 0.8) -> np.ndarray:
    """Sculpt a posed copy at the elbow: all its points then."""
    return sculpt(copy, ELBOW, radius, OFFSET)


def begin_sculpted(rotation=(1.2, 0.0, 0.0)) -> tuple[bpy.types.Object, np.ndarray]:
    """A posed copy, and what it was sculpted to."""
    pose(rotation)
    copy = begin()
    return copy, reshape(copy)


def make(rotation=(1.2, 0.0, 0.0), **options) -> np.ndarray:
    """Correct a pose: what it was sculpted to."""
    _, target = begin_sculpted(rotation)
    keep(**options)
    return target


def make_all(reader: str) -> dict[tuple, np.ndarray]:
    """Correct each of a reader's poses: what they were sculpted to."""
    return {rotation: make(rotation, reader=reader) for rotation in POSES[reader]}


def names() -> list[str]:
    return [entry.name for entry in settings_of(tube()).corrections]


def assert_shown(target: np.ndarray, within: float = 1e-5) -> None:
    assert distance(target, shown(tube())) < within


def assert_all_shown(targets: dict[tuple, np.ndarray], bone: str = "bone.1") -> None:
    for rotation, target in targets.items():
        pose(rotation, bone)
        assert_shown(target)


def assert_not_kept(copy: bpy.types.Object, target: np.ndarray, message: str) -> None:
    """What is sculpted stays where Keep says what is wrong."""
    select(copy)
    with pytest.raises(RuntimeError, match=message):
        bpy.ops.supple.correction_keep()
    assert distance(target, shown(copy)) < 1e-6


def discard() -> None:
    bpy.ops.supple.correction_discard()
    assert_nothing_under_way()


def assert_nothing_under_way() -> None:
    obj = tube()
    assert not list_under_way(bpy.context)
    assert settings_of(obj).posed_copy is None
    assert obj.visible_get()
    assert not [other for other in bpy.data.objects if settings_of(other).corrected is not None]
