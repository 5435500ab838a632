"""What files may hold in Supple's settings: of a later version, damaged, or tampered with.

Each value is stored past the limits of its property. No step may print a traceback or give a shape that is not finite,
and Unbind gives the character back whatever is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own

import panels
import scenes
from supple.settings.events import muted
from supple.settings.objects import ObjectSettings, settings_of
from supple.settings.particles import ParticleSettings
from supple.settings.patterns import PatternSettings
from supple.settings.weights import WeightSettings

from .cases import add_body
from .conftest import Case

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
    """Two values of each property, which take turns among properties of a type."""
    properties = [prop for prop in group.bl_rna.properties if prop.identifier not in ("rna_type", "count")]
    values = [[*values_of(prop)] for prop in properties]
    return [
        (prop.identifier, some[(number + turn) % len(some)])
        for number, (prop, some) in enumerate(zip(properties, values, strict=True))
        for turn in range(min(2, len(some)))
    ]


def run(call: Callable[[], Any]) -> None:
    """An operator, which may refuse."""
    problem = ""
    try:
        call()
    except RuntimeError as error:
        problem = str(error)
    assert "Traceback" not in problem


def use(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """What happens to a file that is opened: it is evaluated, posed, changed; shapes are finite throughout."""
    obj.update_tag()
    obj.data.update_tag()
    armature.data.update_tag()
    scenes.update()
    scenes.turn(armature, "bone.2", (0.1, 0, 0))
    assert np.isfinite(scenes.evaluated_points(obj)).all()
    scenes.select(obj)
    panels.draw_all()
    settings_of(obj).pattern_display = "BUMP"
    for call in (bpy.ops.supple.pattern_mirror, bpy.ops.supple.pattern_place, bpy.ops.supple.weights_check):
        run(call)
    run(bpy.ops.supple.bind)
    scenes.turn(armature, "bone.2", (0.2, 0, 0))
    assert np.isfinite(scenes.evaluated_points(obj)).all()
    scenes.select(obj)
    run(bpy.ops.supple.unbind)
    run(bpy.ops.supple.pattern_remove_all)
    scenes.update()


def assert_given_back(obj: bpy.types.Object) -> None:
    """The character is as it was before Bind and without patterns, and no other object is gone."""
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
    assert scenes.armature_modifier(obj).show_viewport
    assert scenes.armature_modifier(obj).show_render
    assert not [one.name for one in obj.data.attributes if one.name.startswith("supple_")]
    assert not (obj.animation_data and obj.animation_data.drivers)
    assert not settings_of(obj).is_bound
    assert not settings_of(obj).patterns
    assert {"Tube", "Rig"} <= set(bpy.data.objects.keys())


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Files with a bound body, by method and evaluator; what blends is moved by a pattern and bumped by another."""
    folder, files = tmp_path_factory.mktemp("characters"), {}
    for method, evaluate in (("SSD", "PYTHON"), ("DLB", "BLENDER"), ("PARTICLES", "PYTHON")):
        scenes.reset()
        obj, armature = add_body()
        settings_of(obj).particles.target_count = 30
        if method != "PARTICLES":
            add_own(obj, "BULGE", location=(0.4, 1.5, 0))
            add_own(obj, "WRINKLE", location=(-0.4, 1.5, 0))
        scenes.bind(obj, method=method, evaluate=evaluate)
        scenes.turn(armature, "bone.1", (0.4, 0.2, 0))
        files[method, evaluate] = scenes.save(folder / f"{method} {evaluate}.blend", compress=False)
    return files


def open_character(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    scenes.open_file(path)
    return bpy.data.objects["Tube"], bpy.data.objects["Rig"]


GROUPS: dict[str, tuple[str, str, list[tuple[str, Any]], Callable[[bpy.types.Object], Any]]] = {
    "object by Python": ("SSD", "PYTHON", list_cases(ObjectSettings)[0::2], settings_of),
    "object by Blender": ("DLB", "BLENDER", list_cases(ObjectSettings)[1::2], settings_of),
    "particles": ("PARTICLES", "PYTHON", list_cases(ParticleSettings), lambda obj: settings_of(obj).particles),
    "pattern": ("SSD", "PYTHON", list_cases(PatternSettings), lambda obj: settings_of(obj).patterns[0]),
}
"""Method and evaluator of a character, values to store, and where."""


@pytest.mark.parametrize("group", GROUPS)
def test_stored_settings(group: str, characters: dict, case: Case) -> None:
    method, evaluate, values, find = GROUPS[group]
    for name, value in values:
        with case(f"{name}: {value!r:.24}"):
            obj, armature = open_character(characters[method, evaluate])
            store(find(obj), name, value)
            use(obj, armature)
            if name != "is_bound":  # what is not bound keeps its modifiers: nobody knows whose they are
                assert_given_back(obj)


@pytest.mark.versions
def test_settings_of_automatic_weights(case: Case) -> None:
    obj, _ = add_body()
    scenes.select(obj)
    settings = bpy.context.scene.supple_weights
    for name, value in list_cases(WeightSettings):
        with case(f"{name}: {value!r:.24}"):
            store(settings, name, value)
            panels.draw_all()
            settings.property_unset(name)


POINTERS: dict[str, Callable[[bpy.types.Object], Any]] = {
    "itself": lambda obj: obj,
    "its armature": lambda obj: scenes.armature_modifier(obj).object,
    "another mesh of the user's": lambda _: bpy.data.objects["Copy"],
    "a lattice": lambda _: bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage")),
    "an empty": lambda _: bpy.data.objects.new("Nothing", None),
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("name", ["carrier", "watcher"])
def test_hidden_objects_that_are_others(name: str, characters: dict, case: Case) -> None:
    for target, find in POINTERS.items():
        with case(target):
            obj, armature = open_character(characters["SSD", "PYTHON"])
            scenes.add_twin(obj).name = "Copy"
            copies = scenes.rest_points(bpy.data.objects["Copy"]).tobytes()
            with muted():
                setattr(settings_of(obj), name, find(obj))
            kept = {one.name for one in bpy.data.objects if not one.name.startswith("Supple")}
            use(obj, armature)
            assert_given_back(obj)
            assert kept <= set(bpy.data.objects.keys())
            assert scenes.rest_points(bpy.data.objects["Copy"]).tobytes() == copies


@pytest.mark.usefixtures("silent_handlers")
def test_an_image_that_is_deleted_or_no_height_map(characters: dict) -> None:
    obj, armature = open_character(characters["SSD", "PYTHON"])
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)
    settings_of(obj).patterns[1].image = bpy.data.images.new("Colors", 4, 4)
    use(obj, armature)
    assert_given_back(obj)
