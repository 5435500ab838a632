"""What Supple refuses, by the table in refusals.toml: each call says why, and changes nothing.

`bad_input` has what files, commands and stored values can say, `test_registration.py` what operators say without a
selection.
"""

from __future__ import annotations

import importlib
import tomllib
from math import inf, nan
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
import scenes_placing
import scenes_swing
from mathutils import Matrix
from scenes_cli import assert_refused, main
from scenes_motion import add_walk, add_walker, clear
from scenes_state import refuse

import scenes
from scenes import add_object, add_tube, add_twin, animate_tube, edit_bones, reset, rest_points, save, select, update
from supple.bridge.animation.curves import list_curves
from supple.options import CopyOptions, SwingOptions
from supple.tasks.corrections.from_source import correct_from
from supple.tasks.engine_copy.run import make_engine_copy
from supple.tasks.handles.add import add_handles
from supple.tasks.handles.remove import remove_handles
from supple.tasks.layers.add import add_layers
from supple.tasks.motion.compare import compare_actions
from supple.tasks.patterns.edit import add_pattern
from supple.tasks.patterns.library import find_entry
from supple.tasks.skin.bind import bind_each as bind_by_task
from supple.tasks.steps import take_all
from supple.tasks.swing.add import add_swing
from supple.tasks.swing.remove import remove_swing
from supple.tasks.weights.lines import read_lines

Object = bpy.types.Object
TABLE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
ops = bpy.ops.supple
compare, loop, join = ops.motion_compare, ops.motion_loop, ops.motion_join


def bind_by_python(*objects: Object) -> None:
    bind_by_task(objects, "DLBNT", "PYTHON")


def copy(obj: Object, **chosen: Any) -> None:
    take_all(make_engine_copy([obj], CopyOptions(**{"keys": 0, "angle": 0.0} | chosen)))


def correct(obj: Object, source: str = "PARTICLES", joints: Any = ("bone.1",), angles: Any = (40.0, 80.0)) -> None:
    take_all(correct_from([obj], source, joints, angles))


def swing(runner: Object, preset: str = "AUTO", names: Any = ()) -> None:
    take_all(add_swing(runner, bpy.context.scene, SwingOptions(preset), names))


def add_animated_tube() -> tuple[Object, Object]:
    obj, rig = add_tube(rings=12, sides=8)
    animate_tube(rig)
    bpy.context.scene.frame_set(1)
    return obj, rig


def add_bare_armature(name: str) -> Object:
    return add_object(name, bpy.data.armatures.new(name))


def add_motions() -> Object:
    """A walker with actions of 1, 4 and 61 frames, of which it plays the last, and an action that moves no bone."""
    walker, other = add_walker(), add_object("Other")
    walker.animation_data_create()
    for name, count in (("One", 1), ("Short", 4), ("Walk", 61)):
        clear(walker)
        add_walk(walker, name, range(5, 5 + count))
    other.animation_data_create().action = bpy.data.actions.new("Key")
    for frame in (1, 20):
        other.keyframe_insert("hide_viewport", frame=frame)
    select(walker)
    return walker


def deform(obj: Object, armature: Object, name: str = "Armature") -> None:
    obj.modifiers.new(name, "ARMATURE").object = armature


def put_above(obj: Object, kind: str) -> None:
    obj.modifiers.new("New", kind)
    obj.modifiers.move(len(obj.modifiers) - 1, 0)


def hide(modifier: bpy.types.Modifier) -> None:
    modifier.show_viewport = modifier.show_render = False


def weigh(obj: Object, *weights: float) -> None:
    """Give all vertices the same weights."""
    for group, weight in zip(obj.vertex_groups, weights, strict=True):
        group.add(range(len(obj.data.vertices)), weight, "REPLACE")


def remove_groups(obj: Object, *names: str) -> None:
    for name in names:
        obj.vertex_groups.remove(obj.vertex_groups[name])


def remove_actions() -> None:
    bpy.data.batch_remove(bpy.data.actions)


def key_at(armature: Object, frame: float) -> None:
    list_curves(armature)[0].keyframe_points.insert(frame, 0.0)


def key_object(obj: Object, channel: str, value: tuple[float, float, float]) -> None:
    """Have an object get a value in frame 5, and have its own again in frame 8."""
    own = getattr(obj, channel).copy()
    for frame, now in ((1, own), (5, value), (8, own)):
        setattr(obj, channel, now)
        obj.keyframe_insert(channel, frame=frame)
    bpy.context.scene.frame_set(1)


def add_odd_body() -> tuple[Object, Object]:
    """A small closed tube with a UV map, its armature, and a copy of the mesh object."""
    obj, rig = add_tube(rings=7, sides=6, is_closed=True, has_uv=True)
    add_twin(obj).name = "Copy"
    obj.supple.particles.target_count = 30
    select(obj)
    return obj, rig


def scale_points(obj: Object, *factors: float) -> None:
    obj.data.vertices.foreach_set("co", (rest_points(obj) * np.array(factors)).astype(np.float32).ravel())
    obj.data.update()


def move_bone(rig: Object, name: str, **ends: tuple[float, float, float]) -> None:
    edit_bones(rig, lambda bones: [setattr(bones[name], end, at) for end, at in ends.items()])
    select(bpy.data.objects["Tube"])


def remove_faces(obj: Object) -> None:
    points, obj.data = rest_points(obj), bpy.data.meshes.new("Points")
    obj.data.from_pydata(points.tolist(), [], [])
    obj.vertex_groups.new(name="bone.1").add(range(len(points)), 1.0, "REPLACE")


def fill_uv(obj: Object, value: float) -> None:
    for data in obj.data.uv_layers[0].data:
        data.uv = value, value


def lock(obj: Object) -> None:
    for group in obj.vertex_groups:
        group.lock_weight = True


def add_bulge(**place: Any) -> None:
    ops.pattern_add(preset="BULGE_STEEP", bone="bone.1", **place)


def edit_weights() -> None:
    """All edits are refused alike; the last is what is told."""
    for name in ("smooth", "sharpen", "limit", "normalize", "prune"):
        with pytest.raises(RuntimeError):
            getattr(ops, f"weights_{name}")()
    ops.weights_mirror()


def transfer(obj: Object, is_source: bool = True) -> None:
    other = bpy.data.objects["Copy"]
    select(*((obj, other) if is_source else (other, obj)))
    try:
        ops.weights_transfer()
    finally:
        select(obj)


def draw_line() -> None:
    ops.weight_lines(bone="bone.1", offset=0.1)


def correct_bent(obj: Object, rig: Object) -> None:
    """Correct a bent pose, in which one vertex is moved; what cannot be kept is discarded."""
    bone = rig.pose.bones[1]
    bone.matrix_basis = Matrix.Rotation(1.0, 4, "X")
    try:
        ops.correct_pose(mode="OBJECT")
        bpy.context.active_object.data.vertices[0].co.x += 0.1
        ops.correction_keep(joints=bone.name)
    except RuntimeError:
        if ops.correction_discard.poll():
            ops.correction_discard()
        raise
    finally:
        bone.matrix_basis = Matrix()


TASKS = (
    add_handles, remove_handles, add_layers, compare_actions, find_entry, remove_swing, read_lines,
    take_all,
)  # fmt: skip
NAMES = {
    name: value
    for module in ("weights", "layers", "drag", "patterns", "swing")
    for name, value in vars(importlib.import_module(f"scenes_{module}")).items()
}
NAMES |= vars(scenes) | globals() | {task.__name__: task for task in TASKS} | {"inf": inf, "nan": nan}
NAMES |= {
    "Matrix": Matrix,
    "add_belly": scenes_swing.add_skin,
    "add_placing_body": scenes_placing.add_body,
    "lay": add_pattern,
}
"""What the table may name: what this module, `scenes` and the modules of scenes have, and tasks."""


@pytest.mark.usefixtures("silent_handlers")
@pytest.mark.parametrize("feature", [feature for feature in TABLE if "rows" in TABLE[feature]])
def test_what_is_refused_is_said_and_changes_nothing(feature: str, subtests: pytest.Subtests) -> None:
    table, names, is_spoiled = TABLE[feature], {}, True
    for words, *more in table["rows"]:
        state, calls = more[0] if more else "", more[1:] or table["calls"]
        with subtests.test(words, state=state):
            if state or is_spoiled:
                reset()
                names = dict(NAMES)
                exec(table["scene"] + "\n" + state, names)
                update()
            is_spoiled = bool(state)
            for call in calls:
                refuse(words, lambda call=call, names=names: exec(call, names))


@pytest.mark.parametrize("feature", [feature for feature in TABLE if "commands" in TABLE[feature]])
def test_commands_that_are_refused_write_nothing(
    feature: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    subtests: pytest.Subtests,
) -> None:
    exec(TABLE[feature]["scene"], dict(NAMES))
    save(tmp_path / "FILE.blend")
    monkeypatch.chdir(tmp_path)
    for words, command in TABLE[feature]["commands"]:
        with subtests.test(command):
            capfd.readouterr()
            assert_refused(main(*command.replace("FILE", "FILE.blend").split()), capfd.readouterr(), words)
            assert [path.name for path in tmp_path.iterdir()] == ["FILE.blend"]
