"""Characters that Blender's own modifiers deform: equal to NumPy, through files, copies, undo, looks and Unbind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bake import animation_of
from test_rolls import turn_randomly

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    animate_tube,
    armature_modifier,
    distance,
    evaluated_points,
    push,
    redo,
    reset,
    rest_points,
    rna_values,
    save,
    select,
    skinned_meshes,
    snapshot,
    turn,
    undo,
    update,
)
from supple import preview
from supple.bridge.modifiers import LINEAR_GROUP, LINEAR_NAME
from supple.bridge.rigs.armatures import read_pose
from supple.bridge.rigs.segments import is_rolled, read_rolls
from supple.settings.objects import settings_of
from supple.tasks.skin import by_blender
from supple.tasks.skin.model import Choices, PosableSkin, SkinSource
from supple.tasks.subject.stack import resolve

pytestmark = pytest.mark.usefixtures("silent_handlers")

MESH, RIG = "human_male", "Armature"
SEED = 2

Character = tuple[bpy.types.Object, bpy.types.Object]


def take(obj: bpy.types.Object) -> Character:
    return obj, armature_modifier(obj).object


def bind(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.bind() == {"FINISHED"}
    update()


@pytest.fixture
def plain(asset: Callable[..., Path]) -> Character:
    """A mesh and its armature, posed."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("human_male")))
    obj, armature = take(*skinned_meshes())
    obj.name, armature.name = MESH, RIG
    armature.animation_data_clear()
    pose(armature)
    return obj, armature


@pytest.fixture
def human(plain: Character) -> Character:
    """The same, bound: with Supple Linear, and limbs that roll."""
    bind(plain[0])
    assert [each.name for each in plain[0].modifiers] == ["Armature", LINEAR_NAME]
    return plain


def pose(armature: bpy.types.Object, seed: int = SEED) -> None:
    turn_randomly(armature, seed)
    update()


def pose_by_numpy(obj: bpy.types.Object) -> np.ndarray:
    bound = resolve(obj)
    skin = PosableSkin.of(SkinSource.of(bound, Choices.read(bound)))
    evaluated = bound.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    space = np.array(bound.armature.matrix_world.inverted() @ obj.matrix_world)
    return skin.pose(read_pose(evaluated, skin.skeleton).seen_from(space))


def assert_native(obj: bpy.types.Object, armature: bpy.types.Object, points: np.ndarray) -> None:
    """Bound without any help of Python, rolled, and with these points in the pose of `SEED`, which is set anew."""
    pose(armature, 0)
    pose(armature)
    assert (settings_of(obj).is_bound, settings_of(obj).evaluate, settings_of(obj).message) == (True, "BLENDER", "")
    assert is_rolled(armature)
    assert resolve(obj).armature == armature
    assert distance(points, evaluated_points(obj)) <= TOLERANCE


def dump(obj: bpy.types.Object, armature: bpy.types.Object) -> dict:
    """All that Bind could touch: the object, its modifiers and groups, bones, and drivers."""
    state = snapshot(obj)
    data: Any = armature.data
    for bone in (*data.bones, *armature.pose.bones):
        values = {name: value for name, value in rna_values(bone).items() if "matrix" not in name}
        state[f"{type(bone).__name__} {bone.name}"] = values, sorted({*bone.keys()} - {"supple"})
    return state | {"drivers": animation_of(armature), "of data": animation_of(data)}


def test_numpy_gives_the_same(human):
    obj, armature = human
    assert len(read_rolls(armature)) >= 4
    for seed in (1, 2, 3):
        pose(armature, seed)
        assert distance(evaluated_points(obj), pose_by_numpy(obj)) <= TOLERANCE


# Files and copies


WITHOUT_SUPPLE = """
import sys
import bpy
import numpy as np
assert not hasattr(bpy.types.Object, "supple")
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
mesh = bpy.data.objects[sys.argv[2]].evaluated_get(bpy.context.evaluated_depsgraph_get()).data
np.save(sys.argv[1] + ".npy", np.array([vertex.co for vertex in mesh.vertices]))
"""


@pytest.mark.versions
def test_saved_it_is_the_same_with_supple_and_without(human, tmp_path):
    wanted = evaluated_points(human[0])
    path = save(tmp_path / "human.blend")
    subprocess.run([sys.executable, "-c", WITHOUT_SUPPLE, path, MESH], check=True, timeout=120)
    assert distance(wanted, np.load(f"{path}.npy")) <= TOLERANCE
    bpy.ops.wm.open_mainfile(filepath=str(path))
    obj, armature = take(bpy.data.objects[MESH])
    assert distance(wanted, evaluated_points(obj)) <= TOLERANCE
    assert_native(obj, armature, wanted)


def duplicate(_path: Path) -> Character:
    select(bpy.data.objects[MESH], bpy.data.objects[RIG])
    bpy.ops.object.duplicate()
    return take(bpy.data.objects[f"{MESH}.001"])


def load(path: Path, is_linked: bool) -> list[bpy.types.Object]:
    reset()
    with bpy.data.libraries.load(str(path), link=is_linked) as (_, wanted):
        wanted.objects = [MESH, RIG]
    return wanted.objects


def append(path: Path) -> Character:
    obj, armature = load(path, is_linked=False)
    for each in (obj, armature):
        bpy.context.scene.collection.objects.link(each)
    return obj, armature


def override(path: Path) -> Character:
    made = [linked.override_create(remap_local_usages=True) for linked in load(path, is_linked=True)]
    for each in made:
        bpy.context.scene.collection.objects.link(each)
    armature_modifier(made[0]).object = made[1]
    for modifier in made[0].modifiers:
        modifier.object = made[1]
    return made[0], made[1]


@pytest.mark.versions
@pytest.mark.parametrize("copy", [duplicate, append, override])
def test_a_copy_deforms_and_rolls(human, copy: Callable[[Path], Character], tmp_path):
    wanted = evaluated_points(human[0])
    obj, armature = copy(save(tmp_path / "human.blend"))
    update()
    assert_native(obj, armature, wanted)
    if copy is duplicate:
        pose(human[1], 3)
        assert distance(wanted, evaluated_points(obj)) <= TOLERANCE, "each has its own pose"


def test_a_mesh_that_two_objects_share(human):
    obj, armature = human
    other = obj.copy()
    bpy.context.scene.collection.objects.link(other)
    wanted = evaluated_points(obj)
    for each in (obj, other):
        assert_native(each, armature, wanted)
    select(obj)
    bpy.ops.supple.unbind()
    assert_native(other, armature, wanted)
    assert [each.name for each in obj.modifiers] == ["Armature"]
    select(other)
    bpy.ops.supple.unbind()
    assert LINEAR_GROUP not in obj.vertex_groups
    assert read_rolls(armature) == ()


@pytest.mark.parametrize("kind", ["mesh", "rig"])
def test_what_is_linked_is_left_as_it_is(plain, kind: str, tmp_path, capfd):
    obj, armature = plain
    path = save(tmp_path / "library.blend", copy=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        setattr(wanted, "objects" if kind == "rig" else "meshes", [RIG if kind == "rig" else obj.data.name])
    if kind == "mesh":
        obj.data = wanted.meshes[0]
        bind(obj)
        assert [each.name for each in obj.modifiers] == ["Armature"], "a group can not be written"
        assert read_rolls(armature)
    else:
        bpy.context.scene.collection.objects.link(wanted.objects[0])
        armature_modifier(obj).object = wanted.objects[0]
        bind(obj)
        assert "is linked from another file: bind the character in its own file" in capfd.readouterr().out
        assert not read_rolls(wanted.objects[0])
    assert armature_modifier(obj).use_deform_preserve_volume
    assert settings_of(obj).message == ""


# There and back


def test_undo_redo_looks_and_unbind_give_all_back(plain):
    before, rest = dump(*plain), evaluated_points(plain[0])
    push("before")
    bind(plain[0])
    bound, shown = dump(*plain), evaluated_points(plain[0])
    push("bind")
    bpy.ops.supple.flip()
    push("look")
    select(bpy.data.objects[MESH])
    bpy.ops.supple.unbind()
    push("unbind")
    find = lambda: take(bpy.data.objects[MESH])  # noqa: E731
    assert dump(*find()) == before
    for step, wanted, points in ((undo, None, rest), (undo, bound, shown), (undo, before, rest), (redo, bound, shown)):
        step()
        update()
        assert distance(points, evaluated_points(find()[0])) <= TOLERANCE
        assert wanted is None or dump(*find()) == wanted
    redo(2)
    assert dump(*find()) == before


def test_as_blender_and_back_computes_nothing(plain, monkeypatch):
    obj, _ = plain
    before = evaluated_points(obj)
    bind(obj)
    bound = evaluated_points(obj)
    assert distance(before, bound) > 1e-3
    monkeypatch.setattr(by_blender, "prepare", lambda *_: pytest.fail("it is computed"))
    for wanted in (before, bound, before, bound):
        assert bpy.ops.supple.flip() == {"FINISHED"}
        update()
        assert distance(wanted, evaluated_points(obj)) <= TOLERANCE


def test_painted_weights_are_followed(human):
    obj, _ = human
    index = obj.vertex_groups[LINEAR_GROUP].index
    find = lambda: [e.weight for v in obj.data.vertices for e in v.groups if e.group == index]  # noqa: E731
    before, shown = find(), evaluated_points(obj)
    arm = obj.vertex_groups["upperarm_l"]
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            if entry.group == arm.index and 0.0 < entry.weight < 0.5:
                entry.weight *= 2.0
    obj.data.update_tag()
    update()
    assert find() != before
    assert distance(shown, evaluated_points(obj)) > 1e-4
    assert distance(evaluated_points(obj), pose_by_numpy(obj)) <= TOLERANCE


# Switched, and above and below others


def test_switched_off_by_hand(human):
    obj, _ = human
    own, shown = armature_modifier(obj), evaluated_points(obj)
    for is_on in (False, True):
        own.show_viewport = is_on
        update()
        update()
        assert distance(shown if is_on else rest_points(obj), evaluated_points(obj)) <= TOLERANCE


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("is_driven", [False, True])
def test_switched_by_keys_or_a_driver(plain, when: str, is_driven: bool):
    obj, _ = plain
    own, rest = armature_modifier(obj), rest_points(obj)
    if when == "after":
        bind(obj)
    path = own.path_from_id("show_viewport")
    if is_driven:
        obj.driver_add(path).driver.expression = "frame < 10"
    else:
        for frame in (1, 10):
            own.show_viewport = frame == 1
            obj.keyframe_insert(path, frame=frame)
    bpy.context.scene.frame_set(1)
    bind(obj)
    for frame, is_on in ((1, True), (10, False), (5, True), (12, False)):
        bpy.context.scene.frame_set(frame)
        assert (distance(rest, evaluated_points(obj)) > 1e-2) == is_on
        assert is_on or np.array_equal(rest, evaluated_points(obj))
    assert settings_of(obj).message == ""


@pytest.mark.parametrize("kind", ["MIRROR", "SUBSURF"])
def test_modifiers_above_and_below(kind: str):
    obj, armature = add_tube()
    for name in ("Above", "Below"):
        obj.modifiers.new(name, kind if name == "Above" else "SUBSURF")
    obj.modifiers.move(1, 0)
    twin = add_twin(obj)
    armature_modifier(twin).use_deform_preserve_volume = True
    bind(obj)
    for angle in (0.5, 1.0):
        turn(armature, "bone.1", (angle, 0.4, 0.0))
        assert np.array_equal(evaluated_points(obj), evaluated_points(twin))
        assert settings_of(obj).message == ""
    assert len(evaluated_points(obj)) > 2 * len(obj.data.vertices)


# Handlers


MOST_HANDLED = 1e-4
"""Seconds of a call of a handler on a busy machine: .02 ms where nothing else runs."""


@pytest.mark.parametrize("is_drag", [False, True])
def test_handlers_do_nothing_at_play_and_drag(monkeypatch, is_drag: bool):
    obj, armature = add_tube(bones=5, rings=1500)
    animate_tube(armature)
    bind(obj)
    taken, follow = [], preview._follow  # noqa: SLF001

    def measure(*given: Any, **named: Any) -> None:
        start = time.thread_time()
        follow(*given, **named)
        taken.append(time.thread_time() - start)

    monkeypatch.setattr(preview, "_follow", measure)
    monkeypatch.setattr(preview, "is_dragging", lambda: is_drag)
    for number in range(40):
        if is_drag:
            turn(armature, "bone.1", (0.05 * number, 0.0, 0.0))
        else:
            bpy.context.scene.frame_set(1 + number % 8)
        if number == 10:
            monkeypatch.setattr(preview._watch, "bound_objects", lambda: pytest.fail("it looks at objects"))  # noqa: SLF001
    assert min(taken) <= MOST_HANDLED
    assert settings_of(obj).message == ""
