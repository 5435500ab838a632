"""Vertex groups of bones that were made for swings: renamed, and given back."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from typing import Any, cast

import bpy
import numpy as np

from ..meshes.weights import read_weights, write_weights
from .swings import find_owners, list_skins


def is_linked(skin: bpy.types.Object) -> bool:
    """Whether the vertex groups of an object cannot be changed."""
    return skin.library is not None or cast(Any, skin.data).library is not None


def give_back(armature: bpy.types.Object, names: Collection[str], undo: ExitStack) -> list[str]:
    """Give weights of bones that were made for swings back to those that they were taken from.

    Returns the names of meshes that cannot be changed. `undo` takes the weights again.
    """
    linked, emptied = [], []
    for skin in list_skins(armature):
        owners = find_owners(armature, names, skin)
        if owners and is_linked(skin):
            linked.append(skin.name)
            continue
        for name, owner in owners.items():
            if owner not in skin.vertex_groups or skin.type != "MESH":
                rename_group(skin, name, owner, undo)
                continue
            weights = read_weights(skin, [owner, name])
            undo.callback(write_weights, skin, [owner, name], weights)
            write_weights(skin, [owner], np.minimum(weights.sum(axis=1, keepdims=True), 1.0))
            emptied.append((skin, name))
    for skin, name in emptied:
        remove_group(skin, name, skin.vertex_groups.active_index)
    return linked


def rename_group(skin: bpy.types.Object, before: str, after: str, undo: ExitStack) -> None:
    """Rename a vertex group; `undo` has its name again."""
    group = skin.vertex_groups[before]
    group.name = after
    undo.callback(setattr, group, "name", before)


def remove_group(mesh: bpy.types.Object, name: str, active: Any) -> None:
    """Remove a vertex group; the active one stays so."""
    if (group := mesh.vertex_groups.get(name)) is not None:
        active -= group.index < active
        mesh.vertex_groups.remove(group)
        mesh.vertex_groups.active_index = active
