"""Weights edited: by the operators, whose results are those of the tasks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import bpy
import bmesh
import numpy as np
import pytest
import scenes_weights

from panels import draw_dialog
from scenes import add_tube, add_twin, clear, join_box, link, rest_points, select, snapshot
from supple.deformers.weight_editing.edits import find_links
from supple.deformers.weight_editing.edits import smooth_weights as smooth_arrays
from supple.tasks.steps import take_all
from supple.tasks.weights import edits
from supple.tasks.weights.parts import read_skins
from supple.tasks.weights.targets import Scope
from supple.tasks.weights.transfer import transfer_weights


def make_rough(obj: bpy.types.Object) -> np.ndarray:
    """Weights without any order, four bones' worth of work for each tool; rows sum to 1."""
    values = np.random.default_rng(4).uniform(0.0, 1.0, (len(obj.data.vertices), 3)) ** 3
    scenes_weights.set_weights(obj, values / values.sum(axis=1, keepdims=True))
    return scenes_weights.weights_of(obj)


EDITS: dict[str, tuple[dict, Callable]] = {
    "weights_smooth": (
        {"strength": 0.7, "repeats": 3},
        lambda objects, scope: take_all(edits.smooth_weights(objects, scope, "SURFACE", 0.7, 3)),
    ),
    "weights_sharpen": ({"amount": 0.4}, lambda objects, scope: take_all(edits.sharpen_weights(objects, scope, 0.4))),
    "weights_limit": ({"limit": 2}, lambda objects, scope: take_all(edits.limit_weights(objects, scope, 2))),
    "weights_prune": ({"threshold": 0.2}, lambda objects, scope: take_all(edits.prune_weights(objects, scope, 0.2))),
    "weights_mirror": (
        {"direction": "POSITIVE"},
        lambda objects, scope: take_all(edits.mirror_weights(objects, scope, "POSITIVE")),
    ),
}
"""Operators that change rough weights: with which properties, and the task that does the same."""


def run(name: str, **properties) -> None:
    defaults = EDITS[name][0] if name in EDITS else {}
    assert getattr(bpy.ops.supple, name)(**{**defaults, **properties}) == {"FINISHED"}


def smooth_by_arrays(obj: bpy.types.Object, values: np.ndarray) -> np.ndarray:
    """What `weights_smooth` is to make of all bones of a mesh."""
    (skin,), _ = read_skins([obj])
    return smooth_arrays(values.copy(), find_links(skin.points, skin.triangles), 0.7, 3)


# All edits


@pytest.mark.versions
def test_the_operator_does_what_the_task_does(subtests):
    obj, _ = scenes_weights.add_small_tube()
    for name, (_, task) in EDITS.items():
        with subtests.test(name):
            before = make_rough(obj)
            twin = add_twin(obj)
            select(obj)
            run(name)
            task([twin], Scope())
            assert (scenes_weights.weights_of(obj) == scenes_weights.weights_of(twin)).all()
            assert np.abs(scenes_weights.weights_of(obj) - before).max() > 0.05
            scenes_weights.assert_whole(obj)


def test_only_selected_vertices_are_changed_in_edit_mode(subtests):
    obj, _ = scenes_weights.add_small_tube()
    for name in EDITS:
        with subtests.test(name):
            for selected_only in (True, False):
                bpy.ops.object.mode_set(mode="OBJECT")
                before = make_rough(obj)
                scenes_weights.choose_vertices(obj, scenes_weights.HALF)
                run(name, selected_only=selected_only)
                bpy.ops.object.mode_set(mode="OBJECT")
                assert (scenes_weights.weights_of(obj)[52:] != before[52:]).any() == (not selected_only)
                assert (scenes_weights.weights_of(obj)[scenes_weights.HALF] != before[scenes_weights.HALF]).any()


def test_locked_groups_and_groups_of_no_bone_are_not_touched(subtests):
    obj, _ = scenes_weights.add_small_tube()
    obj.vertex_groups.new(name="Pin").add(list(range(104)), 0.3, "REPLACE")
    pinned = scenes_weights.weights_of(obj, ["Pin"])
    for name in EDITS:
        with subtests.test(name):
            before = make_rough(obj)
            obj.vertex_groups["bone.1"].lock_weight = True
            run(name)
            assert (scenes_weights.weights_of(obj)[:, 1] == before[:, 1]).all()
            assert (scenes_weights.weights_of(obj)[:, 0] != before[:, 0]).any()
            assert (scenes_weights.weights_of(obj, ["Pin"]) == pinned).all()
    bpy.ops.supple.weights_normalize()
    assert (scenes_weights.weights_of(obj, ["Pin"]) == pinned).all()


def test_other_bones_share_what_the_edited_ones_leave(subtests):
    obj, armature = scenes_weights.add_small_tube()
    for bones in ("ACTIVE", "SELECTED"):
        with subtests.test(bones):
            before = make_rough(obj)
            obj.vertex_groups.active = obj.vertex_groups["bone.1" if bones == "ACTIVE" else "bone.0"]
            scenes_weights.select_bones(armature, "bone.1" if bones == "SELECTED" else "bone.0")
            run("weights_smooth", bones=bones)
            found = scenes_weights.weights_of(obj)
            assert np.abs(found[:, 1] - before[:, 1]).max() > 0.05
            ratio = before[:, 0] / (before[:, 0] + before[:, 2])
            assert np.abs(found[:, 0] - ratio * (1.0 - found[:, 1])).max() < 1e-4
            assert np.abs(found - smooth_by_arrays(obj, before))[:, 1].max() < 1e-4


def test_a_bone_gives_weight_away_where_no_other_has_any():
    obj, _ = scenes_weights.add_small_tube()
    y = rest_points(obj)[:, 1]
    scenes_weights.set_weights(obj, np.stack([y < 1.4, y > 1.4, np.zeros(104)], axis=1))
    expected = smooth_by_arrays(obj, scenes_weights.weights_of(obj))
    obj.vertex_groups.active = obj.vertex_groups["bone.1"]
    run("weights_smooth", bones="ACTIVE")
    assert (expected[y > 1.4, 1] < 0.9).any()
    assert np.abs(scenes_weights.weights_of(obj) - expected)[y > 1.4].max() < 1e-5


def test_edits_of_selected_vertices_tear_no_seam(subtests):
    body, _ = scenes_weights.add_small_tube()
    obj = add_twin(body)
    scenes_weights.split_all_edges(obj)
    select(obj)
    for name in (*EDITS, "normalize", "transfer"):
        with subtests.test(name):
            bpy.ops.object.mode_set(mode="OBJECT")
            scenes_weights.set_weights(
                obj, make_rough(body)[find_originals(body, obj)] * (0.5 if name == "normalize" else 1.0)
            )
            before = scenes_weights.weights_of(obj)
            scenes_weights.choose_vertices(obj, list(range(0, len(before), 3)))
            if name == "normalize":
                bpy.ops.supple.weights_normalize()
            elif name == "transfer":
                bpy.ops.object.mode_set(mode="OBJECT")
                scenes_weights.set_weights(body, np.roll(scenes_weights.weights_of(body), 1, axis=1))
                take_all(transfer_weights(body, [obj], Scope(selected_only=True)))
            else:
                run(name)
            bpy.ops.object.mode_set(mode="OBJECT")
            assert (scenes_weights.weights_of(obj) != before).any()
            scenes_weights.assert_closed(obj)


def find_originals(body: bpy.types.Object, obj: bpy.types.Object) -> np.ndarray:
    """For each vertex of a mesh the one of another that is at its place."""
    return np.linalg.norm(rest_points(obj)[:, None] - rest_points(body), axis=2).argmin(axis=1)


def test_a_paint_mask_limits_edits():
    obj, _ = scenes_weights.add_small_tube()
    make_rough(obj)
    scenes_weights.choose_vertices(obj, scenes_weights.HALF)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    obj.data.use_paint_mask_vertex = True
    before = scenes_weights.weights_of(obj)
    run("weights_sharpen")
    assert (scenes_weights.weights_of(obj)[52:] == before[52:]).all()
    obj.data.use_paint_mask_vertex = False
    run("weights_sharpen")
    assert (scenes_weights.weights_of(obj)[52:] != before[52:]).any()


def test_parts_stay_together():
    """Two halves that meet at a ring are smoothed as the whole is."""
    obj, _ = scenes_weights.add_small_tube()
    make_rough(obj)
    halves = [add_twin(obj), add_twin(obj)]
    y = rest_points(obj)[:, 1]
    kept = (y < 1.51, y > 1.49)
    for half, keep in zip(halves, kept, strict=True):
        scenes_weights.keep_vertices(half, keep)
    for objects in ([obj], halves):
        select(*objects)
        run("weights_smooth")
    for half, keep in zip(halves, kept, strict=True):
        assert np.abs(scenes_weights.weights_of(half) - scenes_weights.weights_of(obj)[keep]).max() < 1e-5


@pytest.mark.usefixtures("evaluator", "silent_handlers")
def test_a_bound_object_follows():
    scenes_weights.assert_new_weights_show(partial(bpy.ops.supple.weights_smooth, strength=1.0, repeats=20))


def test_one_bad_mesh_holds_up_no_other(subtests, capfd):
    for how, spoil in {
        "shrunk": lambda bad: setattr(bad, "scale", (0, 0, 0)),
        "no armature": lambda bad: bad.modifiers.clear(),
        "all locked": lambda bad: [setattr(group, "lock_weight", True) for group in bad.vertex_groups],
    }.items():
        obj, _ = scenes_weights.add_small_tube()
        bad = add_twin(obj)
        bad.location.z = 5.0
        make_rough(bad)
        spoil(bad)
        select(obj, bad)
        kept = snapshot(bad)
        for name in EDITS:
            with subtests.test(f"{how}, {name}"):
                before = make_rough(obj)
                capfd.readouterr()
                run(name)
                assert f"'{bad.name}' was left out. " in capfd.readouterr().out
                assert (scenes_weights.weights_of(obj) != before).any()
                assert snapshot(bad) == kept
        clear()


# Each edit by itself


def add_box(name: str, low: float, high: float, armature: bpy.types.Object) -> bpy.types.Object:
    """A box along X with an armature."""
    mesh = bpy.data.meshes.new(name)
    edited = bmesh.new()
    bmesh.ops.create_cube(edited, size=1.0)
    bmesh.ops.subdivide_edges(edited, edges=list(edited.edges), cuts=9, use_grid_fill=True)
    for vertex in edited.verts:
        vertex.co = ((low + high) / 2 + vertex.co.x * (high - low), 0.3 * vertex.co.y, 0.3 * vertex.co.z)
    edited.to_mesh(mesh)
    obj = link(bpy.data.objects.new(name, mesh))
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    return obj


def test_smooth_in_the_solid_reaches_parts_side_by_side():
    """Two boxes that touch within a cell and share no vertex: only through the solid do they feel each other."""
    _, armature = scenes_weights.add_small_tube()
    first, second = add_box("Left", -1.0, -0.001, armature), add_box("Right", 0.001, 1.0, armature)
    for obj, column in ((first, 0), (second, 1)):
        scenes_weights.set_weights(obj, np.tile(np.eye(3)[column], (len(obj.data.vertices), 1)))
    select(first, second)
    bpy.ops.supple.weights_smooth(method="SURFACE", strength=1.0, repeats=9)
    assert (scenes_weights.weights_of(first) == (1, 0, 0)).all()
    bpy.ops.supple.weights_smooth(method="SOLID", strength=1.0, repeats=9)
    x = rest_points(first)[:, 0]
    scenes_weights.assert_whole(first)
    assert scenes_weights.weights_of(first)[x > -0.01, 1].min() > 0.2
    assert scenes_weights.weights_of(first)[x < -0.9, 1].max() < 0.05


def test_smooth_in_the_solid_keeps_to_what_is_chosen():
    obj, _ = scenes_weights.add_small_tube(radius=0.15)
    before = make_rough(obj)
    obj.vertex_groups["bone.1"].lock_weight = True
    scenes_weights.choose_vertices(obj, scenes_weights.HALF)
    bpy.ops.supple.weights_smooth(method="SOLID", strength=1.0)
    bpy.ops.object.mode_set(mode="OBJECT")
    found = scenes_weights.weights_of(obj)
    assert (found[52:] == before[52:]).all()
    assert (found[:, 1] == before[:, 1]).all()
    assert np.abs(found[scenes_weights.HALF, 0] - before[scenes_weights.HALF, 0]).max() > 0.05
    scenes_weights.assert_whole(obj)


def test_stiffen_is_for_islands_with_selected_vertices_or_for_those_found():
    obj, _ = add_tube(rings=13, sides=8)
    box, other = join_box(obj, 0.3, (0.7, 1.0, 0.0)), join_box(obj, 0.3, (-0.7, 1.0, 0.0))
    values = scenes_weights.weights_of(obj)
    values[box[:4], 0] = values[box[4:], 1] = values[other, 0] = 1.0
    expected = values.copy()
    expected[box] = (0.5, 0.5, 0.0)
    scenes_weights.set_weights(obj, values)
    bpy.ops.supple.weights_stiffen()
    np.testing.assert_allclose(scenes_weights.weights_of(obj), expected, atol=1e-6)
    assert take_all(edits.stiffen_weights([obj])) == [
        "No stiff part bends: to stiffen other parts, select them in Edit Mode."
    ]
    scenes_weights.set_weights(obj, values)
    scenes_weights.choose_vertices(obj, [int(box[0])])
    bpy.ops.supple.weights_stiffen()
    bpy.ops.object.mode_set(mode="OBJECT")
    np.testing.assert_allclose(scenes_weights.weights_of(obj), expected, atol=1e-6)


def test_what_edits_say_and_leave():
    obj, _ = scenes_weights.add_small_tube()
    values = np.tile([0.5, 0.0, 0.0], (104, 1))
    values[:3] = 0.0
    scenes_weights.set_weights(obj, values)
    assert take_all(edits.normalize_weights([obj])) == [
        "Normalized 101 vertices.",
        "3 vertices without weights cannot be normalized: use automatic weights.",
    ]
    assert (scenes_weights.weights_of(obj)[3:] == (1, 0, 0)).all()
    values = np.tile([0.5, 0.5, 0.0], (104, 1))
    values[:4], values[4:6] = (0.5, 0.3, 0.2), (0.5, 0.46, 0.04)
    scenes_weights.set_weights(obj, values)
    limited, lost = take_all(edits.limit_weights([obj], limit=2))
    assert limited == "Limited 6 vertices."
    assert lost.startswith(
        "6 vertices had more than 2 bones and lost at most 20 % of their weight, 14.7 % on average; 4 "
    )
    assert scenes_weights.weights_of(obj)[0] == pytest.approx((0.625, 0.375, 0.0))
    assert take_all(edits.limit_weights([obj], limit=2))[1] == "No vertex has more than 2 bones: no weight was removed."
    scenes_weights.set_weights(obj, np.where(np.arange(104)[:, None] < 10, (0.995, 0.005, 0.0), (0.98, 0.02, 0.0)))
    assert take_all(edits.prune_weights([obj], threshold=0.01)) == [
        "Pruned 10 vertices.",
        "Removed 10 weights below 0.01.",
    ]
    assert (scenes_weights.weights_of(obj)[:10] == (1, 0, 0)).all()
    assert (scenes_weights.weights_of(obj)[10:, 1] > 0).all()


def test_mirror_reaches_other_objects():
    """A left and a right glove are two meshes of one armature."""
    obj, armature = scenes_weights.add_small_tube()
    names = scenes_weights.add_sides(armature)
    obj.vertex_groups.clear()
    twin = add_twin(obj)
    for one, side in ((obj, 1), (twin, -1)):
        for vertex in one.data.vertices:
            vertex.co.x += 2.0 * side
    scenes_weights.set_weights(obj, np.tile([0.25, 0.75, 0.0], (104, 1)), names)
    select(obj, twin)
    bpy.ops.supple.weights_mirror(direction="POSITIVE")
    assert scenes_weights.weights_of(twin, names) == pytest.approx(np.tile([0.25, 0.0, 0.75], (104, 1)), abs=1e-5)
    assert scenes_weights.weights_of(obj, names) == pytest.approx(np.tile([0.25, 0.75, 0.0], (104, 1)), abs=1e-5)


@pytest.mark.versions
def test_a_mesh_in_edit_mode_with_another_object(subtests):
    """Weights are written as in Edit Mode, and the other object stays there."""
    obj, _ = scenes_weights.add_small_tube()
    for name in (*EDITS, "weights_normalize"):
        with subtests.test(name):
            before = make_rough(obj)
            if name == "weights_normalize":
                scenes_weights.set_weights(obj, before * 0.5)
            twin = add_twin(obj)
            select(twin)
            run(name)
            select(obj)
            other = scenes_weights.edit_elsewhere(obj)
            run(name)
            assert (obj.mode, other.mode) == ("OBJECT", "EDIT")
            scenes_weights.leave_edit_mode(other)
            assert (scenes_weights.weights_of(obj) == scenes_weights.weights_of(twin)).all()
            bpy.data.objects.remove(other)


def test_weights_transferred_to_a_mesh_in_edit_mode_with_another_object():
    obj, _ = scenes_weights.add_small_tube()
    before, target = scenes_weights.weights_of(obj), add_twin(obj)
    target.vertex_groups.clear()
    select(target)
    other = scenes_weights.edit_elsewhere(target)
    select(obj, target)
    assert bpy.ops.supple.weights_transfer(reach=0.1) == {"FINISHED"}
    scenes_weights.leave_edit_mode(other)
    assert np.abs(scenes_weights.weights_of(target) - before).max() < 1e-5


# Groups


@pytest.mark.parametrize("mode", ("OBJECT", "EDIT"))
def test_empty_groups_of_bones_are_removed(mode):
    obj, _ = scenes_weights.add_small_tube()
    obj.vertex_groups["bone.1"].remove(list(range(104)))
    obj.vertex_groups["bone.2"].add(list(range(104)), 0.0, "REPLACE")
    obj.vertex_groups.new(name="Empty Pin")
    bpy.ops.object.mode_set(mode=mode)
    before = scenes_weights.weights_of(obj, ["bone.0"])
    twin = add_twin(obj)
    twin.vertex_groups["bone.1"].lock_weight = True
    assert edits.clean_groups([twin]) == ["Removed 1 empty group: bone.2."]
    assert edits.clean_groups([add_twin(obj)]) == ["Removed 2 empty groups: bone.1, bone.2."]
    bpy.ops.supple.weights_clean()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert [group.name for group in obj.vertex_groups] == ["bone.0", "Empty Pin"]
    assert (scenes_weights.weights_of(obj, ["bone.0"]) == before).all()
    assert edits.clean_groups([obj]) == ["All vertex groups of bones have weights: nothing to remove."]


def test_empty_groups_that_mirrored_copies_follow_stay():
    obj, armature = scenes_weights.add_small_tube()
    names = scenes_weights.add_sides(armature)
    select(obj)
    obj.vertex_groups.clear()
    scenes_weights.set_weights(obj, np.tile([0.5, 0.5, 0.0], (104, 1)), names)
    modifier = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    bpy.ops.supple.weights_clean()
    assert "arm.R" in obj.vertex_groups
    modifier.use_mirror_vertex_groups = False
    bpy.ops.supple.weights_clean()
    assert [group.name for group in obj.vertex_groups] == ["bone.0", "arm.L"]


@pytest.mark.parametrize("name", ["smooth", "sharpen"])
def test_the_dialog_says_what_will_change(name):
    scenes_weights.add_small_tube()
    shown = partial(draw_dialog, f"SUPPLE_OT_weights_{name}")
    assert shown(selected_only=False)[:2] == ["Tube", "All 104 vertices change"]
    assert shown(selected_only=True)[1] == "Only selected vertices change"
    assert "All 104 vertices change" not in shown(selected_only=False, is_asking=False), "it has changed by then"


def test_hidden_meshes_of_the_armature_are_left_as_they_are_and_named(capsys):
    obj, armature = scenes_weights.add_small_tube()
    add_twin(obj).name = "Shirt"
    select(armature)
    bpy.data.objects["Shirt"].hide_set(True)
    for name, options in (("weights_smooth", {}), ("weights_auto", scenes_weights.COARSE_AND_FEW)):
        capsys.readouterr()
        assert getattr(bpy.ops.supple, name)(**options) == {"FINISHED"}
        assert "Left as they are: Shirt" in capsys.readouterr().out


def test_mirror_says_from_which_side_to_which():
    obj, armature = scenes_weights.add_small_tube()
    scenes_weights.add_sides(armature)
    sides = {
        "POSITIVE": "from +X (arm.L) to -X (arm.R)",
        "NEGATIVE": "from -X (arm.R) to +X (arm.L)",
        "BOTH": "to the average of both sides",
    }
    for direction, text in sides.items():
        assert draw_dialog("SUPPLE_OT_weights_mirror", direction=direction)[:2] == ["Tube", f"Copies {text}"]
        assert re.fullmatch(
            rf"Mirrored \d+ vertices {re.escape(text)}\.", take_all(edits.mirror_weights([obj], direction=direction))[0]
        )
