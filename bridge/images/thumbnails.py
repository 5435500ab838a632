"""Pictures as icons: thumbnails of the library's patterns, and shapes of skin."""

from __future__ import annotations

from typing import Any

import bpy.utils.previews
import numpy as np

SIZE = 96
# Height of white over black, in widths of the thumbnail
STEEPNESS = 0.08

SKIN = np.array([0.95, 0.79, 0.69])
# Icon of what has no thumbnail
NONE = 0

_shown: Any = None


def find(key: str, draw: Any) -> int:
    """Icon of a height map: `draw(columns)` gives its gray values, shape (H, W), if the icon does not exist yet."""
    if find_shown(key) == NONE:
        show(key, shade(fit(draw(SIZE))))
    return find_shown(key)


def show(key: str, picture: np.ndarray) -> None:
    """Make an icon of a picture, RGBA, shape (H, W, 4), from the lowest row on, in place of that of the same key."""
    global _shown
    if _shown is None:
        _shown = bpy.utils.previews.new()
    forget(key)
    preview = _shown.new(key)
    preview.image_size = picture.shape[1::-1]
    preview.image_pixels_float = picture.ravel().tolist()


def find_shown(key: str) -> int:
    """Icon of a picture that is shown."""
    return NONE if _shown is None or key not in _shown else _shown[key].icon_id


def forget(key: str) -> None:
    """Have a thumbnail made anew."""
    if _shown is not None and key in _shown:
        del _shown[key]


def forget_all() -> None:
    """Drop all thumbnails."""
    global _shown
    if _shown is not None:
        bpy.utils.previews.remove(_shown)
        _shown = None


def fit(values: np.ndarray) -> np.ndarray:
    """Fit a height map of any shape (H, W) into one of shape (SIZE, SIZE), in the middle, with its proportions kept."""
    height, width = values.shape
    longest = max(height, width)
    centers = (np.arange(SIZE) + 0.5) / SIZE * longest
    rows, columns = centers - 0.5 * (longest - height), centers - 0.5 * (longest - width)
    inside = ((rows >= 0) & (rows < height))[:, None] & ((columns >= 0) & (columns < width))
    chosen = values[np.clip(rows.astype(int), 0, height - 1)][:, np.clip(columns.astype(int), 0, width - 1)]
    return np.where(inside, chosen, values[0, 0])


def shade(values: np.ndarray) -> np.ndarray:
    """Shade a height map, shape (H, W), lit from the upper left: RGBA, shape (H, W, 4)."""
    up, right = np.gradient(values * STEEPNESS * len(values))
    light = (right - up + 2.0) / np.sqrt(6.0 * (right**2 + up**2 + 1.0))
    color = np.clip(light, 0.05, 1.0)[..., None] * SKIN
    return np.concatenate([color, np.ones_like(color[..., :1])], axis=-1).astype(np.float32)
