"""Linked characters, and overrides of them, which keep what Supple stores through changes of the library."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_particles import add_body
from scenes_patterns import add_own
from scenes_twins import TOLERANCE, bend

from scenes import (
    add_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    reset,
    rna_values,
    save,
    select,
    snapshot,
    turn,
    update,
)
from supple.bridge.rigs.carriers import is_hidden_object
from supple.settings.objects import ObjectSettings, settings_of
from supple.settings.particles import ParticleSettings
from supple.settings.patterns import PatternSettings, StrokePoint
from supple.tasks.subject.stack import list_own_armatures

pytestmark = pytest.mark.usefixtures("silent_handlers")

ANGLE = 70


def test_what_is_linked_holds_up_nothing_that_is_not(tmp_path: Path, subtests, capfd) -> None:
    obj, _ = add_body()
    bind(obj, method="DLBNT", evaluate="BLENDER")
    bpy.ops.supple.flesh_add(quality="QUICK")
    add_own(obj)
    path = save(tmp_path / "library.blend", copy=True)
    linked, _ = link(path, "Tube", "Rig")
    for change in ("unbind", "flesh_remove", "pattern_remove_all"):
        with subtests.test(change):
            select(obj, linked)
            capfd.readouterr()
            assert getattr(bpy.ops.supple, change)() == {"FINISHED"}
            assert "'Tube' was left out. " in capfd.readouterr().out
    for one, expected in ((obj, (False, 0, 0)), (linked, (True, 8, 1))):
        settings = settings_of(one)
        assert (settings.is_bound, len(settings.corrections), len(settings.patterns)) == expected


@pytest.fixture(scope="module")
def shapes() -> dict[str, np.ndarray]:
    """The bent tube, by each method."""
    reset()
    obj, armature = add_small_tube()
    bend(armature, ANGLE)
    points = {}
    for method in ("SSD", "DLB", "DLBNT"):
        bind(obj, method=method, evaluate="PYTHON")
        update()
        points[method] = evaluated_points(obj)
    return points


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """Puts a library where it is wanted: a tube and its rig in a collection, unbound or bound, as "BLENDER DLB"."""
    folder = tmp_path_factory.mktemp("libraries")

    def put(kind: str, path: Path) -> Path:
        made = folder / f"{kind}.blend"
        if not made.exists():
            reset()
            obj, armature = add_small_tube()
            collection = bpy.data.collections.new("Character")
            bpy.context.scene.collection.children.link(collection)
            for one in (obj, armature):
                bpy.context.scene.collection.objects.unlink(one)
                collection.objects.link(one)
            if kind:
                turn(armature, "bone.1", (0, 0, 0), (1, 1.2, 1))  # bones of overrides will be scaled, too
                bind(obj, method=kind.split()[1], evaluate=kind.split()[0])
            save(made)
            reset()
        shutil.copyfile(made, path)
        return path

    return put


def add_small_tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    return add_tube(rings=10, sides=6)


def link(path: Path, *names: str) -> list[bpy.types.Object]:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = list(names)
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    update()
    return wanted.objects


def override_each(path: Path) -> None:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    for linked in wanted.objects:
        bpy.context.scene.collection.objects.link(linked.override_create(remap_local_usages=True))


def override_hierarchy(path: Path) -> None:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.collections = ["Character"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    wanted.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)


def override_by_operator(path: Path) -> None:
    folder = f"{path}/Collection/"
    bpy.ops.wm.link(filepath=f"{folder}Character", directory=folder, filename="Character", instance_collections=True)
    select(next(obj for obj in bpy.context.scene.objects if obj.type == "EMPTY"))
    bpy.ops.object.make_override_library()
    rig = found("Rig")
    if rig.override_library.is_system_override:
        rig.override_library.is_system_override = False


def found(name: str) -> bpy.types.Object:
    """The override of an object, by its name in the library."""
    return next(obj for obj in bpy.data.objects if obj.override_library and obj.override_library.reference.name == name)


def make_override(library: Path, way: Callable[[Path], None] = override_each) -> bpy.types.Object:
    way(library)
    armature_modifier(found("Tube")).object = found("Rig")
    update()
    bend(found("Rig"), ANGLE)
    return found("Tube")


def reopen(path: Path) -> bpy.types.Object:
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    bend(found("Rig"), ANGLE)
    return found("Tube")


def stack_of(obj: bpy.types.Object) -> list[tuple]:
    return [(modifier.type, modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]


def assert_shows(obj: bpy.types.Object, points: np.ndarray) -> None:
    update()
    assert settings_of(obj).message == ""
    assert distance(points, evaluated_points(obj)) <= TOLERANCE


def assert_bound(obj: bpy.types.Object, points: np.ndarray, evaluate: str = "PYTHON") -> None:
    """Bound, shown so, by one Supple modifier in place of one Armature modifier, or by that alone."""
    settings = settings_of(obj)
    assert (settings.is_bound, settings.evaluate) == (True, evaluate)
    own = [("ARMATURE", True, True)] if evaluate == "BLENDER" else [("NODES", True, True), ("ARMATURE", False, False)]
    assert stack_of(obj)[-len(own) :] == own
    assert len(stack_of(obj)) <= 2
    assert_shows(obj, points)


def hidden_objects() -> list[str]:
    return [obj.name for obj in bpy.data.objects if obj.library is None and is_hidden_object(obj)]


@pytest.mark.versions
def test_each_setting_can_be_overridden():
    for group in (ObjectSettings, ParticleSettings, PatternSettings, StrokePoint):
        left = [prop.identifier for prop in group.bl_rna.properties if not prop.is_overridable and not prop.is_readonly]
        assert left == ["name"] * ("name" in left), group
    assert bpy.types.Object.bl_rna.properties["supple"].is_overridable


@pytest.mark.versions
def test_a_linked_object_is_refused(tmp_path, libraries, subtests):
    for kind in ("", "PYTHON SSD"):
        with subtests.test(kind or "unbound"):
            (obj,) = link(libraries(kind, tmp_path / f"library {kind}.blend"), "Tube")
            before = snapshot(obj)
            message = "is linked from another file: make a library override of it, or make it loc"
            with pytest.raises(RuntimeError, match=message):
                bind(obj, method="SSD")
            assert snapshot(obj) == before


@pytest.mark.versions
def test_a_linked_bound_character_is_deformed_by_blenders_own_modifier(tmp_path, libraries, shapes):
    obj, armature = link(libraries("PYTHON DLBNT", tmp_path / "library.blend"), "Tube", "Rig")
    override = armature.override_create(remap_local_usages=False)
    bpy.context.scene.collection.objects.link(override)
    for frame in (1, 2, 3):
        bpy.context.scene.frame_set(frame)
    assert settings_of(obj).is_bound
    assert stack_of(obj) == [("NODES", False, False), ("ARMATURE", True, True)]
    bend(armature, ANGLE)
    update()
    assert distance(shapes["SSD"], evaluated_points(obj)) <= TOLERANCE


@pytest.mark.versions
@pytest.mark.parametrize("way", [override_each, override_hierarchy, override_by_operator])
def test_bind_is_kept(tmp_path, libraries, shapes, way):
    obj = make_override(libraries("", tmp_path / "library.blend"), way)
    before = {modifier.name: rna_values(modifier) for modifier in obj.modifiers}
    settings_of(obj).particles.iterations = 3
    bind(obj, method="DLBNT", evaluate="PYTHON")
    assert_bound(obj, shapes["DLBNT"])
    for _ in range(2):
        obj = reopen(tmp_path / "shot.blend")
        assert_bound(obj, shapes["DLBNT"])
        assert settings_of(obj).particles.iterations == 3
        assert len(hidden_objects()) == 2
    bpy.data.libraries[0].reload()
    obj = found("Tube")
    bend(found("Rig"), ANGLE)
    assert_bound(obj, shapes["DLBNT"])
    settings_of(obj).method = "SSD"
    obj = reopen(tmp_path / "shot.blend")
    assert_bound(obj, shapes["SSD"], settings_of(obj).evaluate)
    select(obj)
    bpy.ops.supple.unbind()
    assert hidden_objects() == []
    assert {modifier.name: rna_values(modifier) for modifier in obj.modifiers} == before
    obj = reopen(tmp_path / "shot.blend")
    assert not settings_of(obj).is_bound
    assert stack_of(obj) == [("ARMATURE", True, True)]
    assert hidden_objects() == []
    assert_shows(obj, shapes["SSD"])


def test_the_library_has_changed_since(tmp_path, libraries, shapes, subtests):
    """Walk what a library is, what an override of it is bound by, and what the library becomes."""
    kinds = ("", "BLENDER DLB", "PYTHON DLBNT"), ("", "PYTHON SSD", "unbound"), ("", "BLENDER SSD", "PYTHON DLB")
    for was, own, becomes in itertools.product(*kinds):
        if was != becomes and (was or own != "unbound"):
            with subtests.test(f"{was or 'free'}, {own or 'as it is'}, {becomes or 'free'}"):
                reset()
                assert_goes_on(tmp_path, libraries, shapes, was, own, becomes)


def assert_goes_on(tmp_path: Path, libraries: Callable, shapes: dict, was: str, own: str, becomes: str) -> None:
    library, shot = tmp_path / "library.blend", tmp_path / "shot.blend"
    obj = make_override(libraries(was, library))
    if own == "unbound":
        select(obj)
        bpy.ops.supple.unbind()
    elif own:
        bind(obj, method=own.split()[1], evaluate=own.split()[0])
    save(shot)
    libraries(becomes, library)
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    for _ in range(2):
        bend(found("Rig"), ANGLE)
        obj = found("Tube")
        assert [each.type for each in obj.modifiers if each not in list_own_armatures(obj)].count("ARMATURE") == 1
        settings = settings_of(obj)
        if settings.is_bound:
            assert_bound(obj, shapes[settings.method], settings.evaluate)
        else:
            assert_shows(obj, shapes["SSD"])
            assert hidden_objects() == []
        if not own:
            assert settings.is_bound == bool(becomes)
        if own == "unbound":
            assert not settings.is_bound
        if not was and own:
            assert (settings.is_bound, settings.method) == (True, "SSD")
        obj = reopen(shot)
    if settings_of(obj).is_bound:
        select(obj)
        bpy.ops.supple.unbind()
        obj = reopen(shot)
        assert not settings_of(obj).is_bound
        assert_shows(obj, shapes["SSD"])


def test_two_overrides_of_one_library(tmp_path, libraries, shapes):
    obj = make_override(libraries("BLENDER DLB", tmp_path / "library.blend"), override_hierarchy)
    others = {other.name_full for other in bpy.data.objects}
    linked = next(collection for collection in bpy.data.collections if collection.library)
    linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    added = [one for one in bpy.data.objects if one.name_full not in others]
    other, rig = (next(one for one in added if one.name.startswith(name)) for name in ("Tube", "Rig"))
    assert armature_modifier(other).object == rig
    bend(rig, ANGLE)
    bind(other, method="DLBNT", evaluate="PYTHON")
    for _ in range(2):
        assert_bound(obj, shapes["DLB"], "BLENDER")
        assert_bound(other, shapes["DLBNT"])
        bend(rig, 0)
        assert distance(shapes["DLBNT"], evaluated_points(other)) > 0.1
        assert_bound(obj, shapes["DLB"], "BLENDER")
        names = obj.name, other.name, rig.name
        reopen(tmp_path / "shot.blend")
        obj, other, rig = (bpy.data.objects[name, None] for name in names)
        bend(rig, ANGLE)


def bake(obj: bpy.types.Object, path: Path) -> None:
    select(obj)
    bpy.ops.supple.bake_cache(filepath=str(path), frame_start=1, frame_end=3)


@pytest.mark.versions
def test_a_bake_is_kept_and_cleared(tmp_path, libraries, shapes):
    obj = make_override(libraries("PYTHON DLBNT", tmp_path / "library.blend"))
    bake(obj, tmp_path / "tube.pc2")
    for _ in range(2):
        obj = reopen(tmp_path / "shot.blend")
        assert settings_of(obj).bake == "PC2"
        assert [modifier.type for modifier in obj.modifiers] == ["NODES", "MESH_CACHE", "ARMATURE"]
        assert_shows(obj, shapes["DLBNT"])
    select(obj)
    bpy.ops.supple.clear_bake()
    for _ in range(2):
        assert settings_of(obj).bake == "NONE"
        assert_bound(obj, shapes["DLBNT"])
        obj = reopen(tmp_path / "shot.blend")


def test_the_librarys_bake_is_switched_off(tmp_path, libraries, shapes):
    bpy.ops.wm.open_mainfile(filepath=str(libraries("PYTHON DLBNT", tmp_path / "library.blend")))
    bake(bpy.data.objects["Tube"], tmp_path / "tube.pc2")
    save(tmp_path / "library.blend")
    reset()
    obj = make_override(tmp_path / "library.blend")
    assert distance(shapes["DLBNT"], evaluated_points(obj)) > 0.1
    select(obj)
    bpy.ops.supple.clear_bake()
    for _ in range(2):
        assert_shows(obj, shapes["DLBNT"])
        assert stack_of(obj) == [("NODES", True, True), ("MESH_CACHE", False, False), ("ARMATURE", False, False)]
        obj = reopen(tmp_path / "shot.blend")
    select(obj)
    bpy.ops.supple.unbind()
    assert_shows(reopen(tmp_path / "shot.blend"), shapes["SSD"])


def test_the_librarys_baked_shape_keys_stay(tmp_path, libraries):
    bpy.ops.wm.open_mainfile(filepath=str(libraries("PYTHON DLBNT", tmp_path / "library.blend")))
    select(bpy.data.objects["Tube"])
    bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=3)
    save(tmp_path / "library.blend")
    reset()
    obj = make_override(tmp_path / "library.blend")
    before = stack_of(obj)
    select(obj)
    for operator in (bpy.ops.supple.clear_bake, bpy.ops.supple.unbind):
        with pytest.raises(RuntimeError, match="mesh of 'Tube' is linked, with its baked shape keys: go back to live"):
            operator()
    assert stack_of(obj) == before
    assert settings_of(obj).is_bound
