"""In one live step, and in one frame of a bake, nothing is looked up twice for the same object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import bpy
import pytest

from scenes import add_face_key, add_tube, add_twin, animate_key, animate_tube, bind
from supple.tasks.bake import caches, posed_frames, shape_keys
from supple.tasks.skin import baked, by_blender, by_python, model, poses
from supple.tasks.skin import bind as binding
from supple.tasks.skin import live as skin
from supple.tasks.subject import character, stack, surfaces

pytestmark = pytest.mark.usefixtures("silent_handlers")

MODULES = (
    skin, character, stack, caches, posed_frames, shape_keys, baked, binding, by_blender, by_python, model, poses,
)  # fmt: skip
"""Modules that may hold a look-up, by its own name."""

LOOKUPS = (
    "find_supple_modifier", "find_replaced_modifier", "find_armature_modifier", "check_armature", "armature_modifiers",
    "modifiers_above", "resolve", "resolve_skinned", "object_to_armature", "read_params",
    "read_skeleton", "read_pose_names", "read_pose", "read_weight_groups", "read_rest",
    "check_bound_groups", "_check_hidden", "_needs_transforms",
)  # fmt: skip
"""What finds something of an object, or reads it."""


def name_arguments(arguments: tuple) -> tuple:
    """Objects and modifiers by their names; a resolved object by that of its object."""
    named = []
    for argument in arguments:
        data = getattr(argument, "obj", argument)
        data = data.id_data if isinstance(data, bpy.types.PropertyGroup) else data
        if isinstance(data, bpy.types.Object | bpy.types.Modifier):
            named.append(data.name)
    return tuple(named)


@pytest.fixture
def counts(monkeypatch) -> Counter:
    """How often each look-up was done for the same objects and modifiers."""
    found: Counter = Counter()

    def count(name: str, function: Callable) -> Callable:
        def counting(*arguments: Any, **keywords: Any) -> Any:
            found[name, *name_arguments(arguments)] += 1
            return function(*arguments, **keywords)

        return counting

    wrapped = {}
    for module in MODULES:
        for name in LOOKUPS:
            function = getattr(module, name, None)
            if function is not None:
                wrapped.setdefault(name, count(name, function))
                monkeypatch.setattr(module, name, wrapped[name])
    assert wrapped.keys() == set(LOOKUPS)
    return found


def add_bound(evaluate: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Two bound tubes, each with an animated armature, the first with an animated face key."""
    (obj, rig), (twin, twin_rig) = add_tube(rings=9, sides=6), add_tube(rings=9, sides=6)
    twin.name, twin_rig.name = "Twin", "Twin Rig"
    for armature in (rig, twin_rig):
        animate_tube(armature)
    animate_key(add_face_key(obj))
    bind(obj, twin, evaluate=evaluate)
    bpy.context.scene.frame_set(2)
    return obj, twin


def assert_once(counts: Counter, *expected: str) -> None:
    """Nothing was looked up twice, and these look-ups were done for both objects."""
    assert {key: number for key, number in counts.items() if number > 1} == {}
    for name in expected:
        assert {key[1] for key in counts if key[0] == name} == {"Tube", "Twin"}, name


@pytest.mark.versions
def test_a_frame_looks_everything_up_once(counts):
    add_bound("PYTHON")
    counts.clear()
    bpy.context.scene.frame_set(3)
    assert_once(counts, "resolve", "check_armature")
    assert {key[1:] for key in counts if key[0] == "read_pose"} == {("Rig",), ("Twin Rig",)}


@pytest.mark.versions
def test_by_blender_a_frame_looks_nothing_up(counts):
    add_bound("BLENDER")
    bpy.context.scene.frame_set(2)
    counts.clear()
    bpy.context.scene.frame_set(3)
    assert not counts


@pytest.mark.parametrize("evaluate", ["PYTHON", "BLENDER"])
def test_bind_reads_each_mesh_of_an_armature_twice_at_most(evaluate, monkeypatch):
    first, _ = add_tube(rings=9, sides=6)
    meshes = [first, *(add_twin(first) for _ in range(4))]
    read: Counter = Counter()

    def counting(skinned: stack.SkinnedObject, *arguments: Any) -> Any:
        read[skinned.obj.name] += 1
        return read_rest(skinned, *arguments)

    read_rest = character.read_rest
    for module in (character, surfaces):
        monkeypatch.setattr(module, "read_rest", counting)
    bind(*meshes, method="CENTERS", evaluate=evaluate)
    assert read.keys() == {obj.name for obj in meshes}
    assert max(read.values()) == 2
