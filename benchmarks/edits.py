"""Time of Ctrl Z of a bone's rotation, and of a stroke of the weight brush, on whole characters.

    python benchmarks/edits.py [--rounds N] [--assets FOLDER]

needs an interpreter that has bpy. Milliseconds of the processor, medians; the first row of each character is unbound.
After a stroke, the first Ctrl Z of a pose takes longer than the next: Blender reads what was painted again.
"""

from __future__ import annotations

import argparse
import statistics
import time

import bpy
import numpy as np

from harness import ASSETS, find, option, parse, print_table, run_sections
from benchmarks.timing import BARE, WAYS, Character, bind
from benchmarks.whole_characters import list_characters, open_character

DAB = 60  # Vertices of a dab


def run_edits(arguments: argparse.Namespace) -> None:
    """Ctrl Z of a bone's rotation, a dab in Weight Paint while a stroke goes on, and the end of the stroke"""
    rows = []
    for name in list_characters(arguments.assets, ("mh_human",)):
        for label, method in ((BARE, ""), *WAYS.items()):
            character = open_character(arguments.assets, name)
            described = character.describe()
            if method:
                bind(method)
            edits = _Edits(character)
            taken = [(edits.time_undo(), edits.time_undo(), *edits.time_stroke()) for _ in range(2 + arguments.rounds)][
                2:
            ]
            rows.append((name, *described, label, *map(statistics.median, zip(*taken, strict=True))))
    print_table(
        ("character", "meshes", "vertices", "bones", "bound", "first Ctrl Z, ms", "next", "dab", "end of stroke"), rows
    )


class _Edits:
    """Edits of a character, whose objects undo makes anew."""

    def __init__(self, character: Character) -> None:
        body = max(character.meshes, key=lambda obj: len(obj.data.vertices))  # pyright: ignore[reportArgumentType]
        self._armature, self._body = character.armature.name, body.name
        bones = character.armature.data.bones  # pyright: ignore[reportAttributeAccessIssue]
        self._bone = next(bone.name for bone in bones if "arm" in bone.name.lower() and bone.name in body.vertex_groups)
        self._number = 0

    def time_undo(self) -> float:
        """Rotate a bone and undo it: milliseconds of the undo."""
        bone = bpy.data.objects[self._armature].pose.bones[self._bone]  # pyright: ignore[reportOptionalMemberAccess]
        bone.rotation_mode = "XYZ"
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="before")
        bone.rotation_euler.x += 0.3
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="rotated")
        start = time.process_time()
        bpy.ops.ed.undo()
        bpy.context.view_layer.update()
        return 1e3 * (time.process_time() - start)

    def time_stroke(self) -> tuple[float, float]:
        """Give vertices about one of the bone's another weight: milliseconds of that, and of the end of the stroke."""
        body = bpy.data.objects[self._body]
        bpy.context.view_layer.objects.active = body
        bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
        bpy.context.view_layer.update()
        points = np.empty(3 * len(body.data.vertices), np.float32)  # pyright: ignore[reportAttributeAccessIssue]
        body.data.vertices.foreach_get("co", points)  # pyright: ignore[reportAttributeAccessIssue]
        group, points = body.vertex_groups[self._bone], points.reshape(-1, 3)
        vertices = body.data.vertices  # pyright: ignore[reportAttributeAccessIssue]
        own = [vertex.index for vertex in vertices if any(entry.group == group.index for entry in vertex.groups)]
        self._number += 1
        center = points[own[self._number * 37 % len(own)]]
        reached = np.argsort(np.square(points - center).sum(axis=1))[:DAB]
        preview, start = find("preview"), time.process_time()
        preview.is_dragging = lambda: True  # what a window does
        group.add(reached.tolist(), 0.1 + self._number * 0.37 % 0.8, "REPLACE")
        body.data.update_tag()  # pyright: ignore[reportOptionalMemberAccess]
        bpy.context.view_layer.update()
        dab, start = 1e3 * (time.process_time() - start), time.process_time()
        preview.is_dragging = lambda: False
        preview.refine_dragged()
        bpy.context.view_layer.update()
        end = 1e3 * (time.process_time() - start)
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.context.view_layer.update()
        return dab, end


SECTIONS = {"edits": run_edits}


if __name__ == "__main__":
    arguments = parse(__doc__, SECTIONS, rounds=option(8, "how often each edit is made and counts"), assets=ASSETS)
    run_sections(SECTIONS, arguments)
