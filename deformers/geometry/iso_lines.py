"""Lines on a surface where values of its vertices pass a level, and places on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Segments:
    """Pieces of lines, one on each triangle that is crossed.

    Attributes
    ----------
    triangles : int array, shape (S,)
    edges : int array, shape (S, 2, 2)
        The two edges that each piece runs between: start and end, the smaller vertex first.
    shares : float64 array, shape (S, 2)
        Where on these edges, 0 at the first vertex, 1 at the second.
    """

    triangles: np.ndarray
    edges: np.ndarray
    shares: np.ndarray

    def take(self, values: np.ndarray) -> np.ndarray:
        """Values of vertices, shape (V, ...), at the starts and ends of the pieces: shape (S, 2, ...)."""
        ends = values[self.edges]
        shares = self.shares.reshape(*self.shares.shape, *[1] * (values.ndim - 1))
        return (1.0 - shares) * ends[:, :, 0] + shares * ends[:, :, 1]


@dataclass(frozen=True)
class Spots:
    """Places on the skin, each a blend of four vertices.

    Attributes
    ----------
    vertices : int array, shape (N, 4)
    weights : float64 array, shape (N, 4)
    """

    vertices: np.ndarray
    weights: np.ndarray

    def take(self, values: np.ndarray) -> np.ndarray:
        """Values of vertices, shape (V, ...), at the places: shape (N, ...)."""
        return np.einsum("nk,nk...->n...", self.weights, values[self.vertices])


def trace_segments(values: np.ndarray, triangles: np.ndarray, level: float) -> Segments:
    """Trace where values of vertices, straight on each triangle, pass a level: greater ones lie on the left.

    Parameters
    ----------
    values : float array, shape (V,)
    triangles : int array, shape (T, 3)
        Counter-clockwise seen from outside.
    level : float

    Returns
    -------
    Segments
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


def chain_segments(segments: Segments) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Join pieces to lines.

    Returns
    -------
    list of (order, turned, is_closed)
        For each line its pieces in order, int array; which of them run backwards, bool array; and whether it ends
        where it starts.
    """
    flat = segments.edges.reshape(-1, 2)
    nodes = np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1, 2)
    at_node: dict[int, list[int]] = {}
    for piece, pair in enumerate(nodes.tolist()):
        for node in pair:
            at_node.setdefault(node, []).append(piece)
    free = np.ones(len(nodes), bool)
    ends = [node for node, pieces in at_node.items() if len(pieces) == 1]
    chains = []
    for start in [*ends, *nodes[:, 0].tolist()]:  # a loop over pieces: few lie on lines
        node, order, turned = start, [], []
        while (piece := next((one for one in at_node[node] if free[one]), -1)) >= 0:
            free[piece] = False
            order.append(piece)
            turned.append(bool(nodes[piece, 0] != node))
            node = int(nodes[piece, 0] if turned[-1] else nodes[piece, 1])
        if order:
            chains.append((np.array(order), np.array(turned), node == start))
    return chains
