"""Lines of weight and their handles as they are seen: where they are, what is under the mouse, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from bpy_extras.view3d_utils import region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector

from ..deformers import SkinningError
from ..deformers.geometry.iso_lines import Spots
from ..deformers.weight_editing.lines import HANDLES, trace_rail
from ..tasks.weights.lines import WeightLines, read_posed_points
from .view import View
from .weight_lines import Drawing, LineDrawings, project

NEAR_HANDLE, NEAR_LINE = 14.0, 8.0
"""Pixels from a handle, and from a line, within which a press takes hold of it."""

THICK = 0.01
"""What of a body, in shares of its size, does not hide what is behind it: handles lie a little under round skin."""

LOYAL = 0.25
"""Pixels that a place on a handle's way may be nearer to the mouse for each that it is further from the handle."""


@dataclass
class Grip:
    """What the mouse has hold of.

    Attributes
    ----------
    joint, line, handle : int
        Which joint; which of its three lines, 0 the line itself; which handle, counted over the joint's lines.
    is_whole : bool
        Whether all handles of the line go along.
    """

    joint: int
    line: int
    handle: int
    is_whole: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """The number of the line of the joint, and of the handle on it."""
        return divmod(self.handle, HANDLES)


class LinesInView:
    """The lines of a mesh in 3D Views, drawn from when this is made until `remove`.

    Parameters
    ----------
    lines : WeightLines
    depsgraph : Depsgraph
    joint : int
        The active one: it shows its falloff.

    Attributes
    ----------
    hover, grip : Grip or None
        What is under the mouse, and what it has hold of.
    """

    def __init__(self, lines: WeightLines, depsgraph: bpy.types.Depsgraph, joint: int) -> None:
        self.lines, self.joint = lines, joint
        self.hover: Grip | None = None
        self.grip: Grip | None = None
        self._size = float(np.ptp(lines.points, axis=0).max())
        self._posed: np.ndarray = read_posed_points(lines.obj, depsgraph)
        self.read()
        self.drawings = LineDrawings(self.update, self.sees)

    def remove(self) -> None:
        self.drawings.remove()

    def read(self) -> None:
        """Where lines and handles are, by the vertices of the mesh."""
        self._traced = [[self.lines.trace(joint, level) for level in joint.levels] for joint in self.lines.joints]
        self._spots: list[list[Spots]] = [
            [self.lines.locate(joint, level) for level in joint.levels] for joint in self.lines.joints
        ]

    def update(self) -> None:
        """Bring the drawing to where the skin is now."""
        depsgraph = bpy.context.view_layer.depsgraph
        try:
            self._posed = read_posed_points(self.lines.obj, depsgraph)
        except SkinningError:
            return  # as it was
        matrix = np.array(self.lines.obj.evaluated_get(depsgraph).matrix_world)
        world = self._posed.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        at = self.grip or self.hover
        self.drawings.drawings = [
            Drawing(
                [_mix(world, *one) for one in traced],
                [one.take(world) for one in spots],
                number == (at.joint if at is not None else self.joint),
            )
            for number, (traced, spots) in enumerate(zip(self._traced, self._spots, strict=True))
        ]
        self.drawings.lit = None if at is None or at.is_whole else (at.joint, at.line, at.handle)
        self.drawings.rail = np.empty((0, 2, 3), np.float32)
        if at is not None:
            joint = self.lines.joints[at.joint]
            rail, _ = trace_rail(joint.field, *at.place)
            self.drawings.rail = _mix(world, joint.field.vertices[rail.edges], rail.shares)

    def sees(self, region: Any, view: Any, place: np.ndarray) -> bool:
        """Whether a place of the skin, world space, is not behind another."""
        depsgraph = bpy.context.view_layer.depsgraph
        evaluated = self.lines.obj.evaluated_get(depsgraph)
        seen = project(region, view, place[None])[0]
        if not np.isfinite(seen).all():
            return False
        origin = region_2d_to_origin_3d(region, view, seen.tolist())
        way = region_2d_to_vector_3d(region, view, seen.tolist())
        to_object = evaluated.matrix_world.inverted_safe()
        start = to_object @ origin
        direction = to_object.to_3x3() @ way
        found, hit, _, _ = evaluated.ray_cast(start, direction)
        if not found:
            return True
        target = to_object @ Vector(place.tolist())
        behind = (target - hit).dot(direction.normalized())
        return behind < THICK * self._size

    def find_grip(self, view: View, mouse: np.ndarray) -> Grip | None:
        """The handle under the mouse, else the line."""
        self.update()
        place = view.locate(mouse)
        found: list[tuple[float, Grip, np.ndarray]] = []
        for number, drawing in enumerate(self.drawings.drawings):
            for line, handles in enumerate(drawing.handles):
                if line and not drawing.is_active:
                    continue
                away = np.linalg.norm(project(view.region, view.view, handles) - place, axis=1)
                near = np.flatnonzero(away < NEAR_HANDLE).tolist()
                found += [(float(away[one]), Grip(number, line, one), handles[one]) for one in near]
        for _, grip, world in sorted(found, key=lambda one: one[0]):
            if self.sees(view.region, view.view, world):
                return grip
        return self._find_line(view, place)

    def _find_line(self, view: View, place: np.ndarray) -> Grip | None:
        """The whole line under the mouse, held at the handle that is nearest along it."""
        best, found = NEAR_LINE, None
        for number, drawing in enumerate(self.drawings.drawings):
            pieces = drawing.lines[0].astype(np.float64)
            if not len(pieces):
                continue
            away, shares = _measure(project(view.region, view.view, pieces.reshape(-1, 3)).reshape(-1, 2, 2), place)
            near = np.flatnonzero(away < best)
            if not near.size:
                continue
            worlds = (1.0 - shares[near, None]) * pieces[near, 0] + shares[near, None] * pieces[near, 1]
            front = int((worlds @ np.array(view.view.view_matrix)[2, :3]).argmax())  # not the far side of the limb
            piece, world = int(near[front]), worlds[front]
            if self.sees(view.region, view.view, world):
                nearest = int(np.linalg.norm(drawing.handles[0] - world, axis=1).argmin())
                best, found = float(away[piece]), Grip(number, 0, nearest, is_whole=True)
        return found

    def find_distance(self, view: View, depsgraph: bpy.types.Depsgraph, mouse: np.ndarray, last: float | None) -> float:
        """How far along the limb, from where the line was first, the mouse is on the way of the handle it holds."""
        grip = cast(Grip, self.grip)
        joint = self.lines.joints[grip.joint]
        posed = read_posed_points(self.lines.obj, depsgraph)
        matrix = np.array(self.lines.obj.evaluated_get(depsgraph).matrix_world)
        rail, distances = trace_rail(joint.field, *grip.place)
        world = _mix(posed @ matrix[:3, :3].T + matrix[:3, 3], joint.field.vertices[rail.edges], rail.shares)
        pieces = project(view.region, view.view, world.reshape(-1, 3).astype(np.float64)).reshape(-1, 2, 2)
        if last is None:
            last = self.read_distance()
        if not len(pieces):
            return last
        away, shares = _measure(pieces, view.locate(mouse))
        places = (1.0 - shares) * distances[:, 0] + shares * distances[:, 1]
        scale = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1).sum() / max(float(np.ptp(distances)), 1e-12)
        return float(places[(away + LOYAL * scale * np.abs(places - last)).argmin()])

    def read_distance(self) -> float:
        """How far along the limb, from where the line was first, the handle is that is held."""
        grip = cast(Grip, self.grip)
        field = self.lines.joints[grip.joint].field
        values = np.zeros(len(self._posed))
        values[field.vertices] = field.distances
        return float(self._spots[grip.joint][grip.line].take(values)[grip.handle])


def _mix(points: np.ndarray, edges: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Places on edges, shape (S, 2, 2), by shares, shape (S, 2): float32, shape (S, 2, 3)."""
    ends = points[edges]
    return ((1.0 - shares[..., None]) * ends[:, :, 0] + shares[..., None] * ends[:, :, 1]).astype(np.float32)


def _measure(pieces: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of a place from pieces of the plane, shape (S, 2, 2), and where on each it is nearest, shape (S,)."""
    with np.errstate(invalid="ignore"):
        way, offset = pieces[:, 1] - pieces[:, 0], place - pieces[:, 0]
        square = np.square(way).sum(axis=1)
        shares = np.clip((way * offset).sum(axis=1) / np.where(square > 0, square, 1.0), 0.0, 1.0)
        away = np.linalg.norm(offset - shares[:, None] * way, axis=1)
    return np.where(np.isfinite(away), away, np.inf), np.nan_to_num(shares)
