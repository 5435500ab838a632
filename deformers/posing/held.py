"""Springs that hold the handles of a drag to their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bones import DragHandle
from .linkage import Linkage


@dataclass(frozen=True, eq=False)
class HeldPoints:
    """Points of the skin that springs of limited force pull to targets.

    Attributes
    ----------
    points : float64 array, shape (H, J + 1, 4)
        Part of each point that each group of bones carries at the start of the drag, homogeneous.
    strengths : float64 array, shape (H,)
        Force by distance.
    reaches : float64 array, shape (H,)
        Distances at which forces come near their limits, strength times reach.
    """

    linkage: Linkage
    points: np.ndarray
    strengths: np.ndarray
    reaches: np.ndarray

    @classmethod
    def hold(
        cls, linkage: Linkage, handles: Sequence[DragHandle], strengths: np.ndarray, reaches: np.ndarray
    ) -> HeldPoints:
        """Hold handles with given strengths and reaches, shape (H,)."""
        points = np.zeros((len(handles), len(linkage.joints) + 1, 4))
        for row, handle in enumerate(handles):
            position = np.append(np.asarray(handle.position, np.float64), 1.0)
            np.add.at(points[row], linkage.groups[handle.bones], handle.shares[:, None] * position)
        return cls(linkage, points, strengths, reaches)

    def place(self, moved: np.ndarray) -> np.ndarray:
        """Positions of the points, shape (H, 3), for transforms of the groups, shape (J + 1, 4, 4)."""
        return np.tensordot(self.points, moved[:, :3], axes=([1, 2], [0, 2]))

    def evaluate(self, offsets: np.ndarray) -> float:
        """Energy of the springs for offsets of the points from their targets, shape (H, 3).

        It is `s c (sqrt(r^2 + c^2) - c)` for strength s and reach c: `s r^2 / 2` near the target and a limited force
        far from it. So a target out of reach does not pull harder than the body resists.
        """
        lengths = np.sqrt((offsets**2).sum(axis=1) + self.reaches**2)
        return float((self.strengths * self.reaches * (lengths - self.reaches)).sum())

    def differentiate(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (H, 3) and Hessian (H, 3, 3) of the energy by the points, at offsets (H, 3)."""
        squares = (offsets**2).sum(axis=1) + self.reaches**2
        factors = self.strengths * self.reaches / np.sqrt(squares)
        across = offsets[:, :, None] * offsets[:, None] / squares[:, None, None]
        return factors[:, None] * offsets, factors[:, None, None] * (np.eye(3) - across)

    def find_levers(self, moved: np.ndarray) -> np.ndarray:
        """Part of each point that each joint carries, relative to its head, with the share as fourth: (H, J, 4)."""
        placed = (self.points[:, :, None] @ moved.transpose(0, 2, 1))[:, :, 0]
        levers = self.linkage.carried @ placed
        levers[:, :, :3] -= levers[:, :, 3:] * self.linkage.place_heads(moved)
        return levers

    def find_slopes(self, levers: np.ndarray) -> np.ndarray:
        """Derivatives of the points by rotations of the joints and shifts of the movers, shape (H, 3, J + M, 3)."""
        count, movers = levers.shape[1], self.linkage.movers
        slopes = np.zeros((len(levers), 3, count + len(movers), 3))
        for first, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            # The derivative of u x v by u
            slopes[:, first, :count, second] = levers[:, :, third]
            slopes[:, first, :count, third] = -levers[:, :, second]
            slopes[:, first, count:, first] = levers[:, movers, 3]
        return slopes
