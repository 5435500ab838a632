"""Weights checked: what is found, reported and selected."""

from __future__ import annotations

import re
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import scenes_weights

from panels import draw_dialog
from scenes import add_tube, add_twin, armature_modifier, link, push, rest_points, select, snapshot, turn, undo, update
from supple.bridge.meshes.weights import read_selected
from supple.deformers.weight_editing.transfer import Params
from supple.operators.weights import edits as weight_edits
from supple.settings.objects import settings_of
from supple.tasks.steps import take_all
from supple.tasks.weights import checks, transfer
from supple.tasks.weights.edits import smooth_weights
from supple.tasks.weights.targets import ALL_WEIGHTS, Scope


def make_mistakes(obj: bpy.types.Object) -> dict[str, list[int]]:
    """Weights with a mistake of each kind; gives the vertices of each."""
    y = rest_points(obj)[:, 1]
    values = np.zeros((104, 3))
    values[np.arange(104), np.minimum(y.astype(int), 2)] = 1.0
    values[0:2] = 0.0
    values[5] = (0.6, 0.3, 0.1)
    values[30] = (0.5, 0.0, 0.0)
    values[100] = (0.7, 0.0, 0.3)
    scenes_weights.set_weights(obj, values)
    return {"UNWEIGHTED": [0, 1], "OVER_INFLUENCED": [5], "SUMS": [30], "FAR": [100], "SEAMS": []}


def test_check_tells_and_changes_nothing():
    obj, _ = scenes_weights.add_small_tube()
    bpy.ops.supple.weights_check()
    assert settings_of(obj).weights_report == "'Tube', 104 vertices:\nNo mistakes found."
    make_mistakes(obj)
    before = snapshot(obj)
    assert bpy.ops.supple.weights_check(limit=2) == {"FINISHED"}
    assert snapshot(obj) == before
    lines = settings_of(obj).weights_report.splitlines()
    assert lines == checks.check_weights([obj], 2)
    assert lines[:4] == [
        "'Tube', 104 vertices:",
        "2 vertices have no weights: no bone moves them.",
        "1 vertex has more than 2 influences.",
        "1 vertex has weights that do not sum to 1.",
    ]
    assert any("bone.0: 1 vertex far from the bone" in line for line in lines)


def test_make_supple_tells_before_it_binds(capfd):
    """Of far weights, and of stiff parts that would bend; not of weights that it makes itself."""
    obj, armature = scenes_weights.add_small_tube()
    make_mistakes(obj)
    select(armature)
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    told = capfd.readouterr().out
    assert "'Tube': 1 vertex far from the bone: Select, Far From Bone, shows them" in told
    assert told.index("far from the bone") < told.index("1 mesh is bound")
    obj.vertex_groups.clear()
    bpy.ops.supple.unbind()
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    assert "far from the bone" not in capfd.readouterr().out


def test_check_tells_of_each_object_apart():
    obj, _ = scenes_weights.add_small_tube()
    twin, sharer = add_twin(obj), link(obj.copy())
    make_mistakes(twin)
    for vertex in twin.data.vertices:
        vertex.co.x += 0.001
    select(obj, twin, sharer)
    bpy.ops.supple.weights_check()
    assert settings_of(obj).weights_report.splitlines()[0] == "'Tube', 104 vertices:"
    assert "no weight" not in settings_of(obj).weights_report
    assert "2 vertices have no weight" in settings_of(twin).weights_report
    assert settings_of(sharer).weights_report == settings_of(obj).weights_report


def test_what_was_found_is_selected(subtests):
    obj, _ = scenes_weights.add_small_tube()
    for kind, wrong in make_mistakes(obj).items():
        for mode in ("OBJECT", "EDIT", "WEIGHT_PAINT"):
            with subtests.test(kind=kind, mode=mode):
                obj.data.use_paint_mask_vertex = False
                scenes_weights.choose_vertices(obj, list(range(104)))
                bpy.ops.object.mode_set(mode=mode)
                assert bpy.ops.supple.weights_select(kind=kind, limit=2) == {"FINISHED"}
                assert obj.mode == ("WEIGHT_PAINT" if mode == "WEIGHT_PAINT" else "EDIT")
                assert obj.data.use_paint_mask_vertex == (mode == "WEIGHT_PAINT")
                bpy.ops.object.mode_set(mode="OBJECT")
                assert np.flatnonzero(read_selected(obj.data)).tolist() == wrong


def test_what_was_found_is_selected_while_the_mesh_is_edited_with_another_object():
    obj, _ = scenes_weights.add_small_tube()
    kind, wrong = next(iter(make_mistakes(obj).items()))
    other = scenes_weights.edit_elsewhere(obj)
    assert bpy.ops.supple.weights_select(kind=kind, limit=2) == {"FINISHED"}
    assert (obj.mode, other.mode) == ("OBJECT", "EDIT")
    scenes_weights.leave_edit_mode(other)
    assert np.flatnonzero(read_selected(obj.data)).tolist() == wrong


def test_selecting_all_mistakes():
    obj, _ = scenes_weights.add_small_tube()
    make_mistakes(obj)
    ((found, wrong),) = checks.find_vertices([obj], "ANY", 2)
    assert found == obj
    assert set(np.flatnonzero(wrong)) >= {0, 1, 5, 30, 100}
    assert checks.select_vertices([(obj, wrong)]) == [f"Selected {wrong.sum()} vertices."]
    assert (read_selected(obj.data) == wrong).all()


# Weights taken over from another mesh


def add_sleeve(body: bpy.types.Object, size: float = 1.05) -> bpy.types.Object:
    """A wider copy of a tube without weights and modifiers."""
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    sleeve.vertex_groups.clear()
    sleeve.modifiers.clear()
    for vertex in sleeve.data.vertices:
        vertex.co.x *= size
        vertex.co.z *= size
    return sleeve


def apart(first: bpy.types.Object, second: bpy.types.Object, vertices: list[int] | slice = slice(None)) -> float:
    return float(np.abs(scenes_weights.weights_of(first) - scenes_weights.weights_of(second))[vertices].max())


@pytest.mark.versions
def test_transfer_takes_weights_over():
    body, armature = scenes_weights.add_small_tube()
    sleeve, twin = add_sleeve(body), add_sleeve(body)
    select(body, sleeve)
    assert bpy.ops.supple.weights_transfer(reach=0.1, angle=1.0) == {"FINISHED"}
    assert apart(sleeve, body) < 0.02
    assert armature_modifier(sleeve).object == armature
    told = take_all(transfer.transfer_weights(body, [twin], params=Params(0.1, 1.0)))
    assert told == [
        "Copied the weights of 'Tube' to 104 vertices of 'Sleeve.001'.",
        "Added an Armature modifier with 'Rig' to 'Sleeve.001'.",
    ]
    assert apart(twin, sleeve) == 0.0


def test_transfer_fills_in_what_is_out_of_reach():
    body, _ = scenes_weights.add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        if vertex.co.y > 1.6:
            vertex.co.z += 3.0
    told = take_all(transfer.transfer_weights(body, [sleeve], params=Params(0.05, 1.0)))
    assert re.fullmatch(r"'Sleeve': \d+ vertices of 104 have no match\.", told[1])
    assert told[2].startswith("'Sleeve': ")
    assert "got smooth weights" in told[2]
    assert settings_of(sleeve).weights_report.splitlines() == ["'Sleeve': weights transferred from 'Tube'.", *told[1:3]]
    scenes_weights.assert_whole(sleeve)
    assert apart(sleeve, body, scenes_weights.HALF) < 0.02
    sleeve.location.x = 20.0
    bpy.context.view_layer.update()
    take_all(transfer.transfer_weights(body, [sleeve]))
    assert "'Sleeve': 104 vertices of 104 have no match." in settings_of(sleeve).weights_report.splitlines()


def test_transfer_to_a_half_mesh_makes_groups_of_the_other_side():
    body, armature = scenes_weights.add_small_tube()
    names = scenes_weights.add_sides(armature)
    body.vertex_groups.clear()
    scenes_weights.set_weights(body, np.tile([0.5, 0.5, 0.0], (104, 1)), names)
    sleeve = add_sleeve(body)
    sleeve.modifiers.new("Mirror", "MIRROR")
    take_all(transfer.transfer_weights(body, [sleeve]))
    assert sorted(group.name for group in sleeve.vertex_groups) == ["arm.L", "arm.R", "bone.0"]


def test_transfer_between_places():
    """One of both is scaled: what counts is where they are in their armature."""
    body, _ = scenes_weights.add_small_tube()
    sleeve = add_sleeve(body)
    for vertex in sleeve.data.vertices:
        vertex.co *= 0.25
    sleeve.scale = (4, 4, 4)
    select(body, sleeve)
    bpy.ops.supple.weights_transfer(reach=0.1)
    assert apart(sleeve, body) < 0.02


def test_transfer_to_selected_vertices_only():
    body, _ = scenes_weights.add_small_tube()
    sleeve = add_sleeve(body)
    take_all(transfer.transfer_weights(body, [sleeve]))
    scenes_weights.set_weights(sleeve, np.tile([0.0, 0.0, 1.0], (104, 1)))
    for vertex in sleeve.data.vertices:
        vertex.select = vertex.index < 52
    take_all(transfer.transfer_weights(body, [sleeve], Scope(selected_only=True)))
    assert apart(sleeve, body, scenes_weights.HALF) < 0.02
    assert (scenes_weights.weights_of(sleeve)[52:] == (0, 0, 1)).all()


def test_the_dialog_says_which_mesh_is_the_source_and_that_stays_as_it_is():
    body, _ = scenes_weights.add_small_tube()
    sleeve, coat = add_sleeve(body), add_sleeve(body)
    scenes_weights.set_weights(sleeve, np.tile([0.0, 0.0, 1.0], (104, 1)))
    sharing = link(body.copy())
    select(body, sleeve, coat, sharing)
    before, groups = scenes_weights.weights_of(body), [(group.name, group.index) for group in body.vertex_groups]
    operator = SimpleNamespace(scope=lambda _targets: None)
    assert weight_edits.SUPPLE_OT_weights_transfer.wants_to_ask(operator, bpy.context)
    shown = draw_dialog("SUPPLE_OT_weights_transfer", painted=operator.painted)
    assert shown[:3] == ["From Tube: it does not change", "To Sleeve, Sleeve.001", "Replaces the weights of Sleeve"]
    assert bpy.ops.supple.weights_transfer(reach=0.1) == {"FINISHED"}
    assert apart(sleeve, body) < 0.02
    assert (scenes_weights.weights_of(body) == before).all()
    assert [(group.name, group.index) for group in body.vertex_groups] == groups


# The brush that smooths weights through the body, without a window


def paint(*touches, **options):
    return bpy.ops.supple.weights_brush(
        touches=[{"name": "", "location": at, "radius": radius, "pressure": 1.0} for at, radius in touches], **options
    )


def painted_tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube whose weights jump from bone to bone, in Weight Paint Mode."""
    obj, armature = add_tube(rings=48, sides=16)
    weights = scenes_weights.weights_of(obj)
    strongest = weights == weights.max(axis=1, keepdims=True)
    scenes_weights.set_weights(obj, strongest / strongest.sum(axis=1, keepdims=True))
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    return obj, armature


def test_it_smooths_under_the_brush_alone():
    obj, _ = painted_tube()
    before = scenes_weights.weights_of(obj)
    center = np.array(obj.data.vertices[0].co) * (0, 0, 1) + (0, 1.0, 0)
    assert paint((tuple(center), 0.6), strength=0.5) == {"FINISHED"}
    after = scenes_weights.weights_of(obj)
    changed = (after != before).any(axis=1)
    assert changed.sum() > 20
    assert np.linalg.norm(rest_points(obj)[changed] - center, axis=1).max() < 0.6
    assert after.sum(axis=1) == pytest.approx(np.ones(len(after)), abs=1e-5)


def test_many_touches_reach_what_smooth_solid_makes():
    obj, _ = painted_tube()
    twin = add_twin(obj)
    paint(*[((0.0, 1.5, 0.0), 100.0)] * 20, strength=1.0, repeats=9)
    take_all(smooth_weights([twin], ALL_WEIGHTS, "SOLID", 1.0, 9))
    assert np.abs(scenes_weights.weights_of(obj) - scenes_weights.weights_of(twin)).max() < 1e-5


def test_x_mirror_touches_both_sides():
    obj, _ = painted_tube()
    obj.use_mesh_mirror_x = True
    x = rest_points(obj)[:, 0]
    before = scenes_weights.weights_of(obj)
    paint(((float(x.max()), 1.0, 0.0), 0.3), strength=1.0)
    moved = np.abs(scenes_weights.weights_of(obj) - before).max(axis=1)
    assert moved[x < -0.3].max() == pytest.approx(moved[x > 0.3].max(), rel=1e-3)
    assert moved[x > 0.3].max() > 0.0
    assert moved[np.abs(x) < 0.05].max(initial=0.0) == 0.0


def test_locked_groups_and_masked_vertices_stay():
    obj, _ = painted_tube()
    obj.vertex_groups["bone.2"].lock_weight = True
    obj.data.use_paint_mask_vertex = True
    for vertex in obj.data.vertices:
        vertex.select = vertex.co.x > 0
    before = scenes_weights.weights_of(obj)
    paint(((0.0, 1.0, 0.0), 100.0), strength=1.0)
    after = scenes_weights.weights_of(obj)
    assert np.array_equal(before[:, 2], after[:, 2])
    changed = (after != before).any(axis=1)
    assert changed.any()
    assert rest_points(obj)[changed, 0].min() > 0


@pytest.mark.versions
def test_it_is_one_step_of_undo():
    obj, _ = painted_tube()
    push("painted")
    before = scenes_weights.weights_of(obj)
    paint(((0.0, 1.0, 0.0), 0.8), ((0.0, 1.2, 0.0), 0.8))
    push("brush")
    assert not np.array_equal(before, scenes_weights.weights_of(bpy.data.objects["Tube"]))
    undo()
    assert np.array_equal(before, scenes_weights.weights_of(bpy.data.objects["Tube"]))


def test_the_brush_touches_the_posed_skin():
    obj, armature = painted_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.5))
    update()
    before = scenes_weights.weights_of(obj)
    far = (0.0, 2.9, 0.0)  # nothing is there any more
    paint((far, 0.4), strength=1.0)
    assert np.array_equal(before, scenes_weights.weights_of(obj))


@pytest.mark.versions
def test_the_tool_is_in_the_toolbar():
    from bl_ui.space_toolsystem_common import ToolSelectPanelHelper

    panel = ToolSelectPanelHelper._tool_class_from_space_type("VIEW_3D")  # noqa: SLF001
    tools = [getattr(tool, "idname", "") for tool in panel._tools["PAINT_WEIGHT"] if tool is not None]  # noqa: SLF001
    assert tools.count("supple.smooth_through_body") == 1
    assert bpy.context.scene.supple_weights.brush_radius == 50
