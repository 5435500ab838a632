"""Heat at rest in a solid, solved for each bone only in cells that it can influence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import conjugate_gradients

# Largest change of a weight in the last step of the solver
TOLERANCE = 3e-4


@dataclass(frozen=True)
class HeatSystem:
    """(L + H) w = H p for weights w of all bones (Baran & Popovic 2007), in a solid instead of on its surface.

    Attributes
    ----------
    neighbors : int array, shape (N, K)
        Linked cells, padded with N.
    conductance : float32 array, shape (N, K)
        Of the links; 0 for padding.
    heat : float32 array, shape (N,)
        H: (side of a cell / distance from the nearest bone) squared.
    given : float32 array, shape (N, B)
        p: shares of the nearest bones.
    fixed : bool array, shape (N,)
        Cells with known weights.
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
        """Find weights, float32, shape (N, B), by conjugate gradients with the diagonal as preconditioner.

        Parameters
        ----------
        guess : float32 array, shape (N, B)
            Start, and weights of fixed cells.
        support : bool array, shape (N, B)
            Weights that can differ from 0.
        progress : callable, optional
            Called with the finished share.
        tolerance : float
            Stop if no weight changes more in a step. With little heat it must be smaller.

        Notes
        -----
        One unknown for each pair of a cell and a bone that can matter there: about 10 of 163 bones in a character.
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
        max_steps = 500
        found = conjugate_gradients.solve(
            apply,
            right,
            guess[nodes, bones].astype(np.float32),
            lambda residual: residual / diagonal,
            _make_stop_rule(tolerance, progress),
            max_steps,
        )
        result[nodes, bones] = np.maximum(found, 0.0)
        return result


def _make_stop_rule(
    tolerance: float, progress: Callable[[float], None] | None
) -> Callable[[int, np.ndarray, np.ndarray], bool]:
    """Stop if no weight changes by more than the tolerance; progress follows the logarithm of the change."""
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
