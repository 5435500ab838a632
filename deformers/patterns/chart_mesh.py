"""The mesh that height maps are laid on, at rest: its triangles, normals and UV islands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.mesh_laplacian import check_faces
from ..geometry.solid import find_islands, vertex_normals, weld
from ..geometry.unfolding import Connection, connect


@dataclass(frozen=True)
class UvMap:
    """The UV map of a mesh, divided into islands.

    Attributes
    ----------
    corners : float64 array, shape (C, 2)
    islands : int array, shape (F,)
        Island of each face. Its faces are joined by edges that have the same UVs at both ends in both faces.
    seams : bool array, shape (C,)
        Whether the edge from each corner to the next corner of the face has other UVs in the neighboring face.
    rims : bool array, shape (C,)
        Whether that edge bounds its island: it is a seam, or the mesh ends there.
    boxes : float64 array, shape (4, T)
        Lowest u and v of each triangle, then its highest u and v.
    """

    corners: np.ndarray
    islands: np.ndarray
    seams: np.ndarray
    rims: np.ndarray
    boxes: np.ndarray

    def meet_box(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Find the triangles whose boxes meet a box, given by two UVs, shape (2,): bool array, shape (T,)."""
        left, bottom, right, top = self.boxes
        return (left <= high[0]) & (right >= low[0]) & (bottom <= high[1]) & (top >= low[1])


@dataclass(frozen=True)
class ChartMesh:
    """A mesh at rest with everything that charts need of it, made by `make_chart_mesh`.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    corner_vertices : int array, shape (C,)
    face_starts : int array, shape (F,)
        First corner of each face; the others follow, counter-clockwise seen from outside.
    corner_points : int array, shape (C,)
        First vertex at the position of each corner, so that split vertices count as welded.
    corner_faces : int array, shape (C,)
    next_corners : int array, shape (C,)
        Next corner of the same face.
    triangles : int array, shape (T, 3)
        Corners of the faces, divided into fans, without triangles that have two corners at one position.
    triangle_points : int array, shape (T, 3)
        `corner_points` of the triangles.
    triangle_faces : int array, shape (T,)
    centers : float64 array, shape (T, 3)
        Means of the triangles' corners, object space.
    radii : float64 array, shape (T,)
        Radii of spheres about the centers that contain the triangles.
    normals : float64 array, shape (V, 3)
        Unit normals weighted by area; valid for `corner_points`.
    connection : Connection
        Joins the points along the triangles' edges.
    """

    points: np.ndarray
    corner_vertices: np.ndarray
    face_starts: np.ndarray
    corner_points: np.ndarray
    corner_faces: np.ndarray
    next_corners: np.ndarray
    triangles: np.ndarray
    triangle_points: np.ndarray
    triangle_faces: np.ndarray
    centers: np.ndarray
    radii: np.ndarray
    normals: np.ndarray
    connection: Connection
    uv_map: UvMap | None

    def need_uv_map(self) -> UvMap:
        """Return the UV map. Raises SkinningError if the mesh has none."""
        if self.uv_map is None:
            raise SkinningError("The mesh has no UV map: unwrap it, or place the pattern on the surface")
        return self.uv_map

    def corners_of(self, faces: np.ndarray) -> np.ndarray:
        """List all corners of faces, shape (N,), face by face: int array, shape (M,)."""
        ends = np.append(self.face_starts[1:], len(self.corner_faces))
        counts = ends[faces] - self.face_starts[faces]
        return np.repeat(self.face_starts[faces] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def make_chart_mesh(
    points: np.ndarray, corner_vertices: np.ndarray, face_starts: np.ndarray, uv: np.ndarray | None = None
) -> ChartMesh:
    """Derive everything that charts need of a mesh.

    Raises SkinningError if the mesh has no faces, or contains values that are not numbers.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, object space.
    corner_vertices : int array, shape (C,)
    face_starts : int array, shape (F,)
        First corner of each face, ascending from 0.
    uv : float array, shape (C, 2), or None
    """
    points = np.asarray(points, np.float64)
    corner_vertices, face_starts = np.asarray(corner_vertices, np.intp), np.asarray(face_starts, np.intp)
    _check_faces(points, corner_vertices, face_starts)
    corner_points = weld(points)[corner_vertices]
    sizes = np.diff(np.append(face_starts, len(corner_vertices)))
    corner_faces = np.repeat(np.arange(len(sizes)), sizes)
    triangles = _cut_fans(corner_points, corner_faces, face_starts)
    ends = corner_points[triangles]
    centers = points[ends].mean(axis=1)
    normals = vertex_normals(points, ends)
    return ChartMesh(
        points=points,
        corner_vertices=corner_vertices,
        face_starts=face_starts,
        corner_points=corner_points,
        corner_faces=corner_faces,
        next_corners=find_next_corners(corner_faces),
        triangles=triangles,
        triangle_points=ends,
        triangle_faces=corner_faces[triangles[:, 0]],
        centers=centers,
        radii=np.sqrt(np.square(points[ends] - centers[:, None]).sum(axis=2).max(axis=1)),
        normals=normals,
        connection=connect(points, ends, normals),
        uv_map=None if uv is None else _make_uv_map(uv, corner_points, corner_faces, triangles),
    )


def _check_faces(points: np.ndarray, corner_vertices: np.ndarray, face_starts: np.ndarray) -> None:
    if not (len(points) and len(corner_vertices) and len(face_starts)):
        raise SkinningError("The mesh has no faces for a pattern: add faces")
    if corner_vertices.min() < 0 or corner_vertices.max() >= len(points):
        raise SkinningError(
            f"The mesh has {len(points)} vertices, but a face has vertex {corner_vertices.max()}: read the mesh again"
        )
    if face_starts[0] != 0 or (np.diff(face_starts) < 0).any() or face_starts[-1] >= len(corner_vertices):
        raise SkinningError(
            f"{len(corner_vertices)} corners do not belong to {len(face_starts)} faces: read the mesh again"
        )
    if find_unusable(points).any():
        raise SkinningError("Some vertex positions are not numbers, or are too far away: repair the mesh")


def _cut_fans(corner_points: np.ndarray, corner_faces: np.ndarray, face_starts: np.ndarray) -> np.ndarray:
    """Divide the faces into fans without collapsed triangles: corners, int array, shape (T, 3)."""
    fan = np.flatnonzero(np.arange(len(corner_faces)) >= face_starts[corner_faces] + 2)
    triangles = np.stack([face_starts[corner_faces[fan]], fan - 1, fan], axis=1)
    ends = corner_points[triangles]
    triangles = triangles[(ends != np.roll(ends, 1, axis=1)).all(axis=1)]
    check_faces(triangles)
    return triangles


def find_next_corners(corner_faces: np.ndarray) -> np.ndarray:
    """Find the next corner of the same face for each corner, listed face by face: int array, shape (C,)."""
    starts = np.flatnonzero(np.diff(corner_faces, prepend=-1))
    following = np.arange(1, len(corner_faces) + 1)
    following[np.append(starts[1:], len(corner_faces)) - 1] = starts
    return following


def _make_uv_map(
    uv: np.ndarray, corner_points: np.ndarray, corner_faces: np.ndarray, triangles: np.ndarray, tolerance: float = 1e-5
) -> UvMap:
    """Divide UVs, shape (C, 2), into islands; UVs closer than the tolerance count as equal."""
    uv = np.asarray(uv, np.float64)
    if uv.shape != (len(corner_points), 2):
        raise SkinningError(
            f"The mesh has {len(corner_points)} corners, but UVs of shape {uv.shape}: read the UV map again"
        )
    if find_unusable(uv).any():
        raise SkinningError("Some UVs are not numbers, or are too large: unwrap the mesh again")
    corners, following = np.arange(len(corner_faces)), find_next_corners(corner_faces)
    # neighboring faces run along an edge in opposite directions, so it is compared from its lower to its higher point
    swapped = corner_points > corner_points[following]
    low, high = np.where(swapped, following, corners), np.where(swapped, corners, following)
    keys = corner_points[low] * (corner_points.max() + 1) + corner_points[high]
    order = np.argsort(keys, kind="stable")
    pairs = np.stack([order[:-1], order[1:]], axis=1)[keys[order[:-1]] == keys[order[1:]]]
    same = np.ones(len(pairs), bool)
    for end in (low, high):
        same &= (np.abs(uv[end[pairs[:, 0]]] - uv[end[pairs[:, 1]]]) <= tolerance).all(axis=1)
    seams, rims = np.zeros(len(corners), bool), np.ones(len(corners), bool)
    seams[pairs[~same].ravel()] = True
    rims[pairs[same].ravel()] = False
    ends = uv.T[:, triangles]
    boxes = np.concatenate([ends.min(axis=2), ends.max(axis=2)])
    return UvMap(uv, find_islands(corner_faces[pairs[same]], int(corner_faces[-1]) + 1), seams, rims, boxes)
