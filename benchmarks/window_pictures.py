"""Takes pictures of the README and of docs/ with panels in them, in a Blender with a window and xdotool.

    blender --factory-startup --window-geometry 0 0 1440 900 --python benchmarks/window_pictures.py -- ASSETS TO [ja_JP]

With a language, it takes the one picture that there is in it, of the panel.
The character is read from a folder of assets that is not part of the repository; the pictures go to the folder TO.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bpy
from mathutils import Vector

from harness import find_file, words_after_dashes
from benchmarks.in_window import Window, move, run_in_window, save_picture, xdo
from benchmarks.pattern_body import strike

# Rotations about a bone's own axes, degrees
POSE = {
    "upperarm01.L": (0.0, 0.0, 10.0), "lowerarm01.L": (125.0, 0.0, 0.0), "lowerarm02.L": (0.0, -100.0, 0.0),
    "upperleg01.L": (-75.0, 0.0, 0.0), "lowerleg01.L": (100.0, 0.0, 0.0),
    "upperleg01.R": (0.0, 0.0, 0.0), "lowerleg01.R": (0.0, 0.0, 0.0),
}  # fmt: skip
GHOSTS = {"LINEAR", "PRESERVE_VOLUME", "PARTICLES"}
VIEW = (85.0, 50.0)
ASIDE, DISTANCE = 1.2, 2.5  # Middle of the view to the right of the character, and distance
PANEL_POSE = {"lowerarm01.L": (70.0, 0.0, 0.0), "wrist.L": (0.0, 80.0, 0.0)}
PANEL_VIEW, PANEL_MIDDLE = (85.0, 28.0), Vector((0.0, 0.0, 1.22))
PANEL_ASIDE, PANEL_DISTANCE, PANEL_CROP = -0.04, 2.25, "752x590+408+85"
CHECK_FAULT = ("COLLAPSE", "calf_l")
CHECK_VIEW = (88.0, 80.0)
CHECK_ASIDE, CHECK_DISTANCE = 0.12, 1.1
CHECK_CROP = "1140x690+20+85"
COPY_LEFT_OUT = "cmu_05_06_dance"  # An action whose motion capture has a foot broken
# Where headers of panels are once a character is bound, in rows of buttons below the top of the sidebar
FINE_TUNE, CORRECTIONS, HAND_OVER = 6.9, 10.93, 12.27
COPY_ASIDE, COPY_DISTANCE, COPY_CROP = 0.45, 2.6, "1140x690+20+85"
ELBOW_BENDS = (110.0, 60.0)  # Bends of the corrected elbow, degrees
ELBOW_VIEW, ELBOW_ASIDE, ELBOW_DISTANCE = (82.0, 60.0), -0.06, 0.75
CORRECTION_CROP = "780x460+380+78"
FARM_ASIDE = 0.6
FARM_DIALOG, FARM_CROP = (845.0, 420.0), "1060x520+100+85"  # Where the mouse is in the view when the dialog opens
CROP = "1090x712+72+92"  # The view and the panel, of the window
# Where the pie menu is opened in the view, and the part of the window around it
PIE, PIE_CROP = (560.0, 400.0), "620x400+250+235"


def take_pictures(assets: Path, images: Path) -> Iterator[float]:
    """All pictures, one after the other; yield seconds to wait."""
    yield from take_panel(assets, images / "panel.png")
    yield from take_check(assets, images)
    yield from take_side_by_side(assets, images)
    yield from take_engine_copy(assets, images)
    yield from take_corrections(assets, images)
    yield from take_farm(assets, images)


def open_character(assets: Path, name: str) -> Generator[float, None, Window]:
    """Open a character's file and prepare its view; yield seconds to wait."""
    bpy.ops.wm.open_mainfile(filepath=str(find_file(assets, name)))
    yield 1.0
    return Window()


def take_panel(assets: Path, image: Path) -> Iterator[float]:
    """Make a dressed character supple, and show the first panels."""
    window = yield from open_character(assets, "mh_human")
    bind_dressed(window, PANEL_ASIDE)
    yield 1.0
    yield from press_headers(window, (FINE_TUNE,))
    move(window.region, 200.0, 60.0)
    yield 3.0
    save_picture(image, PANEL_CROP)


def bind_dressed(window: Window, right: float) -> None:
    """Bind a dressed character, pose it, and look at it with the middle of the view so far to its right."""
    for part in ("body", "skirt", "tights"):
        bpy.data.objects[f"mh_human_{part}"].name = part
    window.armature.animation_data_clear()
    with window.override():
        bpy.context.view_layer.objects.active = bpy.data.objects["body"]
        bpy.ops.supple.make(look="FLESH")
        strike(window.armature, PANEL_POSE)
        bpy.ops.object.select_all(action="DESELECT")
    window.hide_bones()
    window.look(PANEL_VIEW, PANEL_MIDDLE, PANEL_DISTANCE, right, "PERSP")


def press_headers(window: Window, rows: tuple[float, ...]) -> Iterator[float]:
    """Show the Supple tab, and open or close its panels at these rows, one after the other."""
    window.show_tab()
    yield 1.0
    for row in rows:
        move(window.region, 300.0, 300.0)
        yield 1.0
        window.press(80.0, row)
        yield 1.0


def take_check(assets: Path, images: Path) -> Iterator[float]:
    """Check a character that is not bound, and show the fault of a knee, with heat on the skin."""
    window = yield from open_character(assets, "mh_human_game")
    armature = window.armature
    bpy.context.view_layer.objects.active = armature
    armature.hide_set(False)
    for name in ("mh_human_game_skirt", "mh_human_game_tights"):
        bpy.data.objects[name].hide_set(True)
    window.space.overlay.show_bones = False
    yield 1.0
    yield from press_headers(window, ())
    settings = bpy.context.window_manager.supple_check
    with window.override():
        bpy.ops.supple.check()
        keys = [line.key.split("\t") for line in settings.findings]
        settings.active = next(n for n, (mesh, kind, bone, _) in enumerate(keys) if (kind, bone) == CHECK_FAULT)
        bpy.ops.supple.check_show()
    settings.is_open = True
    window.look(CHECK_VIEW, window.space.region_3d.view_location.copy(), CHECK_DISTANCE, CHECK_ASIDE)
    yield 4.0
    save_picture(images / "check.png", CHECK_CROP)
    settings.heat = "NONE"


def take_side_by_side(assets: Path, images: Path) -> Iterator[float]:
    """Pose a character, show the ghosts, then the pie menu; yield seconds to wait."""
    window = yield from open_character(assets, "mh_human")
    armature = window.armature
    with window.override():
        bpy.context.view_layer.objects.active = armature
        armature.animation_data_clear()
        bpy.data.objects["mh_human_skirt"].hide_set(True)
        bpy.ops.supple.bind(method="CENTERS")
        strike(armature, POSE)
        bpy.ops.object.mode_set(mode="POSE")
    window.space.overlay.show_bones = False
    window.look(VIEW, Vector((0.0, 0.0, 0.82)), DISTANCE, ASIDE)
    bpy.context.window_manager.supple_ghosts = GHOSTS
    yield 1.0
    window.show_tab()
    yield 1.0
    with window.override():
        bpy.ops.supple.side_by_side()
    move(window.region, 200.0, 60.0)
    yield 4.0
    save_picture(images / "side-by-side.png", CROP)
    with window.override():
        bpy.ops.supple.side_by_side()
    move(window.region, *PIE)
    yield 0.5
    with window.override():
        bpy.ops.wm.call_menu_pie("INVOKE_DEFAULT", name="VIEW3D_MT_supple_pie")
    yield 1.0
    save_picture(images / "pie.png", PIE_CROP)


def take_engine_copy(assets: Path, images: Path) -> Iterator[float]:
    """Make an engine copy of a character, and show it beside, where it is farthest, in colors of its distance."""
    window = yield from open_character(assets, "human_male")
    armature = window.armature
    bpy.context.view_layer.objects.active = armature
    armature.hide_set(False)
    window.space.overlay.show_bones = False
    with window.override():
        bpy.ops.supple.bind(method="CENTERS", whole=True)
    yield 1.0
    yield from press_headers(window, (HAND_OVER,))
    with window.override():
        bpy.data.actions[COPY_LEFT_OUT].supple_is_copied = False
        bpy.ops.supple.engine_copy()
        bpy.ops.supple.engine_copy_frame()
        bpy.ops.supple.engine_copy_show()
        bpy.ops.object.select_all(action="DESELECT")
    copy = next(obj for obj in bpy.data.objects if obj.name == f"{armature.name} for glTF")
    yield 1.0
    depsgraph = bpy.context.evaluated_depsgraph_get()
    shown = [obj.evaluated_get(depsgraph) for obj in copy.children]
    corners = [obj.matrix_world @ Vector(corner) for obj in shown for corner in obj.bound_box]
    middle = sum(corners, Vector()) / len(corners)
    window.look((90.0, 0.0), middle, COPY_DISTANCE, COPY_ASIDE - 0.5 * copy.delta_location.x)
    yield 3.0
    save_picture(images / "engine-copy.png", COPY_CROP)


def take_corrections(assets: Path, images: Path) -> Iterator[float]:
    """Correct an elbow and its sleeve at two angles, and show the list; then show the sculpting of one of them."""
    window = yield from open_character(assets, "mh_human")
    armature = window.armature
    parts = [bpy.data.objects[f"mh_human_{name}"] for name in ("tights", "body")]
    for part in parts:
        part.name = part.name.removeprefix("mh_human_")
    armature.animation_data_clear()
    window.hide_bones()
    with window.override():
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
    elbow = armature.matrix_world @ armature.pose.bones["lowerarm01.L"].head
    window.look(ELBOW_VIEW, elbow, ELBOW_DISTANCE, ELBOW_ASIDE, "PERSP")
    yield 1.0
    yield from press_headers(window, (CORRECTIONS,))
    move(window.region, 100.0, 60.0)
    yield 2.0
    save_picture(images / "corrections-panel.png", CORRECTION_CROP)
    with window.override():
        bpy.ops.supple.correction_edit()
    yield 2.0
    move(window.region, 660.0, 330.0)
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
    window = yield from open_character(assets, "mh_human")
    bind_dressed(window, FARM_ASIDE)
    yield 1.0
    yield from press_headers(window, (HAND_OVER,))
    with tempfile.TemporaryDirectory() as folder:
        bpy.ops.wm.save_as_mainfile(filepath=str(Path(folder) / "hero.blend"))
        move(window.region, *FARM_DIALOG)
        yield 1.0
        with window.override():
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
