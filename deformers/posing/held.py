"""How strongly the handles of a drag are held to their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bones import Handle
from .linkage import Linkage


@dataclass(frozen=True, eq=False)
class HeldPoints:
    """Points of the skin that are pulled to targets by springs whose force is limited.

    Attributes
    ----------
    points : float64 array, shape (H, J + 1, 4)
        What each group of bones has of each point when the drag begins, homogeneous.
    strengths : float64 array, shape (H,)
        Of the springs, force by distance.
    reaches : float64 array, shape (H,)
        Distances at which the forces come near their limits, strength times reach.
    """

    linkage: Linkage
    points: np.ndarray
    strengths: np.ndarray
    reaches: np.ndarray

    @classmethod
    def hold(
        cls, linkage: Linkage, handles: Sequence[Handle], strengths: np.ndarray, reaches: np.ndarray
    ) -> HeldPoints:
        """Hold handles.

        Parameters
        ----------
        strengths, reaches : float64 arrays, shape (H,)
        """
        points = np.zeros((len(handles), len(linkage.joints) + 1, 4))
        for row, handle in enumerate(handles):
            position = np.append(np.asarray(handle.position, np.float64), 1.0)
            np.add.at(points[row], linkage.groups[handle.bones], handle.shares[:, None] * position)
        return cls(linkage, points, strengths, reaches)

    def place(self, moved: np.ndarray) -> np.ndarray:
        """Where the points are, shape (H, 3), where groups are moved, shape (J + 1, 4, 4)."""
        return np.tensordot(self.points, moved[:, :3], axes=([1, 2], [0, 2]))

    def evaluate(self, offsets: np.ndarray) -> float:
        """Energy of the springs where points are off their targets by vectors, shape (H, 3).

        It is `s c (sqrt(r^2 + c^2) - c)` for strength s and reach c: `s r^2 / 2` near the target, a limited force far
        from it. So a target out of reach pulls no harder than the body resists.
        """
        lengths = np.sqrt((offsets**2).sum(axis=1) + self.reaches**2)
        return float((self.strengths * self.reaches * (lengths - self.reaches)).sum())

    def differentiate(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (H, 3) and Hessian (H, 3, 3) of that energy by the points.

        Parameters
        ----------
        offsets : float64 array, shape (H, 3)
        """
        squares = (offsets**2).sum(axis=1) + self.reaches**2
        factors = self.strengths * self.reaches / np.sqrt(squares)
        across = offsets[:, :, None] * offsets[:, None] / squares[:, None, None]
        return factors[:, None] * offsets, factors[:, None, None] * (np.eye(3) - across)

    def find_levers(self, moved: np.ndarray) -> np.ndarray:
        """What each joint carries of each point, seen from its head, with the share as the fourth: shape (H, J, 4).

        Parameters
        ----------
        moved : float64 array, shape (J + 1, 4, 4)
        """
        placed = (self.points[:, :, None] @ moved.transpose(0, 2, 1))[:, :, 0]
        levers = self.linkage.carried @ placed
        levers[:, :, :3] -= levers[:, :, 3:] * self.linkage.place_heads(moved)
        return levers

    def find_slopes(self, levers: np.ndarray) -> np.ndarray:
        """How the points move with rotations of the joints and shifts of the movers: shape (H, 3, J + M, 3).

        Parameters
        ----------
        levers : float64 array, shape (H, J, 4)
        """
        count, movers = levers.shape[1], self.linkage.movers
        slopes = np.zeros((len(levers), 3, count + len(movers), 3))
        for first, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            # The derivative of u x v by u.
            slopes[:, first, :count, second] = levers[:, :, third]
            slopes[:, first, :count, third] = -levers[:, :, second]
            slopes[:, first, count:, first] = levers[:, movers, 3]
        return slopes
