"""Files whose every name and text would do harm if anything of them were executed, or written into a path as it is."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_patterns import add_own, amounts

import panels
from scenes import add_tube, bind, evaluated_points, open_file, save, select, take_away, turn, update
from supple.bridge.animation.drivers import write_expression
from supple.deformers.patterns.heights import DIRECTIONS, Response
from supple.settings.objects import settings_of
from supple.tasks.subject.stack import find_supple_modifier

from .cases import add_body
from .test_stored_values import assert_given_back, run, store

pytestmark = pytest.mark.usefixtures("silent_handlers")

MARK = "M"
"""The folder that is made in the current one if a text is executed."""

CODE = f"__import__('os').mkdir('{MARK}')"
NAMES = {
    "code": CODE,
    "out of quotes": f'"]; {CODE}#',
    "quotes": '"\'`\\"',
    "lines": f"a\n{CODE}\n\tb\r",
    "braces": "{0.__class__}{}%s%n$HOME",
    "a path": "../../../tmp/x",
    "not Latin": "\u202e\u0430\ufeff\u5b57\U0001f600",
}
"""As names are cut off at 63 bytes, none is longer."""


def rename_all(obj: bpy.types.Object, armature: bpy.types.Object, name: str) -> None:
    """Give all that has a name a hostile one; groups and drivers follow their bones, as in Blender's own renaming."""
    for index, bone in enumerate(armature.data.bones):
        bone.name = f"{index}{name}"
    for data in (obj, armature, obj.data, armature.data, *bpy.data.images, *bpy.data.materials, *bpy.data.node_groups):
        data.name = name
    for modifier in obj.modifiers:
        modifier.name = name
    for layer in obj.data.uv_layers:
        layer.name = name
    bpy.context.scene.name = name
    for pattern in settings_of(obj).patterns:
        pattern.name = name


def tamper(obj: bpy.types.Object) -> None:
    """Store the text wherever Supple stores one, and in each of its custom properties."""
    settings = settings_of(obj)
    for group in (settings, settings.particles, *settings.patterns):
        for prop in group.bl_rna.properties:
            if prop.type == "STRING" and not prop.is_readonly and prop.identifier not in ("bone", "armature_modifier"):
                store(group, prop.identifier, CODE)
    owners: list[Any] = [obj, bpy.context.scene, *bpy.data.node_groups, *bpy.data.images, *bpy.data.materials]
    for owner in owners:
        for key in [key for key in owner.keys() if key.startswith("supple_")]:
            owner[key] = CODE


def check_nothing_executed(tmp_path: Path) -> None:
    assert not (tmp_path / MARK).exists()
    assert not bpy.data.texts


def reopen(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Save the file and open it again: the mesh and the armature."""
    open_file(save(path))
    found = {obj.type: obj for obj in bpy.context.scene.objects}
    return found["MESH"], found["ARMATURE"]


@pytest.mark.parametrize("evaluate", ["BLENDER", "PYTHON"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.versions) if name == "out of quotes" else name for name in NAMES]
)
def test_names_are_only_names(name: str, evaluate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    obj, armature = add_body()
    add_own(obj, "BULGE", location=(0.4, 1.5, 0))
    bind(obj, method="SSD", evaluate=evaluate)
    rename_all(obj, armature, NAMES[name])
    bone = armature.data.bones[1].name
    update()
    select(obj)
    bpy.ops.supple.pattern_add(preset="RIBS_L", bone=bone)
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone=bone, location=(-0.4, 1.5, 0))
    obj, armature = reopen(tmp_path / "hostile.blend")
    drivers = obj.animation_data.drivers
    assert drivers
    assert all(curve.driver.is_simple_expression and curve.driver.is_valid for curve in drivers)
    turn(armature, bone, (1.4, 0.0, 0.0))
    assert max(amounts(obj)) > 0.5, "drivers find bones and inputs by their names"
    assert np.isfinite(evaluated_points(obj)).all()
    select(obj)
    panels.draw_all()
    for call in (bpy.ops.supple.bind, bpy.ops.supple.weights_check, bpy.ops.supple.weight_lines):
        run(call)
    take_away()
    assert not (obj.animation_data and obj.animation_data.drivers)
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
    check_nothing_executed(tmp_path)


@pytest.mark.parametrize("evaluate", ["BLENDER", "PYTHON"])
def test_stored_texts_are_only_texts(evaluate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    obj, _ = add_body()
    add_own(obj, "BULGE", location=(0.4, 1.5, 0))
    add_own(obj, "WRINKLE", location=(-0.4, 1.5, 0))
    bind(obj, method="SSD", evaluate=evaluate)
    tamper(obj)
    obj, armature = reopen(tmp_path / "hostile.blend")
    turn(armature, "bone.1", (0.8, 0.0, 0.0))
    assert np.isfinite(evaluated_points(obj)).all()
    select(obj)
    panels.draw_all()
    settings_of(obj).pattern_display = "BUMP"
    for call in (bpy.ops.supple.pattern_mirror, bpy.ops.supple.bind, bpy.ops.supple.clear_bake):
        run(call)
    turn(armature, "bone.1", (0.4, 0.0, 0.0))
    select(obj)
    take_away()
    update()
    assert_given_back(obj)
    check_nothing_executed(tmp_path)


@pytest.mark.versions
def test_drivers_need_no_python() -> None:
    curve = bpy.data.objects.new("Driven", None).driver_add("location", 0)
    curve.driver.variables.new().name = "a"
    for law, numbers in product(("RANGE", "LOG"), ((0.0, 1.0, 1.0), (-3.0, 1e-17, -1e17), (1e-30, 1e17, 1e-30))):
        for direction, rest in product(DIRECTIONS, (0.0, 1e-20, -1.5)):
            curve.driver.expression = write_expression(Response(law, direction, *numbers), rest)
            assert curve.driver.is_simple_expression, curve.driver.expression


def test_what_is_printed_stays_in_its_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Where Supple's handlers run in a render of a farm, its engine reads what they print."""
    obj, armature = add_tube()
    obj.name, order = "a\nopenjd_env: A=1\nSaved: '/x.png'", re.compile("^openjd_env|Saved: '", re.MULTILINE)
    bind(obj, method="DLB", evaluate="BLENDER")
    capfd.readouterr()
    armature.data.bones["bone.1"].use_deform = False
    armature.data.bones["bone.1"].name = "other"
    obj.modifiers.remove(find_supple_modifier(obj))
    update()
    printed = capfd.readouterr()
    assert "openjd_env" in printed.err
    assert not order.search(printed.out + printed.err), printed
