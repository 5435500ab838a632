"""Lines on a surface at a level of its vertices' values, and points on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Segments:
    """Segments of lines, one on each triangle that a line crosses.

    Attributes
    ----------
    triangles : int array, shape (S,)
    edges : int array, shape (S, 2, 2)
        The two edges that each segment runs between: start and end, the smaller vertex first.
    shares : float64 array, shape (S, 2)
        Positions on these edges: 0 at the first vertex, 1 at the second.
    """

    triangles: np.ndarray
    edges: np.ndarray
    shares: np.ndarray

    def interpolate(self, values: np.ndarray) -> np.ndarray:
        """Values of vertices, shape (V, ...), at the starts and ends of the segments: shape (S, 2, ...)."""
        return interpolate_edges(values, self.edges, self.shares)


@dataclass(frozen=True)
class LinePoints:
    """Points on segments of lines, each a blend of four vertices.

    Attributes
    ----------
    vertices : int array, shape (N, 4)
    weights : float64 array, shape (N, 4)
        Rows sum to 1.
    """

    vertices: np.ndarray
    weights: np.ndarray

    def interpolate(self, values: np.ndarray) -> np.ndarray:
        """Values of vertices, shape (V, ...), at the points: shape (N, ...)."""
        return np.einsum("nk,nk...->n...", self.weights, values[self.vertices])


class LineSegments(NamedTuple):
    """Segments in a row.

    Attributes
    ----------
    segments : int array, shape (N,)
        Indices of the segments, in order.
    is_reversed : bool array, shape (N,)
        Whether each runs against the line.
    is_closed : bool
        Whether the line ends at its start.
    """

    segments: np.ndarray
    is_reversed: np.ndarray
    is_closed: bool


def interpolate_edges(values: np.ndarray, edges: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Values of vertices at points of edges: float array, (S, 2, ...).

    Parameters
    ----------
    values : float array, shape (V, ...)
    edges : int array, shape (S, 2, 2)
        For each of two points its edge, as two vertices.
    shares : float array, shape (S, 2)
        Positions on the edges: 0 at the first vertex, 1 at the second.
    """
    ends = values[edges]
    shares = shares.reshape(*shares.shape, *[1] * (values.ndim - 1))
    return (1.0 - shares) * ends[:, :, 0] + shares * ends[:, :, 1]


def trace_segments(values: np.ndarray, triangles: np.ndarray, level: float) -> Segments:
    """Trace the lines at a level of the vertices' values, linear on each triangle: greater values are on the left.

    Parameters
    ----------
    values : float array, shape (V,)
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside.
    """
    above = (values >= level)[triangles]
    crossed = np.flatnonzero(above.any(axis=1) & ~above.all(axis=1))
    above = above[crossed]
    rises = above.sum(axis=1) == 1
    corner = np.where(rises, above.argmax(axis=1), above.argmin(axis=1))
    alone, second, third = (triangles[crossed, (corner + step) % 3] for step in range(3))
    edges = np.sort(np.stack([np.stack([alone, second], 1), np.stack([alone, third], 1)], axis=1), axis=2)
    edges = np.where(rises[:, None, None], edges, edges[:, ::-1])
    ends = values[edges].astype(np.float64)
    return Segments(crossed, edges, (level - ends[..., 0]) / (ends[..., 1] - ends[..., 0]))


def chain_segments(segments: Segments) -> list[LineSegments]:
    """Join segments to lines."""
    flat = segments.edges.reshape(-1, 2)
    nodes = np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1, 2)
    at_node: dict[int, list[int]] = {}
    for segment, pair in enumerate(nodes.tolist()):
        for node in pair:
            at_node.setdefault(node, []).append(segment)
    free = np.ones(len(nodes), bool)
    ends = [node for node, found in at_node.items() if len(found) == 1]
    chains = []
    for start in [*ends, *nodes[:, 0].tolist()]:  # a loop over segments: few triangles are crossed
        node, order, is_reversed = start, [], []
        while (segment := next((index for index in at_node[node] if free[index]), -1)) >= 0:
            free[segment] = False
            order.append(segment)
            is_reversed.append(bool(nodes[segment, 0] != node))
            node = int(nodes[segment, 0] if is_reversed[-1] else nodes[segment, 1])
        if order:
            chains.append(LineSegments(np.array(order), np.array(is_reversed), node == start))
    return chains
