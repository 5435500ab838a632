"""All commands on all hostile characters: each does its work, or says why not and leaves the file as it was.

By default a share of the pairs of a chain of commands and a character, which covers each of both several times; all of
them with `--thorough`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, FAILED, LEFT_OUT, main
from scenes_hostile import ROWS, load
from scenes_state import evaluated_points, find_changes, read_state

import panels
from scenes import add_object, curves_of, reset, save, select, update
from supple.cli.arguments import COMMANDS
from supple.settings.objects import settings_of

from .conftest import Case


@dataclass(frozen=True)
class Chain:
    """Operators, one after the other; words in capitals stand for what a user does between them.

    Attributes
    ----------
    every : int
        By default, one in twice so many characters is tried.
    gives_back : bool
        Whether the file is at the end as it was, whatever of it was done.
    leaves : tuple of str
        Characters of which weights stay that they did not have, or what is hidden.
    """

    steps: str
    every: int
    gives_back: bool = False
    leaves: tuple[str, ...] = ()


MADE_WHOLE = (
    "instances", "scraps", "nothing but scraps", "a bad mesh among twelve without groups", "a prop is active",
    "hidden and excluded",
)  # fmt: skip
"""Characters with meshes that Make Supple weights, or that are hidden and so not unbound with the others."""

CHAINS: dict[str, Chain] = {
    "bind": Chain("bind flip flip measure side_by_side side_by_side unbind", 8, True),
    "make": Chain("make flip flip MOVE unbind flesh_remove", 18, True, MADE_WHOLE),
    "remedy": Chain("make REMEDY update", 15),
    "independent": Chain("bind make_independent", 15),
    "keys": Chain("bind bake_shape_keys clear_bake unbind", 12, True),
    "cache": Chain("bind bake_cache send_to_farm clear_bake unbind", 12, True),
    "flesh": Chain("flesh_add flesh_pick flesh_take flesh_close flesh_remove", 15, True),
    "correct": Chain("MOVE correct_pose SCULPT correction_keep correction_pose correction_select correction_remove", 8),
    "discard": Chain("MOVE correct_pose SCULPT correction_discard", 12, True),
    "edit": Chain("corrections_from correction_edit SCULPT correction_keep correction_remove", 15),
    "layers": Chain("layers_add MOVE layers_remove", 15, True),
    "limbs": Chain("layers_mend layers_limbs MOVE layers_remove", 15),
    "swing": Chain("swing_add swing_update swing_remove", 6, True),
    "region": Chain("REGION swing_remove", 8, True),
    "check": Chain("bind check check_show check_dismiss check_fix check_fix_all check_close", 15),
    "copy": Chain("bind engine_copy engine_copy_show engine_copy_frame engine_copy_show engine_copy_export", 25),
    "motion": Chain("motion_compare motion_loop motion_join close_report", 8),
    "fit": Chain("BARE fit_skeleton make", 25),
    "pattern": Chain(
        "pattern_add pattern_mirror pattern_place pattern_stroke pattern_remove pattern_remove_all", 8, True
    ),
    "maps": Chain("pattern_set_add pattern_add pattern_maps pattern_save pattern_forget", 12),
    "library": Chain("asset_library_add example_add asset_library_remove", 25),
    "weights": Chain(
        "weights_check weights_select weights_smooth weights_sharpen weights_limit weights_normalize weights_prune "
        "weights_stiffen weights_mirror weights_transfer weights_clean weight_lines PAINT weights_brush",
        10,
    ),
    "automatic": Chain("weights_auto", 8),
    "handles": Chain("BESIDE handles_add handles_remove", 8),
    "posing": Chain("POSE drag_skin PIN drag_skin clear_pins", 8),
}  # fmt: skip

COMMAND_LINES: dict[str, tuple[str, ...]] = {
    "info": ("info FILE --json",),
    "bind": ("bind FILE --output=NEW1", "engine-copy NEW1 --save=NEW2", "check NEW1 --json=NEW3"),
    "update": ("update FILE --output=NEW1",),
    "bake": (
        "bake FILE --all --method=SSD --frames=1-2 --part --output=NEW1",
        "join NEW1 --frames=1-2 --output=NEW2",
        "apply FILE --cache=NEW2 --output=NEW3",
    ),
    "patterns": ("patterns FILE --frames=1-2 --width=8 --output=NEW1",),
    "weights": ("weights FILE --output=NEW1",),
    "correct": ("correct FILE --output=NEW1",),
    "compare": ("motion compare FILE",),
    "loop": ("motion loop FILE --output=NEW1",),
    "join": ("motion join FILE --output=NEW1",),
    "swing": ("swing FILE --output=NEW1", "swing NEW1 --update --output=NEW2", "swing NEW2 --remove --output=NEW3"),
    "fit": ("fit FILE --make --output=NEW1",),
    "layers": ("layers FILE --output=NEW1", "layers NEW1 --remove --output=NEW2"),
    "farm": ("farm FILE --all --method=SSD --frames=1-2 --engine=openjd --output=NEW1",),
}
"""Commands, one after the other, with as few options as they do with."""
EVERY_COMMAND = 20
SPARSE, OLDER = 2, 6
"""By how much fewer characters are tried by default, and in Blenders that are not the newest."""


# What a user does


def find_armature() -> bpy.types.Object | None:
    return next((obj for obj in bpy.context.view_layer.objects if obj.type == "ARMATURE"), None)


def find_bone() -> str:
    armature = find_armature()
    return armature.data.bones[min(3, len(armature.data.bones) - 1)].name if armature is not None else ""


def go_to(mode: str) -> None:
    active = bpy.context.view_layer.objects.active
    if active is not None and active.visible_get() and active.mode != mode and bpy.ops.object.mode_set.poll():
        bpy.ops.object.mode_set(mode=mode)


def go_to_frame(frame: int, subframe: float) -> None:
    bpy.context.scene.frame_set(frame, subframe=subframe)


def sculpt() -> None:
    """Move a vertex of the posed copy."""
    go_to("OBJECT")
    active = bpy.context.view_layer.objects.active
    if active is not None and active.type == "MESH" and settings_of(active).corrected is not None:
        active.data.vertices[0].co.z += 0.05


def add_region() -> None:
    active = bpy.context.view_layer.objects.active
    if active is not None and active.type == "MESH" and active.vertex_groups:
        bpy.ops.supple.swing_add(region=active.vertex_groups[0].name)


def unrig() -> None:
    """Leave meshes alone in the scene, without an armature."""
    go_to("OBJECT")
    for obj in list(bpy.context.view_layer.objects):
        if obj.type == "MESH" and obj.library is None and obj.override_library is None:
            obj.modifiers.clear()
            obj.parent = None
            obj.vertex_groups.clear()
        obj.select_set(obj.type == "MESH")


def add_point() -> None:
    """An empty beside the character, selected with it."""
    point = add_object("Point")
    update()
    point.select_set(True)


def pose() -> None:
    go_to("OBJECT")
    armature = find_armature()
    if armature is not None and armature.visible_get():
        select(armature)
        go_to("POSE")


def remedy() -> None:
    """Press the button of each mesh that has one."""
    for obj in list(bpy.context.view_layer.objects):
        if obj.type == "MESH" and settings_of(obj).remedy and bpy.ops.supple.remedy.poll():
            bpy.ops.supple.remedy(mesh=obj.name)


ACTIONS: dict[str, Callable[[], Any]] = {
    "MOVE": lambda: go_to_frame(4, 0.0), "SCULPT": sculpt, "REGION": add_region, "BARE": unrig, "BESIDE": add_point,
    "POSE": pose, "PAINT": lambda: go_to("WEIGHT_PAINT"), "PIN": lambda: bpy.ops.supple.drag_skin(action="PIN"),
    "REMEDY": remedy,
}  # fmt: skip
OPTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "flesh_add": lambda _folder: {"quality": "QUICK"},
    "flesh_pick": lambda _folder: {"bone": find_bone(), "quality": "QUICK"},
    "flesh_take": lambda _folder: {"bone": find_bone(), "shape": "SMOOTH", "quality": "QUICK"},
    "pattern_add": lambda _: {"preset": "BULGE_STEEP", "bone": find_bone()},
    "pattern_place": lambda _: {"location": (0.0, 0.1, 1.0)},
    "pattern_maps": lambda folder: {"directory": str(folder), "width": 16},
    "bake_cache": lambda folder: {"filepath": str(folder / "cache.pc2")},
    "engine_copy_export": lambda folder: {"filepath": str(folder / "copy.glb")},
    "send_to_farm": lambda folder: {"directory": str(folder / "job"), "save": True},
    "weights_auto": lambda _: {"resolution": 24},
    "weight_lines": lambda _: {"bone": find_bone(), "offset": 0.1},
    "drag_skin": lambda _: {"point": (0.5, 0.0, 1.4), "target": (0.5, 0.2, 1.5)},
    "close_report": lambda _: {"owner": getattr(find_armature(), "name", ""), "kind": "motion"},
}
"""What is chosen where there is no default to work with."""


# What is looked at


def assert_same(before: dict[str, Any], what: str) -> None:
    changes = find_changes(before)
    assert not changes, f"{what}, but {len(changes)} changes are left: {'; '.join(changes[:4])}"


def find_not_finite() -> set[str]:
    """Names of meshes and curves with values that are not finite."""
    found = {name for name, points in evaluated_points().items() if not np.isfinite(points).all()}
    owners = [(action.name, curves_of(action)) for action in bpy.data.actions if action.library is None]
    for name, curves in owners:
        points = [point for curve in curves for point in curve.keyframe_points]
        values = np.array([[*point.co, *point.handle_left, *point.handle_right] for point in points])
        if not np.isfinite(values).all():
            found.add(name)
    return found


def check_step(name: str, folder: Path) -> None:
    """Call an operator, if it is offered, or do what a user does."""
    is_own, act = name in ACTIONS, ACTIONS.get(name) or getattr(bpy.ops.supple, name)
    if not is_own and not act.poll():
        return
    before, not_finite = read_state(), find_not_finite()
    options = OPTIONS[name](folder) if name in OPTIONS else {}
    message = ""
    try:
        if act(**options) == {"CANCELLED"}:
            message = "canceled"
    except RuntimeError as error:
        message = str(error).strip()
    update()
    if "Traceback" in message:
        pytest.fail(f"{name}: {message}")
    assert is_own or find_not_finite() <= not_finite, f"{name} makes what is not finite"
    if message and not is_own:
        assert_same(before, f"{name} has refused ({message})")


def choose(rows: Iterable[str], every: int, start: int, request: pytest.FixtureRequest) -> Iterator[str]:
    """Names of all characters or, by default, of one in so many; fewer in older Blenders, which differ in little."""
    every = 1 if request.config.getoption("thorough") else every * (SPARSE if bpy.app.version >= (5, 2) else OLDER)
    yield from (row for number, row in enumerate(rows) if (number + start) % every == 0)


# The tests


def test_each_command_is_in_a_chain():
    assert {step for chain in CHAINS.values() for step in chain.steps.split()} - {*ACTIONS} == {
        *dir(bpy.ops.supple)
    } - {"remedy"}
    lines = [line for lines in COMMAND_LINES.values() for line in lines]
    assert {line.split()[0] for line in lines} == {command.word for command in COMMANDS}


@pytest.mark.parametrize("name", CHAINS)
def test_operators(name: str, case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    chain = CHAINS[name]
    for row in choose(ROWS, chain.every, [*CHAINS].index(name), request):
        with case(row):
            reset()
            load(row, tmp_path)
            for obj in bpy.data.objects:
                if obj.library is None and obj.override_library is None:
                    settings_of(obj).particles.target_count = 60
            save(tmp_path / "character.blend")
            time = bpy.context.scene.frame_current, bpy.context.scene.frame_subframe
            before, mode = read_state(), bpy.context.mode
            for step in chain.steps.split():
                check_step(step, tmp_path)
            panels.draw_all()
            go_to_frame(*time)
            if chain.gives_back and row not in chain.leaves and bpy.context.mode == mode:
                assert_same(before, "all was taken back")


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_command_line(
    name: str, case: Case, tmp_path: Path, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    for number, row in enumerate(choose(ROWS, EVERY_COMMAND, [*COMMAND_LINES].index(name), request)):
        with case(row):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            reset()
            load(row, folder)
            save(folder / "FILE.blend")
            before = hashlib.sha256((folder / "FILE.blend").read_bytes()).digest()
            for line in COMMAND_LINES[name]:
                if not check_command(line, folder, capfd):
                    break
            assert hashlib.sha256((folder / "FILE.blend").read_bytes()).digest() == before


def check_command(line: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> bool:
    """Run a command: whether it was done. If not, it says why."""
    argv = re.sub("NEW.", lambda word: str(folder / word[0]), line.replace("FILE", str(folder / "FILE.blend"))).split(
        " "
    )
    capfd.readouterr()
    code = main(*argv)
    errors = capfd.readouterr().err
    if code not in (DONE, FAILED, LEFT_OUT) or "Traceback" in errors:
        pytest.fail(f"{line} ends with {code}: {errors}")
    said = {DONE: "", FAILED: "supple: error: ", LEFT_OUT: "was left out"}[code]
    assert said in errors, line
    return code != FAILED
