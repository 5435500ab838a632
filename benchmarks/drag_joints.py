"""Drags the skin of people without limits, their feet pinned, in 30 directions: whether joints bend as a body's do.

    python benchmarks/drag_joints.py [--characters NAME ...] [--directions N] [--assets FOLDER]

needs an interpreter that has bpy. A hand, a foot and the belly are dragged by Supple's task, at rest, with elbows and
knees exactly straight, and with these bent by 60 degrees. Each drag counts that has, after any of its movements, a knee
or an elbow more than 5 degrees beyond straight, one that is bent sideways, a wrist or an ankle of the dragged limb that
is bent by more than 70 degrees, or a limb that is twisted so far that its hinge faces backward.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import (
    ASSETS,
    find,
    open_file,
    option,
    parse,
    print_table,
    put_to_rest,
    read_vertices,
    run_sections,
    select,
)
from deformers.anatomy.body import Body, RestBones, body_of_rig
from deformers.anatomy.presets import Rig
from deformers.geometry.vectors import normalize, transform_points
from deformers.posing.bones import remove_scale

PEOPLE = ("mh_human", "human_male", "mh_human_game")
DRAGGED = {"hand": "LEFT", "foot": "LEFT", "spine": ""}  # Parts that are dragged. A foot that is dragged is not pinned.
LIMBS = (("upper_arm", "forearm", "hand"), ("thigh", "shin", "foot"))
STARTS = {"rest": None, "straight": 0.0, "bent": 60.0}  # Degrees of elbows and knees when a drag begins
DISTANCES = {"hand": 0.4, "foot": 0.3, "spine": 0.25}  # Length of a drag, as a share of the stature
MOVES = 12
# Minimum degrees for a hinge to count as beyond straight (with half a degree of tolerance) or bent sideways, a wrist or
# an ankle as bent too far, a knee as facing backward
BEYOND, ASIDE, BENT, FACING = 5.5, 30.0, 70.0, 90.0


@dataclass(frozen=True)
class Joints:
    """Elbows and knees of a person, and the ends of their limbs."""

    rig: Rig
    body: Body
    bones: RestBones

    def each(self) -> Iterator[tuple[tuple[str, str, str], str]]:
        return ((limb, side) for limb in LIMBS for side in ("LEFT", "RIGHT"))

    def turned(self, posed: np.ndarray, bone: str) -> np.ndarray:
        """How a bone is rotated since rest, armature space, shape (3, 3)."""
        index = self.bones.index(bone)
        return posed[index] @ self.bones.axes[index].T

    def parent(self, part: str, side: str) -> str:
        return self.bones.parents[self.bones.index(self.rig.bones[part, side][0])]

    def measure(self, posed: np.ndarray, limb: tuple[str, str, str], side: str) -> tuple[float, ...]:
        """Degrees of a limb: its hinge beyond straight, and sideways; its end's bend; how far it is twisted."""
        upper, lower, end = limb
        above, below = self.body.limbs[upper, side], self.body.limbs[lower, side]
        own = self.turned(posed, self.parent(lower, side)).T @ self.turned(posed, self.rig.bones[lower, side][0])
        along = own @ below.along
        aside = np.cross(above.along, above.bend)
        flexed = math.atan2(along @ above.bend, along @ above.along)
        bent = self.turned(posed, self.parent(end, side)).T @ self.turned(posed, self.rig.bones[end, side][0])
        trunk = self.turned(posed, self.parent(upper, side)).T @ self.turned(posed, self.parent(lower, side))
        angles = (
            -flexed,
            abs(math.asin(np.clip(along @ aside, -1.0, 1.0))),
            find_angle(bent),
            find_twist(trunk, above.along),
        )
        return tuple(math.degrees(angle) for angle in angles)


def find_angle(rotation: np.ndarray) -> float:
    """Radians of a rotation, shape (3, 3)."""
    return math.acos(np.clip(0.5 * (np.trace(rotation) - 1.0), -1.0, 1.0))


def find_twist(rotation: np.ndarray, axis: np.ndarray) -> float:
    """Radians by which a rotation (3, 3) twists about an axis (3,), beside what swings it the shortest way."""
    x, y, z = rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]
    return abs(2.0 * math.atan2(np.array([x, y, z]) @ axis, 1.0 + np.trace(rotation)))


def list_directions(count: int) -> np.ndarray:
    """Directions spread evenly over a sphere, shape (N, 3)."""
    heights = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angles = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    across = np.sqrt(1.0 - heights**2)
    return np.stack([across * np.cos(angles), across * np.sin(angles), heights], axis=1)


class Stage:
    """A person whose joints are known, in Pose Mode."""

    def __init__(self, arguments: argparse.Namespace, name: str) -> None:
        import bpy

        self.bpy = bpy
        open_file(arguments.assets, name)
        self.armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        put_to_rest(self.armature)
        select([self.armature], self.armature)
        bpy.ops.object.mode_set(mode="POSE")
        bones = find("bridge.rigs.rest_bones").read_rest_bones(self.armature)
        rig = find("tasks.subject.rig_presets").find_rig_of(self.armature)
        self.joints = Joints(rig, body_of_rig(rig, bones), bones)

    @property
    def layer(self) -> Any:
        return self.bpy.context.view_layer

    def read(self) -> np.ndarray:
        """Rotations of all bones as posed, armature space, shape (B, 3, 3)."""
        self.layer.update()
        bones = self.armature.pose.bones
        return remove_scale(np.array([bones[name].matrix.to_3x3() for name in self.joints.bones.names]))

    def bend(self, degrees: float | None) -> None:
        """Put the character to rest, and bend its elbows and knees by an angle."""
        put_to_rest(self.armature)
        self.layer.update()
        if degrees is None:
            return
        for (upper, lower, _), side in self.joints.each():
            above, below = (self.joints.body.limbs[part, side] for part in (upper, lower))
            axis = normalize(np.cross(above.along, above.bend))
            flat = normalize(below.along - axis * (below.along @ axis))
            now = math.atan2(flat @ above.bend, flat @ above.along)
            bone = self.armature.pose.bones[self.joints.rig.bones[lower, side][0]]
            own = self.joints.bones.axes[self.joints.bones.index(bone.name)].T @ axis
            bone.rotation_mode = "AXIS_ANGLE"
            bone.rotation_axis_angle = (math.radians(degrees) - now, *own)
        self.layer.update()

    def find_point(self, bone: str) -> np.ndarray:
        """The middle of the skin that follows a bone most, world space."""
        points, shares = [], []
        depsgraph = self.bpy.context.evaluated_depsgraph_get()
        for obj in (obj for obj in self.bpy.data.objects if obj.type == "MESH"):
            group, matrix = obj.vertex_groups.find(bone), np.array(obj.matrix_world)
            shares += [
                max((entry.weight for entry in vertex.groups if entry.group == group), default=0.0)
                for vertex in obj.data.vertices
            ]
            posed = read_vertices(obj.evaluated_get(depsgraph).data.vertices)
            points.append(transform_points(matrix, posed))
        return np.concatenate(points)[np.array(shares) > 0.9 * max(shares)].mean(axis=0)

    def pin(self, parts: list[tuple[str, str]], hold_rotation: bool) -> None:
        for part in parts:
            point = self.find_point(self.joints.rig.bones[part][0])
            self.bpy.ops.supple.drag_skin(action="PIN", point=point, hold_rotation=hold_rotation)

    def drag(self, part: tuple[str, str], directions: np.ndarray, distance: float) -> Iterator[list[np.ndarray]]:
        """The poses of each drag, after each of its movements."""
        tasks, skins = find("tasks.pose.drag"), find("tasks.pose.skins")
        depsgraph = self.bpy.context.evaluated_depsgraph_get()
        found = skins.find_skins(self.armature, self.layer)
        point, _ = skins.find_nearest(found, depsgraph, self.find_point(self.joints.rig.bones[part][0]))
        for direction in directions:
            drag, poses = tasks.SkinDrag(self.armature, self.layer, point, tasks.DragOptions()), []
            for move in range(MOVES):
                drag.move(drag.start + distance * (move + 1) / MOVES * direction)
                poses.append(self.read())
            yield poses
            drag.restore()


def measure_drags(arguments: argparse.Namespace) -> None:
    """Drags, of so many, in which a joint bends as no joint does, and the most degrees of all"""
    rows = []
    for name in arguments.characters:
        for start, degrees in STARTS.items():
            for part, side in DRAGGED.items():
                stage = Stage(arguments, name)
                stage.bend(degrees)
                stage.pin([("foot", one) for one in ("LEFT", "RIGHT") if (part, side) != ("foot", one)], True)
                rows.append((name, start, part, *_judge(stage, part, side, arguments.directions)))
    header = "character", "start", "dragged", "backward", "sideways", "end bent", "twisted", *(
        f"most {what}" for what in ("beyond straight", "sideways", "of the end", "of twist"))  # fmt: skip
    print_table(
        header, [*rows, ("all", "", "", *(sum(row[column] for row in rows) for column in range(3, 7)), *("",) * 4)]
    )


def _judge(stage: Stage, part: str, side: str, count: int) -> tuple[float, ...]:
    """How many drags are wrong in each way, and the most degrees."""
    distance = DISTANCES[part] * stage.joints.body.stature
    drags = []
    for poses in stage.drag((part, side), list_directions(count), distance):
        worst = np.full(4, -np.inf)
        for posed in poses:
            for limb, own in stage.joints.each():
                beyond, aside, bent, twist = stage.joints.measure(posed, limb, own)
                is_dragged = (limb[2], own) == (part, side)
                worst = np.maximum(worst, (beyond, aside, bent if is_dragged else 0.0, twist))
        drags.append(worst)
    most = np.array(drags)
    return *(int(number) for number in (most > (BEYOND, ASIDE, BENT, FACING)).sum(axis=0)), *most.max(axis=0).round(1)


SECTIONS = {"drags": measure_drags}


if __name__ == "__main__":
    arguments = parse(__doc__, SECTIONS, characters=PEOPLE, directions=option(30, "of each drag"), assets=ASSETS)
    run_sections(SECTIONS, arguments)
