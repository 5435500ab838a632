"""Pictures of twists, by linear blending, Preserve Volume, and Centers without and with Twist: docs/images/twist.png.

    python benchmarks/twist_pictures.py [--only wrists arm bends] [--output DIR] [--assets DIR]

Needs Blender's module bpy. The characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from harness import is_there, list_at_hand, new_scene, option
from benchmarks.bound_characters import PRESERVE_VOLUME, preserve_volume
from benchmarks.characters import read_character
from benchmarks.range_of_motion import bend_joint
from benchmarks.shapes import Shape, rotation
from benchmarks.skins import make_rest
from benchmarks.studio import (
    Row,
    Studio,
    View,
    add_striped,
    cell_width,
    draw,
    name_row,
    set_points,
    write_page,
)
from benchmarks.twist import MOST, TURN, WRISTS, bind_rest, list_arm, make_tube
from deformers import Pose, Rest
from deformers.rig.fraction_plan import find_long_bones
from deformers.rig.surfaces import WeightedSurface

COLUMNS = (("SSD", False), (PRESERVE_VOLUME, False), ("CENTERS", False), ("CENTERS", True))
"""Methods, and whether they have fractions, and spread twists."""
TITLES = ("linear (SSD)", "Preserve Volume", "Centers, Twist off", "Centers, Twist")
STRIPES = 8
"""Around a limb."""
HEIGHT, ARM_HEIGHT = 330.0, 210.0
BENDS = ("elbow", "knee")
DRAWN = ("mh_human", "human_male")


@dataclass(frozen=True)
class Subject:
    """A mesh whose twist is shown.

    Attributes
    ----------
    rest : Rest
    levels, counts : int arrays, shape (B,)
        As `plan_twists` takes them.
    start, end : float arrays, shape (3,)
        Of the limb that has stripes.
    striped : bool array, shape (V,)
    """

    rest: Rest
    levels: np.ndarray
    counts: np.ndarray
    start: np.ndarray
    end: np.ndarray
    striped: np.ndarray

    def show(self) -> bpy.types.Object:
        """Put it into an empty scene, in clay with stripes along the limb."""
        new_scene()
        surface = WeightedSurface.of_rest(self.rest)
        points, triangles = surface.points, surface.triangles
        axis = (self.end - self.start) / np.linalg.norm(self.end - self.start)
        side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
        middles = points[triangles].mean(axis=1) - self.start
        around = np.arctan2(middles @ np.cross(axis, side), middles @ side)
        dark = (np.floor((around / (2.0 * np.pi) + 0.5) * STRIPES) % 2 == 1) & self.striped[triangles].all(axis=1)
        return add_striped(points, triangles, dark)

    def shoot(self, pose: Pose, view: View, studio: Studio, height: float) -> list[np.ndarray]:
        """A cell for each of `COLUMNS`."""
        obj, cells, width = self.show(), [], cell_width(len(COLUMNS))
        for method, has_twist in COLUMNS:
            if method == PRESERVE_VOLUME:
                posed = preserve_volume(self.rest, pose.rest_to_pose)
            else:
                module, binding = bind_rest(self.rest, method, self.levels * has_twist, self.counts * has_twist)
                posed = module.deform(binding, pose)
            set_points(obj, posed)
            cells.append(studio.shoot(view, width, height))
        return cells


def read_wrist(assets: Path, name: str) -> tuple[Subject, Shape, int]:
    """A character, its shape, and the joint of its wrist."""
    part = read_character(assets, name, 100).parts[0]
    shape, rest = part.shape, make_rest(part.shape)
    wrist = shape.names.index(WRISTS[name])
    counts = np.zeros(len(shape.names), np.intp)
    counts[wrist] = find_long_bones(rest.joints).counts[wrist]
    arm = list_arm(shape, wrist, int(counts[wrist]))
    striped = shape.weights[:, arm].sum(axis=1) > 0.5 * shape.weights.sum(axis=1)
    return Subject(rest, 0 * counts, counts, shape.heads[arm[-1]], shape.heads[wrist], striped), shape, wrist


def draw_wrists(assets: Path, studio: Studio) -> Iterator[Row]:
    """Wrists of the characters that are there, twisted."""
    for name in list_at_hand(assets, DRAWN, "npz"):
        subject, shape, wrist = read_wrist(assets, name)
        offset = subject.end - subject.start
        pose = Pose(shape.pose({wrist: rotation(offset, TURN)}))
        away = np.cross(offset, (0.0, 0.0, 1.0))
        away = -away if away[1] > 0.0 else away
        target = subject.start + 0.75 * offset
        view = View.along(target, away, 1.15 * float(np.linalg.norm(offset)), elevation=12.0)
        yield Row(name_row(name, f"wrist\n{TURN:.0f}°"), subject.shoot(pose, view, studio, HEIGHT))


def draw_arm(_assets: Path, studio: Studio) -> Iterator[Row]:
    """An arm of rubber, twisted about one joint."""
    shape = make_tube(1)
    for degrees in (170.0, 540.0):
        subject = Subject(
            make_rest(shape), np.array([0, MOST]), np.zeros(2, np.intp), shape.heads[0], shape.tails[1],
            np.ones(len(shape.points), bool),
        )  # fmt: skip
        laid = np.eye(4)
        laid[:3, :3] = rotation((0.0, 1.0, 0.0), 90.0)
        pose = Pose(laid @ shape.pose({1: rotation((0.0, 0.0, 1.0), degrees)}), hints=np.radians([0.0, degrees]))
        view = View(target=(1.0, 0.0, 0.0), azimuth=0.0, elevation=10.0, height=1.45)
        yield Row(f"rubber\n{degrees:.0f}°", subject.shoot(pose, view, studio, ARM_HEIGHT))


def draw_bends(assets: Path, studio: Studio) -> Iterator[Row]:
    """Elbow and knee of a character, bent: with fractions at the joint they look as without."""
    name = "mh_human"
    if not is_there(assets, name, "npz"):
        return
    part = read_character(assets, name, 100).parts[0]
    shape, rest = part.shape, make_rest(part.shape)
    levels, plain = np.where(shape.parents >= 0, 3, 0), np.zeros(len(shape.points), bool)
    for kind in BENDS:
        bone = shape.names.index({"elbow": "lowerarm01.L", "knee": "lowerleg01.L"}[kind])
        matrices = bend_joint(name, shape, kind)
        head = matrices[bone, :3, :3] @ shape.heads[bone] + matrices[bone, :3, 3]
        subject = Subject(rest, levels, 0 * levels, shape.heads[bone], shape.tails[bone], plain)
        view = View(tuple(head.tolist()), 60.0, 12.0, 0.42)
        yield Row(f"woman\n{kind}", subject.shoot(Pose(matrices), view, studio, HEIGHT))


PAGES = {"wrists": draw_wrists, "arm": draw_arm, "bends": draw_bends}


def draw_page(arguments: Any) -> None:
    """One page of all rows that are asked for."""
    studio = Studio.of(arguments)
    rows = [row for name in arguments.only for row in PAGES[name](arguments.assets, studio)]
    write_page(rows, TITLES, studio, arguments.output / "twist.png")


if __name__ == "__main__":
    draw(__doc__, draw_page, only=option(("wrists", "arm"), choices=tuple(PAGES)))
