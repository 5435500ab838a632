"""One reader and one writer of arrays: a field of all items of a Blender collection at once."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_array(items: Any, field: str, width: int = 0, kind: type[np.generic] = np.float32) -> np.ndarray:
    """Values of a field of all items.

    Parameters
    ----------
    items : collection of Blender's
        N items, such as the vertices of a mesh.
    field : str
        One of their properties.
    width : int
        Numbers in it, 0 if it is a plain number.
    kind : type
        Of the array's entries.

    Returns
    -------
    array, shape (N, width), or (N,) if the width is 0
    """
    values = np.empty((len(items), width) if width else len(items), kind)
    items.foreach_get(field, values.ravel())
    return values


def write_array(items: Any, field: str, values: np.ndarray, kind: type[np.generic] = np.float32) -> None:
    """Set a field of all items.

    Parameters
    ----------
    items : collection of Blender's
        N items.
    field : str
        One of their properties.
    values : array, shape (N,) or (N, width)
    kind : type
        Type that Blender stores: such arrays are passed on without a copy.
    """
    items.foreach_set(field, np.ascontiguousarray(values, kind).ravel())
