"""Influences as attributes of a character's mesh, which node modifiers read."""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np

from ..deformers.rig.influences import Influences
from ..nodes.skin import JOINT_ATTRIBUTE, WEIGHT_ATTRIBUTE
from .arrays import read_array, write_array

PREFIXES = (JOINT_ATTRIBUTE.format(""), WEIGHT_ATTRIBUTE.format(""))


def write_influences(mesh: bpy.types.Mesh, influences: Influences) -> None:
    """Store influences on a mesh, in place of what it has; nothing is touched where they are the same."""
    kept = set()
    for slot, (joints, weights) in enumerate(zip(influences.joints, influences.weights, strict=True)):
        joint_name, weight_name = JOINT_ATTRIBUTE.format(slot), WEIGHT_ATTRIBUTE.format(slot)
        kept |= {joint_name, weight_name}
        _write(mesh, joint_name, "INT", joints)
        _write(mesh, weight_name, "FLOAT", weights)
    _remove(mesh, kept)


def remove_influences(mesh: bpy.types.Mesh) -> None:
    """Take Supple's attributes off a mesh."""
    _remove(mesh, set())


def _write(mesh: bpy.types.Mesh, name: str, kind: Literal["INT", "FLOAT"], values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type, attribute.domain) != (kind, "POINT"):
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is not None:
        if (read_array(attribute.data, "value", kind=values.dtype.type) == values).all():
            return
    else:
        attribute = mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, "value", values, values.dtype.type)
    mesh.update_tag()


def _remove(mesh: bpy.types.Mesh, kept: set[str]) -> None:
    for name in [name for name in mesh.attributes.keys() if name.startswith(PREFIXES) and name not in kept]:
        mesh.attributes.remove(mesh.attributes[name])
