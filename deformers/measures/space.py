"""The space that a skin fills, once and twice, in a pose.

Signed volume, the sum of tetrahedra, counts space twice if the skin runs through itself, and so reports no loss for an
elbow that has folded into itself. With winding numbers such space counts once, and is reported separately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import find_unusable
from ..geometry.solid import MAX_HOLE, Rims, read_surface
from .windings import Windings, measure_windings

# Rays along the longer side across them
COLUMNS = 256

# Rotates points before rays are cast: at faces along an axis, whole rows of rays would pass or miss at once. With it
# the error is below 1e-4 of the space, without it 2e-3 of a box.
TILT = np.array([[96.0, -24.0, -38.0], [16.0, 102.0, -24.0], [42.0, 16.0, 96.0]]) / 106.0


@dataclass(frozen=True)
class Space:
    """Space in a pose, as shares of the filled space at rest; NaN if the mesh is not solid.

    Attributes
    ----------
    filled : float
        Inside the skin: winding number 1 or more.
    twice : float
        Part of it inside the skin twice: winding number 2 or more.
    """

    filled: float
    twice: float


@dataclass(frozen=True)
class Solid:
    """The closed parts of a mesh, to be measured in its poses.

    Attributes
    ----------
    vertices : int array, shape (U,)
        Vertices of the mesh that its triangles use; of vertices that files split at seams, the first.
    triangles : int array, shape (T, 3)
        Of the closed parts, wound outward: indices into `vertices`, then into the middles of the rims.
    rims : Rims
        Of the holes, each closed by a fan about its middle: indices into `vertices`.
    vertex_count : int
        Of the whole mesh.
    axis : int
        Direction of the rays.
    columns : int
        Rays along the longer side across them.
    volume : float
        Space filled at rest, in the cube of the points' unit.
    rest : Space
        At rest: 1, and the space filled twice there, such as by clothes in the same mesh.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    rims: Rims
    vertex_count: int
    axis: int
    columns: int
    volume: float
    rest: Space

    @property
    def is_closed(self) -> bool:
        """Whether any part encloses space: all its holes are small."""
        return self.volume > 0.0

    def measure(self, posed: np.ndarray) -> Space:
        """Measure the space in a pose.

        `posed`, float array, shape (V, 3): all vertices of the mesh, in the unit of the points at rest.

        Returns
        -------
        Space
            NaN if the mesh is not solid, or a position is not a number.
        """
        if len(posed) != self.vertex_count:
            raise ValueError(f"There are {self.vertex_count} vertices at rest, but {len(posed)} posed")
        points = np.asarray(posed, np.float64)[self.vertices]
        if not self.is_closed or find_unusable(points).any():
            return Space(np.nan, np.nan)
        windings = _wind(points, self.triangles, self.rims, self.axis, self.columns)
        return Space(windings.once / self.volume, windings.twice / self.volume)


def close_surface(
    points: np.ndarray, triangles: np.ndarray, largest_hole: float = MAX_HOLE, columns: int = COLUMNS
) -> Solid:
    """Find the closed parts of a mesh at rest, as particles do: parts inside out are flipped, cloth is left out.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Finite, in any unit and space.
    triangles : int array, shape (T, 3)
    largest_hole : float
        Maximum area of a part's holes, in its areas.
    columns : int
        Rays along the longer side across them.
    """
    surface = read_surface(points, np.asarray(triangles, np.intp), largest_hole)
    corners, sides = surface.welded[surface.triangles], surface.rims.sides
    vertices = np.unique(corners)
    rims = Rims(np.searchsorted(vertices, sides).reshape(-1, 2), surface.rims.loops)
    middles = len(vertices) + np.arange(len(sides))
    lids = np.stack([middles, rims.sides[:, 1], rims.sides[:, 0]], axis=1)
    closed = np.concatenate([np.searchsorted(vertices, corners).reshape(-1, 3), lids])
    used = surface.points[vertices]
    axis = int(np.ptp(used, axis=0).argmax()) if len(used) else 0
    windings = _wind(used, closed, rims, axis, columns)
    twice = windings.twice / windings.once if windings.once > 0.0 else np.nan
    rest = Space(1.0 if windings.once > 0.0 else np.nan, twice)
    return Solid(vertices, closed, rims, len(points), axis, columns, windings.once, rest)


def _wind(points: np.ndarray, triangles: np.ndarray, rims: Rims, axis: int, columns: int) -> Windings:
    """Windings of points, shape (U, 3), and the middles of their rims."""
    middles = rims.find_lids(points)[:, 0] if rims.count else np.empty((0, 3))
    return measure_windings(np.concatenate([points, middles]) @ TILT, triangles, columns, axis)
