"""Stay Outside: nodes do as the kernels do, rest stays, and all is given back."""

import json
from pathlib import Path
from unittest.mock import Mock

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_cli import DONE, main, own_output
from scenes_layers import BODY, FRAMES, SKIRT, TIGHTS, add_buckle, add_dressed, read_frames
from scenes_state import refuse

import panels
from scenes import armature_modifier, bind, diagonal, evaluated_points, link, open_file, save, select, snapshot, turn
from supple.bridge.modifiers import LIMBS_NAME, is_layer_modifier
from supple.bridge.rigs.armatures import read_pose, read_skeleton
from supple.deformers.layers.keep import keep_apart
from supple.nodes import groups
from supple.options import CheckOptions, CopyOptions
from supple.settings.objects import settings_of
from supple.tasks.check.run import check_character
from supple.tasks.engine_copy.plan import read_examples, write_targets
from supple.tasks.engine_copy.read import read_source
from supple.tasks.engine_copy.run import make_engine_copy
from supple.tasks.installed.feature import Subject
from supple.tasks.layers import add as adding
from supple.tasks.layers import mend as mending
from supple.tasks.layers import write as writing
from supple.tasks.layers.mend import mend_at_rest
from supple.tasks.layers.plan import plan_layers
from supple.tasks.layers.present import find_kept, find_notice, remove_layers
from supple.tasks.layers.read import read_dressed
from supple.tasks.steps import take_all

MESHES = (BODY, TIGHTS, SKIRT)


@pytest.fixture
def dressed(request):
    return add_dressed(*getattr(request, "param", ()))


SMALL = pytest.mark.parametrize("dressed", [(31, 16)], indirect=True)
"""Rings and sides of the body, where layers are added many times."""


def add(dressed):
    return adding.add_layers(dressed["Rig"], [dressed[name] for name in MESHES])


def expect(dressed, posed):
    """The same points as nodes make, by the kernels; the objects stand where their armature stands."""
    found = read_dressed(dressed["Rig"], [dressed[name] for name in MESHES])
    plans, skeleton, expected = plan_layers(found), read_skeleton(dressed["Rig"]), {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        rig = dressed["Rig"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        matrices = read_pose(rig, skeleton).rest_to_pose
        kept = keep_apart(plans, {name: posed[name, frame] for name in MESHES}, matrices)
        expected |= {(name, frame): points for name, points in kept.items()}
    return expected


@pytest.mark.versions
def test_nodes_do_as_the_kernels_do(dressed):
    posed = read_frames(dressed)
    report = add(dressed)
    assert report.order == (SKIRT, TIGHTS, BODY)
    assert report.pushed == {SKIRT: BODY}
    assert {(below, above) for below, above, _ in report.covered} == {(TIGHTS, SKIRT), (BODY, SKIRT), (BODY, TIGHTS)}
    shown, expected = read_frames(dressed), expect(dressed, posed)
    for key, points in expected.items():
        assert np.abs(shown[key] - points).max() < 1e-5 * diagonal(points)
    for name in MESHES:
        assert max(np.abs(shown[name, frame] - posed[name, frame]).max() for frame in FRAMES) > 1e-3


@pytest.mark.parametrize(
    ("name", "place", "bone"), [(SKIRT, (0.0, 1.2, 0.52), "bone.1"), (TIGHTS, (-0.16, 0.72, 0.4), "bone.0")]
)
def test_a_buckle_does_not_bend(dressed, name, place, bone):
    buckle = add_buckle(dressed[name], place, bone)
    posed = read_frames(dressed)
    add(dressed)
    shown, expected = read_frames(dressed), expect(dressed, posed)
    for key, points in expected.items():
        assert np.abs(shown[key] - points).max() < 1e-5 * diagonal(points)
    moves = np.array([shown[name, frame][buckle] - posed[name, frame][buckle] for frame in FRAMES])
    assert np.ptp(moves, axis=1).max() < 1e-6
    assert np.abs(moves).max() > 5e-3
    meshes = [dressed[each] for each in MESHES]
    assert (find_kept(dressed["Rig"], meshes, 3)[name].anchors[buckle] < buckle[0]).all()
    remove_layers(meshes)
    assert not any(each.startswith("supple_layer") for each in dressed[name].data.attributes.keys())


def test_an_engine_copy_is_fitted_to_layers_that_are_apart(dressed, tmp_path):
    meshes = [dressed[name] for name in MESHES]
    bind(*meshes)
    plain = read_frames(dressed)
    add(dressed)
    shown = read_frames(dressed)
    source = take_all(read_source(Subject(None, tuple(meshes)), CopyOptions(angle=0.5), None, tmp_path))
    assert write_targets(source, lambda _share: None) == {}
    targets = read_examples(source).read(np.arange(len(source.matrices)))
    starts = np.cumsum([0, *(len(obj.data.vertices) for obj in meshes)])
    moved = 0.0
    for name, first, end in zip(MESHES, starts[:-1], starts[1:], strict=True):
        for frame in FRAMES:
            points = targets[source.clips[0].frames.index(frame), first:end]
            assert np.abs(points - shown[name, frame]).max() < 1e-5 * diagonal(points)
            moved = max(moved, np.abs(points - plain[name, frame]).max())
    assert moved > 1e-3
    report = take_all(make_engine_copy(meshes, CopyOptions(use_bends=False, keys=0, helpers=0)))
    assert report.notes == (), "nothing is said to be left out"


@pytest.mark.parametrize("evaluate", ["", "NODES", "PYTHON"])
def test_rest_stays_whatever_poses_the_meshes(dressed, evaluate):
    if evaluate:
        bind(*(dressed[name] for name in MESHES), method="CENTERS", evaluate=evaluate)
    posed = read_frames(dressed)
    add(dressed)
    assert any(np.abs(points - posed[key]).max() > 1e-3 for key, points in read_frames(dressed).items())
    for bone in dressed["Rig"].pose.bones:
        bone.matrix_basis.identity()
    dressed["Rig"].animation_data_clear()
    for turned in (False, True):
        if turned:
            dressed["Rig"].pose.bones[0].rotation_mode = "XYZ"
            dressed["Rig"].pose.bones[0].rotation_euler = 0.4, 1.0, 0.2
        bpy.context.view_layer.update()
        shown = [evaluated_points(dressed[name]) for name in MESHES]
        for name in MESHES:
            for modifier in filter(is_layer_modifier, dressed[name].modifiers):
                modifier.show_viewport = False
        bpy.context.view_layer.update()
        for name, points in zip(MESHES, shown, strict=True):
            assert np.abs(evaluated_points(dressed[name]) - points).max() < 3e-6
            for modifier in filter(is_layer_modifier, dressed[name].modifiers):
                modifier.show_viewport = True


def test_make_supple_offers_it_until_it_is_used_or_closed(dressed):
    select(dressed["Rig"])
    assert "supple.layers_add" not in panels.draw("VIEW3D_PT_supple")
    assert bpy.ops.supple.make() == {"FINISHED"}
    assert "supple.layers_add" in panels.draw("VIEW3D_PT_supple")
    offered = [name for name in MESHES if settings_of(dressed[name]).offers_layers]
    assert offered == [SKIRT]
    bpy.ops.supple.layers_add()
    assert "supple.layers_add" not in panels.draw("VIEW3D_PT_supple")
    bpy.ops.supple.layers_remove()
    assert "supple.layers_add" not in panels.draw("VIEW3D_PT_supple")
    assert adding.offer_layers(dressed["Rig"], [dressed[name] for name in MESHES]) == (
        "Stay Outside can keep these layers apart: Skirt, Tights, Tube"
    )
    assert "supple.layers_add" in panels.draw("VIEW3D_PT_supple")
    bpy.ops.supple.close_report(owner=SKIRT, kind="offers_layers")
    assert "supple.layers_add" not in panels.draw("VIEW3D_PT_supple")
    assert adding.offer_layers(dressed["Rig"], [dressed[BODY]]) == ""


def test_the_command_line(dressed, tmp_path: Path, capsys):
    file, done, removed = (tmp_path / f"{name}.blend" for name in ("plain", "layers", "removed"))
    save(file)
    assert main("layers", file, "--report", "json", "--output", done) == DONE
    found = json.loads("\n".join(own_output(capsys.readouterr().out)))
    assert found["order"] == [SKIRT, TIGHTS, BODY]
    assert main("layers", done, "--remove", "--output", removed) == DONE
    assert "Removed Stay Outside from 3 meshes" in capsys.readouterr().out
    assert not any(is_layer_modifier(each) for obj in bpy.data.objects for each in obj.modifiers)


def test_order_gap_and_give_can_be_chosen(dressed):
    settings_of(dressed[TIGHTS]).layer_order, settings_of(dressed[SKIRT]).layer_order = 1, 2
    settings_of(dressed[BODY]).layer_give = 0.0
    posed = read_frames(dressed)
    assert add(dressed).order == (TIGHTS, SKIRT, BODY)
    shown = read_frames(dressed)
    assert all(np.allclose(shown[BODY, frame], posed[BODY, frame], atol=1e-6) for frame in FRAMES)


def test_what_no_longer_fits_is_said_and_moves_nothing(dressed):
    meshes = [dressed[name] for name in MESHES]
    posed = read_frames(dressed)
    add(dressed)
    assert find_notice(meshes) == ""
    dressed[TIGHTS].data.vertices.add(1)
    assert "Vertices of 'Tights' were added or removed" in find_notice(meshes)
    dressed[SKIRT].name = "Other"
    bpy.context.view_layer.update()
    bpy.data.objects.remove(dressed[SKIRT])
    bpy.data.objects.remove(dressed[TIGHTS])
    assert "A mesh above 'Tube' was deleted: press Stay Outside again" in find_notice([dressed[BODY]])
    bpy.context.scene.frame_set(5)
    assert np.allclose(evaluated_points(dressed[BODY]), posed[BODY, 5], atol=1e-6)


def test_a_duplicate_says_that_it_follows_another_armature(dressed):
    add(dressed)
    select(*dressed.values())
    bpy.ops.object.duplicate()
    copies = [obj for obj in bpy.context.selected_objects if obj.type == "MESH"]
    assert "stays out of the limbs of another armature" in find_notice(copies)
    rig = next(obj for obj in bpy.context.selected_objects if obj.type == "ARMATURE")
    adding.add_layers(rig, copies)
    assert find_notice([*copies, *(dressed[name] for name in MESHES)]) == ""


def list_arrays(*meshes):
    return {(obj.name, name) for obj in meshes for name in obj.data.attributes.keys() if "supple_" in name}


def duplicate_linked(dressed):
    """Another character with the same meshes, as by Alt D: its meshes by the names of the first one's."""
    select(*dressed.values())
    bpy.ops.object.duplicate(linked=True)
    copies = {obj.data: obj for obj in bpy.context.selected_objects}
    return {name: copies[obj.data] for name, obj in dressed.items()}


@pytest.mark.versions
def test_characters_that_share_meshes_keep_what_they_need(dressed):
    meshes = [dressed[name] for name in MESHES]
    add_buckle(dressed[SKIRT], (0.0, 1.2, 0.52), "bone.1")
    other = duplicate_linked(dressed)
    before = snapshot(*meshes)
    others = [other[name] for name in (SKIRT, TIGHTS, BODY)]
    add(dressed)
    shown = read_frames(dressed)
    settings_of(other[TIGHTS]).layer_order, settings_of(other[SKIRT]).layer_order = 1, 2
    assert add(other).order == tuple(other[name].name for name in (TIGHTS, SKIRT, BODY))
    assert all(np.array_equal(points, shown[key]) for key, points in read_frames(dressed).items())
    shown_other = read_frames(other)
    assert max(np.abs(points - shown_other[key]).max() for key, points in shown.items()) > 1e-3
    for obj in (dressed[TIGHTS], other[TIGHTS]):
        assert find_notice([obj]) == ""
    assert remove_layers(others) == [other[SKIRT], other[BODY]], "nothing lies over the tights"
    assert all(np.array_equal(points, shown[key]) for key, points in read_frames(dressed).items())
    assert find_notice([*meshes, *others]) == ""
    assert remove_layers(others) == []
    add(other)
    assert remove_layers(meshes) == meshes
    assert all(np.array_equal(points, shown_other[key]) for key, points in read_frames(other).items())
    remove_layers(others)
    assert snapshot(*meshes) == before
    assert not list_arrays(*meshes)


def test_meshes_of_one_character_may_share_one(dressed):
    """As a pair of shoes: each lies beneath cloth of its own, in its own way."""
    twins = [dressed[name].copy() for name in (BODY, TIGHTS)]
    for twin, y in zip(twins, (0.2, 0.0), strict=True):
        link(twin)
        twin.location = 1.0, y, 0.0
    twins[1].data = twins[1].data.copy()
    bpy.context.view_layer.update()
    meshes = [*(dressed[name] for name in MESHES), *twins]
    plans = plan_layers(read_dressed(dressed["Rig"], meshes))
    adding.add_layers(dressed["Rig"], meshes)
    kept = find_kept(dressed["Rig"], meshes, 3)
    for name, plan in plans.items():
        for one, other in zip(plan.covers, kept[name].covers if plan.covers else (), strict=True):
            assert one.above == other.above
            assert np.array_equal(one.cover.corners, other.cover.corners)
    covers = [plans[obj.name].covers[-1].cover for obj in (dressed[BODY], twins[0])]
    assert not np.array_equal(covers[0].corners, covers[1].corners)
    remove_layers(meshes)
    assert not list_arrays(*meshes)


@SMALL
def test_what_the_user_removed_is_noticed_and_cleaned_up(dressed, subtests):
    meshes, rig = [dressed[name] for name in MESHES], dressed["Rig"]
    objects, groups = len(bpy.data.objects), len(bpy.data.node_groups)

    def read_all():  # users that a removed modifier had are counted by Blender 5.2 on and on
        return {key: value for key, value in snapshot(*meshes).items() if "users" not in key}

    before = read_all()

    def drop_modifiers():
        for obj in meshes:
            for modifier in [each for each in obj.modifiers if is_layer_modifier(each)]:
                obj.modifiers.remove(modifier)

    def drop_one():
        dressed[BODY].modifiers.remove(next(filter(is_layer_modifier, dressed[BODY].modifiers)))

    def drop_attribute():
        mesh = dressed[TIGHTS].data
        mesh.attributes.remove(mesh.attributes["supple_layer_neighbors"])

    def change_type():
        mesh = dressed[TIGHTS].data
        mesh.attributes.remove(mesh.attributes["supple_layer_neighbors"])
        mesh.attributes.new("supple_layer_neighbors", "FLOAT", "EDGE")

    def spoil(value):
        def change():
            data = dressed[TIGHTS].data.attributes["supple_layer_neighbors"].data
            data.foreach_set("color", np.full(4 * len(data), value, np.float32))

        return change

    removed, lost = "A modifier of Stay Outside of ", "Attributes of 'Tights' that Stay Outside reads were removed"
    for name, change, words in (
        ("all modifiers", drop_modifiers, removed),
        ("a modifier", drop_one, removed),
        ("an attribute", drop_attribute, lost),
        ("its type", change_type, lost),
        ("an index beyond", spoil(1e9), ""),
        ("not a number", spoil(np.nan), ""),
    ):
        with subtests.test(name):
            add(dressed)
            change()
            notice = find_notice(meshes)
            assert notice.startswith(words)
            assert notice.endswith("press Stay Outside again") == bool(words)
            take_all(check_character(meshes, CheckOptions(methods=("SSD",), angle=0.0)))
            if name != "a modifier":
                assert find_kept(rig, meshes, 3) == {}
            add(dressed)
            assert find_notice(meshes) == ""
            change()
            select(rig)
            assert bpy.ops.supple.layers_remove() == {"FINISHED"}
            assert read_all() == before
            assert not list_arrays(*meshes)
            assert (len(bpy.data.objects), len(bpy.data.node_groups)) == (objects, groups)
            assert not bpy.ops.supple.layers_remove.poll()


@pytest.mark.versions
def test_layers_without_an_armature_are_removed(dressed, tmp_path: Path, capsys):
    add(dressed)
    bpy.data.objects.remove(dressed["Rig"])
    assert "stays out of the limbs of another armature" in find_notice([dressed[SKIRT]])
    file, removed = save(tmp_path / "orphans.blend"), tmp_path / "removed.blend"
    select(dressed[TIGHTS])
    assert bpy.ops.supple.layers_remove() == {"FINISHED"}
    for _ in range(2):
        assert {obj.name for obj in bpy.data.objects} == set(MESHES)
        assert not list_arrays(*bpy.data.objects)
        assert not any(is_layer_modifier(each) for obj in bpy.data.objects for each in obj.modifiers)
        assert not bpy.data.node_groups
        assert main("layers", file, "--remove", "--output", removed) == DONE
        assert "Removed Stay Outside from 3 meshes" in capsys.readouterr().out
        open_file(removed)


STEPS = (
    "read_dressed", "plan_layers", "new_slots_object", "new_grids_object", "ensure_joints_object",
    "ensure_out_of_limbs", "ensure_tuck", "list_layer_arrays",
)  # fmt: skip


@SMALL
def test_what_fails_while_it_is_computed_changes_nothing(dressed, monkeypatch, subtests):
    meshes = [dressed[name] for name in MESHES]

    def read_all():
        counts = len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.node_groups)
        return snapshot(*meshes), counts, list_arrays(*meshes), settings_of(dressed[SKIRT]).offers_layers

    for is_added in (False, True):
        if is_added:
            add(dressed)
        settings_of(dressed[SKIRT]).offers_layers = True
        before, shown = read_all(), read_frames(dressed)
        for name in STEPS:
            with subtests.test(name, is_added=is_added), monkeypatch.context() as patched:
                module = adding if hasattr(adding, name) else writing
                patched.setattr(module, name, Mock(side_effect=MemoryError))
                with pytest.raises(MemoryError):
                    add(dressed)
                assert read_all() == before
        assert all(np.array_equal(points, shown[key]) for key, points in read_frames(dressed).items())


def test_mending_at_rest_moves_what_sticks_out_with_its_keys(dressed):
    body = dressed[BODY]
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Face")
    ring = np.arange(30 * 24, 31 * 24)
    for block in body.data.shape_keys.key_blocks:
        for vertex in ring.tolist():
            block.data[vertex].co.xz *= 1.06
    for vertex in ring.tolist():
        body.data.vertices[vertex].co.xz *= 1.06
    meshes = [dressed[name] for name in MESHES]
    (line,) = mend_at_rest(dressed["Rig"], meshes)
    assert line.startswith("Moved ")
    assert "vertices of 'Tube' beneath 'Tights', by up to " in line
    radii = [np.hypot(body.data.vertices[vertex].co.x, body.data.vertices[vertex].co.z) for vertex in ring.tolist()]
    assert max(radii) < 0.415
    assert body.data.shape_keys.key_blocks["Face"].data[ring[0]].co == body.data.vertices[ring[0]].co
    assert mend_at_rest(dressed["Rig"], meshes) == ["Nothing of 'Rig' sticks out of its layers at rest"]


@pytest.mark.versions
def test_what_a_file_has_is_what_was_planned(dressed):
    meshes, rig = [dressed[name] for name in MESHES], dressed["Rig"]
    for obj in meshes:
        obj.scale = 0.5, 0.5, 0.5
        obj.data.transform(Matrix.Scale(2.0, 4))
    bpy.context.view_layer.update()
    assert find_kept(rig, meshes, 3) == {}
    plans = plan_layers(read_dressed(rig, meshes))
    posed = {name: points.astype(float) for (name, frame), points in read_frames(dressed).items() if frame == 5}
    bpy.context.scene.frame_set(5)
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    matrices = read_pose(evaluated, read_skeleton(rig)).rest_to_pose
    posed = {name: 0.5 * points for name, points in posed.items()}
    expected = keep_apart(plans, posed, matrices)
    add(dressed)
    kept = find_kept(rig, meshes, 3)
    assert list(kept) == [SKIRT, TIGHTS, BODY]
    found = keep_apart(kept, posed, matrices)
    for name in MESHES:
        assert np.abs(found[name] - expected[name]).max() < 1e-6
        assert np.abs(found[name] - posed[name]).max() > 1e-3
    assert find_kept(rig, meshes, 1) == {}
    for modifier in filter(is_layer_modifier, dressed[SKIRT].modifiers):
        modifier.show_viewport = False
    assert find_kept(rig, meshes, 3)[SKIRT].limbs is None


def test_cloth_of_more_faces_below_is_seen_as_it_is_shown(dressed):
    for name in (TIGHTS, SKIRT):
        dressed[name].modifiers.new("Subdivision", "SUBSURF").levels = 1
    add(dressed)
    assert [each.type for each in dressed[SKIRT].modifiers] == ["ARMATURE", "NODES", "SUBSURF"]
    dressed["Rig"].animation_data_clear()
    for bone in dressed["Rig"].pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    assert (
        np.abs(evaluated_points(dressed[BODY]) - np.array([each.co for each in dressed[BODY].data.vertices])).max()
        < 2e-6
    )


def test_limbs_keep_out_of_each_other(asset):
    open_file(asset("human"))
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and armature_modifier(obj)]
    armature = armature_modifier(meshes[0]).object
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    hat = bpy.data.objects.new("Hat", bpy.data.meshes.new("Hat"))
    hat.data.from_pydata([(0.0, 0.0, 1.7), (0.1, 0.0, 1.7), (0.0, 0.1, 1.7)], [], [(0, 1, 2)])
    link(hat)
    hat.vertex_groups.new(name="head").add(range(3), 1.0, "REPLACE")
    hat.modifiers.new("Armature", "ARMATURE").object = armature
    meshes.append(hat)
    add_buckle(bpy.data.objects["Tights"], (0.08, -0.1, 0.75), "thigh_l")
    bpy.context.view_layer.update()
    rest = [evaluated_points(obj).astype(float) for obj in meshes]
    report = adding.keep_limbs_apart(armature, meshes)
    assert set(report.apart) == {"Body", "Tights"}, "the skirt hangs loose, a hat has no other limbs"
    assert report.order == ("Skirt", "Tights", "Body")
    assert not any(map(is_layer_modifier, hat.modifiers))
    assert all(np.abs(evaluated_points(obj) - points).max() < 3e-6 for obj, points in zip(meshes, rest, strict=True))
    turn(armature, "thigh_l", (np.radians(-110.0), 0.0, 0.0))
    turn(armature, "upperarm_l", (0.0, 0.0, np.radians(-70.0)))
    skeleton = read_skeleton(armature)
    plans = find_kept(armature, meshes, len(skeleton.joints.parents))
    assert plans["Tights"].anchors is not None, "a buckle is moved as one"
    shown = {obj.name: evaluated_points(obj).astype(float) for obj in meshes}
    hide(meshes, True)
    posed = {obj.name: evaluated_points(obj).astype(float) for obj in meshes}
    matrices = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton).rest_to_pose
    size = max(map(diagonal, rest))
    for name, points in keep_apart(plans, posed, matrices).items():
        assert np.abs(points - shown[name]).max() < 3e-5 * size
    hide(meshes, False)
    for name in report.apart:
        bpy.data.objects[name].modifiers[LIMBS_NAME].show_viewport = False
    bpy.context.view_layer.update()
    for name in report.apart:
        assert np.abs(evaluated_points(bpy.data.objects[name]) - shown[name]).max() > 3e-3 * size, "limbs have met"
    remove_layers(meshes)
    assert not any(each.startswith("supple_layer") for obj in meshes for each in obj.data.attributes.keys())


def test_bones_by_name_keep_out_of_each_other(asset):
    open_file(asset("human"))
    body = bpy.data.objects["Body"]
    armature = armature_modifier(body).object
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    turn(armature, "upperarm_l", (0.0, 0.0, np.radians(-70.0)))
    turn(armature, "thigh_l", (np.radians(-110.0), 0.0, 0.0))
    posed = evaluated_points(body)
    for bones, message in (("thigh_l", "'thigh_l' is alone"), ("thigh_l, tail", "has no bone 'tail'")):
        refuse(message, adding.keep_limbs_apart, armature, [body], bones)
        assert not settings_of(armature).limb_bones
    report = adding.keep_limbs_apart(armature, [body], "thigh_l, pelvis, spine_01, spine_02; thigh_l, thigh_r")
    assert "Only these bones of them do: thigh_l, pelvis, spine_01, spine_02; thigh_l, thigh_r" in report.describe()
    moved = np.linalg.norm(evaluated_points(body) - posed, axis=1) > 1e-3
    names = [
        body.vertex_groups[max(vertex.groups, key=lambda each: each.weight).group].name for vertex in body.data.vertices
    ]
    assert moved.any()
    arm = np.array([name.startswith(("upperarm_l", "lowerarm_l", "hand_l")) for name in names])
    assert not moved[arm].any(), "the arm was not named"
    adding.keep_limbs_apart(armature, [body])
    assert not settings_of(armature).limb_bones
    assert (np.linalg.norm(evaluated_points(body) - posed, axis=1) > 1e-3)[arm].any()


def hide(meshes, is_hidden):
    for modifier in (each for obj in meshes for each in obj.modifiers if is_layer_modifier(each)):
        modifier.show_viewport = not is_hidden
    bpy.context.view_layer.update()


def test_mending_that_fails_moves_nothing(dressed, monkeypatch):
    body = dressed[BODY]
    body.shape_key_add(name="Basis")
    for data in (body.data.shape_keys.key_blocks[0].data, body.data.vertices):
        for vertex in range(30 * 24, 31 * 24):
            data[vertex].co.xz *= 1.06
    meshes = [dressed[name] for name in MESHES]
    add(dressed)
    shown = read_frames(dressed)
    monkeypatch.setattr(mending, "add_layers", Mock(side_effect=RuntimeError("refused")))
    refuse("refused", mend_at_rest, dressed["Rig"], meshes)
    assert all(np.array_equal(points, shown[key]) for key, points in read_frames(dressed).items())


def test_groups_of_another_version_are_not_used():
    former = groups.ensure_tuck(0, has_parts=False)
    former[groups.VERSION_KEY] = groups.VERSION - 1
    assert groups.ensure_tuck(0, has_parts=False) not in (former, None)
