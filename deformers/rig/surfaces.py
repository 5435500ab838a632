"""A skin as a surface with weights, for methods that use several meshes at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .rest import Rest, Weights


@dataclass(frozen=True, eq=False)
class WeightedSurface:
    """A mesh at rest with its weights. Two are equal only if they are the same object.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    weights : Weights
        Need not be normalized.
    known : dict
        Results for the surface, by name.
    """

    points: np.ndarray
    triangles: np.ndarray
    weights: Weights
    known: dict = field(default_factory=dict, repr=False)

    @classmethod
    def of_rest(cls, rest: Rest) -> WeightedSurface:
        """The surface of a character at rest."""
        triangles = np.empty((0, 3), np.intp) if rest.triangles is None else rest.triangles
        return cls(rest.armature_points, triangles, rest.weights)

    def is_same(self, other: WeightedSurface) -> bool:
        """Whether another has the same points, triangles and weights."""
        return all(np.array_equal(first, second) for first, second in zip(self._arrays(), other._arrays(), strict=True))

    def _arrays(self) -> tuple[np.ndarray, ...]:
        weights = self.weights
        return self.points, self.triangles, weights.vertices, weights.joints, weights.values
