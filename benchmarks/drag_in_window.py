"""Drags the skin of a character in a Blender with a window: the picture of docs/posing.md, and what an event costs.

    blender --factory-startup --window-geometry 0 0 1440 900 --python benchmarks/drag_in_window.py -- ASSETS [IMAGE]

With IMAGE, xdotool drags by the mouse, and the steps go into one picture. Without, movements are timed and printed as
Markdown: all of `SkinDrag.move`, which is the solver, the bones' channels and Blender's evaluation of the pose and the
skin; that evaluation alone; and drawing the window, which depends on its graphics. The fastest of all movements counts:
it is the one that the machine was not kept from by other work.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from harness import find, open_file, print_table, print_versions, put_to_rest, select, time_call, words_after_dashes
from benchmarks.in_window import Window, click, move, run_in_window, save_picture, xdo

VIEW = (84.0, 28.0)
CENTER, DISTANCE = Vector((0.0, 0.0, 0.82)), 2.15
PINS = ("foot.L", "foot.R")
# Dragged skin, by the bone that moves it, and pixels
DRAGS = (("wrist.L", (-40.0, 175.0)), ("spine05", (-10.0, -65.0)), ("wrist.R", (25.0, 130.0)))
CROP = "420x700+350+100"  # The character, in the window
MOVES = 40
# Method that the skin is bound by, solver, pins
CASES = (("", "ENERGY", 0), ("", "ENERGY", 2), ("", "CHAIN", 0), ("DLBNT", "ENERGY", 2), ("CENTERS", "ENERGY", 2))
SOLVERS = {"ENERGY": "Whole Body", "CHAIN": "Chain of 5"}
HEIGHT = 1.7  # Approximate height of the character, meters


class Stage(Window):
    """The character of the open file, seen from the front."""

    def __init__(self) -> None:
        super().__init__()
        self.body = bpy.data.objects["mh_human_body"]
        put_to_rest(self.armature)
        self.space.show_region_ui = False
        self.hide_bones()
        self.look(VIEW, CENTER, DISTANCE)

    def choose_tool(self) -> None:
        with self.override():
            select([self.armature], self.armature)
            bpy.ops.object.mode_set(mode="POSE")
            bpy.ops.wm.tool_set_by_id(name="supple.drag_skin")

    def find_skin(self, bone: str) -> Vector:
        """The middle of the skin that a bone moves most, world space."""
        group = self.body.vertex_groups[bone].index
        weights = np.array(
            [
                max((entry.weight for entry in vertex.groups if entry.group == group), default=0.0)
                for vertex in self.body.data.vertices
            ]
        )
        evaluated = self.body.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points = np.array(
            [evaluated.data.vertices[index].co for index in np.flatnonzero(weights > 0.9 * weights.max())]
        )
        return self.body.matrix_world @ Vector(points.mean(axis=0).tolist())

    def see(self, bone: str) -> np.ndarray:
        return np.array(location_3d_to_region_2d(self.region, self.space.region_3d, self.find_skin(bone)))


def take_picture(assets: Path, image: Path) -> Iterator[float]:
    """Pin the feet, drag hands and hip, and put a picture of each step beside the one before."""
    open_file(assets, "mh_human", load_ui=False)
    yield 1.0
    stage = Stage()
    bpy.data.objects["mh_human_skirt"].hide_set(True)
    stage.choose_tool()
    yield 2.0
    for bone in PINS:
        move(stage.region, *stage.see(bone))
        yield 0.5
        click()
        yield 1.0
    folder = Path(tempfile.mkdtemp())
    steps = [folder / "0.png"]
    save_picture(steps[0], CROP)
    for number, (bone, offset) in enumerate(DRAGS, 1):
        start = stage.see(bone)
        move(stage.region, *start)
        yield 0.5
        xdo("mousedown", 1)
        for share in np.linspace(0.1, 1.0, 12):
            yield 0.2
            move(stage.region, *(start + share * np.array(offset)))
        yield 1.0
        steps.append(folder / f"{number}.png")
        save_picture(steps[-1], CROP)
        xdo("mouseup", 1)
        yield 1.0
    subprocess.run(["convert", *map(str, steps), "+append", "-resize", "1260x", str(image)], check=True)


def measure(assets: Path) -> Iterator[float]:
    """Time movements under several methods, without and with pins."""
    rows = []
    for method, solver, pins in CASES:
        open_file(assets, "mh_human", load_ui=False)
        yield 1.0
        stage = Stage()
        if method:
            with stage.override():
                select([obj for obj in bpy.data.objects if obj.type == "MESH"], stage.body)
                bpy.ops.supple.bind(method=method)
        stage.choose_tool()
        yield 1.0
        for bone in PINS[:pins]:
            bpy.ops.supple.drag_skin(action="PIN", point=stage.find_skin(bone))
        name = f"{method or 'Armature modifier'}, {SOLVERS[solver]}, {pins} pins"
        rows.append((name, *_time_moves(stage, solver)))
        yield 1.0
    print_versions()
    print()
    print_table(("skin, solver, pins", "begin, ms", "move, ms", "of it evaluation, ms", "drawing, ms"), rows)


def _time_moves(stage: Stage, solver: str) -> tuple[float, ...]:
    """Milliseconds of beginning a drag the second time; the fastest movement, evaluation of a pose, drawing."""
    tasks = find("tasks.pose.drag")
    skins = find("tasks.pose.skins")
    layer = bpy.context.view_layer
    found = skins.find_skins(stage.armature, layer)
    point, _ = skins.find_nearest(found, bpy.context.evaluated_depsgraph_get(), stage.find_skin("wrist.L"))
    choices = tasks.DragOptions(solver=solver, chain_length=5)
    tasks.SkinDrag(stage.armature, layer, point, choices)
    begin, drag = time_call(lambda: tasks.SkinDrag(stage.armature, layer, point, choices))
    moves, evaluations, drawings = [], [], []
    bone = stage.armature.pose.bones["wrist.L"]
    for number in range(MOVES):
        share = number / MOVES
        target = drag.start + HEIGHT * np.array((-0.15 * share, -0.1 * np.sin(4.0 * share), 0.2 * share))
        moves.append(time_call(lambda target=target: drag.move(target))[0])
        with stage.override():
            drawings.append(time_call(lambda: bpy.ops.wm.redraw_timer(type="DRAW_WIN", iterations=1))[0])
        bone.location.x += 1e-5
        evaluations.append(time_call(layer.update)[0])
        bone.location.x -= 1e-5
    return tuple(1e3 * seconds for seconds in (begin, *map(min, (moves[1:], evaluations, drawings))))


if __name__ == "__main__":
    assets, *image = map(Path, words_after_dashes())
    run_in_window(lambda _: take_picture(assets, image[0]) if image else measure(assets))
