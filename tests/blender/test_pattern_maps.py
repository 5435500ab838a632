"""Skin patterns drawn by Python: amounts as drivers have them, heights as nodes have them, and maps in files."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from scenes import add_tube, animate_tube, bind, diagonal, evaluated_points, select, turn
from supple import cli
from supple.bridge.charts import PREFIX
from supple.bridge.images import new_image, read_image
from supple.deformers import SkinningError
from supple.deformers.patterns.heights import KINDS, draw_heights, measure_range
from supple.tasks.patterns import maps as pattern_maps
from supple.tasks.patterns.display import quietly, update
from supple.tasks.patterns.edit import new_pattern
from supple.tasks.patterns.maps import bind_map, bind_points, draw_points, read_amounts, write_maps

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")

TOLERANCE = 1e-5
"""Of amounts, and of points in diagonals of the mesh."""
SIDES, RINGS = 24, 25
FRAMES = range(1, 7)
DONE, FAILED, USAGE = 0, 1, 2


# Scenes


def add_uv(obj: bpy.types.Object, low: float = 0.0, high: float = 1.0) -> None:
    """Unroll a tube: u runs once around it, v along it, from `low` to `high`."""
    layer = obj.data.uv_layers.new(name="UV")
    for polygon in obj.data.polygons:
        corners = [(obj.data.loops[loop].vertex_index, loop) for loop in polygon.loop_indices]
        for vertex, loop in corners:
            side, ring = vertex % SIDES, vertex // SIDES
            if side == 0 and any(other % SIDES == SIDES - 1 for other, _ in corners):
                side = SIDES
            layer.uv[loop].vector = [low + (high - low) * one for one in (side / SIDES, ring / (RINGS - 1))]


def add_body() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of three bones with a UV map, and its armature."""
    obj, armature = add_tube(rings=RINGS, sides=SIDES)
    add_uv(obj)
    return obj, armature


def hills(seed: int = 0, size: int = 32) -> np.ndarray:
    """A smooth picture, shape (size, size), from 0 to 1, black on its left quarter."""
    rng, grid = np.random.default_rng(seed), np.linspace(0.0, 2.0 * np.pi, size)
    waves = sum(np.sin(rng.uniform(0.5, 2) * grid + rng.uniform(0, 6)) * np.cos(grid[:, None] + k) for k in range(3))
    waves = (waves - waves.min()) / np.ptp(waves)
    waves[:, : size // 4] = 0.0
    return waves


def add_pattern(obj: bpy.types.Object, kind: str, **values: Any):
    """A pattern of hills in the middle of the UV map, driven by the second bone; nothing is shown before `update`."""
    image = values.pop("image", None)
    if image is None:
        image = new_image(kind, values.pop("picture", hills(len(obj.supple.patterns))))
    pattern = new_pattern(obj, kind.capitalize())
    chosen = {
        "kind": kind,
        "image": image,
        "bone": "bone.1",
        "space": "UV",
        "placed_in": "UV",
        "uv": (0.5, 0.5),
        "size": (0.5, 0.5),
        "strength": 0.1,
        **values,
    }
    with quietly():
        for name, value in chosen.items():
            setattr(pattern, name, value)
    return pattern


def add_overlapping(obj: bpy.types.Object, **values: Any) -> None:
    """A pattern of each kind, over one another."""
    add_pattern(obj, "WRINKLE", uv=(0.45, 0.5), turn=0.3, **values)
    add_pattern(obj, "BULGE", uv=(0.55, 0.45), size=(0.4, 0.3), **values)
    add_pattern(obj, "BONE", uv=(0.5, 0.6), size=(0.3, 0.4), flip=True, **values)
    update(obj)


def evaluate() -> bpy.types.Depsgraph:
    bpy.context.view_layer.update()
    return bpy.context.evaluated_depsgraph_get()


def driven_amounts(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[float]:
    """What the drivers have written, in the order of the patterns that are shown."""
    evaluated = obj.evaluated_get(depsgraph)
    start = f"{PREFIX}{obj.supple.pattern_key}_amounts_"
    names = sorted(
        (name for name in evaluated.keys() if name.startswith(start)), key=lambda name: int(name.split("_")[-1])
    )
    return [value for name in names for value in evaluated[name]]


def assert_driven(obj: bpy.types.Object) -> list[float]:
    """Python's amounts are the drivers'; returns them."""
    depsgraph = evaluate()
    _, laid = bind_points(obj)
    amounts = read_amounts(obj, laid, depsgraph)
    driven = driven_amounts(obj, depsgraph)
    assert len(amounts) == len(obj.supple.patterns)
    assert driven[: len(amounts)] == pytest.approx(amounts, abs=TOLERANCE)
    return amounts


# Amounts


def add_measured(obj: bpy.types.Object) -> None:
    """A pattern for each axis, law and direction, and one between two bones by each law."""
    common: dict[str, Any] = {"kind": "BULGE", "image": new_image("Hills", hills()), "full": 2.9}
    for axis in "XYZ":
        for law in ("RANGE", "LOG"):
            for direction in ("POSITIVE", "NEGATIVE", "BOTH"):
                add_pattern(obj, axis=axis, law=law, direction=direction, start=-0.2, gain=0.8, **common)
    between = {"axis": "BETWEEN", "bone": "bone.2", "other_bone": "bone.0", "direction": "BOTH", "start": -0.1}
    for law in ("RANGE", "LOG"):
        add_pattern(obj, law=law, **between, **common)
    obj.supple.pattern_display = "BUMP"
    update(obj)


def turn_at_random(armature: bpy.types.Object, seed: int, largest: float = 2.6) -> None:
    rng = np.random.default_rng(seed)
    for bone in armature.pose.bones:
        axis = rng.normal(size=3)
        bone.rotation_mode = "AXIS_ANGLE"
        bone.rotation_axis_angle = (rng.uniform(-largest, largest), *(axis / np.linalg.norm(axis)))


@pytest.fixture
def measured() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_body()
    add_measured(obj)
    return obj, armature


@pytest.mark.parametrize("seed", range(8))
def test_amounts_are_those_of_the_drivers(measured, seed):
    turn_at_random(measured[1], seed)
    amounts = assert_driven(measured[0])
    assert max(amounts) > 0.1


def test_amounts_at_rest_are_those_of_the_drivers(measured):
    amounts = assert_driven(measured[0])
    # counted from 0.2 before rest: 0.8 log(1.2); between bones from 0.1, with gain 1: log(1.1)
    assert amounts[3:6] == pytest.approx([0.8 * math.log(1.2)] * 3, abs=TOLERANCE)
    assert amounts[-1] == pytest.approx(math.log(1.1), abs=1e-3)  # a cosine near 1 tells little


@pytest.mark.parametrize("scale", ((1.5, 0.4, 2.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-2.0, -2.0, -2.0)))
@pytest.mark.parametrize("number", (0, 1))
def test_scaled_and_mirrored_bones(measured, scale, number):
    obj, armature = measured
    turn_at_random(armature, 20 + number)
    armature.pose.bones[number].scale = scale
    assert_driven(obj)


@pytest.mark.parametrize("scale", ((1.0, 1.0, 1.0), (0.3, 2.0, 1.0), (-1.0, 1.0, 1.0)))
def test_moved_and_mirrored_armatures(measured, scale):
    obj, armature = measured
    turn_at_random(armature, 30)
    before = assert_driven(obj)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 2.0, 3.0), (0.4, -1.0, 2.0), scale
    assert assert_driven(obj) == pytest.approx(before, abs=1e-4)


@pytest.mark.parametrize("scales", ("NONE", "AVERAGE", "ALIGNED", "FIX_SHEAR", "NONE_LEGACY", "FULL"))
@pytest.mark.parametrize("rotation", (True, False))
def test_what_bones_inherit(measured, scales, rotation):
    obj, armature = measured
    for bone in armature.data.bones:
        bone.inherit_scale, bone.use_inherit_rotation = scales, rotation
    turn_at_random(armature, 40)
    armature.pose.bones[0].scale = (1.3, 0.6, 0.9)
    assert_driven(obj)


def add_ik(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.2"].constraints.new("IK").target = target


def add_copy(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.1"].constraints.new("COPY_ROTATION").target = target


def add_limit(armature: bpy.types.Object, _target: bpy.types.Object) -> None:
    limit = armature.pose.bones["bone.1"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.max_x, limit.owner_space = True, 0.6, 0.7, "LOCAL"


@pytest.mark.parametrize("add", (add_ik, add_copy, add_limit))
def test_constraints(measured, add):
    obj, armature = measured
    turn_at_random(armature, 50, 0.9)
    plain = assert_driven(obj)
    target = bpy.data.objects.new("Target", None)
    target.location, target.rotation_euler = (1.2, 1.5, 0.4), (1.1, 0.5, -0.7)
    bpy.context.scene.collection.objects.link(target)
    add(armature, target)
    assert np.abs(np.subtract(assert_driven(obj), plain)).max() > 0.01


def test_amounts_follow_the_frame_of_the_depsgraph(scene):
    obj, armature = add_body()
    animate_tube(armature)
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "BUMP"
    _, laid = bind_points(obj)
    seen = []
    for frame in (1, 4, 8):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        seen.append(read_amounts(obj, laid, depsgraph))
        assert driven_amounts(obj, depsgraph)[:3] == pytest.approx(seen[-1], abs=TOLERANCE)
    assert len({tuple(one) for one in seen}) == 3


# Heights on the skin


def displacer_of(obj: bpy.types.Object) -> bpy.types.Modifier:
    return next(modifier for modifier in obj.modifiers if modifier.name.startswith("Supple Patterns"))


def compare_displacement(obj: bpy.types.Object) -> float:
    """Assert that the node modifier moves the skin as Python says; returns how far it moves it, in diagonals."""
    heights, laid = bind_points(obj)
    drawn = draw_points(obj, heights, read_amounts(obj, laid, evaluate()))
    moved, modifier = evaluated_points(obj).astype(np.float64), displacer_of(obj)
    modifier.show_viewport = False
    evaluated = obj.evaluated_get(evaluate()).data
    flat = np.array([vertex.co for vertex in evaluated.vertices])
    normals = np.array([vertex.vector for vertex in evaluated.vertex_normals])
    modifier.show_viewport = True
    assert np.abs(moved - (flat + normals * drawn[:, None])).max() <= TOLERANCE * diagonal(flat)
    return float(np.abs(drawn).max() / diagonal(flat))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("softness", (0.0, 0.4, 1.0))
@pytest.mark.parametrize("bend", (0.25, 0.6, 1.3))
def test_nodes_displace_by_the_heights_of_python(kind, softness, bend):
    obj, armature = add_body()
    add_pattern(obj, kind, axis="X", full=1.0, softness=softness)
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (bend, 0.2, -0.1))
    assert compare_displacement(obj) > 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_nodes_displace_by_patterns_over_one_another(seed):
    obj, armature = add_body()
    add_overlapping(
        obj, axis="X", full=1.2, softness=0.3, depth=(1.0, 0.0, 0.5, 0.8)[seed], strength=(-1) ** seed * 0.1
    )
    obj.supple.pattern_display = "DISPLACEMENT"
    turn_at_random(armature, seed, 1.5)
    turn(armature, "bone.1", (0.7, 0.3, 0.2))
    assert compare_displacement(obj) > 1e-3


@pytest.mark.parametrize("gain", (4.0, -1.5))
def test_nodes_clip_as_python_does(gain):
    obj, armature = add_body()
    add_overlapping(obj, axis="X", law="LOG", gain=gain, depth=0.3)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (1.4, 0.0, 0.0))
    _, laid = bind_points(obj)
    assert np.abs(read_amounts(obj, laid, evaluate())).min() > 1.0
    assert compare_displacement(obj) > 1e-4


def test_nodes_displace_what_lies_on_the_surface():
    obj, armature = add_body()
    for kind, x in zip(KINDS, (0.0, 0.1, -0.1), strict=True):
        add_pattern(
            obj, kind, axis="X", full=1.0, space="SURFACE", placed_in="SURFACE", location=(x, 1.5, 0.4), size=(1.0, 0.7)
        )
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    assert compare_displacement(obj) > 1e-3


def test_only_bulges_are_displaced_by_kind():
    obj, armature = add_body()
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "KIND"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    depsgraph = evaluate()
    heights, laid = bind_points(obj, ["BULGE"])
    drawn = draw_points(obj, heights, read_amounts(obj, laid, depsgraph))
    moved, modifier = evaluated_points(obj), displacer_of(obj)
    modifier.show_viewport = False
    evaluate()
    away = np.linalg.norm(moved - evaluated_points(obj), axis=1)
    assert away == pytest.approx(np.abs(drawn), abs=TOLERANCE * diagonal(moved))


def test_the_skin_is_flat_at_rest():
    obj, _ = add_body()
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "DISPLACEMENT"
    assert compare_displacement(obj) <= 1e-7


# Maps


@pytest.fixture
def animated(scene) -> bpy.types.Object:
    """A body with patterns of each kind over one another, animated."""
    obj, armature = add_body()
    animate_tube(armature)
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    return obj


def read_file(path: Path) -> np.ndarray:
    """Values of a file, float32, shape (H, W), bottom row first."""
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    pixels = np.empty((image.size[1], image.size[0], image.channels), np.float32)
    image.pixels.foreach_get(pixels.ravel())
    bpy.data.images.remove(image)
    return pixels[..., 0]


def write_all(
    obj: bpy.types.Object, folder: Path, frames=FRAMES, file_format: str = "png16", width: int = 32, **more
) -> Path:
    done = list(write_maps(obj, bpy.context.scene, frames, folder, file_format, width, **more))
    assert done == list(range(1, len(frames) + 1))
    return folder


def told_in(folder: Path) -> dict:
    return json.loads((folder / "Tube_heights.json").read_text(encoding="utf-8"))


def test_a_map_has_the_heights_of_the_skin(animated, scene):
    scene.frame_set(4)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    heights, laid = bind_map(animated, 512, 512)
    drawn = draw_heights(heights, read_amounts(animated, laid, depsgraph))
    corners, _ = bind_points(animated)
    at_corners = draw_heights(corners, read_amounts(animated, laid, depsgraph))[0]
    uv = np.array([loop.uv for loop in animated.data.uv_layers.active.data])
    inside = ((uv > 0.002) & (uv < 0.998)).all(axis=1)
    columns, rows = np.floor(uv[inside] * 512).astype(int).T
    assert np.abs(at_corners).max() > 0.02
    # a pixel's middle is up to 0.7 pixels away, and a pattern of 0.1 rises over some 50 of them
    assert drawn[rows, columns] == pytest.approx(at_corners[inside], abs=0.004)


def test_a_map_lies_where_the_pattern_was_placed():
    obj, armature = add_body()
    add_pattern(
        obj, "BULGE", picture=np.ones((8, 8)), uv=(0.25, 0.7), size=(0.2, 0.1), softness=0.0, strength=0.5, full=1.0
    )
    update(obj)
    turn(armature, "bone.1", (1.5, 0.0, 0.0))
    heights, laid = bind_map(obj, 100, 200)
    drawn = draw_heights(heights, read_amounts(obj, laid, evaluate()))
    expected = np.zeros((200, 100))
    expected[130:150, 15:35] = 0.5  # rows from 0.65 to 0.75 of 200, columns from 0.15 to 0.35 of 100
    assert drawn == pytest.approx(expected, abs=1e-6)


def test_exr_holds_the_heights(animated, scene, tmp_path):
    write_all(animated, tmp_path, file_format="exr")
    heights, laid = bind_map(animated, 32, 32)
    largest = []
    for frame in FRAMES:
        scene.frame_set(frame)
        drawn = draw_heights(heights, read_amounts(animated, laid, bpy.context.evaluated_depsgraph_get()))
        assert (read_file(tmp_path / f"Tube_{frame:04}.exr") == drawn).all()
        largest.append(np.abs(drawn).max())
    assert max(largest) > 0.01


def test_png_holds_them_by_the_range_that_is_told(animated, tmp_path):
    write_all(animated, tmp_path / "png")
    write_all(animated, tmp_path / "exr", file_format="exr")
    told = told_in(tmp_path / "png")
    assert told["range"] == pytest.approx(measure_range(bind_map(animated, 32, 32)[0]), rel=1e-6)
    assert told["meaning"] == "height = (value - 0.5) * 2 * range"
    for frame in FRAMES:
        values = read_file(tmp_path / "png" / f"Tube_{frame:04}.png")
        heights = (values.astype(float) - 0.5) * 2 * told["range"]
        step = 2 * told["range"] / 65535
        assert heights == pytest.approx(read_file(tmp_path / "exr" / f"Tube_{frame:04}.exr"), abs=step)
        assert 0.0 < values.min() <= 0.5 <= values.max() < 1.0


@pytest.mark.parametrize("file_format", ("png16", "exr"))
def test_what_is_told_of_maps(animated, tmp_path, file_format):
    animated.name = "Hero/Body"
    write_all(animated, tmp_path, range(-1, 2), file_format, 16)
    suffix = pattern_maps.SUFFIXES[file_format]
    assert sorted(os.listdir(tmp_path)) == sorted(
        [f"Hero_Body_-0001{suffix}", f"Hero_Body_0000{suffix}", f"Hero_Body_0001{suffix}", "Hero_Body_heights.json"]
    )
    told = json.loads((tmp_path / "Hero_Body_heights.json").read_text(encoding="utf-8"))
    patterns = told.pop("patterns")
    assert told == {
        "object": "Hero/Body",
        "format": file_format,
        "meaning": pattern_maps.MEANINGS[file_format],
        "units": "object",
        "range": told["range"],
        "width": 16,
        "height": 16,
        "frames": [-1, 0, 1],
    }
    assert [(one["name"], one["kind"], one["bone"], one["axis"], one["law"]) for one in patterns] == [
        (kind.capitalize(), kind, "bone.1", "X", "RANGE") for kind in KINDS
    ]
    assert all(one["pixels"] > 10 for one in patterns)
    assert read_file(tmp_path / f"Hero_Body_0001{suffix}").shape == (16, 16)


def test_the_range_is_that_of_all_frames(animated, tmp_path):
    first = told_in(write_all(animated, tmp_path / "first", [1]))
    second = told_in(write_all(animated, tmp_path / "second", [4]))
    assert first["range"] == second["range"] > 0.0


@pytest.mark.parametrize("file_format", ("png16", "exr"))
def test_bytes_are_the_same_in_any_run(animated, tmp_path, file_format):
    whole = write_all(animated, tmp_path / "whole", FRAMES, file_format)
    parts = write_all(animated, tmp_path / "parts", FRAMES[3:], file_format)
    write_all(animated, parts, FRAMES[:3], file_format)
    turned = write_all(animated, tmp_path / "turned", FRAMES[::-1], file_format)
    names = sorted(os.listdir(whole))
    assert len(names) == len(FRAMES) + 1
    for other in (parts, turned):
        assert sorted(os.listdir(other)) == names
        assert [(other / name).read_bytes() for name in names] == [(whole / name).read_bytes() for name in names]
    assert len({(whole / name).read_bytes() for name in names}) == len(names)


def test_frames_that_mean_something_else_are_not_told(animated, tmp_path):
    write_all(animated, tmp_path, [1, 2])
    animated.supple.patterns[0].strength = 0.4
    write_all(animated, tmp_path, [3])
    assert told_in(tmp_path)["frames"] == [3]
    write_all(animated, tmp_path, [4, 5])
    (tmp_path / "Tube_0003.png").unlink()
    write_all(animated, tmp_path, [6])
    assert told_in(tmp_path)["frames"] == [4, 5, 6]


@pytest.mark.parametrize("content", ("", "{", "[]", "{}", "null", "3"))
def test_a_file_that_is_no_sidecar_is_replaced(animated, tmp_path, content):
    (tmp_path / "Tube_heights.json").write_text(content)
    write_all(animated, tmp_path, [1])
    assert told_in(tmp_path)["frames"] == [1]


@pytest.mark.parametrize("display", ("BUMP", "KIND", "DISPLACEMENT"))
def test_maps_do_not_depend_on_how_patterns_are_shown(animated, tmp_path, display):
    plain = write_all(animated, tmp_path / "plain", [4])
    animated.supple.pattern_display = display
    shown = write_all(animated, tmp_path / "shown", [4])
    assert (plain / "Tube_0004.png").read_bytes() == (shown / "Tube_0004.png").read_bytes()


def test_maps_do_not_depend_on_what_deforms_the_skin(animated, tmp_path):
    plain = write_all(animated, tmp_path / "plain", [4])
    bind(animated, method="DLBNT")
    bound = write_all(animated, tmp_path / "bound", [4])
    assert (plain / "Tube_0004.png").read_bytes() == (bound / "Tube_0004.png").read_bytes()


def test_kinds_can_be_chosen(animated, tmp_path):
    parts = [
        read_file(write_all(animated, tmp_path / kind, [4], "exr", kinds=[kind]) / "Tube_0004.exr") for kind in KINDS
    ]
    whole = read_file(write_all(animated, tmp_path / "all", [4], "exr") / "Tube_0004.exr")
    assert all(np.abs(one).max() > 0.001 for one in parts)
    assert sum(parts) == pytest.approx(whole, abs=1e-6)
    assert [one["kind"] for one in told_in(tmp_path / "BONE")["patterns"]] == ["BONE"]


def test_hidden_patterns_are_not_drawn(animated, tmp_path):
    animated.supple.patterns[1].show = False
    write_all(animated, tmp_path, [4])
    assert [one["kind"] for one in told_in(tmp_path)["patterns"]] == ["WRINKLE", "BONE"]


def test_flat_patterns_make_a_flat_map(tmp_path):
    obj, _ = add_body()
    add_pattern(obj, "BULGE", strength=0.0)
    update(obj)
    write_all(obj, tmp_path, [1])
    assert told_in(tmp_path)["range"] == 0.0
    assert read_file(tmp_path / "Tube_0001.png") == pytest.approx(np.full((32, 32), 0.5), abs=1 / 65535)


def test_the_frame_is_left_as_it_was(animated, scene, tmp_path):
    scene.frame_set(3, subframe=0.25)
    write_all(animated, tmp_path)
    assert (scene.frame_current, scene.frame_subframe) == (3, 0.25)


def test_files_appear_at_the_end_only(animated, scene, tmp_path):
    scene.frame_set(2)
    folder = tmp_path / "maps"
    steps = write_maps(animated, scene, FRAMES, folder)
    assert [next(steps), next(steps)] == [1, 2]
    assert not list(folder.glob("*.png"))
    steps.close()
    assert os.listdir(tmp_path) == []
    assert scene.frame_current == 2


def test_an_earlier_set_outlives_one_that_was_stopped(animated, tmp_path):
    write_all(animated, tmp_path, FRAMES)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    animated.supple.patterns[0].strength = 0.4
    steps = write_maps(animated, bpy.context.scene, FRAMES, tmp_path, "png16", 32)
    next(steps)
    steps.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_is_left_in_the_file(animated, tmp_path):
    counts = [len(getattr(bpy.data, name)) for name in ("images", "scenes", "node_groups", "objects", "meshes")]
    write_all(animated, tmp_path, [1, 2])
    assert counts == [len(getattr(bpy.data, name)) for name in ("images", "scenes", "node_groups", "objects", "meshes")]


# What can not be drawn


def unmap(obj: bpy.types.Object) -> None:
    obj.data.uv_layers.remove(obj.data.uv_layers[0])


def hide_all(obj: bpy.types.Object) -> None:
    for pattern in obj.supple.patterns:
        pattern.show = False


def break_all(obj: bpy.types.Object) -> None:
    for pattern in obj.supple.patterns:
        pattern.bone = "gone"


def push_out(obj: bpy.types.Object) -> None:
    for loop in obj.data.uv_layers[0].uv:
        loop.vector[0] += 3.0
    for pattern in obj.supple.patterns:
        pattern.uv = (3.5, 0.5)


def exclude_all(_obj: bpy.types.Object) -> None:
    scene = bpy.context.scene
    collection = bpy.data.collections.new("Away")
    scene.collection.children.link(collection)
    for one in list(scene.collection.objects):
        collection.objects.link(one)
        scene.collection.objects.unlink(one)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True


def edit(obj: bpy.types.Object) -> None:
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")


@pytest.mark.parametrize(
    ("spoil", "message"),
    (
        (unmap, "'Tube' has no UV map to draw into: unwrap it"),
        (hide_all, "'Tube' has no pattern to draw: add one, or show those it has"),
        (break_all, "'Tube' has no pattern to draw: Wrinkle: 'Rig' has no bone 'gone': choose another one"),
        (push_out, "No pattern of 'Tube' covers a pixel of the UV map from 0 to 1: unwrap the mesh into that square"),
        (exclude_all, "Frame 1: 'Rig' and 'Tube' are switched off in this view layer"),
        (edit, "'Tube' is in Edit Mode: leave it first"),
    ),
)
def test_what_can_not_be_drawn(animated, tmp_path, spoil: Callable, message):
    spoil(animated)
    with pytest.raises(SkinningError) as caught:
        list(write_maps(animated, bpy.context.scene, FRAMES, tmp_path / "maps"))
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("values", "message"),
    (
        ({"file_format": "jpeg"}, "There is no format 'jpeg' for height maps: choose png16, exr"),
        ({"frames": []}, "There are no frames to draw: choose at least one"),
        ({"width": 0}, "A map of 0 x 0 pixels can not be drawn: choose from 1 to 16384"),
        ({"width": 20000}, "A map of 20000 x 20000 pixels can not be drawn"),
        ({"kinds": ["DENT"]}, "There is no kind of pattern 'DENT': choose WRINKLE, BULGE, BONE"),
        ({"kinds": []}, "'Tube' has no pattern to draw"),
    ),
)
def test_settings_that_make_no_sense(animated, tmp_path, values, message):
    with pytest.raises(SkinningError) as caught:
        list(write_maps(animated, bpy.context.scene, **{"frames": FRAMES, "folder": tmp_path / "maps", **values}))
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("where", ("nowhere/maps", "file", "file/maps"))
def test_folders_that_can_not_be_written(animated, tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(SkinningError) as caught:
        list(write_maps(animated, bpy.context.scene, FRAMES, tmp_path / where))
    assert str(caught.value).startswith(f"Cannot write '{tmp_path / where}' (")
    assert str(caught.value).endswith("): choose a folder that can be written to")
    assert os.listdir(tmp_path) == ["file"]


def test_a_disk_that_is_full(animated, tmp_path, monkeypatch):
    written = []

    def fail(path: Path, *_arguments) -> None:
        written.append(path)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        path.touch()

    monkeypatch.setattr(pattern_maps, "write_heights", fail)
    with pytest.raises(SkinningError, match="No space left on device"):
        list(write_maps(animated, bpy.context.scene, FRAMES, tmp_path / "maps"))
    assert os.listdir(tmp_path) == []


# The operator


def test_the_operator_saves_the_current_frame(animated, scene, tmp_path):
    scene.frame_set(4)
    expected = write_all(animated, tmp_path / "task", [4], width=1024)
    select(animated)
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator")) == {"FINISHED"}
    assert sorted(os.listdir(tmp_path / "operator")) == ["Tube_0004.png", "Tube_heights.json"]
    for name in os.listdir(expected):
        assert (tmp_path / "operator" / name).read_bytes() == (expected / name).read_bytes()


def test_the_operator_saves_a_range(animated, tmp_path):
    expected = write_all(animated, tmp_path / "task", range(1, 6, 2), "exr", 16)
    select(animated.modifiers["Armature"].object)
    settings = {"frame_start": 1, "frame_end": 6, "frame_step": 2, "format": "EXR", "width": 16}
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator"), **settings) == {"FINISHED"}
    assert sorted(os.listdir(tmp_path / "operator")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "operator" / name).read_bytes() == (expected / name).read_bytes()


def test_the_operator_says_what_is_wrong(animated, tmp_path):
    select(animated)
    with pytest.raises(RuntimeError, match="No folder to write to: choose one"):
        bpy.ops.supple.pattern_maps()
    with pytest.raises(RuntimeError, match="runs backwards"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path), frame_start=3, frame_end=1)
    unmap(animated)
    with pytest.raises(RuntimeError, match="has no UV map to draw into"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_operator_needs_patterns(tmp_path):
    obj, _ = add_body()
    with pytest.raises(RuntimeError, match="Add a pattern first"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))
    bpy.data.objects.remove(obj)
    bpy.context.view_layer.objects.active = None
    with pytest.raises(RuntimeError, match="Select a mesh"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))


# The command line


@pytest.fixture
def file(animated, tmp_path) -> Path:
    """A file with an animated body that has patterns; opening it makes `animated` invalid."""
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def main(*argv: str | Path) -> int:
    return cli.main(["patterns", *(str(argument) for argument in argv)])


def assert_refused(code: int, captured: Any, message: str) -> None:
    assert code == FAILED
    (line,) = captured.err.splitlines()
    assert line.startswith("supple: error: ")
    assert message in line


def test_the_command_draws_the_frames_of_the_scene(animated, file, tmp_path, capsys):
    expected = write_all(animated, tmp_path / "task", FRAMES, width=1024)
    capsys.readouterr()
    assert main(file, "--output", tmp_path / "maps") == DONE
    assert capsys.readouterr().err == "supple: 6 of 6 frames\n"
    assert sorted(os.listdir(tmp_path / "maps")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "maps" / name).read_bytes() == (expected / name).read_bytes()


def test_the_command_takes_its_options(animated, file, tmp_path):
    expected = write_all(animated, tmp_path / "task", range(2, 6, 3), "exr", 16)
    options = ("--object", "Tube", "--frames", "2-6:3", "--format", "exr", "--width", "16")
    assert main(file, *options, "--output", tmp_path / "maps") == DONE
    assert sorted(os.listdir(tmp_path / "maps")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "maps" / name).read_bytes() == (expected / name).read_bytes()


def test_the_command_tells_of_patterns_that_are_left_out(animated, tmp_path, capsys):
    animated.supple.patterns[0].bone = "gone"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    capsys.readouterr()
    assert main(tmp_path / "hero.blend", "--frames", "1", "--width", "16", "--output", tmp_path / "maps") == DONE
    assert "supple: Tube: Wrinkle: 'Rig' has no bone 'gone': choose another one." in capsys.readouterr().err


def test_the_command_asks_which_object(animated, tmp_path, capsys):
    other, _ = add_body()
    add_pattern(other, "BULGE")
    update(other)
    add_body()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"))
    capsys.readouterr()
    code = main(tmp_path / "two.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "2 objects have patterns: give --object, one of Tube, Tube.001")
    code = main(tmp_path / "two.blend", "--object", "Hero", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "There is no object 'Hero': choose one of Tube, Tube.001")
    code = main(tmp_path / "two.blend", "--object", "Tube.002", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "'Tube.002' has no pattern to draw: add one")
    code = main(tmp_path / "two.blend", "--object", "Rig", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "'Rig' is not a mesh")
    assert not (tmp_path / "maps").exists()


def test_the_command_without_patterns(tmp_path, capsys):
    add_body()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "plain.blend"))
    capsys.readouterr()
    code = main(tmp_path / "plain.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "No object of the scene has patterns: add some first")


@pytest.mark.parametrize(
    ("argv", "message"),
    (
        (("--frames", "8-1"), "Frame range 8 to 1 runs backwards"),
        (("--frames", "1-8:0"), "Frame step is 0: choose 1 or more"),
        (("--width", "0"), "A map of 0 x 0 pixels can not be drawn"),
        (("--width", "-5"), "A map of -5 x -5 pixels can not be drawn"),
    ),
)
def test_the_command_refuses(file, tmp_path, argv, message, capsys):
    capsys.readouterr()
    assert_refused(main(file, *argv, "--output", tmp_path / "maps"), capsys.readouterr(), message)
    assert not (tmp_path / "maps").exists()


@pytest.mark.parametrize("where", ("nowhere/maps", "file/maps", "file"))
def test_the_command_can_not_write(file, tmp_path, where, capsys):
    (tmp_path / "file").touch()
    capsys.readouterr()
    code = main(file, "--width", "16", "--output", tmp_path / where)
    assert_refused(code, capsys.readouterr(), f"Cannot write '{tmp_path / where}' (")


def test_the_command_can_not_read(tmp_path, capsys):
    capsys.readouterr()
    code = main(tmp_path / "no.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), f"There is no file '{tmp_path / 'no.blend'}': check the path")


@pytest.mark.parametrize(
    "argv",
    (
        ("FILE",),
        ("--output", "maps"),
        ("FILE", "--output", "maps", "--format", "png"),
        ("FILE", "--output", "maps", "--frames", "all"),
        ("FILE", "--output", "maps", "--width", "wide"),
    ),
    ids=" ".join,
)
def test_wrong_usage(file, tmp_path, argv, capsys):
    capsys.readouterr()
    assert main(*({"FILE": file, "maps": tmp_path / "maps"}.get(text, text) for text in argv)) == USAGE
    assert capsys.readouterr().err.splitlines()[-1].startswith("supple: error: ")
    assert not (tmp_path / "maps").exists()


def test_info_counts_patterns(file, tmp_path, capsys):
    capsys.readouterr()
    assert cli.main(["info", str(file)]) == DONE
    assert capsys.readouterr().out.splitlines()[-1].endswith(", can be bound, 3 patterns")
    assert cli.main(["info", str(file), "--json"]) == DONE
    (one,) = json.loads(capsys.readouterr().out)["objects"]
    assert one["patterns"] == 3


def test_pictures_are_read_as_they_are():
    """What the other tests stand on: the image of a pattern is the picture it was given."""
    picture = hills()
    assert read_image(new_image("Hills", picture)) == pytest.approx(picture, abs=1 / 65535)
    assert math.isclose(picture.max(), 1.0)
