"""Vertex groups of bones, written many times while a tool runs: only differences from the last time are written."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...bridge.meshes.data import VertexGroups, mesh_of


class GroupWriter:
    """Writes weights of some vertices to some bones' groups, and remembers them.

    Parameters
    ----------
    names : sequence of str, length B
        Of the bones.
    members : float32 array, shape (V, B)
        Weights at first, NaN if a vertex is not in the bone's group.
    vertices, columns : int arrays, shapes (C,) and (K,)
        Which of `members` may change.

    Attributes
    ----------
    first, written : float32 arrays, shape (C, K)
        Initial weights of these, and those written last.
    """

    def __init__(
        self,
        obj: bpy.types.Object,
        names: Sequence[str],
        members: np.ndarray,
        vertices: np.ndarray,
        columns: np.ndarray,
    ) -> None:
        self._obj, self._names, self._members = obj, tuple(names), members
        self._vertices, self._columns = vertices, columns
        self._missing = [name for name in names if name not in obj.vertex_groups]
        self.first = self.written = np.nan_to_num(members[np.ix_(vertices, columns)])
        others = np.nan_to_num(members)
        others[np.ix_(vertices, columns)] = 0.0
        rows, held = np.nonzero(others)
        self._others = rows, held, others[rows, held]

    def write(self, weights: np.ndarray) -> None:
        """Write weights, float32, shape (C, K), that differ from those written last."""
        is_touched = False
        for index, column in enumerate(self._columns.tolist()):
            rows = np.flatnonzero(weights[:, index] != self.written[:, index])
            if not rows.size:
                continue
            is_touched = True
            name = self._names[column]
            group = self._obj.vertex_groups.get(name) or self._obj.vertex_groups.new(name=name)
            values = weights[rows, index]
            stays = (values > 0) | (self._members[self._vertices[rows], column] == 0.0)  # members of weight 0 stay
            for vertex, value in zip(self._vertices[rows[stays]].tolist(), values[stays].tolist(), strict=True):
                group.add((vertex,), value, "REPLACE")
            if not stays.all():
                group.remove(self._vertices[rows[~stays]].tolist())
        self.written = weights
        if is_touched:
            mesh_of(self._obj).update_tag()

    def remove_new_groups(self) -> None:
        """Remove the vertex groups that were not there at first."""
        for name in self._missing:
            if (group := self._obj.vertex_groups.get(name)) is not None:
                self._obj.vertex_groups.remove(group)

    def read_written(self) -> VertexGroups:
        """All weights of bones as they were written last, in any order."""
        rows, columns = np.nonzero(self.written)
        own = self._vertices[rows], self._columns[columns], self.written[rows, columns]
        vertices, columns = (np.concatenate([self._others[part], own[part]]).astype(np.intp) for part in (0, 1))
        values = np.concatenate([self._others[2], own[2]])
        indices = np.array([self._obj.vertex_groups.find(name) for name in self._names], np.intp)
        return VertexGroups(vertices, indices[columns], values.astype(np.float64))
