"""A file bound by nodes, opened where Supple has never been: the same points, and the same pictures to the pixel."""

from math import tau
from pathlib import Path

import bpy
import numpy as np
import pytest
from pictures import (
    FRAMES,
    LEAST_CHANGE,
    add_character,
    assert_something_to_see,
    count_changed,
    prepare_pictures,
    read_pictures,
    render_animation,
    render_elsewhere,
    render_here,
)
from scenes_methods import NODE_BLENDS, choose, name_of
from shared_fixtures import load_groups

from scenes import bind, distance, reset
from supple.settings.objects import settings_of

BLENDS = {name_of(*blend): blend for blend in NODE_BLENDS}
CASES = (
    "SSD workbench", "DLB cycles", "DLBNT-GH workbench", "DLBNT-GH cycles", "DLBNT-GH cycles-blur",
    "DLBNT-HG workbench", "CENTERS workbench", "B-Bones workbench", "linear group cycles-blur",
    "subdivided workbench", "twist cycles-blur", "spread twist workbench", "made independent workbench",
)  # fmt: skip
"""Each kind, and each engine: what deforms knows nothing of engines."""

SAVED = (
    "DLBNT-GH workbench", "CENTERS workbench", "twist cycles-blur", "spread twist workbench",
    "made independent workbench",
)  # fmt: skip
"""Those that are opened here again."""


def prepare_case(kind: str, engine: str, groups_file: Path) -> bpy.types.Object:
    """An animated tube with an animated face key and a sheared object transform; not bound yet."""
    reset()
    load_groups(groups_file)
    obj, armature = add_character("keyed")
    obj.location, obj.scale = (0.1, 0.0, 0.0), (1.2, 1.0, 0.9)
    armature.rotation_euler.x = 0.2
    if kind == "B-Bones":
        for bone in armature.data.bones:
            bone.bbone_segments = 3
    if kind == "linear group":
        settings_of(obj).linear_group = "bone.1"
    if kind == "subdivided":
        obj.modifiers.new("Above", "SUBSURF").levels = 1
        obj.modifiers.move(1, 0)
    if kind == "twist":
        settings_of(obj).twist = "3"
        twist_on(armature.pose.bones["bone.2"])
    if kind == "spread twist":
        settings_of(obj).twist = "OFF"
        armature.data.bones["bone.2"].supple.spread_twist = "ON"
        twist_on(armature.pose.bones["bone.2"])
    if kind in BLENDS:
        choose(obj, *BLENDS[kind])
    prepare_pictures(engine)
    bpy.context.view_layer.update()
    return obj


def twist_on(bone: bpy.types.PoseBone) -> None:
    """Keyframe two turns more."""
    for frame, turns in ((1, 0.0), (8, 2.0)):
        bone["supple_turns"], bone.rotation_euler.y = turns, turns * tau
        bone.keyframe_insert('["supple_turns"]', frame=frame)
        bone.keyframe_insert("rotation_euler", index=1, frame=frame)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, groups_file: Path) -> Path:
    """A folder with points and pictures of each case, here and without Supple, and with those of Blender's own."""
    folder = tmp_path_factory.mktemp("elsewhere")
    here = folder / "here"
    here.mkdir()
    files = []
    for case in CASES:
        kind, _, engine = case.rpartition(" ")
        obj = prepare_case(kind, engine, groups_file)
        if kind == "DLBNT-GH":
            render_animation(here / f"Blender's own {engine}")
        bind(obj, method=BLENDS[kind][0] if kind in BLENDS else "DLBNT", evaluate="NODES")
        if kind == "made independent":
            bpy.ops.supple.make_independent()
        files.append(render_here(folder, case, obj))
    render_elsewhere(folder / "without Supple", False, files)
    return folder


@pytest.mark.versions
def test_points_and_pictures_are_the_same_without_supple(elsewhere: Path, subtests: pytest.Subtests):
    for case in CASES:
        with subtests.test(case):
            here, there = (np.load(elsewhere / where / f"{case}.npz") for where in ("here", "without Supple"))
            assert set(here) == set(there) == {str(frame) for frame in FRAMES}
            for frame in here:
                assert distance(here[frame], there[frame]) <= 1e-6
            assert distance(there["2"], there["4"]) > 0.01
            expected = read_pictures(elsewhere / "here" / case)
            assert_something_to_see(expected)
            assert count_changed(read_pictures(elsewhere / "without Supple" / case), expected) == [0] * len(FRAMES)


def test_what_deforms_there_is_not_the_armature_modifier(elsewhere: Path, subtests: pytest.Subtests):
    for engine in ("workbench", "cycles", "cycles-blur"):
        with subtests.test(engine):
            blender = read_pictures(elsewhere / "here" / f"Blender's own {engine}")
            pictures = read_pictures(elsewhere / "without Supple" / f"DLBNT-GH {engine}")
            assert min(count_changed(pictures, blender)) >= LEAST_CHANGE


def test_motion_blur_shows(elsewhere: Path):
    sharp, blurred = (
        read_pictures(elsewhere / "without Supple" / f"DLBNT-GH {engine}") for engine in ("cycles", "cycles-blur")
    )
    assert min(count_changed(sharp, blurred)) >= LEAST_CHANGE


def test_pictures_are_the_same_after_a_save_without_supple(elsewhere: Path, tmp_path: Path, subtests: pytest.Subtests):
    for case in SAVED:
        with subtests.test(case):
            bpy.ops.wm.open_mainfile(filepath=str(elsewhere / "without Supple" / f"{case}.blend"))
            assert settings_of(bpy.context.scene.objects["Tube"]).is_bound == (not case.startswith("made independent"))
            pictures = render_animation(tmp_path / case)
            assert count_changed(pictures, read_pictures(elsewhere / "here" / case)) == [0] * len(FRAMES)
