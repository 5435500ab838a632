"""A trial: fixes change copies of a character's meshes, and are checked there before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import bpy
import numpy as np

from ...bridge.changes import without_changes
from ...bridge.meshes.data import mesh_of, read_points
from ...bridge.meshes.weights import read_weights, write_weights
from ...deformers import SkinningError
from ...deformers.layers.keep import LayerPlan
from ...deformers.weight_editing.mirror import pair_names
from ..flesh.add import FoundFlesh, store_flesh
from ..layers.mend import move_points
from ..layers.read import Dressed
from ..layers.write import write_layers
from ..skin.poses import find_skeleton
from ..steps import Steps
from ..subject.character import find_skinned
from ..weights.copies import complete_sides


class Trial:
    """Meshes of a character, with copies that stand in for them while they are `shown`.

    Attributes
    ----------
    layers : (Dressed, dict of str to LayerPlan) or None
        The plan that keeps layers apart.
    flesh : FoundFlesh or None
        The result of `find_flesh`.
    """

    def __init__(self, objects: Sequence[bpy.types.Object]) -> None:
        self.names = [obj.name for obj in objects]
        self.layers: tuple[Dressed, Mapping[str, LayerPlan]] | None = None
        self.flesh: FoundFlesh | None = None
        self._copies: dict[int, int] = {}
        """By the `session_uid` of a mesh that of its copy."""

    @property
    def objects(self) -> list[bpy.types.Object]:
        """Those that are still there."""
        return [obj for name in self.names if (obj := bpy.context.scene.objects.get(name)) is not None]

    def find(self, name: str) -> bpy.types.Object:
        """One of them; raises SkinningError if there is none of this name."""
        obj = bpy.context.scene.objects.get(name) if name in self.names else None
        if obj is None:
            raise SkinningError(f"'{name}' was deleted or renamed: check the character again")
        return obj

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Put the copies in place of the meshes: what is written to the objects goes to the copies."""
        originals = [
            (obj, mesh_of(obj), obj.active_shape_key_index)
            for obj in self.objects
            if _is_own(obj) and obj.mode != "EDIT"
        ]
        with without_changes():
            try:
                for obj, mesh, _ in originals:
                    obj.data = self._find_copy(mesh)
                yield
            finally:
                for obj, mesh, key in originals:
                    obj.data = mesh
                    obj.active_shape_key_index = key

    def take(self, steps: Steps) -> Steps:
        """Steps, each of which sees the copies; between two of them, the meshes are as they were."""
        with closing(steps):
            answer, error = None, None
            while True:
                try:
                    with self.shown():
                        step = steps.send(answer) if error is None else steps.throw(error)
                except StopIteration as end:
                    return end.value
                try:
                    answer, error = (yield step), None
                except Exception as raised:  # noqa: BLE001 - it is theirs, as in `within`
                    answer, error = None, raised

    def write(self) -> None:
        """Write the trial to the meshes; raises SkinningError before that if it no longer fits them."""
        planned = []
        with self.shown():
            for obj in self.objects:
                if mesh_of(obj).session_uid in self._copies.values():
                    names = find_skeleton(find_skinned(obj).armature).names
                    planned.append((obj, names, read_weights(obj, names), read_points(mesh_of(obj))))
        for obj, _, weights, _ in planned:
            if len(weights) != len(mesh_of(obj).vertices):
                raise SkinningError(f"Vertices of '{obj.name}' were added or removed meanwhile: check again")
        for obj, names, weights, points in planned:
            self._write_mesh(obj, names, weights, points)
        if self.flesh is not None:
            store_flesh(self.flesh)
        if self.layers is not None:
            write_layers(*self.layers, self.objects)

    def _write_mesh(self, obj: bpy.types.Object, names: Sequence[str], weights: np.ndarray, points: np.ndarray) -> None:
        if not np.array_equal(weights, read_weights(obj, names)):
            write_weights(obj, names, weights)
            pairs, used = pair_names(names, bpy.utils.flip_name), np.any(weights, axis=0)
            complete_sides(obj, find_skinned(obj).armature, names, used, pairs)
        offsets = points - read_points(mesh_of(obj))
        if offsets.any():
            move_points(obj, offsets)

    def close(self) -> None:
        """Take the copies away, as far as they are still there."""
        copies, self._copies = set(self._copies.values()), {}
        for mesh in [mesh for mesh in bpy.data.meshes if mesh.session_uid in copies]:
            bpy.data.meshes.remove(mesh)

    def _find_copy(self, mesh: bpy.types.Mesh) -> bpy.types.Mesh:
        known = self._copies.get(mesh.session_uid)
        copy = next((each for each in bpy.data.meshes if each.session_uid == known), None) if known else None
        if copy is None:
            copy = mesh.copy()
            self._copies[mesh.session_uid] = copy.session_uid
        return copy


def _is_own(obj: bpy.types.Object) -> bool:
    """Whether a mesh can be changed."""
    mesh: Any = mesh_of(obj)
    return obj.library is None and mesh.library is None and mesh.override_library is None
