"""Clothes over bodies in whole actions, as they are, with Stay Outside and with Keep Limbs Apart: what pierces, what
shows; and how much of the body is filled twice where it sits, and where its thighs meet.

    python benchmarks/layers.py [--character NAME ...] [--every N] [--heavier FACTOR] [--assets FOLDER]

needs an interpreter that has bpy. Figures are of all actions of a character; `--every 4` takes every fourth frame.
Lengths are millimeters of a character of 1.8 m. `--heavier 1.5` moves skin and clothes half as far again away from the
bones, but for head, hands and feet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import bpy
import numpy as np

from harness import (
    ASSETS,
    api,
    find,
    open_file,
    parse,
    print_table,
    print_versions,
    read_triangles,
    read_vertices,
    supple,
)
from benchmarks.blind_flesh import pose_bones
from benchmarks.blind_poses import find_bone, move_bone
from benchmarks.characters import read_character
from deformers.geometry.vectors import transform_points
from deformers.layers.order import REFERENCE_HEIGHT, Shell, find_layers
from deformers.measures.layers import LayerMeter, SeenSkin
from deformers.measures.space import close_surface
from deformers.measures.stretch import edge_stretches, mesh_edges

CHARACTERS = ("mh_human", "mh_human_game", "kaykit_knight")
TENTHS = 10
JUMPS = 10  # Frames of each action after which one is divided into tenths, to see jumps
# Motion of a thigh, and whether both move
POSES = (
    ("sitting, thighs forward by 100 degrees", "forward", 100.0, True),
    ("a thigh inward by 18 degrees", "left", -18.0, False),
)
SLIM = ("neck", "head", "hand", "foot", "toes")  # Parts of the body that stay slim
STRETCHED = 1.1  # Minimum ratio to the length without Stay Outside for an edge to count as stretched


@dataclass
class Figures:
    """Measures of all frames: shares by layer and frame, and others."""

    pierced: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    seen: dict[str, list[float]] = field(default_factory=dict)
    twice: list[float] = field(default_factory=list)
    stretched: dict[str, list[float]] = field(default_factory=dict)


class Dressed:
    """A character of several meshes, at rest and in its frames, armature space."""

    def __init__(self, assets: Path, name: str, heavier: float) -> None:
        open_file(assets, name)
        self.name, self.shape = name, read_character(assets, name, 1000).parts[0].shape
        self.objects = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.find_armature() is not None]
        self.armature = self.objects[0].find_armature()
        if heavier != 1.0:
            make_heavier(self.armature, self.objects, heavier)
        self.character = api().Character(self.armature)
        self.character.bind("CENTERS", meshes=self.objects)
        nearest = find("bridge.meshes.nearest").find_nearest_surface
        self.spaces = [np.array(self.armature.matrix_world.inverted() @ obj.matrix_world) for obj in self.objects]
        self.shells = [
            Shell.outward(transform_points(space, read_vertices(obj.data.vertices)), read_triangles(obj.data))
            for obj, space in zip(self.objects, self.spaces, strict=True)
        ]
        height = float(np.ptp(np.concatenate([shell.points for shell in self.shells]), axis=0).max())
        self.unit = height / REFERENCE_HEIGHT
        self.layers = find_layers(self.shells, height, nearest)
        self.meters = [
            LayerMeter(self.shells[above], self.shells[below], self.unit, nearest) for above, below in self.layers
        ]
        self.seen = SeenSkin(self.shells, self.layers, self.unit, nearest)
        bodies = set(range(len(self.shells))) - {above for above, _ in self.layers}
        self.body = max(bodies, key=lambda number: len(self.shells[number].points))
        shell = self.shells[self.body]
        self.solid = close_surface(shell.points, shell.triangles)
        self.edges = {above: mesh_edges(self.shells[above].triangles) for above, _ in self.layers}

    def play(self, action: bpy.types.Action) -> None:
        self.armature.animation_data.action = action

    def read(self, time: float) -> list[np.ndarray]:
        """All meshes as they are shown in a frame."""
        whole = int(np.floor(time))
        bpy.context.scene.frame_set(whole, subframe=time - whole)
        depsgraph, posed = bpy.context.evaluated_depsgraph_get(), []
        for obj, space in zip(self.objects, self.spaces, strict=True):
            mesh = obj.evaluated_get(depsgraph).data
            posed.append(transform_points(space, read_vertices(mesh.vertices)))
        return posed

    def list_frames(self, every: int) -> Iterator[tuple[bpy.types.Action, int]]:
        for action in find("bridge.rigs.actions").list_actions(self.armature):
            self.play(action)
            first, last = (round(end) for end in action.frame_range)
            for frame in range(first, last + 1, every):
                yield action, frame

    def measure(self, every: int, before: dict[tuple[str, int], list[np.ndarray]] | None = None) -> Figures:
        figures = Figures()
        for action, frame in self.list_frames(every):
            posed = self.read(frame)
            for (above, below), meter in zip(self.layers, self.meters, strict=True):
                names = self.objects[above].name, self.objects[below].name
                figures.pierced.setdefault(names, []).append(meter.measure(posed[above], posed[below]).share)
            if self.layers:
                figures.seen.setdefault(action.name, []).append(self.seen.measure(posed))
            figures.twice.append(self.solid.measure(posed[self.body]).twice - self.solid.rest.twice)
            if before is None:
                continue
            for above, edges in self.edges.items():
                share = float(
                    (edge_stretches(before[action.name, frame][above], posed[above], edges, 1e-9) > STRETCHED).mean()
                )
                figures.stretched.setdefault(self.objects[above].name, []).append(share)
        return figures

    def measure_poses(self) -> list[float]:
        """How much of the body is filled twice in each of `POSES`, beyond rest."""
        action, found = self.armature.animation_data.action, []
        self.armature.animation_data.action = None
        for _, toward, degrees, is_both in POSES:
            bone = find_bone(self.name, self.shape, "hip")
            moved = move_bone(self.name, self.shape, bone, toward, degrees)
            if is_both:
                other = self.shape.names.index(bpy.utils.flip_name(self.shape.names[bone]))
                moved = moved @ move_bone(self.name, self.shape, other, toward, degrees)
            pose_bones(self.armature, self.shape.names, moved)
            found.append(self.solid.measure(self.read(1)[self.body]).twice - self.solid.rest.twice)
        pose_bones(self.armature, self.shape.names, np.tile(np.eye(4), (len(self.shape.names), 1, 1)))
        self.armature.animation_data.action = action
        return found

    def find_jumps(self, plain: list[list[np.ndarray]], times: list[float]) -> list[float]:
        """Largest change of the offsets from the plain shape between two tenths of a frame, by mesh, millimeters."""
        offsets = [
            [own - bare for own, bare in zip(self.read(time), frame, strict=True)]
            for time, frame in zip(times, plain, strict=True)
        ]
        steps = [
            [np.linalg.norm(own - previous, axis=1).max() for own, previous in zip(after, before, strict=True)]
            for before, after in pairwise(offsets)
        ]
        return (1000.0 * np.max(steps, axis=0) / self.unit).tolist()


def make_heavier(armature: bpy.types.Object, objects: list[bpy.types.Object], factor: float) -> None:
    """Move the skin of trunk and limbs away from the lines of their bones, by a factor."""
    character, skeleton = find("tasks.subject.character"), find("bridge.rigs.armatures").read_skeleton(armature)
    rig = find("tasks.subject.rig_presets").find_rig_of(armature)
    slim = {bone for (part, _), chain in rig.bones.items() if part in SLIM for bone in chain}
    joints = skeleton.joints
    names = [skeleton.name_joint(joint) for joint in range(len(joints.parents))]
    is_slim = joints.chains.below[:, [name in slim for name in names]].any(axis=1)
    for obj in objects:
        matrix = np.array(character.object_to_armature(obj, armature), np.float64)
        points = transform_points(matrix, read_vertices(obj.data.vertices))
        weights = character.read_weight_table(character.find_skinned(obj), skeleton, matrix)
        moves = np.zeros_like(points)
        for joint in np.flatnonzero(~is_slim):
            away = points - joints.centers[joint]
            across = away - np.outer(away @ joints.axes[joint], joints.axes[joint])
            moves += (factor - 1.0) * weights[:, joint, None] * across
        moved = np.linalg.solve(matrix[:3, :3], (points + moves - matrix[:3, 3]).T).T
        obj.data.vertices.foreach_set("co", moved.astype(np.float32).ravel())
        obj.data.update()


def tell(figures: Figures, poses: list[float]) -> dict[str, str]:
    """Return a column of the table, by measure."""

    def of(shares: list[float]) -> str:
        values = 100.0 * np.array(shares)
        return f"{np.median(values):.2f}; {values.mean():.2f}; {values.max():.2f}"

    each = "median; mean; worst"
    column = {f"{names[0]} over {names[1]}, % of its area: {each}": of(one) for names, one in figures.pierced.items()}
    column |= {f"covered skin seen in {name}, % of the figure: {each}": of(one) for name, one in figures.seen.items()}
    column[f"body filled twice, %: {each}"] = of(figures.twice)
    column |= {
        f"edges of {name} stretched by more than {STRETCHED}, %: {each}": of(one)
        for name, one in figures.stretched.items()
    }
    for (label, *_), share in zip(POSES, poses, strict=True):
        column[f"body filled twice, %: {label}"] = f"{100.0 * share:.3f}"
    return column


def measure_character(assets: Path, name: str, every: int, heavier: float) -> None:
    dressed = Dressed(assets, name, heavier)
    print(f"\n## {name}, by Centers{f', {heavier} times as heavy' if heavier != 1.0 else ''}\n")
    names = [obj.name for obj in dressed.objects]
    print(
        ", ".join(f"{names[above]} over {names[below]}" for above, below in dressed.layers) or "No layers", flush=True
    )
    plain = {(action.name, frame): dressed.read(frame) for action, frame in dressed.list_frames(every)}
    columns = {"before": tell(dressed.measure(every), dressed.measure_poses())}
    jumps = []
    for action in find("bridge.rigs.actions").list_actions(dressed.armature) if dressed.layers else ():
        dressed.play(action)
        first = float(np.mean(action.frame_range))
        times = [first + step / TENTHS for step in range(JUMPS * TENTHS + 1)]
        jumps.append((action, times, [dressed.read(time) for time in times]))
    ways = {"with Stay Outside": None, "with Keep Limbs Apart, too": True}
    for way, limbs in ways.items() if dressed.layers else ():
        dressed.character.layers(limbs=limbs, meshes=dressed.objects)
        columns[way] = column = tell(dressed.measure(every, plain), dressed.measure_poses())
        for action, times, shapes in jumps:
            dressed.play(action)
            found = dressed.find_jumps(shapes, times)
            told = ", ".join(f"{mesh} {jump:.1f}" for mesh, jump in zip(names, found, strict=True))
            column[f"jump of offsets in a tenth of a frame of {action.name}, mm, worst"] = told
    labels = dict.fromkeys(label for column in columns.values() for label in column)
    print_table(("what", *columns), [(label, *(one.get(label, "") for one in columns.values())) for label in labels])


if __name__ == "__main__":
    arguments = parse(__doc__, character=CHARACTERS, every=1, heavier=1.0, assets=ASSETS)
    with supple():
        print_versions()
        for name in arguments.character:
            measure_character(arguments.assets, name, arguments.every, arguments.heavier)
