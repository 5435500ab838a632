"""Characters linked from other files, and overrides of them."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_twins import TOLERANCE, assert_follows, bend

from scenes import (
    EVALUATE,
    add_tube,
    add_twin,
    armature_modifier,
    distance,
    evaluated_points,
    reset,
    rest_points,
    select,
    snapshot,
    update,
)
from supple.settings.objects import settings_of
from supple.tasks.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture
def library(tmp_path) -> Path:
    """A file with a tube that is bound by DLB, and one that is not."""
    path = tmp_path / "library.blend"
    obj, _ = add_tube()
    twin = add_twin(obj)
    twin.name = "Free"
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    reset()
    return path


def link(path: Path, *names: str) -> list[bpy.types.Object]:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = list(names)
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    update()
    return wanted.objects


@pytest.mark.parametrize("name", ["Free", "Tube"])
def test_a_linked_object_is_refused(library, name):
    (obj,) = link(library, name)
    select(obj)
    before = snapshot(obj)
    with pytest.raises(
        RuntimeError, match="is linked from another file: make a library override of it, or make it loc"
    ):
        bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    assert snapshot(obj) == before


@pytest.mark.python_only("nodes deform a linked character themselves")
def test_a_linked_bound_character_is_deformed_by_blenders_own_modifier(library):
    obj, twin, armature = link(library, "Tube", "Free", "Rig")
    override = armature.override_create(remap_local_usages=False)
    bpy.context.scene.collection.objects.link(override)
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
    assert settings_of(obj).is_bound
    assert armature_modifier(obj).show_viewport
    assert armature_modifier(obj).show_render
    assert not find_supple_modifier(obj).show_viewport
    assert np.array_equal(evaluated_points(obj), evaluated_points(twin))


def overridden(path: Path, *names: str) -> list[bpy.types.Object]:
    """Library overrides of objects that refer to each other, as Make Library Override gives them."""
    linked = link(path, *names)
    overrides = [obj.override_create(remap_local_usages=True) for obj in linked]
    for old, new in zip(linked, overrides, strict=True):
        if new.name not in bpy.context.scene.collection.objects:
            bpy.context.scene.collection.objects.link(new)
        if old.name in [obj.name for obj in bpy.context.scene.collection.objects if obj.library]:
            bpy.context.scene.collection.objects.unlink(old)
    update()
    return overrides


def test_an_override_of_a_bound_character_deforms(library):
    obj, twin, armature = overridden(library, "Tube", "Free", "Rig")
    for one in (obj, twin):
        if armature_modifier(one).object != armature:
            armature_modifier(one).object = armature
    update()
    settings_of(obj).method = "DLBNT"
    bend(armature)
    assert settings_of(obj).message == ""
    assert distance(rest_points(obj), evaluated_points(twin)) > 0.1
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 0.01, "DLBNT, not the Armature modifier"
    settings_of(obj).method = "SSD"
    update()
    assert_follows(obj, twin)
    assert EVALUATE == "NODES" or settings_of(obj).carrier.library is None


@pytest.mark.python_only("nodes need attributes on the mesh, which is linked")
def test_an_override_can_be_bound(library):
    obj, armature = overridden(library, "Free", "Rig")
    if armature_modifier(obj).object != armature:
        armature_modifier(obj).object = armature
    select(obj)
    bend(armature)
    expected = evaluated_points(obj)
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    update()
    assert settings_of(obj).message == ""
    assert find_supple_modifier(obj).show_viewport
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.1
