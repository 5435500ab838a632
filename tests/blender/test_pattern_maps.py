"""Maps of patterns in files: what they hold, what is reported of them, and what cannot be drawn."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_maps import FRAMES, add_body, add_pattern, evaluate, unmap, write_all

from scenes import bind, select, turn
from supple.deformers import SkinningError
from supple.deformers.patterns.heights import KINDS, draw_heights, measure_range
from supple.tasks.patterns.maps import MEANINGS, SUFFIXES, bind_map, bind_points, read_amounts, write_maps
from supple.tasks.patterns.write import update

# Maps


def read_file(path: Path) -> np.ndarray:
    """Values of a file, float32, shape (H, W), bottom row first."""
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    pixels = np.empty((image.size[1], image.size[0], image.channels), np.float32)
    image.pixels.foreach_get(pixels.ravel())
    bpy.data.images.remove(image)
    return pixels[..., 0]


def told_in(folder: Path) -> dict:
    return json.loads((folder / "Tube_heights.json").read_text(encoding="utf-8"))


def test_a_map_has_the_heights_of_the_skin(animated_body, scene):
    scene.frame_set(4)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    laid = bind_map(animated_body, 512, 512)
    drawn = draw_heights(laid.heights, read_amounts(animated_body, laid, depsgraph))
    corners = bind_points(animated_body)
    at_corners = draw_heights(corners.heights, read_amounts(animated_body, corners, depsgraph))[0]
    uv = np.array([loop.uv for loop in animated_body.data.uv_layers.active.data])
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
    laid = bind_map(obj, 100, 200)
    drawn = draw_heights(laid.heights, read_amounts(obj, laid, evaluate()))
    expected = np.zeros((200, 100))
    expected[130:150, 15:35] = 0.5  # rows from 0.65 to 0.75 of 200, columns from 0.15 to 0.35 of 100
    assert drawn == pytest.approx(expected, abs=1e-6)


def test_files_hold_the_heights_png_by_the_range_that_is_reported(animated_body, scene, tmp_path):
    png, exr = write_all(animated_body, tmp_path / "png"), write_all(animated_body, tmp_path / "exr", file_format="exr")
    told = told_in(png)
    laid = bind_map(animated_body, 32, 32)
    assert told["range"] == pytest.approx(measure_range(laid.heights), rel=1e-6)
    assert told["meaning"] == "height = (value - 0.5) * 2 * range"
    largest = []
    for frame in FRAMES:
        scene.frame_set(frame)
        drawn = draw_heights(laid.heights, read_amounts(animated_body, laid, bpy.context.evaluated_depsgraph_get()))
        assert (read_file(exr / f"Tube_{frame:04}.exr") == drawn).all()
        largest.append(np.abs(drawn).max())
        values = read_file(png / f"Tube_{frame:04}.png").astype(float)
        assert (values - 0.5) * 2 * told["range"] == pytest.approx(drawn, abs=2 * told["range"] / 65535)
        assert 0.0 < values.min() <= 0.5 <= values.max() < 1.0
    assert max(largest) > 0.01


def test_what_is_told_of_maps(animated_body, tmp_path, subtests):
    animated_body.name = "Hero/Body"
    for file_format, suffix in SUFFIXES.items():
        with subtests.test(file_format):
            folder = write_all(animated_body, tmp_path / file_format, range(-1, 2), file_format, 16)
            names = [f"Hero_Body_{frame}{suffix}" for frame in ("-0001", "0000", "0001")]
            assert sorted(os.listdir(folder)) == sorted([*names, "Hero_Body_heights.json"])
            told = json.loads((folder / "Hero_Body_heights.json").read_text(encoding="utf-8"))
            patterns = told.pop("patterns")
            assert told == {
                "object": "Hero/Body", "format": file_format, "meaning": MEANINGS[file_format], "units": "object",
                "range": told["range"], "width": 16, "height": 16, "frames": [-1, 0, 1],
            }  # fmt: skip
            assert [(one["name"], one["kind"], one["bone"], one["axis"], one["law"]) for one in patterns] == [
                (kind.capitalize(), kind, "bone.1", "X", "RANGE") for kind in KINDS
            ]
            assert all(one["pixels"] > 10 for one in patterns)
            assert read_file(folder / names[2]).shape == (16, 16)


@pytest.mark.versions
def test_bytes_are_the_same_in_any_run(animated_body, tmp_path, subtests):
    for file_format in ("png16", "exr"):
        with subtests.test(file_format):
            folder = tmp_path / file_format
            folder.mkdir()
            whole = write_all(animated_body, folder / "whole", FRAMES, file_format)
            parts = write_all(animated_body, folder / "parts", FRAMES[3:], file_format)
            write_all(animated_body, parts, FRAMES[:3], file_format)
            turned = write_all(animated_body, folder / "turned", FRAMES[::-1], file_format)
            written = {path.name: path.read_bytes() for path in whole.iterdir()}
            assert len(set(written.values())) == len(written) == len(FRAMES) + 1
            for other in (parts, turned):
                assert {path.name: path.read_bytes() for path in other.iterdir()} == written


def test_frames_that_mean_something_else_are_not_listed(animated_body, tmp_path):
    for content in ("", "{", "[]", "{}", "null", "3"):
        (tmp_path / "Tube_heights.json").write_text(content)
        write_all(animated_body, tmp_path, [1])
        assert told_in(tmp_path)["frames"] == [1], content
    write_all(animated_body, tmp_path, [2])
    assert told_in(tmp_path)["frames"] == [1, 2]
    animated_body.supple.patterns[0].strength = 0.4
    write_all(animated_body, tmp_path, [3])
    assert told_in(tmp_path)["frames"] == [3]
    write_all(animated_body, tmp_path, [4, 5])
    (tmp_path / "Tube_0003.png").unlink()
    write_all(animated_body, tmp_path, [6])
    assert told_in(tmp_path)["frames"] == [4, 5, 6]


def test_maps_do_not_depend_on_what_shows_patterns_or_deforms_the_skin(animated_body, tmp_path, subtests):
    def draw(name: str) -> bytes:
        return (write_all(animated_body, tmp_path / name, [4]) / "Tube_0004.png").read_bytes()

    plain = draw("plain")
    for display in ("BUMP", "KIND", "DISPLACEMENT"):
        with subtests.test(display):
            animated_body.supple.pattern_display = display
            assert draw(display) == plain
    bind(animated_body)
    assert draw("bound") == plain


def test_kinds_can_be_chosen_and_hidden_patterns_are_not_drawn(animated_body, tmp_path):
    parts = [
        read_file(write_all(animated_body, tmp_path / kind, [4], "exr", kinds=[kind]) / "Tube_0004.exr")
        for kind in KINDS
    ]
    whole = read_file(write_all(animated_body, tmp_path / "all", [4], "exr") / "Tube_0004.exr")
    assert all(np.abs(one).max() > 0.001 for one in parts)
    assert sum(parts) == pytest.approx(whole, abs=1e-6)
    assert [one["kind"] for one in told_in(tmp_path / "BONE")["patterns"]] == ["BONE"]
    animated_body.supple.patterns[1].show = False
    assert [one["kind"] for one in told_in(write_all(animated_body, tmp_path, [4]))["patterns"]] == ["WRINKLE", "BONE"]


def test_flat_patterns_make_a_flat_map(tmp_path):
    obj, _ = add_body()
    add_pattern(obj, "BULGE", strength=0.0)
    update(obj)
    write_all(obj, tmp_path, [1])
    assert told_in(tmp_path)["range"] == 0.0
    assert read_file(tmp_path / "Tube_0001.png") == pytest.approx(np.full((32, 32), 0.5), abs=1 / 65535)


def test_files_appear_at_the_end_only(animated_body, scene, tmp_path):
    def stop() -> dict[str, bytes]:
        scene.frame_set(2)
        steps = write_maps(animated_body, scene, FRAMES, tmp_path / "maps", width=32)
        assert [next(steps), next(steps)] == [1, 2]
        steps.close()
        assert scene.frame_current == 2
        return {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    assert stop() == {}
    assert os.listdir(tmp_path) == []
    folder = write_all(animated_body, tmp_path / "maps")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    animated_body.supple.patterns[0].strength = 0.4
    assert stop() == before


def test_the_file_is_left_as_it_was(animated_body, scene, tmp_path):
    def count() -> list[int]:
        return [len(getattr(bpy.data, name)) for name in ("images", "scenes", "node_groups", "objects", "meshes")]

    before = count()
    scene.frame_set(3, subframe=0.25)
    write_all(animated_body, tmp_path, [1, 2])
    assert count() == before
    assert (scene.frame_current, scene.frame_subframe) == (3, 0.25)


# What can not be drawn


def change_all(obj: bpy.types.Object, **values) -> None:
    for pattern, (name, value) in itertools.product(obj.supple.patterns, values.items()):
        setattr(pattern, name, value)


def push_out(obj: bpy.types.Object) -> None:
    for loop in obj.data.uv_layers[0].uv:
        loop.vector[0] += 3.0
    change_all(obj, uv=(3.5, 0.5))


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
        (partial(change_all, show=False), "'Tube' has no pattern to draw: add a pattern, or show those it has"),
        (partial(change_all, bone="gone"), "'Tube' has no pattern to draw: Wrinkle: 'Rig' has no bone 'gone': choose"),
        (
            push_out,
            "No pattern of 'Tube' covers a pixel of the UV map between 0 and 1: unwrap the mesh into that square",
        ),
        (exclude_all, "Frame 1: 'Rig' and 'Tube' are disabled in this view layer"),
        (edit, "'Tube' is in Edit Mode: leave it first"),
    ),
)
def test_what_can_not_be_drawn(animated_body, tmp_path, spoil: Callable, message):
    spoil(animated_body)
    with pytest.raises(SkinningError) as caught:
        list(write_maps(animated_body, bpy.context.scene, FRAMES, tmp_path / "maps", width=32))
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_settings_that_make_no_sense(animated_body, tmp_path, subtests):
    (tmp_path / "file").touch()
    for values, message in (
        ({"file_format": "jpeg"}, "There is no format 'jpeg' for height maps: choose png16, exr"),
        ({"frames": []}, "There are no frames to draw: choose at least one"),
        ({"width": 0}, "A height map of 0 x 0 pixels cannot be drawn: choose 1 to 16384"),
        ({"width": 20000}, "A height map of 20000 x 20000 pixels cannot be drawn"),
        ({"kinds": ["DENT"]}, "There is no kind of pattern 'DENT': choose WRINKLE, BULGE, BONE"),
        ({"kinds": []}, "'Tube' has no pattern to draw"),
        *(
            ({"folder": tmp_path / where}, f"Cannot write '{tmp_path / where}' (*): choose a folder that can be")
            for where in ("nowhere/maps", "file", "file/maps")
        ),
    ):
        with subtests.test(message):
            given = {"frames": FRAMES, "folder": tmp_path / "maps", "width": 32} | values
            with pytest.raises(SkinningError) as caught:
                list(write_maps(animated_body, bpy.context.scene, **given))
            start, _, end = message.partition("*")
            assert str(caught.value).startswith(start)
            assert end in str(caught.value)
            assert os.listdir(tmp_path) == ["file"]
