"""A bound character through undo and redo."""

import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_twins import bend, bound_tube

from scenes import add_tube, armature_modifier, bind, distance, evaluated_points, push, redo, undo, update
from supple.bridge.meshes import data as meshes
from supple.tasks.skin import by_blender

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("silent_handlers")]
EVALUATED = pytest.mark.usefixtures("evaluator")


def test_in_other_scenes():
    """In a process of its own: after hundreds of other tests, Blender 4.2 has crashed in it where it shows a scene."""
    tests = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", tests.parent / "pytest.ini", "--rootdir", tests.parent,
         tests / "undo_in_scenes.py"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "2 passed" in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]


def change_weights() -> None:
    for name in ("Tube", "Twin"):
        obj = bpy.data.objects[name]
        obj.vertex_groups["bone.0"].add(list(range(250, 400)), 0.6, "REPLACE")
        obj.data.update_tag()


@EVALUATED
def test_undo_of_a_state_that_was_stored_before_it_was_followed():
    """In a window Blender stores a step when its operator ends; what Supple writes comes after it."""
    _, armature, _ = bound_tube("CENTERS")
    bpy.data.objects["Twin"].hide_viewport = True
    bend(armature, 80)
    push("bind")
    handlers = bpy.app.handlers.depsgraph_update_post
    listening = list(handlers)
    handlers.clear()
    change_weights()
    push("weights")  # as a script it has Blender call the handlers first
    handlers.extend(listening)
    bpy.data.objects["Tube"].data.update_tag()
    update()
    painted = evaluated_points(bpy.data.objects["Tube"])
    bend(armature, 30)
    push("pose")
    undo()
    update()
    assert np.allclose(evaluated_points(bpy.data.objects["Tube"]), painted, atol=1e-6)


def test_undo_of_a_pose_prepares_no_mesh_again(monkeypatch):
    obj, armature = add_tube()
    bind(obj, method="DLB", evaluate="BLENDER")
    prepared, original = [], by_blender.prepare
    monkeypatch.setattr(by_blender, "prepare", lambda *given: prepared.append(given[0].obj.name) or original(*given))
    for angle in (20, 40, 60):
        bend(armature, angle)
        update()
        push(f"pose {angle}")
    undo()
    update()
    prepared.clear()
    undo()
    update()
    obj = bpy.data.objects["Tube"]
    obj.data.update_tag()
    update()
    assert prepared == []
    obj.vertex_groups["bone.0"].add([300], 0.123, "REPLACE")
    obj.data.update_tag()
    update()
    assert prepared == ["Tube"]


def rotate_arm(angle: float) -> None:
    bone = armature_modifier(bpy.data.objects["Body"]).object.pose.bones["upperarm_l"]
    bone.rotation_mode, bone.rotation_euler = "XYZ", (0.0, 0.0, angle)
    update()


def test_undo_of_poses_reads_no_weights(asset, evaluator, monkeypatch):
    """But the first undo after the mesh was changed: Blender has stored that it was tagged, and reports it."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
    bind(bpy.data.objects["Body"], evaluate=evaluator)
    read, walk = [], meshes._walk_vertex_groups  # noqa: SLF001
    monkeypatch.setattr(meshes, "_walk_vertex_groups", lambda mesh: read.append(mesh.name) or walk(mesh))
    for angle in (0.4, 0.8, 1.2):
        read.clear()
        push("before")
        shape = evaluated_points(bpy.data.objects["Body"])
        rotate_arm(angle)
        push(f"pose {angle}")
        undo()
        update()
        assert np.array_equal(evaluated_points(bpy.data.objects["Body"]), shape)
    assert read == []
    body = bpy.data.objects["Body"]
    body.vertex_groups["upperarm_l"].add(range(len(body.data.vertices)), 0.5, "ADD")
    body.data.update_tag()
    update()
    push("weights")
    assert read
    painted = evaluated_points(body)
    assert distance(painted, shape) > 1e-3
    for step, expected in ((undo, shape), (redo, painted)):
        step()
        update()
        assert distance(evaluated_points(bpy.data.objects["Body"]), expected) <= 1e-6
