"""Influences as attributes of a character's mesh, which node modifiers read."""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np

from ..deformers.rig.influences import Influences
from ..nodes.skin import SET_ATTRIBUTE, SHARE_ATTRIBUTE, WEIGHTS_ATTRIBUTE
from .arrays import read_array, write_array

FORMER_PREFIXES = "supple_joint_", "supple_weight_"
"""Starts of the names that attributes had before version 3 of the node groups."""

PREFIXES = (SET_ATTRIBUTE, WEIGHTS_ATTRIBUTE, SHARE_ATTRIBUTE, *FORMER_PREFIXES)

FIELDS = {"INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector"}


def write_influences(mesh: bpy.types.Mesh, influences: Influences, indices: np.ndarray) -> None:
    """Store influences on a mesh, in place of what it has; nothing is touched where they are the same.

    Parameters
    ----------
    mesh : Mesh
    influences : Influences
    indices : int32 array, shape (S,)
        What each set is called in the joints object, from `add_sets`.
    """
    attributes = {}
    for slot, (which, weights) in enumerate(zip(influences.which, influences.weights, strict=True)):
        attributes[f"{SET_ATTRIBUTE}{slot}"] = "INT", indices[which]
        if weights.any():  # what is missing reads as zero
            attributes[f"{WEIGHTS_ATTRIBUTE}{slot}"] = "FLOAT_VECTOR", weights
        if influences.shares is not None:
            attributes[f"{SHARE_ATTRIBUTE}{slot}"] = "FLOAT", influences.shares[slot]
    for name, (kind, values) in attributes.items():
        _write(mesh, name, kind, values)
    _remove(mesh, set(attributes))


def remove_influences(mesh: bpy.types.Mesh) -> None:
    """Take Supple's attributes off a mesh."""
    _remove(mesh, set())


def _write(mesh: bpy.types.Mesh, name: str, kind: Literal["INT", "FLOAT", "FLOAT_VECTOR"], values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type, attribute.domain) != (kind, "POINT"):
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is not None:
        width = values.shape[1] if values.ndim > 1 else 0
        if (read_array(attribute.data, FIELDS[kind], width, values.dtype.type) == values).all():
            return
    else:
        attribute = mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, FIELDS[kind], values, values.dtype.type)
    mesh.update_tag()


def _remove(mesh: bpy.types.Mesh, kept: set[str]) -> None:
    for name in [name for name in mesh.attributes.keys() if name.startswith(PREFIXES) and name not in kept]:
        mesh.attributes.remove(mesh.attributes[name])
