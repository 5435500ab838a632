"""Uniform cubic splines: along a line with handles, and in a table of values along and around a limb."""

from __future__ import annotations

import numpy as np

# Size of the table of shares: along the limb and around it.
COLUMNS, ROWS = 61, 12


def spline_basis(fractions: np.ndarray, count: int, is_closed: bool) -> np.ndarray:
    """Weight of each handle of a line at positions along the line.

    Parameters
    ----------
    fractions : float array, shape (N,)
        Positions along the line, 0 at its start and 1 at its end.
    count : int
        Number of handles, evenly spaced: see `find_handle_fractions`.

    Returns
    -------
    float64 array, shape (N, count)
        1 at the handle itself, 0 at all others; rows sum to 1. Catmull-Rom splines in between: a handle has no weight
        beyond the second handle to either side.
    """
    if not is_closed:  # mirrored to a closed line: the spline has no slope at its ends
        both = spline_basis(0.5 * np.asarray(fractions) - 0.25 / count, 2 * count, True)
        return both[:, :count] + both[:, count:][:, ::-1]
    positions = np.asarray(fractions) % 1.0 * count
    first = np.floor(positions)
    t = positions - first
    weights = np.stack(
        [t * t * (2 - t) - t, t * t * (3 * t - 5) + 2, t * t * (4 - 3 * t) + t, t * t * (t - 1)],
        axis=1,
    )
    result = np.zeros((len(positions), count))
    for step in range(4):
        columns = (first.astype(np.intp) + step - 1) % count
        np.add.at(result, (np.arange(len(positions)), columns), 0.5 * weights[:, step])
    return result


def find_handle_fractions(count: int, is_closed: bool) -> np.ndarray:
    """Positions of handles along a line, 0 at its start and 1 at its end: float64, shape (count,)."""
    return np.arange(count) / count if is_closed else (np.arange(count) + 0.5) / count


def blend_cubic(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cubic B-splines at values, shape (N,): the four nearest integers and their weights, shapes (N, 4)."""
    first = np.floor(values)
    t = values - first
    weights = np.stack(
        [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3],
        axis=1,
    )
    return first.astype(np.intp)[:, None] + np.arange(-1, 3), weights / 6.0


def _to_column(shares_of_reach: np.ndarray) -> np.ndarray:
    """Columns of a table, 0 to COLUMNS - 1, for distances in shares of the reach, -1 to 1."""
    line_density = 6.0  # The table is about this many times finer at the line than far from it.
    bent = np.arcsinh(line_density * shares_of_reach) / np.arcsinh(line_density)
    return 0.5 * (COLUMNS - 1) * (1.0 + np.clip(bent, -1.0, 1.0))


def fill_tables(
    points: np.ndarray,
    triangles: np.ndarray,
    shares: np.ndarray,
    distances: np.ndarray,
    around: np.ndarray,
    lines: np.ndarray,
    closed: tuple[bool, ...],
) -> np.ndarray:
    """Fit smooth tables of shares, and interpolate them around the limb for each vertex.

    Parameters
    ----------
    points : float array, shape (N, 3)
    triangles : int array, shape (M, 3)
    shares : float array, shape (N,)
    distances : float array, shape (N,)
        From the nearest line, in shares of the reach, -1 to 1.
    around : complex array, shape (N,)
        `LineField.around`.
    lines : int array, shape (N,)
        The nearest line.
    closed : tuple of bool
        Whether each line is a loop.

    Returns
    -------
    float64 array, shape (N, COLUMNS)
        `LineField.table`.
    """
    result = np.zeros((len(points), COLUMNS))
    for line, is_closed in enumerate(closed):
        near = triangles[(lines[triangles] == line).all(axis=1)]
        own = np.flatnonzero(lines == line)
        scale = ROWS / (2 * np.pi) if is_closed else (ROWS - 1) / np.pi
        table = _fit_table(*_sample(points, near, shares, distances, around), scale, is_closed)
        rows, weights = blend_cubic(np.angle(around[own]) % (2 * np.pi) * scale)
        rows = rows % ROWS if is_closed else np.clip(rows, 0, ROWS - 1)
        result[own] = np.einsum("nk,nkc->nc", weights, table[rows])
    return result


def _sample(
    points: np.ndarray, triangles: np.ndarray, shares: np.ndarray, distances: np.ndarray, around: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Surface points spread over triangles: distance, angle, share and area of each, shape (N,)."""
    sample_count = 60_000
    order = int(np.clip(np.sqrt(2.0 * sample_count / max(len(triangles), 1)), 3, 24))
    i, j = np.divmod(np.arange(order * order), order)
    i, j = i[i + j < order], j[i + j < order]
    inner = np.stack([i + 1 / 3, j + 1 / 3, order - i - j - 2 / 3], axis=1) / order
    shapes = points[triangles]
    areas = 0.5 * np.linalg.norm(np.cross(shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]), axis=1)
    far, angle, share = ((inner @ values[triangles].T).ravel() for values in (distances, around, shares))
    return far, np.angle(angle) % (2 * np.pi), share, np.tile(areas, len(inner))


def _fit_table(
    distances: np.ndarray, angles: np.ndarray, shares: np.ndarray, areas: np.ndarray, scale: float, is_closed: bool
) -> np.ndarray:
    """Mean shares of samples on a grid, shape (ROWS, COLUMNS): smooth between samples, rising along the limb."""
    columns, rows = _to_column(distances), angles * scale
    left, low = np.minimum(columns.astype(np.intp), COLUMNS - 2), np.floor(rows).astype(np.intp)
    total, amount = np.zeros(ROWS * COLUMNS), np.zeros(ROWS * COLUMNS)
    for row, row_share in ((low, 1.0 - (rows - low)), (low + 1, rows - low)):
        row = row % ROWS if is_closed else np.clip(row, 0, ROWS - 1)
        for column, column_share in ((left, 1.0 - (columns - left)), (left + 1, columns - left)):
            weight = areas * row_share * column_share
            total += np.bincount(row * COLUMNS + column, weight * shares, ROWS * COLUMNS)
            amount += np.bincount(row * COLUMNS + column, weight, ROWS * COLUMNS)
    is_filled = amount > 0
    unit = amount[is_filled].mean() if is_filled.any() else 1.0
    # Weight of smoothness relative to one cell of skin. It fills the cells that have no skin.
    smoothness_weight = 0.01
    matrix = np.diag(amount / unit + 1e-9) + smoothness_weight * _build_grid_laplacian(is_closed)
    table = np.linalg.solve(matrix, total / unit).reshape(ROWS, COLUMNS)
    rising = np.maximum.accumulate(table, axis=1)
    falling = np.minimum.accumulate(table[:, ::-1], axis=1)[:, ::-1]
    return np.clip(0.5 * (rising + falling), 0.0, 1.0)


def _build_grid_laplacian(is_closed: bool) -> np.ndarray:
    """Sum of squared differences of neighbors in a table, as a matrix."""
    index = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    along = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    around = np.stack([index.ravel(), np.roll(index, -1, axis=0).ravel()])
    if not is_closed:
        around = around[:, : (ROWS - 1) * COLUMNS]
    matrix = np.zeros((index.size, index.size))
    for first, second in (along, around):
        np.add.at(matrix, (first, first), 1.0)
        np.add.at(matrix, (second, second), 1.0)
        np.add.at(matrix, (first, second), -1.0)
        np.add.at(matrix, (second, first), -1.0)
    return matrix


def read_table(table: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Shares at distances, shape (N,), in shares of the reach, each from its own row of a table: shape (N,)."""
    indices, weights = blend_cubic(_to_column(distances))
    indices = np.clip(indices, 0, COLUMNS - 1)
    return np.einsum("nk,nk->n", weights, np.take_along_axis(table, indices, axis=1))
