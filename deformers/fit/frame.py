"""The space of the body: find the plane of symmetry and the front of a solid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .solid import BodyCells


@dataclass(frozen=True)
class Frame:
    """The space of the body: x to its left, y to its back, z up, the height 1, the origin on the floor.

    Attributes
    ----------
    axes : float64 array, shape (3, 3)
        Rows x, y and z in the space of the mesh.
    origin : float64 array, shape (3,)
        In the space of the mesh.
    height : float
        Height of the body, in the unit of the mesh.
    symmetry : float
        Share of the cells with a mirror image inside the body.
    """

    axes: np.ndarray
    origin: np.ndarray
    height: float
    symmetry: float

    def to_body(self, points: np.ndarray) -> np.ndarray:
        """Transform points, shape (..., 3), from the space of the mesh to that of the body."""
        return (points - self.origin) @ self.axes.T / self.height

    def to_mesh(self, points: np.ndarray) -> np.ndarray:
        """Transform points, shape (..., 3), from the space of the body to that of the mesh."""
        return points @ self.axes * self.height + self.origin

    @property
    def matrix(self) -> np.ndarray:
        """Transform of an armature on the floor below the body, in the unit of the mesh, to the space of the mesh."""
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = self.axes.T, self.origin
        return result

    def flipped(self) -> Frame:
        """Swap front and back."""
        return replace(self, axes=self.axes * [[-1.0], [-1.0], [1.0]])

    def place(self, cells: BodyCells) -> BodyCells:
        """Move cells into the space of the body."""
        return replace(cells, points=self.to_body(cells.points), step=cells.step / self.height)


def find_plane(cells: BodyCells, sign: float) -> Frame:
    """Find the vertical plane of symmetry.

    `sign`: 1 if the body is wide across the plane, as humans; -1 if it is long along it, as animals on four legs.

    Notes
    -----
    The plane of a symmetric solid goes through the mean of its cells. Angles are tried there first, then angles and
    offsets together. y may still point to the front: `find_front` decides.
    """
    coarse, fine, fine_shift = 5.0, 0.25, 0.12  # steps of the search: degrees, degrees, cells
    width_weight = 0.1
    generator = np.random.default_rng(0)
    chosen = cells.points[generator.choice(cells.count, min(3000, cells.count), replace=False)]
    middle = cells.points.mean(axis=0)

    def score(angle: float, shift: float) -> float:
        across = np.array([np.cos(angle), np.sin(angle), 0.0])
        offsets = (chosen - middle) @ across - shift
        return float(cells.grid.inside[cells.grid.cells(chosen - 2.0 * offsets[:, None] * across)].mean())

    def width(angle: float) -> float:
        return float(np.ptp(cells.points @ [np.cos(angle), np.sin(angle), 0.0]))

    angles = np.radians(np.arange(0.0, 180.0, coarse))
    scores = [score(angle, 0.0) + sign * width_weight * np.log(width(angle)) for angle in angles]
    angle, shift = angles[int(np.argmax(scores))], 0.0
    step, move = np.radians(coarse), cells.step
    while step > np.radians(fine) or move > fine_shift * cells.step:
        step, move = 0.5 * step, 0.5 * move
        tries = [(angle + i * step, shift + j * move) for i in (-1, 0, 1) for j in (-2, -1, 0, 1, 2)]
        here = (angle, shift)
        # Without this margin, equally good planes would let the search drift.
        angle, shift = max(tries, key=lambda row: score(*row) + 1e-3 * (row == here))
    angle, shift = _snap(score, angle, shift, middle, cells.step)
    across = np.array([np.cos(angle), np.sin(angle), 0.0])
    origin = middle + shift * across
    origin[2] = float(cells.points[:, 2].min()) - 0.5 * cells.step
    axes = np.array([across, [-across[1], across[0], 0.0], [0.0, 0.0, 1.0]])
    height = float(np.ptp(cells.points[:, 2])) + cells.step
    return Frame(axes, origin, height, score(angle, shift))


def _snap(
    score: Callable[[float, float], float], angle: float, shift: float, middle: np.ndarray, step: float
) -> tuple[float, float]:
    """Prefer a plane of the mesh's axes, through its origin if possible: modelers mirror there."""
    max_loss, max_degrees = 0.01, 1.5  # share of mirrored cells given up, and angle, to get such a plane
    best = score(angle, shift) - max_loss
    straight = 0.5 * np.pi * np.round(angle / (0.5 * np.pi))
    if abs(straight - angle) > np.radians(max_degrees) or score(straight, shift) < best:
        return angle, shift
    through = -float(middle @ [np.cos(straight), np.sin(straight), 0.0])
    is_near = abs(through - shift) < step and score(straight, through) >= best
    return straight, through if is_near else shift


def find_front(cells: BodyCells) -> float:
    """Measure how far a human's feet point to -y, in heights, in the space of the body. Below 0 they point to y.

    If a skirt hides the feet, the head decides: it is in front of chest and neck.
    """
    x, y, z = cells.points.T
    feet, shins = y[(z < 0.03) & (abs(x) < 0.25)], y[(z > 0.08) & (z < 0.16) & (abs(x) < 0.25)]
    if len(feet) and len(shins):
        means = feet.mean() - shins.mean()
        middles = 0.5 * (feet.min() + feet.max() - shins.min() - shins.max())
        if abs(means + middles) > 0.02:
            return float(-(means + middles))
    head, chest = y[(z > 0.9) & (abs(x) < 0.06)], y[(z > 0.7) & (z < 0.88) & (abs(x) < 0.06)]
    return float(chest.mean() - head.mean()) if len(head) and len(chest) else 0.0
