"""Takes the picture of Weight Lines in docs/weights.md, taken in a Blender with a window and xdotool.

    blender --factory-startup --window-geometry 0 0 1440 900 --python benchmarks/weight_line_picture.py -- ASSETS IMAGE

The character is read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import radians
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from harness import select, words_after_dashes
from benchmarks.in_window import Window, move, run_in_window, save_picture
from benchmarks.weight_scenes import open_character

BONES = {"upperleg01.L": -60.0, "lowerleg01.L": 70.0, "foot.L": 15.0}  # Bones that are bent about X, in degrees
CHOSEN = ("lowerleg01.L", "foot.L")
VIEW = (84.0, 62.0)
CENTER, DISTANCE = Vector((0.12, -0.2, 0.5)), 0.9
# Where panels are opened, in rows of buttons below the top of the sidebar: Weights, then Edit in it
HEADERS = (0.75, 18.45)
KNEE = Vector((0.0, -0.05, 0.02))  # From the knee to the handle, as seen
CROP = "1072x752+88+56"  # The view and the panel, of the window


def take_picture(assets: Path, image: Path) -> Iterator[float]:
    """Pose a leg, open the panels, start the tool and take the picture; yield seconds to wait."""
    character = open_character(assets, "mh_human", ("_body",), subdivisions=0)
    body, armature = character.meshes[0], character.armature
    yield 1.0
    window = Window()
    with window.override():
        select([body, armature], armature)
        bpy.ops.supple.weights_auto("EXEC_DEFAULT")
        select([armature], armature)
        bpy.ops.object.mode_set(mode="POSE")
        for pose_bone in armature.pose.bones:
            pose_bone.select = pose_bone.name in CHOSEN
        for name, angle in BONES.items():
            armature.pose.bones[name].rotation_mode = "XYZ"
            armature.pose.bones[name].rotation_euler.x = radians(angle)
        armature.data.bones.active = armature.data.bones[CHOSEN[0]]
        bpy.context.window_manager.supple_show_weights = True
    window.look(VIEW, CENTER, DISTANCE)
    yield 1.0
    window.show_tab()
    yield 1.0
    for row in HEADERS:
        window.press(60.0, row)
        yield 2.0
    knee = armature.matrix_world @ armature.pose.bones["lowerleg01.L"].head + KNEE
    handle = location_3d_to_region_2d(window.region, window.space.region_3d, knee)
    move(window.region, *handle)
    with window.override():
        bpy.ops.supple.weight_lines("INVOKE_DEFAULT")
    yield 1.0
    move(window.region, handle.x + 4, handle.y)
    yield 1.0
    save_picture(image, CROP)


if __name__ == "__main__":
    run_in_window(lambda _: take_picture(*map(Path, words_after_dashes())))
