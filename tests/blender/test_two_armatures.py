"""Meshes with several Armature modifiers: Supple stands in for the first, and the others stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_bake import bake_with, live_points

from scenes import (
    TOLERANCE,
    add_chain,
    add_tube,
    animate_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    select,
    snapshot,
    turn,
    update,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind_each
from supple.tasks.skin.bind import bind_each as bind_task
from supple.tasks.subject.character import find_skinned

pytestmark = pytest.mark.usefixtures("silent_handlers")


def add_second(obj: bpy.types.Object, is_multi: bool, group: str = "", inverted: bool = False) -> None:
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object, second.use_multi_modifier = armature_modifier(obj).object, is_multi
    second.use_deform_preserve_volume, second.vertex_group, second.invert_vertex_group = True, group, inverted


def add_mask(obj: bpy.types.Object) -> None:
    mask = obj.vertex_groups.new(name="mask")
    for vertex in obj.data.vertices:
        mask.add([vertex.index], float(np.clip(vertex.co.z - 1.0, 0.0, 1.0)), "REPLACE")


def masked(obj: bpy.types.Object) -> None:
    add_mask(obj)
    add_second(obj, True, "mask")


def masked_inverted(obj: bpy.types.Object) -> None:
    add_mask(obj)
    add_second(obj, True, "mask", True)


def masked_twice(obj: bpy.types.Object) -> None:
    masked(obj)
    add_second(obj, True, obj.vertex_groups[0].name)


def complementary(obj: bpy.types.Object) -> None:
    add_mask(obj)
    first = armature_modifier(obj)
    first.vertex_group, first.invert_vertex_group = "mask", True
    add_second(obj, False, "mask")


def by_another(obj: bpy.types.Object, is_multi: bool = False) -> None:
    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    add_chain(other, 3, 3.0)
    add_second(obj, is_multi)
    obj.modifiers["Second"].object = other
    turn(other, "bone.2", (0, 0.8, 0.9))


def by_another_multi(obj: bpy.types.Object) -> None:
    by_another(obj, True)
    add_mask(obj)
    obj.modifiers["Second"].vertex_group = "mask"


SCENES = (masked, masked_inverted, masked_twice, complementary, by_another, by_another_multi)


def bend(armature: bpy.types.Object) -> None:
    turn(armature, "bone.1", (0.9, 0.6, 0.2))
    turn(armature, "bone.2", (0.7, 0, 0.3))


def built(scene: Callable) -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_tube()
    scene(obj)
    bend(armature)
    update()
    return obj, armature


def stack_of(obj: bpy.types.Object) -> list[tuple]:
    return [(each.name, each.show_viewport, each.show_render) for each in obj.modifiers]


@pytest.mark.parametrize("scene", SCENES)
def test_the_others_do_after_supple_as_after_blender(scene: Callable, subtests: pytest.Subtests):
    """Through Bind by the method that Blender's own modifier has, poses, Blender's own shown meanwhile, and Unbind."""
    obj, armature = built(scene)
    for method, preserves in (("SSD", False), ("DLB", True)):
        with subtests.test(method):
            armature_modifier(obj).use_deform_preserve_volume = preserves
            update()
            before, wanted = snapshot(obj), evaluated_points(obj)
            bind(obj, method=method, evaluate="BLENDER")
            assert distance(evaluated_points(obj), wanted) < TOLERANCE
            for _ in range(2):
                bpy.ops.supple.flip()
                update()
                assert distance(evaluated_points(obj), wanted) < TOLERANCE
            turn(armature, "bone.1", (0.2, 0.1, -0.4))
            followed = evaluated_points(obj)
            assert settings_of(obj).message == ""
            select(obj)
            bpy.ops.supple.unbind()
            update()
            assert distance(evaluated_points(obj), followed) < TOLERANCE
            assert distance(followed, wanted) > 0.1
            bend(armature)
            assert snapshot(obj) == before


@pytest.mark.parametrize("scene", (masked, by_another_multi))
def test_what_can_not_be_blended_is_named_and_left(scene: Callable, subtests: pytest.Subtests):
    obj, _ = built(scene)
    single, _ = add_tube()
    before, wanted = stack_of(obj), evaluated_points(obj)
    for method, evaluate in (("SSD", "PYTHON"), ("DLBNT", None)):
        with subtests.test(f"{method} {evaluate}"):
            bound, left_out = bind_each([obj, single], method, evaluate)
            assert bound == [single]
            assert [str(error).split(" has Multi")[0] for _, error in left_out] == [
                f"Armature modifier 'Second' of '{obj.name}'"
            ]
            assert stack_of(obj) == before
            assert distance(evaluated_points(obj), wanted) < TOLERANCE
    with subtests.test("it is added once bound"):
        bind(single, method="CENTERS", evaluate="PYTHON")
        add_second(single, True)
        update()
        assert "has Multi Modifier on" in settings_of(single).message
        single.modifiers.remove(single.modifiers["Second"])
        update()
        assert settings_of(single).message == ""


def test_what_would_deform_once_more_is_refused(subtests: pytest.Subtests):
    obj, _ = add_tube()
    add_second(obj, False)
    for group in ("", "missing"):
        obj.modifiers["Second"].vertex_group = group
        with subtests.test(group), pytest.raises(SkinningError, match="has 2 Armature modifiers"):
            bind_task([obj], "SSD")


def test_bakes_and_what_takes_one_armature(tmp_path: Path, subtests: pytest.Subtests):
    for scene in (masked, by_another):
        obj, armature = built(scene)
        bind(obj, method="SSD", evaluate="BLENDER")
        with subtests.test(scene.__name__), pytest.raises(SkinningError, match="Armature modifier 'Second'"):
            find_skinned(obj)
    with subtests.test("a bake, and what follows it"):
        animate_tube(armature)
        live = live_points(obj)
        bake_with("PC2", obj, tmp_path / "cache.pc2")
        assert distance(live[0], live[-1]) > 100 * TOLERANCE
        assert distance(live, live_points(obj)) < TOLERANCE
    obj, _ = built(masked)
    bind(obj, method="SSD", evaluate="BLENDER")
    with subtests.test("a bake without what is blended with"), pytest.raises(SkinningError, match="Multi Modifier"):
        bake_with("PC2", obj, tmp_path / "other.pc2")
