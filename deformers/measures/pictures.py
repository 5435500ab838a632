"""Shaded pictures of a skin, drawn without a window."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import area_vectors, vertex_normals
from ..geometry.vectors import list_ranges, normalize

SKIN, INSIDE, BEHIND = np.array([0.92, 0.78, 0.7]), np.array([0.78, 0.16, 0.16]), np.array([0.3, 0.3, 0.3])


def draw_skin(
    points: np.ndarray, triangles: np.ndarray, center: np.ndarray, radius: float, view: np.ndarray, size: int
) -> np.ndarray:
    """Draw what is about a center; red is the inside of the skin.

    Parameters
    ----------
    points, triangles : arrays, shapes (V, 3), (T, 3)
        Z is up.
    center : float array, shape (3,)
    radius : float
        Half of the picture's width, in units of the points.
    view : float array, shape (3,)
        From the center to the viewer.
    size : int
        Pixels.

    Returns
    -------
    float32 array, shape (size, size, 4)
        From the lowest row on.
    """
    front = normalize(np.asarray(view, np.float64))
    right = normalize(np.cross(np.eye(3)[2 if abs(front[2]) < 0.95 else 1], front))
    up = np.cross(front, right)
    flat = ((points - center) @ np.stack([right, up, front], axis=1) / radius + 1.0) * (0.5 * size)
    corners, normals = flat[triangles], vertex_normals(points, triangles)
    low = np.clip(np.floor(corners[..., :2].min(axis=1)), 0, size).astype(np.intp)
    spans = np.clip(np.ceil(corners[..., :2].max(axis=1)), 0, size).astype(np.intp) - low
    counts = spans.prod(axis=1)
    which, rank = list_ranges(0, counts)
    pixels = low[which] + np.stack([rank % spans[which, 0], rank // spans[which, 0]], axis=1)
    sides = corners[which][..., :2] - (pixels[:, None] + 0.5)
    first, second = np.roll(sides, -1, axis=1), np.roll(sides, -2, axis=1)
    shares = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    total = shares.sum(axis=1, keepdims=True)
    shares = shares / np.where(total == 0.0, 1.0, total)
    hit = np.flatnonzero((shares >= -1e-6).all(axis=1) & (total[:, 0] != 0.0))
    order = hit[np.einsum("pc,pc->p", shares[hit], corners[which[hit], :, 2]).argsort(kind="stable")]
    which, pixels, shares = which[order], pixels[order], shares[order]
    smooth = normalize(np.einsum("pc,pci->pi", shares, normals[triangles[which]]))
    light = 0.2 + 0.7 * np.maximum(smooth @ normalize(front + 0.6 * up - 0.5 * right), 0.0)
    light += 0.25 * np.maximum(smooth @ normalize(front + right), 0.0)
    is_inside = (area_vectors(points, triangles) @ front < 0.0)[which]
    picture = np.ones((size, size, 4), np.float32)
    picture[..., :3] = BEHIND
    colors = np.where(is_inside[:, None], INSIDE, np.minimum(light, 1.0)[:, None] * SKIN)
    picture[pixels[:, 1], pixels[:, 0], :3] = colors
    return picture
