"""Points and cages: their cost while a character moves, and how exactly they carry skin.

    python benchmarks/handles.py [--only steps exact] [--steps N] [--assets DIR]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Euler, Matrix

from harness import (
    ASSETS,
    find,
    note_time,
    option,
    parse,
    print_table,
    read_posed,
    read_vertices,
    run_sections,
    select,
    time_call,
)
from benchmarks.handle_scenes import Held, add_fox, add_knight, bind, move
from deformers.geometry.vectors import transform_points

METHODS = ("SSD", "DLB", "DLBNT", "CENTERS")
SCENES: dict[str, Callable[..., Held | None]] = {"kaykit_knight, cage": add_knight, "fox, points": add_fox}
RIGID = Matrix.LocRotScale((0.3, -0.5, 0.4), Euler((0.6, 1.4, -2.1)), None)
LEAST = 0.999  # Minimum sum of a cage's weights for a vertex to be inside


def measure_steps(arguments: argparse.Namespace) -> None:
    """A step of a bone, milliseconds: with handles, and once they are removed; the shortest of many"""
    rows = []
    for name, add in SCENES.items():
        held = add(arguments.assets)
        assert held is not None
        times = [[_time_step(held, method, arguments.steps) for method in METHODS]]
        select(list(held.skins), held.skins[0])
        bpy.ops.supple.unbind()
        bpy.ops.supple.handles_remove()
        times.append([_time_step(held, method, arguments.steps) for method in METHODS])
        rows += [
            (name, method, first, second, first / second) for method, first, second in zip(METHODS, *times, strict=True)
        ]
    print_table(("character", "method", "with handles", "without", "ratio"), rows)


def _time_step(held: Held, method: str, steps: int) -> float:
    """The shortest of the steps: other work of the machine makes them longer."""
    bind(held, method)
    bone = next(one for one in cast(Any, held.armature.pose).bones if one.name in ("spine", "Hips"))
    bone.rotation_mode = "XYZ"
    times: dict[str, list[float]] = {}

    def turn(angle: float) -> None:
        bone.rotation_euler = (angle, 0.0, 0.0)
        bpy.context.view_layer.update()

    for angle in np.tile([0.1, 0.2, 0.3, 0.15], steps // 4).tolist():
        note_time(times, "step", partial(turn, angle))
    return min(times["step"])


def measure_exactness(arguments: argparse.Namespace) -> None:
    """Largest distance from where the handle goes, in sizes: a cage moved rigidly, bones turned, points changed"""
    rows = []
    for method in METHODS:
        held = add_knight(arguments.assets)
        assert held is not None
        names = [bone.name for bone in cast(Any, held.armature.data).bones if bone.name.startswith("Hat")]
        bind(held, method)
        rest = held.handles[0].matrix_world.copy()
        move(held.handles[0], RIGID)
        rows.append((method, "the cage moves rigidly", _miss(held, names, names[0])))
        held.handles[0].matrix_world = rest
        head = cast(Any, held.armature.pose).bones["head"]
        head.rotation_mode, head.rotation_euler = "XYZ", (0.5, 0.9, -0.3)
        bpy.context.view_layer.update()
        rows.append((method, "the head turns", _miss(held, names, "head")))
    print_table(("method", "what", "distance"), rows)
    rows = []
    for name, add in SCENES.items():
        seconds, held = time_call(partial(add, arguments.assets))
        assert held is not None
        names = list(cast(Any, held.armature.data).bones.keys())
        sums = np.concatenate(
            [find("bridge.meshes.weights").read_weights(skin, names).sum(axis=1) for skin in held.skins]
        )
        rows.append((name, len(sums), float(np.abs(sums - 1.0).max()), seconds))
    print()
    print_table(("character", "vertices", "farthest from a sum of 1", "seconds to open, add and weight"), rows)


def _miss(held: Held, names: list[str], bone: str) -> float:
    """Largest distance of vertices inside a cage from their place by a bone, in sizes of the character."""
    pose = cast(Any, held.armature.pose).bones[bone]
    change = np.array(pose.matrix @ pose.bone.matrix_local.inverted(), np.float64)
    worst, size = 0.0, held.armature.dimensions.length
    for skin in held.skins:
        chosen = find("bridge.meshes.weights").read_weights(skin, names).sum(axis=1) > LEAST
        to_armature = np.array(held.armature.matrix_world.inverted() @ skin.matrix_world, np.float64)
        rest = transform_points(to_armature, read_vertices(cast(bpy.types.Mesh, skin.data).vertices)[chosen])
        posed = transform_points(to_armature, read_posed(skin)[chosen])
        worst = max(worst, float(np.linalg.norm(posed - transform_points(change, rest), axis=1).max(initial=0.0)))
    return worst / size


SECTIONS = {"steps": measure_steps, "exact": measure_exactness}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS, steps=option(200, "of which the shortest counts"), assets=ASSETS))
