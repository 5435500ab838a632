"""What is rendered is what the viewport shows, and that is what the slow reference gives.

The chain has three links. In the depsgraph of a render, which a render engine of our own reads, points are those of the
viewport and of the float64 reference. Pictures by Workbench and by Cycles are then, to the pixel, those of a plain
mesh that has the viewport's points at each frame and quarter frame, through a PC2 file written here and Blender's own
Mesh Cache modifier: motion blur opens the shutter a quarter frame before the frame and closes it a quarter after. And
files that are opened elsewhere, with and without Supple, render to the same pictures.
"""

from __future__ import annotations

import runpy
import struct
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from pictures import (
    FRAMES,
    LEAST_CHANGE,
    SHUTTER,
    PointsEngine,
    add_character,
    assert_something_to_see,
    count_changed,
    prepare_pictures,
    read_pictures,
    render_animation,
    render_elsewhere,
    render_points,
    use_points_engine,
)
from scenes_methods import BLENDS, choose, name_of, parametrize_blends, without_limits

from scenes import add_tube, armature_modifier, bind, distance, evaluated_points, points_at, reset, rest_points, turn
from supple.settings.objects import settings_of
from supple.tasks.subject.stack import find_supple_modifier

TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""

PAPERS = tuple((key, params) for key, params in BLENDS if key != "DLB")
"""Methods of which the reference knows all; DLB's rotations of sheared bones depend on how these are oriented."""

EVALUATED = pytest.mark.usefixtures("evaluator", "points_engine")


reference = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "unit" / "reference.py")))
"""The slow float64 skinning that the unit tests have; their folder is no package here."""


# Scenes


def add_stand_in(obj: bpy.types.Object, folder: Path) -> bpy.types.Object:
    """Put a plain mesh in the place of an object, with the points that the viewport gives it.

    There is one sample a quarter frame, which is where Cycles looks: no sample is interpolated.
    """
    times = np.arange(FRAMES[0] - SHUTTER, FRAMES[-1] + 2 * SHUTTER, SHUTTER)
    samples = [points_at(obj, time) for time in times]
    path = folder / "stand_in.pc2"
    header = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(samples[0]), 0.0, 1.0, len(samples))
    path.write_bytes(header + b"".join(points.astype("<f4").tobytes() for points in samples))

    result = bpy.data.objects.new("Stand-in", obj.data.copy())
    result.shape_key_clear()
    bpy.context.scene.collection.objects.link(result)
    bpy.context.scene.collection.objects.unlink(obj)
    modifier = result.modifiers.new("Samples", "MESH_CACHE")
    modifier.cache_format = "PC2"
    modifier.filepath = str(path)
    modifier.frame_scale, modifier.frame_start = 1.0 / SHUTTER, times[0] / SHUTTER
    for time, points in zip(times, samples, strict=True):
        assert np.array_equal(points_at(result, time), points)
    return result


# Points in the depsgraph of the render


def times() -> list[float]:
    return [frame + offset for frame in FRAMES for offset in (-SHUTTER, 0.0, SHUTTER)]


def viewport_points(*objects: bpy.types.Object) -> dict[tuple[str, float], np.ndarray]:
    return {(obj.name, time): points_at(obj, time) for time in times() for obj in objects}


def reference_points(obj: bpy.types.Object, method: str) -> np.ndarray:
    """The object as the slow reference skins it in the current pose, with its face key."""
    modifier = armature_modifier(obj)
    bones = modifier.object.pose.bones
    index = {bone.name: number for number, bone in enumerate(bones)}
    weights = np.zeros((len(obj.data.vertices), len(bones)))
    names = [group.name for group in obj.vertex_groups]
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            weights[vertex.index, index[names[entry.group]]] = entry.weight
    points = rest_points(obj).astype(np.float64)
    for key in obj.data.shape_keys.key_blocks[1:] if obj.data.shape_keys else ():
        moved = np.array([point.co for point in key.data])
        points += key.value * (moved - rest_points(obj))
    into = np.linalg.inv(np.array(modifier.object.matrix_world)) @ np.array(obj.matrix_world)
    at_bind = np.array(settings_of(obj).bound_space)
    obj.data.calc_loop_triangles()
    triangles = np.array([triangle.vertices for triangle in obj.data.loop_triangles])
    return reference.skin(
        method,
        points,
        weights,
        np.array([bone.bone.head_local for bone in bones]),
        np.array([index[bone.parent.name] if bone.parent else -1 for bone in bones]),
        np.array([np.array(bone.matrix) @ np.linalg.inv(np.array(bone.bone.matrix_local)) for bone in bones]),
        into,
        rotation_centers=reference.find_rotation_centers(rest_points(obj), weights, at_bind, triangles),
    )


def assert_same_points(
    seen: dict[tuple[str, float], np.ndarray], expected: dict[tuple[str, float], np.ndarray]
) -> None:
    assert set(expected) <= set(seen)
    for shot, points in expected.items():
        assert distance(points, seen[shot]) <= TOLERANCE, shot


@pytest.mark.usefixtures("points_engine")
@parametrize_blends(PAPERS)
def test_render_and_viewport_have_the_points_of_the_reference(tmp_path, method, params):
    obj, armature = add_character(("no keys", "keyed", "driven")[PAPERS.index((method, params)) % 3])
    obj.location, obj.scale = (0.3, 0.0, 0.0), (1.2, 1.0, 0.9)
    for frame, turned in ((1, 0.0), (8, 0.7)):
        armature.rotation_euler.x = turned
        armature.keyframe_insert("rotation_euler", frame=frame)
    choose(obj, method, without_limits(params))
    settings_of(obj).twist = "OFF"  # the slow reference is given no rolls
    bind(obj, method=method)
    expected = viewport_points(obj)
    for time in times()[::2]:
        points_at(obj, time)
        assert distance(reference_points(obj, name_of(method, params)), expected[obj.name, time]) <= TOLERANCE
    assert distance(expected[obj.name, FRAMES[0]], expected[obj.name, FRAMES[1]]) > 100 * TOLERANCE
    bpy.context.scene.frame_set(7)
    assert_same_points(render_points(tmp_path), expected)


@EVALUATED
@pytest.mark.parametrize("persistent", (False, True), ids=("plain", "persistent"))
def test_a_second_render_follows_what_was_changed_after_the_first(tmp_path, persistent):
    obj, armature = add_character("keyed")
    bpy.context.scene.render.use_persistent_data = persistent
    settings_of(obj).twist = "OFF"  # the slow reference is given no rolls
    bind(obj, method="DLBNT")
    first = render_points(tmp_path)
    bpy.context.scene.frame_set(1)
    turn(armature, "bone.2", (1.2, 0.0, 0.5), (0.8, 1.3, 1.0))
    armature.pose.bones["bone.2"].keyframe_insert("rotation_euler", frame=1)
    armature.pose.bones["bone.2"].keyframe_insert("scale", frame=1)
    obj.supple.method = "SSD"
    second = render_points(tmp_path)
    assert distance(first[obj.name, 2], second[obj.name, 2]) > 100 * TOLERANCE
    assert_same_points(second, viewport_points(obj))
    for frame in FRAMES:
        points_at(obj, frame)
        assert distance(reference_points(obj, "SSD"), second[obj.name, frame]) <= TOLERANCE


@pytest.mark.usefixtures("points_engine")
@pytest.mark.parametrize("persistent", (False, True), ids=("plain", "persistent"))
def test_a_still_renders_the_pose_at_hand(persistent):
    obj, armature = add_tube(rings=16, sides=10)
    bpy.context.scene.render.use_persistent_data = persistent
    bind(obj, method="DLBNT")
    rest = evaluated_points(obj)
    for angle in (0.4, 1.1):
        turn(armature, "bone.1", (angle, 0.3, 0.0), (1.0, 1.4, 1.0))
        PointsEngine.seen.clear()
        bpy.ops.render.render()
        seen = PointsEngine.seen[obj.name, 1]
        assert distance(rest, seen) > 100 * TOLERANCE
        assert distance(reference_points(obj, "DLBNT-GH"), seen) <= TOLERANCE


@EVALUATED
@pytest.mark.versions
def test_modifiers_below_have_their_render_levels_and_the_viewport_its_own_frame(tmp_path):
    obj, _ = add_character("keyed")
    bind(obj)
    below = obj.modifiers.new("Subdivision", "SUBSURF")
    below.levels, below.render_levels = 0, 1
    before = points_at(obj, 7)
    seen = render_points(tmp_path)
    assert bpy.context.scene.frame_current == 7
    assert np.array_equal(evaluated_points(obj), before)
    below.levels = 1
    expected = viewport_points(obj)
    assert len(expected[obj.name, 2]) > len(obj.data.vertices)
    assert_same_points(seen, expected)


@EVALUATED
def test_the_toggles_of_the_modifier_are_each_for_their_own(tmp_path, subtests):
    obj, _ = add_character()
    bind(obj)
    live, rest = viewport_points(obj), dict.fromkeys(viewport_points(obj), rest_points(obj))
    modifier = find_supple_modifier(obj)
    for shown in ("viewport", "render"):
        with subtests.test(shown):
            modifier.show_viewport, modifier.show_render = shown == "viewport", shown == "render"
            bpy.context.scene.frame_set(7)
            assert_same_points(render_points(tmp_path), live if shown == "render" else rest)
            assert_same_points(viewport_points(obj), live if shown == "viewport" else rest)


@pytest.mark.usefixtures("points_engine")
def test_another_scene_than_the_one_in_the_window(scene, tmp_path):
    other = bpy.data.scenes.new("Other")
    bpy.context.window.scene = other
    obj, _ = add_character("keyed")
    use_points_engine(other)
    bind(obj)
    expected = viewport_points(obj)
    bpy.context.window.scene = scene
    assert_same_points(render_points(tmp_path, scene="Other"), expected)


# Pictures


@pytest.mark.parametrize(
    ("engine", "face", "persistent"),
    [
        pytest.param("workbench", "keyed", False, marks=pytest.mark.versions),
        pytest.param("cycles-blur", "keyed", True, marks=pytest.mark.versions),
        ("cycles-blur", "no keys", False),
        ("eevee", "keyed", False),
    ],
)
def test_pictures_are_those_of_a_mesh_with_the_points_of_the_viewport(tmp_path, engine, face, persistent):
    obj, _ = add_character(face)
    prepare_pictures(engine)
    bind(obj)
    bpy.context.scene.frame_set(7)
    bpy.context.scene.render.use_persistent_data = persistent
    pictures = render_animation(tmp_path / "live")
    assert_something_to_see(pictures)

    bpy.context.scene.render.use_persistent_data = False
    add_stand_in(obj, tmp_path)
    expected = render_animation(tmp_path / "stand-in")
    assert count_changed(pictures, expected) == [0] * len(FRAMES)


# Files


STATES = ("live", "point cache", "shape keys")


def bake(state: str, folder: Path) -> None:
    """Bake the active object, with a frame to spare at both ends for the shutter."""
    frames = {"frame_start": FRAMES[0] - 1, "frame_end": FRAMES[-1] + 1}
    if state == "point cache":
        bpy.ops.supple.bake_cache(filepath=str(folder / "baked.pc2"), **frames)
    elif state == "shape keys":
        bpy.ops.supple.bake_shape_keys(**frames)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pictures of each state: rendered here, elsewhere with Supple, and elsewhere without."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "here").mkdir()
    files = []
    for state in STATES:
        reset()
        obj, _ = add_character("keyed")
        prepare_pictures("workbench")
        if state == "live":
            render_animation(folder / "here" / "armature modifier")
        bind(obj)
        bake(state, folder)
        render_animation(folder / "here" / state)
        files.append(folder / f"{state}.blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(files[-1]))
    render_elsewhere(folder / "with Supple", True, files)
    render_elsewhere(folder / "without Supple", False, files)
    return folder


def test_another_process_renders_the_same(elsewhere, subtests):
    """Without Supple, a live file renders as by the Armature modifier."""
    armature = read_pictures(elsewhere / "here" / "armature modifier")
    assert min(count_changed(armature, read_pictures(elsewhere / "here" / "live"))) >= LEAST_CHANGE
    for state in STATES:
        with subtests.test(state):
            expected = read_pictures(elsewhere / "here" / state)
            assert_something_to_see(expected)
            assert count_changed(read_pictures(elsewhere / "with Supple" / state), expected) == [0] * len(FRAMES)
            without = read_pictures(elsewhere / "without Supple" / state)
            assert count_changed(without, armature if state == "live" else expected) == [0] * len(FRAMES)
