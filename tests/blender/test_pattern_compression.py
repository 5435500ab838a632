"""Patterns that the skin's compression brings out: measured by nodes, by NumPy, and by hand."""

from __future__ import annotations

import itertools
import math

import bpy
import numpy as np
import pytest
from scenes_maps import add_body, add_pattern, compare_displacement, draw_points, evaluate, turn_at_random
from scenes_patterns import forget_images, full_snapshot
from scenes_state import refuse

from scenes import bind, evaluated_points, select, turn
from supple.deformers.patterns.compression import measure_compression
from supple.deformers.patterns.heights import KINDS
from supple.settings.objects import settings_of
from supple.settings.patterns import COMPRESSION_SETTINGS
from supple.tasks.patterns.compression import find_compression_modifier, read_layers
from supple.tasks.patterns.edit import mirror_pattern, remove_pattern
from supple.tasks.patterns.library import describe_pattern, find_entry, save_entry
from supple.tasks.patterns.maps import bind_map, bind_points, read_amounts, write_maps
from supple.tasks.patterns.write import clear, find_modifier, update

LOWER_HALF = {"uv": (0.75, 0.5), "size": (0.4, 0.6)}
"""On the tube's side toward -Z, which a rotation about X by negative angles pushes together."""

DRIVEN = ("COMPRESSION", "STRETCH", "BOTH")


def add_folds(obj: bpy.types.Object, driver: str = "COMPRESSION", kind: str = "WRINKLE", **values):
    """A pattern that compression along the tube brings out."""
    chosen = LOWER_HALF | {"driver": driver, "compression_start": 2.0, "compression_full": 20.0} | values
    return add_pattern(obj, kind, **chosen)


def measure_by_numpy(obj: bpy.types.Object) -> list[np.ndarray]:
    """Compression of each layer, by NumPy, on the points that reach the modifier that measures."""
    laid = bind_points(obj)
    hidden = obj.modifiers[obj.modifiers.find(find_compression_modifier(obj).name) :]
    for modifier in hidden:
        modifier.show_viewport = False
    points = evaluated_points(obj).astype(np.float64)
    for modifier in hidden:
        modifier.show_viewport = True
    return [measure_compression(layer, points) for layer in laid.measured.layers]


def measure_by_nodes(obj: bpy.types.Object) -> list[np.ndarray]:
    laid = bind_points(obj)
    return read_layers(obj, evaluate(), laid.measured)


# What is measured


def bend_by_armature(obj, armature):
    turn(armature, "bone.1", (1.1, 0.2, -0.1))


def bend_bound_by_python(obj, armature):
    bind(obj)
    bend_by_armature(obj, armature)


def bend_bound_by_nodes(obj, armature):
    bind(obj, evaluate="BLENDER")
    bend_by_armature(obj, armature)


def bend_before_a_subdivision(obj, armature):
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 0
    bend_by_armature(obj, armature)


@pytest.mark.parametrize(
    "deform",
    (
        bend_by_armature, bend_bound_by_python, pytest.param(bend_bound_by_nodes, marks=pytest.mark.versions),
        bend_before_a_subdivision,
    ),
)  # fmt: skip
def test_nodes_measure_as_numpy_does(deform, subtests):
    obj, armature = add_body()
    for turned, uv in ((0.0, (0.75, 0.5)), (0.4, (0.7, 0.45)), (0.9, (0.25, 0.5))):
        add_folds(obj, uv=uv, turn=turned, size=(0.3, 0.4), compression_smoothing=0.2)
    update(obj)
    deform(obj, armature)
    seen = []
    for spread in ("VERTEX", "PATTERN"):
        with subtests.test(spread=spread):
            for pattern in obj.supple.patterns:
                pattern.compression_spread = spread
            nodes, numpy = measure_by_nodes(obj), measure_by_numpy(obj)
            assert len(nodes) == len(numpy) == 2
            for first, second in zip(nodes, numpy, strict=True):
                assert np.abs(second).max() > 0.05
                assert first == pytest.approx(second, abs=3e-6)
            seen.append(nodes[0])
    assert np.abs(np.subtract(*seen)).max() > 0.01  # what spreads over a pattern is one value there


def test_a_copy_by_a_mirror_modifier_is_measured_by_its_own_pose():
    obj, armature = add_body()
    add_folds(obj, compression_smoothing=0.1)
    mirror = obj.modifiers.new("Mirror", "MIRROR")
    mirror.use_axis, mirror.use_mirror_merge = (False, True, False), False
    obj.modifiers.move(obj.modifiers.find("Mirror"), 0)
    update(obj)
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    mesh = obj.evaluated_get(evaluate()).data
    name = next(one.name for one in mesh.attributes if "_compression_" in one.name)
    values = np.array([one.value for one in mesh.attributes[name].data])
    count = len(obj.data.vertices)
    assert len(values) == 2 * count
    plain = values[:count]
    assert np.abs(plain).max() > 0.05
    mirror.show_viewport = False
    assert plain == pytest.approx(measure_by_nodes(obj)[0], abs=1e-6)


# What is shown


def test_nodes_displace_by_the_heights_of_python(subtests):
    obj, armature = add_body()
    folds = add_folds(obj, depth=0.7, full=1.0, direction="BOTH")
    other = add_pattern(obj, "WRINKLE", axis="X", direction="BOTH", full=1.0)
    obj.supple.pattern_display = "DISPLACEMENT"
    for kind, driver, (folds.law, folds.compression_spread) in itertools.product(
        KINDS, DRIVEN, (("RANGE", "VERTEX"), ("LOG", "VERTEX"), ("RANGE", "PATTERN"))
    ):
        with subtests.test(kind=kind, driver=driver, law=folds.law, spread=folds.compression_spread):
            folds.kind, other.kind, folds.driver = kind, kind, driver
            turn(armature, "bone.1", (0.9 if driver == "STRETCH" else -0.9, 0.2, -0.1))
            assert compare_displacement(obj) > 1e-4


@pytest.mark.versions
def test_patterns_by_angles_and_by_compression_over_one_another(subtests):
    obj, armature = add_body()
    add_folds(obj, "COMPRESSION", uv=(0.5, 0.5), size=(0.5, 0.5), turn=0.3)
    add_folds(obj, "BOTH", "BULGE", uv=(0.6, 0.45), direction="BOTH")
    add_folds(obj, "STRETCH", "BONE", uv=(0.4, 0.6), depth=0.5)
    add_pattern(obj, "WRINKLE", axis="X", direction="BOTH", full=1.2)
    obj.supple.pattern_display = "DISPLACEMENT"
    for seed in range(3):
        with subtests.test(seed=seed):
            turn_at_random(armature, seed, 1.2)
            assert compare_displacement(obj) > 1e-3


def test_angle_and_compression_are_multiplied():
    obj, armature = add_body()
    add_folds(obj, "BOTH", law="RANGE", start=0.0, full=1.0, direction="BOTH")
    add_folds(obj, "COMPRESSION")
    update(obj)
    turn(armature, "bone.1", (-0.5, 0.0, 0.0))
    both, alone = read_amounts(obj, bind_points(obj), evaluate())
    assert alone.max() > 0.3
    assert both == pytest.approx(0.5 * alone, abs=1e-5)


def test_folds_come_only_where_the_skin_is_pushed_together():
    obj, armature = add_body()
    add_folds(obj, uv=(0.5, 0.5), size=(0.96, 0.6), kind="BULGE", picture=np.ones((8, 8)), softness=0.0)
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (0.9, 0.0, 0.0))
    laid = bind_points(obj)
    drawn = draw_points(obj, laid)
    compression = measure_by_nodes(obj)[0]
    assert drawn[compression > 0.2] == pytest.approx(0.1, abs=0.02)
    assert (drawn[compression < 0.0] < 0.01).all()
    assert (compression < -0.1).any()


def test_what_shows_a_pattern_is_changed_without_building_nodes_anew():
    obj, armature = add_body()
    pattern = add_folds(obj, kind="BULGE", picture=np.ones((8, 8)))
    obj.supple.pattern_display = "DISPLACEMENT"
    groups = [find_modifier(obj).node_group, find_compression_modifier(obj).node_group]
    flat = evaluated_points(obj)
    obj.supple.pattern_full = True
    assert np.linalg.norm(evaluated_points(obj) - flat, axis=1).max() == pytest.approx(0.1, abs=0.01)
    obj.supple.pattern_full = False
    assert (evaluated_points(obj) == flat).all()
    turn(armature, "bone.1", (-0.9, 0.0, 0.0))
    before = compare_displacement(obj)
    pattern.compression_full = 90.0
    assert compare_displacement(obj) < 0.5 * before
    assert [find_modifier(obj).node_group, find_compression_modifier(obj).node_group] == groups


def test_no_armature_is_needed():
    obj, _ = add_body()
    obj.modifiers.clear()
    add_folds(obj, kind="BULGE")
    update(obj)
    assert obj.supple.patterns[0].note == ""
    obj.supple.pattern_display = "DISPLACEMENT"
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Pressed")
    for point in key.data:
        point.co.y *= 0.8
    key.value = 0.7
    assert compare_displacement(obj) > 1e-3
    assert obj.animation_data is None or not obj.animation_data.drivers


def test_maps_hold_what_the_skin_shows(tmp_path):
    obj, armature = add_body()
    add_folds(obj, kind="BULGE", picture=np.ones((8, 8)), softness=0.0, law="LOG", compression_gain=2.0)
    update(obj)
    turn(armature, "bone.1", (-0.9, 0.0, 0.0))
    laid = bind_map(obj, 256, 256)
    (amounts,) = read_amounts(obj, laid, evaluate())
    corners = bind_points(obj)
    (at_corners,) = read_amounts(obj, corners, evaluate())
    uv = np.array([loop.uv for loop in obj.data.uv_layers.active.data])
    pattern, part = laid.heights.patterns[0], corners.heights.patterns[0]
    drawn = np.zeros((256, 256))
    drawn[pattern.window] = amounts
    spread = np.zeros(len(uv))
    spread[part.window[1]] = at_corners[0]
    inside = (np.abs(uv - LOWER_HALF["uv"]) < np.array(LOWER_HALF["size"]) / 2 - 0.01).all(axis=1)
    columns, rows = np.floor(uv[inside] * 256).astype(int).T
    assert spread[inside].max() > 0.1
    assert drawn[rows, columns] == pytest.approx(spread[inside], abs=0.03)
    assert len(list(write_maps(obj, bpy.context.scene, [1, 2], tmp_path / "maps", width=32))) == 2
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    refuse(
        "Compression of 'Tube' cannot be read: disable modifiers that subdivide",
        list,
        write_maps(obj, bpy.context.scene, [1], tmp_path / "maps", width=32),
    )


# What is in the file


@pytest.mark.versions
def test_all_of_it_goes_with_the_last_pattern():
    obj, _ = add_body()
    before = full_snapshot(obj)
    add_folds(obj)
    add_folds(obj, "STRETCH", uv=(0.25, 0.5))
    update(obj)
    assert find_compression_modifier(obj) is not None
    remove_pattern(obj, 0)
    assert find_compression_modifier(obj) is not None
    obj.supple.patterns[0].driver = "ANGLE"
    assert find_compression_modifier(obj) is None
    assert not [one.name for one in obj.data.attributes if "coefficients" in one.name or "numbers" in one.name]
    obj.supple.patterns[0].driver = "COMPRESSION"
    assert find_compression_modifier(obj) is not None
    clear(obj)
    forget_images()
    assert full_snapshot(obj) == before


def test_a_duplicate_has_its_own_when_it_is_changed():
    obj, armature = add_body()
    add_folds(obj)
    update(obj)
    select(obj)
    bpy.ops.object.duplicate()
    copy = bpy.context.active_object
    assert find_compression_modifier(copy).node_group == find_compression_modifier(obj).node_group
    copy.supple.patterns[0].compression_smoothing = 0.4
    assert find_compression_modifier(copy).node_group != find_compression_modifier(obj).node_group
    turn(armature, "bone.1", (-0.9, 0.0, 0.0))
    for one in (obj, copy):
        assert measure_by_nodes(one)[0] == pytest.approx(measure_by_numpy(one)[0], abs=3e-6)
        assert measure_by_nodes(one)[0].max() > 0.05


VALUES = {
    "driver": "BOTH", "compression_angle": 0.5, "compression_start": 3.0, "compression_full": 44.0,
    "compression_gain": 2.5, "compression_smoothing": 0.25, "compression_spread": "PATTERN",
}  # fmt: skip


def test_a_mirrored_pattern_is_driven_alike():
    assert tuple(VALUES) == COMPRESSION_SETTINGS
    obj, armature = add_body()
    surface = {"space": "SURFACE", "placed_in": "SURFACE", "location": (0.4, 1.5, 0.0), "size": (0.3, 0.5)}
    add_pattern(obj, "WRINKLE", **LOWER_HALF | VALUES | surface)
    update(obj)
    mirrored = mirror_pattern(obj, 0)
    assert {name: getattr(mirrored, name) for name in VALUES} == VALUES
    turn(armature, "bone.1", (0.9, 0.0, 0.0))
    first, second = read_amounts(obj, bind_points(obj), evaluate())
    assert first.max() == pytest.approx(second.max(), abs=1e-4)


def test_a_saved_pattern_is_driven_alike_and_another_as_the_operator_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(bpy.utils, "extension_path_user", lambda *_args, **_given: str(tmp_path))
    obj, _ = add_body()
    pattern = add_pattern(obj, "WRINKLE", **LOWER_HALF, **VALUES)
    pattern.name = "Squeezed"
    save_entry(describe_pattern(obj, pattern), pattern.image)
    assert find_entry("USER_Squeezed").compression == VALUES
    bpy.ops.supple.pattern_add(preset="USER_Squeezed", bone="bone.1", uv=(0.3, 0.5))
    assert {name: getattr(obj.supple.patterns[1], name) for name in VALUES} == VALUES
    for driver in DRIVEN:
        clear(obj)
        bpy.ops.supple.pattern_add(preset="FOLDS_BELLY", bone="bone.1", driver=driver)
        assert obj.supple.patterns[0].driver == driver
        assert find_compression_modifier(obj) is not None


# What can not be


def test_what_makes_no_sense_is_noted(subtests):
    for values, message in (
        ({"compression_start": 40.0}, "fully visible at 20.0 % compression, but starts at 40.0 %"),
        ({"compression_angle": math.nan}, "direction and smoothing of a pattern's compression"),
        ({"compression_start": math.nan}, "compression and the gain of a pattern must be numbers"),
        ({"driver": "BOTH", "bone": ""}, "No bone drives the pattern: choose a bone"),
    ):
        with subtests.test(message):
            obj, _ = add_body()
            add_folds(obj, **values)
            add_folds(obj, uv=(0.25, 0.5))
            update(obj)
            assert message in obj.supple.patterns[0].note
            assert obj.supple.patterns[1].note == ""
            assert len(measure_by_nodes(obj)) == 1


@pytest.mark.versions
def test_what_a_later_version_has_stored_is_noted(subtests):
    for name, message in (("driver", "The pattern's driver is unknown"), ("compression_spread", "compression amount")):
        with subtests.test(name):
            obj, _ = add_body()
            pattern = add_folds(obj)
            update(obj)
            stored = pattern.bl_system_properties_get() if bpy.app.version >= (5, 0) else pattern
            stored[name] = 77
            update(obj)
            assert message in pattern.note
            assert find_compression_modifier(obj) is None


def test_where_compression_is_measured_in_the_stack():
    obj, _ = add_body()
    obj.modifiers.new("Subdivision", "SUBSURF")
    obj.supple.pattern_display = "DISPLACEMENT"
    add_folds(obj)
    update(obj)
    names = [modifier.name for modifier in obj.modifiers]
    assert names == ["Armature", "Supple Compression", "Subdivision", "Supple Patterns"]
    assert settings_of(obj).pattern_message == ""
    obj.modifiers.move(2, 0)
    update(obj)
    assert "'Subdivision' changes the faces before compression is measured" in settings_of(obj).pattern_message
    obj.modifiers.move(0, 3)
    obj.modifiers.move(0, 3)
    update(obj)
    assert "'Armature' poses the skin after compression is measured" in settings_of(obj).pattern_message
