"""The brush that smooths weights through the body, without a window."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_weights import edit_elsewhere, set_weights, weights_of

from scenes import add_tube, add_twin, push, rest_points, select, turn, undo, update
from supple.tasks.steps import take_all
from supple.tasks.weights.edits import smooth_weights
from supple.tasks.weights.targets import ALL_WEIGHTS


def paint(*touches, **options):
    return bpy.ops.supple.weights_brush(
        touches=[{"name": "", "location": at, "radius": radius, "pressure": 1.0} for at, radius in touches], **options
    )


def painted_tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube whose weights jump from bone to bone, in Weight Paint Mode."""
    obj, armature = add_tube(rings=48, sides=16)
    weights = weights_of(obj)
    strongest = weights == weights.max(axis=1, keepdims=True)
    set_weights(obj, strongest / strongest.sum(axis=1, keepdims=True))
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    return obj, armature


def test_it_smooths_under_the_brush_alone():
    obj, _ = painted_tube()
    before = weights_of(obj)
    center = np.array(obj.data.vertices[0].co) * (0, 0, 1) + (0, 1.0, 0)
    assert paint((tuple(center), 0.6), strength=0.5) == {"FINISHED"}
    after = weights_of(obj)
    changed = (after != before).any(axis=1)
    assert changed.sum() > 20
    assert np.linalg.norm(rest_points(obj)[changed] - center, axis=1).max() < 0.6
    assert after.sum(axis=1) == pytest.approx(np.ones(len(after)), abs=1e-5)


def test_many_touches_reach_what_smooth_solid_makes():
    obj, _ = painted_tube()
    twin = add_twin(obj)
    paint(*[((0.0, 1.5, 0.0), 100.0)] * 20, strength=1.0, repeats=9)
    take_all(smooth_weights([twin], ALL_WEIGHTS, "SOLID", 1.0, 9))
    assert np.abs(weights_of(obj) - weights_of(twin)).max() < 1e-5


def test_x_mirror_touches_both_sides():
    obj, _ = painted_tube()
    obj.use_mesh_mirror_x = True
    x = rest_points(obj)[:, 0]
    before = weights_of(obj)
    paint(((float(x.max()), 1.0, 0.0), 0.3), strength=1.0)
    moved = np.abs(weights_of(obj) - before).max(axis=1)
    assert moved[x < -0.3].max() == pytest.approx(moved[x > 0.3].max(), rel=1e-3)
    assert moved[x > 0.3].max() > 0.0
    assert moved[np.abs(x) < 0.05].max(initial=0.0) == 0.0


def test_locked_groups_and_masked_vertices_stay():
    obj, _ = painted_tube()
    obj.vertex_groups["bone.2"].lock_weight = True
    obj.data.use_paint_mask_vertex = True
    for vertex in obj.data.vertices:
        vertex.select = vertex.co.x > 0
    before = weights_of(obj)
    paint(((0.0, 1.0, 0.0), 100.0), strength=1.0)
    after = weights_of(obj)
    assert np.array_equal(before[:, 2], after[:, 2])
    changed = (after != before).any(axis=1)
    assert changed.any()
    assert rest_points(obj)[changed, 0].min() > 0


@pytest.mark.versions
def test_it_is_one_step_of_undo():
    obj, _ = painted_tube()
    push("painted")
    before = weights_of(obj)
    paint(((0.0, 1.0, 0.0), 0.8), ((0.0, 1.2, 0.0), 0.8))
    push("brush")
    assert not np.array_equal(before, weights_of(bpy.data.objects["Tube"]))
    undo()
    assert np.array_equal(before, weights_of(bpy.data.objects["Tube"]))


def test_the_brush_touches_the_posed_skin():
    obj, armature = painted_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.5))
    update()
    before = weights_of(obj)
    far = (0.0, 2.9, 0.0)  # nothing is there any more
    paint((far, 0.4), strength=1.0)
    assert np.array_equal(before, weights_of(obj))


def test_without_faces_it_says_so():
    obj, _ = add_tube()
    mesh = bpy.data.meshes.new("Points")
    mesh.from_pydata(rest_points(obj).tolist(), [], [])
    obj.data = mesh
    set_weights(obj, np.full((len(mesh.vertices), 3), 0.5))
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    with pytest.raises(RuntimeError, match="no faces, so no volume to smooth through"):
        paint(((0.0, 1.0, 0.0), 0.8))


def test_a_mesh_in_edit_mode_with_another_object_is_refused():
    obj, _ = painted_tube()
    edit_elsewhere(obj)
    with pytest.raises(RuntimeError, match="The mesh of 'Tube' is in Edit Mode with another object: leave Edit Mode"):
        paint(((0.0, 1.0, 0.0), 0.8))


@pytest.mark.versions
def test_the_tool_is_in_the_toolbar():
    from bl_ui.space_toolsystem_common import ToolSelectPanelHelper

    panel = ToolSelectPanelHelper._tool_class_from_space_type("VIEW_3D")  # noqa: SLF001
    tools = [getattr(tool, "idname", "") for tool in panel._tools["PAINT_WEIGHT"] if tool is not None]  # noqa: SLF001
    assert tools.count("supple.smooth_through_body") == 1
    assert bpy.context.scene.supple_weights.brush_radius == 50
