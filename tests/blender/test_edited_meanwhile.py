"""A long command that is canceled, or whose file another window or a script edits, between two of its steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import bpy
import pytest
from scenes_layers import BODY, SKIRT, TIGHTS, add_dressed
from scenes_motion import add_walk, add_walker
from scenes_particles import add_body
from scenes_state import find_changes, read_state
from scenes_swing import add_run, add_runner

from benchmarks.fit_bodies import make_human
from scenes import animate_tube, build_once, select, update
from supple.bridge.files import child
from supple.operators.computing import ComputingOperator
from supple.tasks.skin.bind import bind_each
from supple.tasks.steps import EditedMeanwhileError, Steps, StepsBeside

STEPS = 0, 2, 5
"""Steps that are taken before the file is edited; by default one of them, and two edits of each command."""

ENDED_AT = 1, 2, 5, 9, 20, 40
"""Steps after which it is canceled, or fails, in turn; by default every other."""


def stand() -> None:
    """A closed body that is not bound, with an action."""
    obj, armature = add_body()
    animate_tube(armature)
    bpy.context.scene.frame_end = 8
    select(obj, armature)
    update()


def stand_bound() -> None:
    build_once(stand)
    bind_each([bpy.data.objects["Tube"]], "DLBNT")
    update()


def stand_naked() -> None:
    """A mesh without a skeleton."""
    mesh = bpy.data.meshes.new("Human")
    points, triangles = make_human()
    mesh.from_pydata(points.tolist(), [], triangles.tolist())
    obj = bpy.data.objects.new("Human", mesh)
    bpy.context.scene.collection.objects.link(obj)
    select(obj)


def dress() -> None:
    """A body in clothes, bound."""
    dressed = add_dressed(rings=21, sides=10)
    meshes = [dressed[name] for name in (BODY, TIGHTS, SKIRT)]
    select(*meshes, dressed["Rig"])
    bpy.context.view_layer.objects.active = dressed[BODY]
    bind_each(meshes, "DLBNT")
    update()


def dress_checked() -> None:
    build_once(dress)
    assert bpy.ops.supple.check() == {"FINISHED"}


def copy_once() -> None:
    build_once(stand_bound)
    assert bpy.ops.supple.engine_copy() == {"FINISHED"}


def run_about() -> None:
    """An armature with a tail, which runs."""
    armature = add_runner()
    add_run(armature)
    select(armature)
    update()


def walk() -> None:
    armature = add_walker()
    add_walk(armature)
    select(armature)
    update()


COMMANDS: dict[str, tuple[Callable[[], None], dict[str, Any]]] = {
    "make": (stand, {}),
    "bind": (stand, {"method": "DLBNT"}),
    "flesh_add": (stand_bound, {"quality": "QUICK"}),
    "flesh_take": (stand_bound, {"bone": "bone.1", "shape": "SOLID", "quality": "QUICK"}),
    "corrections_from": (stand_bound, {"joints": "bone.1", "angles": "60"}),
    "check": (dress, {}),
    "check_fix_all": (dress_checked, {}),
    "measure": (dress, {}),
    "weights_auto": (stand, {}),
    "weights_smooth": (stand, {}),
    "layers_add": (dress, {}),
    "layers_mend": (dress, {}),
    "engine_copy": (copy_once, {}),
    "bake_shape_keys": (dress, {"whole": True}),
    "bake_cache": (dress, {"whole": True, "filepath": "a.pc2"}),
    "fit_skeleton": (stand_naked, {}),
    "motion_loop": (walk, {}),
    "motion_compare": (walk, {}),
    "swing_add": (run_about, {}),
    "side_by_side": (dress, {}),
}
"""By operator: a scene, and its options."""

ALIKE = {
    "check_fix", "check_show", "correct_pose", "correction_discard", "correction_keep",
    "engine_copy_export", "flesh_pick",
    "layers_limbs", "motion_join", "pattern_maps", "pattern_set_add", "remedy", "swing_update",
    "weights_limit", "weights_mirror", "weights_normalize", "weights_prune", "weights_sharpen",
    "weights_stiffen", "weights_transfer",
}  # fmt: skip
"""Operators that take the same steps as one above, or a single one, or want a scene of their own."""


def test_each_long_command_is_tried():
    long = {cls.bl_idname for cls in bpy.types.Operator.__subclasses__() if issubclass(cls, ComputingOperator)}
    assert {name.partition(".")[2] for name in long} == COMMANDS.keys() | ALIKE


def delete(objects: Iterable[bpy.types.ID]) -> int:
    found = [*objects]
    bpy.data.batch_remove(found)
    return len(found)


def delete_meshes() -> int:
    return delete(obj for obj in bpy.data.objects if obj.type == "MESH")


def delete_armature() -> int:
    return delete(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def delete_all() -> int:
    return delete([*bpy.data.objects, *bpy.data.meshes, *bpy.data.armatures, *bpy.data.actions])


def delete_actions() -> int:
    return delete(bpy.data.actions)


def add_vertices() -> int:
    for mesh in bpy.data.meshes:
        mesh.vertices.add(3)
    return len(bpy.data.meshes)


def remove_modifiers() -> int:
    found = [(obj, modifier) for obj in bpy.data.objects for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    for obj, modifier in found:
        obj.modifiers.remove(modifier)
    return len(found)


EDITS = (delete_meshes, delete_armature, delete_all, add_vertices, remove_modifiers, delete_actions)
"""They return how much there was to edit."""


@pytest.fixture(autouse=True)
def _computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "find_command", lambda: ["no such program"])


def run(monkeypatch, name: str, tmp_path, edit: Callable[[Steps, Any], str]) -> str:
    """Run a command of a new scene up to an edit, given its steps and the operator; how it ended."""
    scene, options = COMMANDS[name]
    if scene in (dress_checked, copy_once):  # which hold what no file has
        scene()
    else:
        build_once(scene)
    bpy.context.scene.frame_set(1)
    ended = []

    def take(operator: Any, _context: bpy.types.Context, steps: Any) -> set[str]:
        ended.append(edit(steps, operator))
        return {"CANCELLED"}

    if "filepath" in options:
        options = options | {"filepath": str(tmp_path / options["filepath"])}
    with monkeypatch.context() as patch:
        patch.setattr(ComputingOperator, "take", take)
        getattr(bpy.ops.supple, name)(**options)
    assert ended, f"{name} has taken no steps"
    return ended[0]


def advance(beside: StepsBeside, count: int) -> bool:
    """Take some steps; whether there are more."""
    try:
        for _ in range(count):
            beside.take(0.0)
    except StopIteration:
        return False
    return True


def test_no_step_is_taken_in_a_file_that_was_edited(request, subtests, monkeypatch, tmp_path):
    is_thorough = request.config.getoption("thorough")
    for start, name in enumerate(COMMANDS):
        for number, edit in enumerate(EDITS, start):
            if not is_thorough and number % 3:
                continue
            for count in STEPS if is_thorough else (STEPS[start // 3 % len(STEPS)],):

                def interfere(steps: Steps, _: Any, count: int = count, edit: Callable = edit) -> str:
                    with closing(StepsBeside(steps)) as beside:
                        if not advance(beside, count):
                            return "done before"
                        if not edit():
                            return "nothing to edit"
                        try:
                            beside.take(0.0)
                        except EditedMeanwhileError:
                            return "interrupted"
                        except StopIteration:
                            return "done"
                        return "went on"

                with subtests.test(f"{name}: {edit.__name__} after {count} steps"):
                    ended = run(monkeypatch, name, tmp_path, interfere)
                    assert ended in ("interrupted", "done before", "nothing to edit")
                    update()
                if ended == "done before":
                    break


def cancel(steps: Steps, operator: Any, count: int) -> str:
    """Press Esc after some steps."""
    with closing(StepsBeside(steps)) as beside:
        if not advance(beside, count):
            return "done before"
    return describe_end(operator)


def fail(steps: Steps, operator: Any, count: int) -> str:
    """Raise what no step expects after some of them."""
    with closing(steps):
        step = next(steps, None)
        try:
            for _number in range(count):
                step = steps.send(step(lambda _share: None) if callable(step) else None)
        except StopIteration:
            return "done before"
        with pytest.raises(MemoryError):
            steps.throw(MemoryError())
    return describe_end(operator)


def describe_end(operator: Any) -> str:
    """Make Supple leaves meshes bound without flesh: it has done one thing, and not the other."""
    return "taken back" if operator.stop() == {"CANCELLED"} else "done in part"


def test_what_is_canceled_or_fails_leaves_the_file_as_it_was(request, subtests, monkeypatch, tmp_path):
    is_thorough = request.config.getoption("thorough")
    for number, name in enumerate(COMMANDS):
        ended = ""
        counts = ENDED_AT if is_thorough else ENDED_AT[number % 2 :: 2]
        for count, end in zip(counts, itertools.cycle((cancel, fail)), strict=False):
            before: list[dict[str, Any]] = []

            def read_and_end(
                steps: Steps, operator: Any, count: int = count, end: Callable = end, before: list = before
            ) -> str:
                before.append(read_state())
                return end(steps, operator, count)

            with subtests.test(f"{name}: {end.__name__} after {count} steps"):
                ended = run(monkeypatch, name, tmp_path, read_and_end)
                if ended == "taken back":
                    assert find_changes(before[0]) == []
                    assert not [*tmp_path.iterdir()]
            if ended == "done before":
                break
        for path in tmp_path.iterdir():
            path.unlink()
