"""Weights smoothed through the solid: across a limb, and between parts that touch."""

from __future__ import annotations

import numpy as np

from ..automatic_weights.heat_system import HeatSystem
from ..geometry.mesh_laplacian import check_faces
from ..geometry.solid import measure_size, read_surface, weld
from ..geometry.solid_cells import link_cells

# Cells along the longest side of the mesh
RESOLUTION = 96

# Largest change of a weight in the solver's last step
TOLERANCE = 1e-5

# Smaller weights of new bones are left out: diffusion brings a little of each bone everywhere.
MIN_NEW_WEIGHT = 1e-3

# In reaches from a bone's weights: e^-7 is left there.
MAX_SPREAD = 7.0


def smooth_solid(
    weights: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    strength: float,
    repeats: int,
    locked: np.ndarray,
    chosen: np.ndarray,
) -> np.ndarray:
    """Mix weights with those of `smooth_through`.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    strength : float
        0 changes nothing, 1 takes the smooth weights.
    repeats : int
        Weights spread as far as in this many steps of diffusion between cells.
    locked, chosen : bool arrays, shapes (B,) and (V,)
        Bones that do not change, and vertices that do, with all vertices at their positions.

    Returns
    -------
    float32 array, shape (V, B)
        Sums of rows stay.
    """
    free = ~locked
    spread = smooth_through(points, triangles, weights, repeats**0.5)
    mixed = weights[:, free] + np.float32(strength) * (spread[:, free] - weights[:, free])
    mixed[(mixed < MIN_NEW_WEIGHT) & (weights[:, free] == 0)] = 0.0
    rooms, sums = weights[:, free].sum(axis=1), mixed.sum(axis=1)
    mixed *= np.divide(rooms, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]
    welded = weld(points)
    rows = np.isin(welded, welded[chosen]) & (sums > 0)
    result = weights.copy()
    result[np.ix_(rows, free)] = mixed[rows]
    return result


def smooth_through(points: np.ndarray, triangles: np.ndarray, weights: np.ndarray, reach: float = 2.0) -> np.ndarray:
    """Smooth weights by diffusion through the solid.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Any space.
    triangles : int array, shape (T, 3)
    weights : float32 array, shape (V, B)
    reach : float
        How far weights spread, in cells of about a hundredth of the mesh's size.

    Returns
    -------
    float32 array, shape (V, B)
        Sums of rows stay. Vertices without a face do not change.

    Notes
    -----
    One implicit step of diffusion, (1 + reach^2 L) w = w0, with w0 = 0 in cells without vertices.
    """
    step = measure_size(points, triangles) / RESOLUTION
    surface = read_surface(points, triangles)
    check_faces(surface.triangles, surface.cloth)
    cells = link_cells(surface, step)
    nodes = cells.vertex_nodes
    held = np.flatnonzero(nodes < cells.count)
    counts = np.bincount(nodes[held], minlength=cells.count)
    used = np.flatnonzero((weights[held] > 0).any(axis=0))
    means = np.zeros((cells.count, len(used)), np.float32)
    np.add.at(means, nodes[held], weights[np.ix_(held, used)])
    means /= np.maximum(counts, 1)[:, None]
    system = HeatSystem(
        neighbors=cells.neighbors,
        conductance=reach**2 * (cells.neighbors < cells.count),
        heat=(counts > 0).astype(np.float32),
        given=means,
        fixed=np.zeros(cells.count, bool),
    )
    support = _widen(means > 0, cells.neighbors, int(np.ceil(MAX_SPREAD * reach)))
    smooth = system.solve(means, support, tolerance=TOLERANCE)
    result = np.array(weights, np.float32)
    result[np.ix_(held, used)] = cells.read(smooth, points)[held]
    sums = weights.sum(axis=1, keepdims=True)
    result *= sums / np.maximum(result.sum(axis=1, keepdims=True), 1e-12)
    return result[surface.welded]


def _widen(mask: np.ndarray, neighbors: np.ndarray, steps: int) -> np.ndarray:
    """Extend a mask of cells and bones, shape (N, B), by `steps` links."""
    bits = np.packbits(np.concatenate([mask, np.zeros_like(mask[:1])]), axis=1)
    for _ in range(steps):
        wider = bits.copy()
        for column in neighbors.T:
            wider[:-1] |= bits[column]
        bits = wider
    return np.unpackbits(bits[:-1], axis=1, count=mask.shape[1]).astype(bool)
