"""Heat that comes to rest in a solid, for each bone only where it can matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import conjugate_gradients

TOLERANCE = 3e-4
"""Largest change of a weight in the last step of the solver."""

MOST_STEPS = 500


@dataclass(frozen=True)
class HeatSystem:
    """(L + H) w = H p, for weights w of all bones, of Baran & Popovic 2007, in a solid instead of on its surface.

    Attributes
    ----------
    neighbors : int array, shape (N, K)
        Cells that each is linked to; N where there is none.
    conductance : float32 array, shape (N, K)
        Of the links; 0 where there is none.
    heat : float32 array, shape (N,)
        H: the square of a cell's side over that of the distance from the nearest bone.
    given : float32 array, shape (N, B)
        p: shares of the nearest bones.
    fixed : bool array, shape (N,)
        Cells whose weights are known.
    """

    neighbors: np.ndarray
    conductance: np.ndarray
    heat: np.ndarray
    given: np.ndarray
    fixed: np.ndarray

    def solve(
        self,
        guess: np.ndarray,
        support: np.ndarray,
        progress: Callable[[float], None] | None = None,
        tolerance: float = TOLERANCE,
    ) -> np.ndarray:
        """The weights, float32, shape (N, B), by conjugate gradients with the diagonal as preconditioner.

        Parameters
        ----------
        guess : float32 array, shape (N, B)
            To start from; what fixed cells have.
        support : bool array, shape (N, B)
            Where weights can be other than 0.
        progress : callable, optional
            Called with the share that is done.
        tolerance : float
            Largest change of a weight in a step after which there are no more: less where there is little heat.

        Notes
        -----
        An unknown for each pair of a cell and a bone that can matter there: some 10 of 163 bones in a character.
        """
        count = len(self.neighbors)
        nodes, bones = np.nonzero(support & ~self.fixed[:, None])
        number = np.full((count + 1, guess.shape[1]), len(nodes), np.int32)
        number[nodes, bones] = np.arange(len(nodes), dtype=np.int32)
        flows = self.conductance.astype(np.float32).T
        links = [
            (number[column[nodes], bones], None if (flow[column < count] == 1.0).all() else flow[nodes])
            for column, flow in zip(self.neighbors.T, flows, strict=True)
        ]
        diagonal = (self.conductance.sum(axis=1) + self.heat + 1e-9).astype(np.float32)[nodes]
        right = self.heat[nodes].astype(np.float32) * self.given[nodes, bones]
        held = np.concatenate([np.where(self.fixed[:, None], guess, 0.0), np.zeros_like(guess[:1])])
        if self.fixed.any():
            for column, flow in zip(self.neighbors.T, flows, strict=True):
                right += flow[nodes] * held[column[nodes], bones]
        padded, flowing = np.zeros(len(nodes) + 1, np.float32), np.empty(len(nodes), np.float32)

        def apply(values: np.ndarray) -> np.ndarray:
            padded[:-1] = values
            result = diagonal * values
            for where, flow in links:
                np.take(padded, where, out=flowing, mode="clip")
                if flow is not None:
                    np.multiply(flowing, flow, out=flowing)
                np.subtract(result, flowing, out=result)
            return result

        result = held[:-1].astype(np.float32)
        found = conjugate_gradients.solve(
            apply,
            right,
            guess[nodes, bones].astype(np.float32),
            lambda residual: residual / diagonal,
            _make_stop_rule(tolerance, progress),
            MOST_STEPS,
        )
        result[nodes, bones] = np.maximum(found, 0.0)
        return result


def _make_stop_rule(
    tolerance: float, progress: Callable[[float], None] | None
) -> Callable[[int, np.ndarray, np.ndarray], bool]:
    """Done as soon as no weight changes by more than the tolerance; progress goes with the logarithm of the change."""
    first = done = 0.0

    def is_done(step: int, change: np.ndarray, _product: np.ndarray) -> bool:
        nonlocal first, done
        size = float(np.abs(change).max(initial=0.0))
        if not step:
            first = size
        if size < tolerance:
            return True
        if progress is not None:
            done = max(done, float(np.log(first / size) / np.log(first / tolerance)))
            progress(done)
        return False

    return is_done
