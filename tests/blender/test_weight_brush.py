"""The brush that smooths weights through the body, without a window."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from scenes import add_tube, push, select, turn, undo, update
from supple.bridge.weights import read_weights
from supple.settings.objects import settings_of
from supple.tasks.weights.edits import smooth_weights
from supple.tasks.weights.targets import ALL_WEIGHTS

BONES = ("bone.0", "bone.1", "bone.2")


def paint(*touches, **options):
    return bpy.ops.supple.weights_brush(
        touches=[{"name": "", "location": at, "radius": radius, "pressure": 1.0} for at, radius in touches], **options
    )


def painted_tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube whose weights jump from bone to bone, in Weight Paint Mode."""
    obj, armature = add_tube(rings=48, sides=16)
    weights = read_weights(obj, BONES)
    for group, column in zip(BONES, (weights == weights.max(axis=1, keepdims=True)).T, strict=True):
        vertices = np.flatnonzero(column).tolist()
        obj.vertex_groups[group].remove(list(range(len(weights))))
        obj.vertex_groups[group].add(vertices, 1.0, "REPLACE")
    for vertex in obj.data.vertices:  # ties
        total = sum(entry.weight for entry in vertex.groups)
        for entry in vertex.groups:
            entry.weight /= total
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    return obj, armature


def distances(obj: bpy.types.Object, center) -> np.ndarray:
    return np.linalg.norm([np.array(vertex.co) - center for vertex in obj.data.vertices], axis=1)


def test_it_smooths_under_the_brush_alone():
    obj, _ = painted_tube()
    before = read_weights(obj, BONES)
    center = np.array(obj.data.vertices[0].co) * (0, 0, 1) + (0, 1.0, 0)
    assert paint((tuple(center), 0.6), strength=0.5) == {"FINISHED"}
    after = read_weights(obj, BONES)
    changed = (after != before).any(axis=1)
    assert changed.sum() > 20
    assert distances(obj, center)[changed].max() < 0.6
    assert after.sum(axis=1) == pytest.approx(np.ones(len(after)), abs=1e-5)


def test_many_touches_reach_what_smooth_solid_makes():
    obj, _ = painted_tube()
    twin = obj.copy()
    twin.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(twin)
    paint(*[((0.0, 1.5, 0.0), 100.0)] * 20, strength=1.0, repeats=9)
    smooth_weights([twin], ALL_WEIGHTS, "SOLID", 1.0, 9)
    assert np.abs(read_weights(obj, BONES) - read_weights(twin, BONES)).max() < 1e-5


def test_x_mirror_touches_both_sides():
    obj, _ = painted_tube()
    obj.use_mesh_mirror_x = True
    side = max(obj.data.vertices, key=lambda vertex: vertex.co.x)
    before = read_weights(obj, BONES)
    paint(((side.co.x, 1.0, 0.0), 0.3), strength=1.0)
    moved = np.abs(read_weights(obj, BONES) - before).max(axis=1)
    points = np.array([vertex.co for vertex in obj.data.vertices])
    assert moved[points[:, 0] < -0.3].max() == pytest.approx(moved[points[:, 0] > 0.3].max(), rel=1e-3)
    assert moved[np.abs(points[:, 0]) < 0.05].max(initial=0.0) == 0.0


def test_locked_groups_and_masked_vertices_stay():
    obj, _ = painted_tube()
    obj.vertex_groups["bone.2"].lock_weight = True
    obj.data.use_paint_mask_vertex = True
    for vertex in obj.data.vertices:
        vertex.select = vertex.co.x > 0
    before = read_weights(obj, BONES)
    paint(((0.0, 1.0, 0.0), 100.0), strength=1.0)
    after = read_weights(obj, BONES)
    assert np.array_equal(before[:, 2], after[:, 2])
    changed = np.flatnonzero((after != before).any(axis=1))
    assert len(changed)
    assert min(obj.data.vertices[index].co.x for index in changed.tolist()) > 0


def test_it_is_one_step_of_undo():
    obj, _ = painted_tube()
    push("painted")
    before = read_weights(obj, BONES)
    paint(((0.0, 1.0, 0.0), 0.8), ((0.0, 1.2, 0.0), 0.8))
    push("brush")
    assert not np.array_equal(before, read_weights(bpy.data.objects["Tube"], BONES))
    undo()
    assert np.array_equal(before, read_weights(bpy.data.objects["Tube"], BONES))


def test_the_brush_touches_the_posed_skin():
    obj, armature = painted_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.5))
    update()
    before = read_weights(obj, BONES)
    far = (0.0, 2.9, 0.0)  # nothing is there any more
    paint((far, 0.4), strength=1.0)
    assert np.array_equal(before, read_weights(obj, BONES))


def test_without_faces_it_says_so():
    obj, _ = painted_tube()
    bpy.ops.object.mode_set(mode="OBJECT")
    mesh = bpy.data.meshes.new("Points")
    mesh.from_pydata([tuple(vertex.co) for vertex in obj.data.vertices], [], [])
    obj.data = mesh
    for name in BONES:
        obj.vertex_groups.new(name=name).add(list(range(len(mesh.vertices))), 0.5, "REPLACE")
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    with pytest.raises(RuntimeError, match="no faces, and so no volume to smooth through"):
        paint(((0.0, 1.0, 0.0), 0.8))


def test_the_tool_is_in_the_toolbar():
    from bl_ui.space_toolsystem_common import ToolSelectPanelHelper

    panel = ToolSelectPanelHelper._tool_class_from_space_type("VIEW_3D")  # noqa: SLF001
    tools = [getattr(tool, "idname", "") for tool in panel._tools["PAINT_WEIGHT"] if tool is not None]  # noqa: SLF001
    assert tools.count("supple.smooth_through_body") == 1
    assert bpy.context.scene.supple_weights.brush_radius == 50
    assert not settings_of(add_tube()[0]).is_bound
