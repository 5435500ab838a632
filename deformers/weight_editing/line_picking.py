"""Weight lines under the mouse: points and segments of a view, in pixels."""

from __future__ import annotations

import numpy as np

# Pixels that a point of a handle's path must be nearer to the mouse for each pixel that it is farther from the handle:
# a handle does not jump to the far side of a bend.
JUMP_COST = 0.25


def project_points(points: np.ndarray, perspective: np.ndarray, size: tuple[float, float]) -> np.ndarray:
    """Project points to a region.

    Parameters
    ----------
    points : float array, shape (..., 3)
        World space.
    perspective : float array, shape (4, 4)
        From world to clip space.
    size : (float, float)
        Width and height of the region, pixels.

    Returns
    -------
    float64 array, shape (..., 2)
        Pixels from the lower left corner; infinite behind the eye.
    """
    clip = points @ perspective[:, :3].T + perspective[:, 3]
    depth = np.where(clip[..., 3:] > 1e-9, clip[..., 3:], np.nan)
    pixels = 0.5 * (1.0 + clip[..., :2] / depth) * size
    return np.where(np.isnan(pixels), np.inf, pixels)


def measure_segments(segments: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Measure distances of a point of the plane from segments.

    Parameters
    ----------
    segments : float array, shape (S, 2, 2)
        Starts and ends; infinite if undefined.
    point : float array, shape (2,)

    Returns
    -------
    distances : float64 array, shape (S,)
        Infinite for segments with an infinite end.
    shares : float64 array, shape (S,)
        Position of the nearest point on each segment, 0 at its start, 1 at its end.
    """
    with np.errstate(invalid="ignore"):
        vectors, offsets = segments[:, 1] - segments[:, 0], point - segments[:, 0]
        squares = np.square(vectors).sum(axis=1)
        shares = np.clip((vectors * offsets).sum(axis=1) / np.where(squares > 0, squares, 1.0), 0.0, 1.0)
        distances = np.linalg.norm(offsets - shares[:, None] * vectors, axis=1)
    return np.where(np.isfinite(distances), distances, np.inf), np.nan_to_num(shares)


def pick_segment(
    segments: np.ndarray, pixels: np.ndarray, mouse: np.ndarray, reach: float, toward_eye: np.ndarray
) -> tuple[float, np.ndarray] | None:
    """Pick the point of a line under the mouse, on the near side of the limb.

    Parameters
    ----------
    segments : float array, shape (S, 2, 3)
        World space.
    pixels : float array, shape (S, 2, 2)
        The segments from `project_points`.
    mouse : float array, shape (2,)
        Pixels.
    reach : float
        Largest distance from the mouse, pixels.
    toward_eye : float array, shape (3,)
        Direction in world space.

    Returns
    -------
    (float, float64 array of shape (3,)) or None
        Pixels from the mouse, and the point in world space.
    """
    away, shares = measure_segments(pixels, mouse)
    near = np.flatnonzero(away < reach)
    if not near.size:
        return None
    points = (1.0 - shares[near, None]) * segments[near, 0] + shares[near, None] * segments[near, 1]
    front = int((points @ toward_eye).argmax())
    return float(away[near[front]]), points[front]


def pick_distance(pixels: np.ndarray, distances: np.ndarray, mouse: np.ndarray, last: float) -> float:
    """Position of the mouse on the path of a handle.

    Parameters
    ----------
    pixels : float array, shape (S, 2, 2)
        Segments of the path, from `project_points`.
    distances : float array, shape (S, 2)
        Distances along the limb at their starts and ends, from `trace_handle_path`.
    mouse : float array, shape (2,)
        Pixels.
    last : float
        Distance of the handle along the limb.

    Returns
    -------
    float
        Distance along the limb; `last` without a path.
    """
    if not len(pixels):
        return last
    away, shares = measure_segments(pixels, mouse)
    found = (1.0 - shares) * distances[:, 0] + shares * distances[:, 1]
    scale = np.linalg.norm(pixels[:, 1] - pixels[:, 0], axis=1).sum() / max(float(np.ptp(distances)), 1e-12)
    return float(found[(away + JUMP_COST * scale * np.abs(found - last)).argmin()])
