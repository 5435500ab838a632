"""What files may hold in Supple's settings: of a later version, damaged, or tampered with.

Each value is stored past the limits of its property. No step may print a traceback or give a shape that is not finite,
and Unbind gives the character back whatever is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own

import panels
from scenes import armature_modifier, bind, evaluated_points, rest_points, select, turn, update
from supple.settings.events import muted
from supple.settings.objects import ObjectSettings, settings_of
from supple.settings.particles import ParticleSettings
from supple.settings.patterns import PatternSettings
from supple.settings.weights import WeightSettings

from .bodies import add_body
from .operators import add_copy

pytestmark = pytest.mark.usefixtures("silent_handlers")

TEXTS = ("", "x" * 10_000, "\"]['\n{0}%s\\")
FLOATS = (nan, inf, -1e30, 1e-45)
INTEGERS = (-1, 2**31 - 1, -(2**31))
NUMBERS = (7, -1)
"""Of entries of enums: nobody has them."""


def store(group: bpy.types.PropertyGroup, name: str, value: Any) -> None:
    """Store a value as a file may hold it: beyond the property's limits, and without its update."""
    if hasattr(group, "bl_system_properties_get"):  # 5.0 and later
        group.bl_system_properties_get(do_create=True)[name] = value
    else:
        group[name] = value


def values_of(prop: bpy.types.Property) -> Iterator[Any]:
    """Values that a property of its type may be stored with."""
    if prop.type == "ENUM":
        yield from NUMBERS
    elif prop.type == "STRING":
        yield from TEXTS
    elif prop.type in ("FLOAT", "INT", "BOOLEAN"):
        size = prop.array_length
        for value in {"FLOAT": FLOATS, "INT": INTEGERS, "BOOLEAN": (0, 1)}[prop.type]:
            yield [value] * size if size else value


def list_cases(group: type) -> list[tuple[str, Any]]:
    return [
        (prop.identifier, value)
        for prop in group.bl_rna.properties
        if prop.identifier not in ("rna_type", "count")
        for value in values_of(prop)
    ]


def name_case(value: Any) -> str:
    return repr(value)[:24]


def add_character(method: str, evaluate: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A bound body with a pattern that moves it and a pattern that bumps it."""
    obj, armature = add_body()
    settings_of(obj).particles.target_count = 30
    add_own(obj, "BULGE", location=(0.4, 1.5, 0))
    add_own(obj, "WRINKLE", location=(-0.4, 1.5, 0))
    bind(obj, method=method, evaluate=evaluate)
    turn(armature, "bone.1", (0.4, 0.2, 0))
    return obj, armature


def run(call: Callable[[], Any]) -> None:
    """An operator, which may refuse."""
    problem = ""
    try:
        call()
    except RuntimeError as error:
        problem = str(error)
    assert "Traceback" not in problem


def draw_panels() -> None:
    """Show all that the sidebar has on the active object."""
    for name in dir(bpy.types):
        if name.startswith("VIEW3D_PT_supple_"):
            panels.draw(name)


def use(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """What happens to a file that is opened: it is evaluated, posed, changed; shapes are finite throughout."""
    obj.update_tag()
    obj.data.update_tag()
    armature.data.update_tag()
    update()
    turn(armature, "bone.2", (0.1, 0, 0))
    assert np.isfinite(evaluated_points(obj)).all()
    select(obj)
    draw_panels()
    settings_of(obj).pattern_display = "BUMP"
    for call in (bpy.ops.supple.pattern_mirror, bpy.ops.supple.pattern_place, bpy.ops.supple.weights_check):
        run(call)
    run(bpy.ops.supple.bind)
    turn(armature, "bone.2", (0.2, 0, 0))
    assert np.isfinite(evaluated_points(obj)).all()
    select(obj)
    run(bpy.ops.supple.unbind)
    run(bpy.ops.supple.pattern_remove_all)
    update()


def assert_given_back(obj: bpy.types.Object) -> None:
    """The character is as it was before Bind and without patterns, and no other object is gone."""
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
    assert armature_modifier(obj).show_viewport
    assert armature_modifier(obj).show_render
    assert not [one.name for one in obj.data.attributes if one.name.startswith("supple_")]
    assert not (obj.animation_data and obj.animation_data.drivers)
    assert not settings_of(obj).is_bound
    assert not settings_of(obj).patterns
    assert {"Tube", "Rig"} <= set(bpy.data.objects.keys())


@pytest.mark.usefixtures("built_groups")
@pytest.mark.parametrize(("name", "value"), list_cases(ObjectSettings), ids=name_case)
def test_settings_of_an_object(name: str, value: Any) -> None:
    evaluate = ("PYTHON", "NODES")[zlib.crc32(repr((name, value)).encode()) % 2]
    obj, armature = add_character("SSD", evaluate)
    store(settings_of(obj), name, value)
    use(obj, armature)
    if name != "is_bound":  # what is not bound keeps its modifiers: nobody knows whose they are
        assert_given_back(obj)


@pytest.mark.parametrize(("name", "value"), list_cases(ParticleSettings), ids=name_case)
def test_settings_of_particles(name: str, value: Any) -> None:
    obj, armature = add_character("PARTICLES", "PYTHON")
    store(settings_of(obj).particles, name, value)
    use(obj, armature)
    assert_given_back(obj)


@pytest.mark.parametrize(("name", "value"), list_cases(PatternSettings), ids=name_case)
def test_settings_of_a_pattern(name: str, value: Any) -> None:
    obj, armature = add_character("SSD", "PYTHON")
    store(settings_of(obj).patterns[0], name, value)
    use(obj, armature)
    assert_given_back(obj)


@pytest.mark.parametrize(("name", "value"), list_cases(WeightSettings), ids=name_case)
def test_settings_of_automatic_weights(name: str, value: Any) -> None:
    obj, _ = add_body()
    store(bpy.context.scene.supple_weights, name, value)
    select(obj)
    draw_panels()


POINTERS: dict[str, Callable[[bpy.types.Object], Any]] = {
    "itself": lambda obj: obj,
    "its armature": lambda obj: armature_modifier(obj).object,
    "another mesh of the user's": lambda _: bpy.data.objects["Copy"],
    "a lattice": lambda _: bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage")),
    "an empty": lambda _: bpy.data.objects.new("Nothing", None),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("target", POINTERS)
@pytest.mark.parametrize("name", ["carrier", "watcher"])
def test_hidden_objects_that_are_others(name: str, target: str) -> None:
    obj, armature = add_character("SSD", "PYTHON")
    add_copy(obj)
    copies = rest_points(bpy.data.objects["Copy"]).tobytes()
    with muted():
        setattr(settings_of(obj), name, POINTERS[target](obj))
    kept = {one.name for one in bpy.data.objects if not one.name.startswith("Supple")}
    use(obj, armature)
    assert_given_back(obj)
    assert kept <= set(bpy.data.objects.keys())
    assert rest_points(bpy.data.objects["Copy"]).tobytes() == copies


def test_an_image_that_is_deleted_or_no_height_map() -> None:
    obj, armature = add_character("SSD", "PYTHON")
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)
    settings_of(obj).patterns[1].image = bpy.data.images.new("Colors", 4, 4)
    use(obj, armature)
    assert_given_back(obj)
