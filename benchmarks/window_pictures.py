"""Takes pictures of the README and of docs/ with panels in them, in a Blender with a window and xdotool.

    blender --factory-startup --window-geometry 0 0 1440 900 --python benchmarks/window_pictures.py -- ASSETS TO [ja_JP]

With a language, it takes the one picture that there is in it, of the panel.
The character is read from a folder of assets that is not part of the repository; the pictures go to the folder TO.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Iterator
from math import radians
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bpy
from mathutils import Euler, Vector

from harness import words_after_dashes
from benchmarks.in_window import move, prepare_view, run_in_window, save_picture, xdo
from benchmarks.pattern_body import strike

POSE = {
    "upperarm01.L": (0.0, 0.0, 10.0), "lowerarm01.L": (125.0, 0.0, 0.0), "lowerarm02.L": (0.0, -100.0, 0.0),
    "upperleg01.L": (-75.0, 0.0, 0.0), "lowerleg01.L": (100.0, 0.0, 0.0),
    "upperleg01.R": (0.0, 0.0, 0.0), "lowerleg01.R": (0.0, 0.0, 0.0),
}  # fmt: skip
"""Rotations about a bone's own axes, degrees."""
GHOSTS = {"LINEAR", "PRESERVE_VOLUME", "PARTICLES"}
VIEW = Euler((radians(85.0), 0.0, radians(50.0)))
ASIDE, DISTANCE = 1.2, 2.5
"""How far the middle of the view is from the character, to the right; how far it is away."""
PANEL_POSE = {"lowerarm01.L": (70.0, 0.0, 0.0), "wrist.L": (0.0, 80.0, 0.0)}
PANEL_VIEW, PANEL_MIDDLE = Euler((radians(85.0), 0.0, radians(28.0))), Vector((0.0, 0.0, 1.22))
PANEL_ASIDE, PANEL_DISTANCE, PANEL_CROP = -0.04, 2.25, "752x590+408+85"
CHECK_FAULT = ("COLLAPSE", "calf_l")
CHECK_VIEW = Euler((radians(88.0), 0.0, radians(80.0)))
CHECK_ASIDE, CHECK_DISTANCE = 0.12, 1.1
CHECK_CROP = "1140x690+20+85"
COPY_LEFT_OUT = "cmu_05_06_dance"
"""An action whose motion capture has a foot broken."""
FINE_TUNE, CORRECTIONS, HAND_OVER = 6.9, 10.93, 12.27
"""Where headers of panels are once a character is bound, in rows of buttons below the top of the sidebar."""
COPY_ASIDE, COPY_DISTANCE, COPY_CROP = 0.45, 2.6, "1140x690+20+85"
ELBOW_BENDS = (110.0, 60.0)
"""Degrees by which the elbow is bent where it is corrected."""
ELBOW_VIEW, ELBOW_ASIDE, ELBOW_DISTANCE = Euler((radians(82.0), 0.0, radians(60.0))), -0.06, 0.75
CORRECTION_CROP = "780x460+380+78"
FARM_ASIDE = 0.6
FARM_DIALOG, FARM_CROP = (845.0, 420.0), "1060x520+100+85"
"""Where the mouse is in the view when the dialog opens."""
CROP = "1090x712+72+92"
"""The view and the panel, of the window."""
PIE, PIE_CROP = (560.0, 400.0), "620x400+250+235"
"""Where the pie menu is opened in the view, and the part of the window around it."""


def take_pictures(assets: Path, images: Path) -> Iterator[float]:
    """All pictures, one after the other; yield seconds to wait."""
    yield from take_panel(assets, images / "panel.png")
    yield from take_check(assets, images)
    yield from take_side_by_side(assets, images)
    yield from take_engine_copy(assets, images)
    yield from take_corrections(assets, images)
    yield from take_farm(assets, images)


def open_character(assets: Path, name: str) -> Generator[float, None, tuple]:
    """Open a character's file: its armature, the area of the 3D View and its regions; yield seconds to wait."""
    bpy.ops.wm.open_mainfile(filepath=str(assets / name / f"{name}.blend"))
    yield 1.0
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    area = next(area for area in bpy.context.window.screen.areas if area.type == "VIEW_3D")
    return armature, area, prepare_view(area)


def take_panel(assets: Path, image: Path) -> Iterator[float]:
    """Make a dressed character supple, and show what the first panels then have."""
    armature, area, regions = yield from open_character(assets, "mh_human")
    bind_dressed(armature, area, regions, PANEL_ASIDE)
    yield 1.0
    yield from press_headers(area, regions, (FINE_TUNE,))
    move(regions["WINDOW"], 200.0, 60.0)
    yield 3.0
    save_picture(image, PANEL_CROP)


def bind_dressed(
    armature: bpy.types.Object, area: bpy.types.Area, regions: dict[str, bpy.types.Region], aside: float
) -> None:
    """Bind a dressed character, pose it, and look at it with the middle of the view so far to its right."""
    for part in ("body", "skirt", "tights"):
        bpy.data.objects[f"mh_human_{part}"].name = part
    armature.animation_data_clear()
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.context.view_layer.objects.active = bpy.data.objects["body"]
        bpy.ops.supple.make(look="FLESH")
        strike(armature, PANEL_POSE)
        bpy.ops.object.select_all(action="DESELECT")
    area.spaces.active.overlay.show_bones = area.spaces.active.overlay.show_outline_selected = False
    view = area.spaces.active.region_3d
    view.view_perspective, view.view_rotation = "PERSP", PANEL_VIEW.to_quaternion()
    view.view_location = PANEL_MIDDLE + aside * (view.view_rotation @ Vector((1.0, 0.0, 0.0)))
    view.view_distance = PANEL_DISTANCE


def press_headers(
    area: bpy.types.Area, regions: dict[str, bpy.types.Region], rows: tuple[float, ...]
) -> Iterator[float]:
    """Show the Supple tab, and open or close its panels at these rows, one after the other."""
    regions["UI"].active_panel_category = "Supple"
    area.tag_redraw()
    yield 1.0
    for row in rows:
        move(regions["WINDOW"], 300.0, 300.0)
        yield 1.0
        press(regions["UI"], 80.0, row)
        yield 1.0


def take_check(assets: Path, images: Path) -> Iterator[float]:
    """Check a character that is not bound, and show the fault of a knee, with heat on the skin."""
    armature, area, regions = yield from open_character(assets, "mh_human_game")
    bpy.context.view_layer.objects.active = armature
    armature.hide_set(False)
    for name in ("mh_human_game_skirt", "mh_human_game_tights"):
        bpy.data.objects[name].hide_set(True)
    area.spaces.active.overlay.show_bones = False
    yield 1.0
    yield from press_headers(area, regions, ())
    settings = bpy.context.window_manager.supple_check
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.supple.check()
        keys = [line.key.split("\t") for line in settings.findings]
        settings.active = next(n for n, (mesh, kind, bone, _) in enumerate(keys) if (kind, bone) == CHECK_FAULT)
        bpy.ops.supple.check_show()
    settings.is_open = True
    view = area.spaces.active.region_3d
    view.view_perspective, view.view_rotation = "ORTHO", CHECK_VIEW.to_quaternion()
    view.view_location += CHECK_ASIDE * (view.view_rotation @ Vector((1.0, 0.0, 0.0)))
    view.view_distance = CHECK_DISTANCE
    yield 4.0
    save_picture(images / "check.png", CHECK_CROP)
    settings.heat = "NONE"


def press(sidebar: bpy.types.Region, x: float, row: float) -> None:
    """Click in the sidebar, so many rows of buttons below its top."""
    move(sidebar, x, sidebar.height - 20.0 * bpy.context.preferences.system.ui_scale * row)
    xdo("mousedown", 1, "sleep", 0.1, "mouseup", 1)


def take_side_by_side(assets: Path, images: Path) -> Iterator[float]:
    """Pose a character, show the ghosts, then the pie menu; yield seconds to wait."""
    armature, area, regions = yield from open_character(assets, "mh_human")
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.context.view_layer.objects.active = armature
        armature.animation_data_clear()
        bpy.data.objects["mh_human_skirt"].hide_set(True)
        bpy.ops.supple.bind(method="CENTERS")
        strike(armature, POSE)
        bpy.ops.object.mode_set(mode="POSE")
    area.spaces.active.overlay.show_bones = False
    view = area.spaces.active.region_3d
    view.view_perspective, view.view_rotation = "ORTHO", VIEW.to_quaternion()
    view.view_location = Vector((0.0, 0.0, 0.82)) + ASIDE * (view.view_rotation @ Vector((1.0, 0.0, 0.0)))
    view.view_distance = DISTANCE
    bpy.context.window_manager.supple_ghosts = GHOSTS
    yield 1.0
    regions["UI"].active_panel_category = "Supple"
    area.tag_redraw()
    yield 1.0
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.supple.side_by_side()
    move(regions["WINDOW"], 200.0, 60.0)
    yield 4.0
    save_picture(images / "side-by-side.png", CROP)
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.supple.side_by_side()
    move(regions["WINDOW"], *PIE)
    yield 0.5
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.wm.call_menu_pie("INVOKE_DEFAULT", name="VIEW3D_MT_supple_pie")
    yield 1.0
    save_picture(images / "pie.png", PIE_CROP)


def take_engine_copy(assets: Path, images: Path) -> Iterator[float]:
    """Make an engine copy of a character, and show it beside, where it is farthest, in colors of its distance."""
    armature, area, regions = yield from open_character(assets, "human_male")
    bpy.context.view_layer.objects.active = armature
    armature.hide_set(False)
    area.spaces.active.overlay.show_bones = False
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.supple.bind(method="CENTERS", whole=True)
    yield 1.0
    yield from press_headers(area, regions, (HAND_OVER,))
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.data.actions[COPY_LEFT_OUT].supple_is_copied = False
        bpy.ops.supple.engine_copy()
        bpy.ops.supple.engine_copy_frame()
        bpy.ops.supple.engine_copy_show()
        bpy.ops.object.select_all(action="DESELECT")
    copy = next(obj for obj in bpy.data.objects if obj.name == f"{armature.name} for glTF")
    yield 1.0
    view = area.spaces.active.region_3d
    view.view_perspective, view.view_rotation = "ORTHO", Euler((radians(90.0), 0.0, 0.0)).to_quaternion()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shown = [obj.evaluated_get(depsgraph) for obj in copy.children]
    corners = [obj.matrix_world @ Vector(corner) for obj in shown for corner in obj.bound_box]
    middle = sum(corners, Vector()) / len(corners)
    view.view_location = middle + Vector((COPY_ASIDE - 0.5 * copy.delta_location.x, 0.0, 0.0))
    view.view_distance = COPY_DISTANCE
    yield 3.0
    save_picture(images / "engine-copy.png", COPY_CROP)


def take_corrections(assets: Path, images: Path) -> Iterator[float]:
    """Correct an elbow and its sleeve at two angles, and show the list; then show the sculpting of one of them."""
    armature, area, regions = yield from open_character(assets, "mh_human")
    parts = [bpy.data.objects[f"mh_human_{name}"] for name in ("tights", "body")]
    for part in parts:
        part.name = part.name.removeprefix("mh_human_")
    armature.animation_data_clear()
    area.spaces.active.overlay.show_bones = area.spaces.active.overlay.show_outline_selected = False
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.object.select_all(action="DESELECT")
        bpy.context.view_layer.objects.active = parts[0]
        bpy.ops.supple.bind(method="CENTERS", whole=True)
        for angle in ELBOW_BENDS:
            strike(armature, {"lowerarm01.L": (angle, 0.0, 0.0), "lowerarm01.R": (0.0, 0.0, 0.0)})
            bpy.context.view_layer.update()
            for part in parts:
                part.select_set(True)
            bpy.ops.supple.correct_pose(mode="OBJECT")
            for copy in bpy.context.selected_objects:
                raise_elbow(copy, armature, 0.008 if copy.name.startswith("tights") else 0.004)
            bpy.ops.supple.correction_keep(mirror=True)
        strike(armature, {"lowerarm01.L": (90.0, 0.0, 0.0), "lowerarm01.R": (0.0, 0.0, 0.0)})
        parts[0].supple.active_correction = 0
    view = area.spaces.active.region_3d
    view.view_perspective, view.view_rotation = "PERSP", ELBOW_VIEW.to_quaternion()
    view.view_location = armature.matrix_world @ armature.pose.bones["lowerarm01.L"].head
    view.view_location += ELBOW_ASIDE * (view.view_rotation @ Vector((1.0, 0.0, 0.0)))
    view.view_distance = ELBOW_DISTANCE
    yield 1.0
    yield from press_headers(area, regions, (CORRECTIONS,))
    move(regions["WINDOW"], 100.0, 60.0)
    yield 2.0
    save_picture(images / "corrections-panel.png", CORRECTION_CROP)
    with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
        bpy.ops.supple.correction_edit()
    yield 2.0
    move(regions["WINDOW"], 660.0, 330.0)
    yield 2.0
    save_picture(images / "corrections-sculpt.png", CORRECTION_CROP)


def raise_elbow(copy: bpy.types.Object, armature: bpy.types.Object, height: float) -> None:
    """Raise the skin of a posed copy over its elbow, as a brush would."""
    bones = armature.pose.bones
    shoulder, elbow, hand = (
        armature.matrix_world @ bones[name].head for name in ("upperarm01.L", "lowerarm01.L", "wrist.L")
    )
    middle = elbow - 0.04 * ((shoulder - elbow).normalized() + (hand - elbow).normalized()).normalized()
    mesh: Any = copy.data
    for vertex in mesh.vertices:
        distance = (vertex.co - middle).length
        if distance < 0.06:
            vertex.co += height * (1.0 - (distance / 0.06) ** 2) ** 2 * vertex.normal


def take_farm(assets: Path, images: Path) -> Iterator[float]:
    """Bind a dressed character, and show the panel Hand Over and the dialog Write Farm Job."""
    armature, area, regions = yield from open_character(assets, "mh_human")
    bind_dressed(armature, area, regions, FARM_ASIDE)
    yield 1.0
    yield from press_headers(area, regions, (HAND_OVER,))
    with tempfile.TemporaryDirectory() as folder:
        bpy.ops.wm.save_as_mainfile(filepath=str(Path(folder) / "hero.blend"))
        move(regions["WINDOW"], *FARM_DIALOG)
        yield 1.0
        with bpy.context.temp_override(area=area, region=regions["WINDOW"]):
            bpy.ops.supple.send_to_farm("INVOKE_DEFAULT", whole=True)
        yield 2.0
        save_picture(images / "farm.png", FARM_CROP)
        xdo("key", "Escape")
        yield 1.0


if __name__ == "__main__":
    assets, images, *language = words_after_dashes()
    if language:
        view = bpy.context.preferences.view
        view.language, view.use_translate_interface = language[0], True
        run_in_window(lambda _: take_panel(Path(assets), Path(images) / f"panel-{language[0][:2]}.png"))
    else:
        run_in_window(lambda _: take_pictures(Path(assets), Path(images)))
