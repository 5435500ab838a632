"""Particles over frames and files: posed, baked, rendered, saved, undone, copied."""

from __future__ import annotations

import bpy
import numpy as np
import pictures
import pytest
from scenes_bake import read_cache
from scenes_particles import COUNT, FRAMES, SHOWN, add_animated_body, add_body, bend, fill

from scenes import (
    add_face_key,
    animate_key,
    animate_tube,
    distance,
    evaluated_points,
    points_at,
    save,
    select,
    update,
)
from supple import cli
from supple.bridge import changes
from supple.settings.objects import settings_of
from supple.tasks.bake.caches import bake_cache
from supple.tasks.bake.shape_keys import bake_shape_keys

pytestmark = pytest.mark.usefixtures("silent_handlers")


# Frames


def test_frames_do_not_depend_on_each_other_and_bake_as_shown(tmp_path, fillings):
    obj = add_animated_body()
    animate_key(add_face_key(obj))
    fill(obj)
    shown = [points_at(obj, frame) for frame in FRAMES]
    for frame in (5, 2, 8, 1):
        assert np.array_equal(points_at(obj, frame), shown[frame - 1])
    list(bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", FRAMES))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2")[1], shown, strict=True):
        assert np.array_equal(points, expected)
    list(bake_shape_keys([obj], bpy.context.scene, FRAMES))
    for frame, expected in zip(FRAMES, shown, strict=True):
        assert distance(expected, points_at(obj, frame)) < 1e-5
    assert len(fillings) == 1


def test_a_bake_has_its_own_iterations(tmp_path):
    obj = add_animated_body()
    fill(obj)
    shown = points_at(obj, 4)
    settings_of(obj).particles.iterations_bake = 24
    list(bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", range(4, 5)))
    assert np.array_equal(evaluated_points(obj), shown)
    baked = read_cache(tmp_path / "baked.pc2")[1][0]
    assert distance(shown, baked) > SHOWN
    settings_of(obj).particles.iterations = 24
    assert np.array_equal(points_at(obj, 4), baked)


@pytest.mark.parametrize("is_bound", [False, True], ids=["bound by the bake", "bound before"])
def test_machines_share_a_headless_bake(tmp_path, capfd, is_bound):
    """Also of a file in which the object wanders through its armature: it is filled alike at each frame."""
    obj = add_animated_body()
    wander(obj)
    bpy.context.scene.frame_set(2)
    if is_bound:
        fill(obj)
    path = str(save(tmp_path / "body.blend"))
    for name, frames in (("whole", "1-8"), ("early", "1-4"), ("late", "5-8")):
        method = [] if is_bound else ["--method", "PARTICLES"]
        target = str(tmp_path / f"{name}.pc2")
        assert cli.main(["bake", path, "--object", "Tube", *method, "--frames", frames, "--output", target]) == 0
    said = capfd.readouterr().err
    assert is_bound or " particles, " in said
    parts = [str(tmp_path / f"{name}.pc2") for name in ("early", "late")]
    assert cli.main(["join", *parts, "--output", str(tmp_path / "joined.pc2")]) == 0
    assert (tmp_path / "joined.pc2").read_bytes() == (tmp_path / "whole.pc2").read_bytes()


def wander(obj: bpy.types.Object) -> None:
    """Keyframe the object's place, turn and size within its armature's space."""
    for frame, shift in ((1, 0.0), (8, 0.4)):
        obj.location, obj.rotation_euler, obj.scale = (shift, 0, 0), (0, 0.5 * shift, shift), (1 + shift,) * 3
        for path in ("location", "rotation_euler", "scale"):
            obj.keyframe_insert(path, frame=frame)


def test_a_render_has_the_points_of_the_viewport(tmp_path, monkeypatch, points_engine):
    obj, armature = add_body()
    animate_tube(armature)
    fill(obj)
    shown = {frame: points_at(obj, frame) for frame in pictures.FRAMES}
    monkeypatch.setattr(changes, "is_dragging", lambda: True)
    rendered = pictures.render_points(tmp_path)
    for frame, expected in shown.items():
        assert np.array_equal(rendered[obj.name, frame], expected)


# Files and undo


def test_undo():
    obj, armature = add_body()
    bend(armature)
    bpy.ops.ed.undo_push(message="built")
    select(obj)
    bpy.ops.supple.bind(method="PARTICLES")
    bpy.ops.ed.undo_push(message="bind")
    bound, count = evaluated_points(obj), settings_of(obj).particles.count
    settings_of(obj).particles.target_count = 3 * COUNT
    bpy.ops.ed.undo_push(message="count")  # as in the user interface: before the handlers have filled the mesh anew
    update()
    finer, more = evaluated_points(obj), settings_of(obj).particles.count
    assert more > 2 * count
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Tube"]
    assert np.array_equal(evaluated_points(obj), bound)
    assert settings_of(obj).particles.count == count
    bpy.ops.ed.redo()
    obj = bpy.data.objects["Tube"]
    assert np.array_equal(evaluated_points(obj), finer)
    assert settings_of(obj).particles.count == more
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    assert not settings_of(bpy.data.objects["Tube"]).is_bound
    assert settings_of(bpy.data.objects["Tube"]).particles.count == 0
