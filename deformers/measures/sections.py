"""Rings that planes at rest cut from a skin, and their areas in a pose.

A ring is attached to the edges of the mesh, not to a position in space, so that it follows the skin into a pose. If it
is bent out of its plane there, its area is that of its largest shadow: the length of the vector area, half the sum of p
x q over its segments. Parts that are turned over count negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.iso_lines import LineSegments, Segments, chain_segments, interpolate_edges, trace_segments
from ..geometry.vectors import sum_by


@dataclass(frozen=True)
class Rings:
    """Rings on a mesh.

    Attributes
    ----------
    edges : int array, shape (S, 2, 2)
        For both ends of each segment the two vertices of the edge that the end is on.
    shares : float array, shape (S, 2)
        Position on the edge: 0 at the first vertex, 1 at the second.
    owners : int array, shape (S,)
        The ring of each segment.
    count : int
        Number of rings.
    """

    edges: np.ndarray
    shares: np.ndarray
    owners: np.ndarray
    count: int

    def measure(self, points: np.ndarray) -> np.ndarray:
        """Areas of the rings, shape (R,), in the square of the points' unit; `points`, shape (V, 3)."""
        ends = interpolate_edges(np.asarray(points, np.float64), self.edges, self.shares)
        counts = np.maximum(np.bincount(self.owners, minlength=self.count), 1)[:, None]
        centers = sum_by(self.owners, ends.mean(axis=1), self.count) / counts
        ends = ends - centers[self.owners][:, None]
        return np.linalg.norm(0.5 * sum_by(self.owners, np.cross(ends[:, 0], ends[:, 1]), self.count), axis=1)


def join_rings(rings: list[tuple[np.ndarray, np.ndarray]]) -> Rings:
    """Rings from the edges, shape (S, 2, 2), and shares, shape (S, 2), of each."""
    edges = [edges for edges, _ in rings]
    counts = [len(own) for own in edges]
    return Rings(
        edges=np.concatenate([np.empty((0, 2, 2), np.intp), *edges]),
        shares=np.concatenate([np.empty((0, 2)), *(shares for _, shares in rings)]),
        owners=np.repeat(np.arange(len(rings)), counts),
        count=len(rings),
    )


def slice_mesh(points: np.ndarray, triangles: np.ndarray, origin: np.ndarray, normal: np.ndarray) -> Segments:
    """Cut a mesh with a plane.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    origin, normal : float arrays, shape (3,)
        A point in the plane, and a vector across it, of any length.
    """
    return trace_segments((points - origin) @ normal, triangles, 0.0)


def find_ring_around(
    points: np.ndarray, segments: Segments, center: np.ndarray, normal: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find the closed line of a slice around a point with the largest area, or None.

    Parameters
    ----------
    points : float array, shape (V, 3)
    segments : Segments
        Of one plane.
    center, normal : float arrays, shape (3,)
        A point in the plane, and the unit vector across it.

    Returns
    -------
    (edges, shares) as for `join_rings`, or None
    """
    best, found = 0.0, None
    ends = segments.interpolate(points) - center
    for chain in chain_segments(segments):
        if not chain.is_closed:
            continue
        edges, shares, own = _order(segments, chain, ends)
        sines, cosines = np.cross(own[:, 0], own[:, 1]) @ normal, np.einsum("si,si->s", own[:, 0], own[:, 1])
        is_around = abs(np.arctan2(sines, cosines).sum()) > np.pi
        area = abs(float(sines.sum()))
        if is_around and area > best:
            best, found = area, (edges, shares)
    return found


def _order(segments: Segments, chain: LineSegments, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges, shares and end points of a chain's segments, all in its direction."""
    turned = chain.is_reversed[:, None]
    edges, shares, own = segments.edges[chain.segments], segments.shares[chain.segments], ends[chain.segments]
    return (
        np.where(turned[..., None], edges[:, ::-1], edges),
        np.where(turned, shares[:, ::-1], shares),
        np.where(turned[..., None], own[:, ::-1], own),
    )


def smallest_section(
    rest: np.ndarray, posed: np.ndarray, triangles: np.ndarray, start: np.ndarray, end: np.ndarray, count: int = 60
) -> tuple[float, float]:
    """Find the smallest remaining share of a limb's cross-section in a pose.

    Parameters
    ----------
    rest, posed : float arrays, shape (V, 3)
        In one unit. All parts that the planes cut count: use `limbs` for a character with several limbs.
    triangles : int array, shape (T, 3)
        Closed, counter-clockwise from outside.
    start, end : float arrays, shape (3,)
        The limb's axis at rest.
    count : int
        Planes that slice the limb across it.

    Returns
    -------
    smallest : float
        Posed area over rest area.
    position : float
        0 at `start`, 1 at `end`.
    """
    positions = np.linspace(0.0, 1.0, count)
    slices = [slice_mesh(rest, triangles, start + position * (end - start), end - start) for position in positions]
    rings = join_rings([(part.edges, part.shares) for part in slices])
    ratios = rings.measure(posed) / rings.measure(rest)
    smallest = int(np.argmin(ratios))
    return float(ratios[smallest]), float(positions[smallest])
