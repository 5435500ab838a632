"""The mesh that height maps are laid on: its triangles, normals and UV islands, at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.mesh_laplacian import check_faces
from ..geometry.solid import find_islands, vertex_normals, weld
from ..geometry.unfolding import Connection, connect

UV_TOLERANCE = 1e-5
"""UVs nearer than this are the same."""


@dataclass(frozen=True)
class ChartMesh:
    """A mesh at rest with all that charts need of it. Made once, by `make_chart_mesh`.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    corner_vertices : int array, shape (C,)
    face_starts : int array, shape (F,)
        The first corner of each face; its other corners follow, counter-clockwise seen from outside.
    uv : float64 array, shape (C, 2), or None
    corner_points : int array, shape (C,)
        The first vertex at each corner's position: split vertices count as welded.
    corner_faces : int array, shape (C,)
    triangles : int array, shape (T, 3)
        Corners of the faces cut into fans, without those that have two corners at one position.
    triangle_points : int array, shape (T, 3)
        The corners' `corner_points`.
    triangle_faces : int array, shape (T,)
    centers : float64 array, shape (T, 3)
        Of the triangles, object space.
    radii : float64 array, shape (T,)
        Of spheres about the centers that hold the triangles.
    normals : float64 array, shape (V, 3)
        Unit normals, weighted by area; valid for `corner_points`.
    connection : Connection
        Of the points along the triangles' edges.
    islands : int array, shape (F,), or None
        The UV island of each face: faces joined by edges that have the same UVs at both ends in both faces.
    seams : bool array, shape (C,), or None
        Whether the edge from this corner to the face's next one has other UVs in the face beyond it.
    rims : bool array, shape (C,), or None
        Whether that edge is on the rim of its island: a seam, or the mesh ends there.
    uv_boxes : float64 array, shape (4, T), or None
        Least u and v of each triangle, greatest u and v.
    """

    points: np.ndarray
    corner_vertices: np.ndarray
    face_starts: np.ndarray
    uv: np.ndarray | None
    corner_points: np.ndarray
    corner_faces: np.ndarray
    triangles: np.ndarray
    triangle_points: np.ndarray
    triangle_faces: np.ndarray
    centers: np.ndarray
    radii: np.ndarray
    normals: np.ndarray
    connection: Connection
    islands: np.ndarray | None
    seams: np.ndarray | None
    rims: np.ndarray | None
    uv_boxes: np.ndarray | None

    def corners_of(self, faces: np.ndarray) -> np.ndarray:
        """All corners of faces, shape (N,), face by face: int array, shape (M,)."""
        ends = np.append(self.face_starts[1:], len(self.corner_faces))
        counts = ends[faces] - self.face_starts[faces]
        return np.repeat(self.face_starts[faces] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

    def following(self, corners: np.ndarray) -> np.ndarray:
        """The next corner of the same face for each corner, shape (N,): int array, shape (N,)."""
        after = np.minimum(corners + 1, len(self.corner_faces) - 1)
        last = (self.corner_faces[after] != self.corner_faces[corners]) | (after == corners)
        return np.where(last, self.face_starts[self.corner_faces[corners]], after)


def make_chart_mesh(
    points: np.ndarray, corner_vertices: np.ndarray, face_starts: np.ndarray, uv: np.ndarray | None = None
) -> ChartMesh:
    """Work out what charts need of a mesh.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, object space.
    corner_vertices : int array, shape (C,)
    face_starts : int array, shape (F,)
        Ascending, from 0.
    uv : float array, shape (C, 2), or None

    Returns
    -------
    ChartMesh

    Raises
    ------
    SkinningError
        Where the mesh has no faces, or holds values that are not numbers.
    """
    points = np.asarray(points, np.float64)
    corner_vertices, face_starts = np.asarray(corner_vertices, np.intp), np.asarray(face_starts, np.intp)
    _check_faces(points, corner_vertices, face_starts)
    if uv is not None:
        uv = _check_uv(uv, len(corner_vertices))
    corner_points = weld(points)[corner_vertices]
    sizes = np.diff(np.append(face_starts, len(corner_vertices)))
    corner_faces = np.repeat(np.arange(len(sizes)), sizes)
    triangles = _cut_fans(corner_points, corner_faces, face_starts)
    ends = corner_points[triangles]
    centers = points[ends].mean(axis=1)
    normals = vertex_normals(points, ends)
    islands, seams, rims = (
        (None, None, None) if uv is None else _find_uv_islands(corner_points, corner_faces, sizes, uv)
    )
    return ChartMesh(
        points=points,
        corner_vertices=corner_vertices,
        face_starts=face_starts,
        uv=uv,
        corner_points=corner_points,
        corner_faces=corner_faces,
        triangles=triangles,
        triangle_points=ends,
        triangle_faces=corner_faces[triangles[:, 0]],
        centers=centers,
        radii=np.sqrt(np.square(points[ends] - centers[:, None]).sum(axis=2).max(axis=1)),
        normals=normals,
        connection=connect(points, ends, normals),
        islands=islands,
        seams=seams,
        rims=rims,
        uv_boxes=None if uv is None else _find_uv_boxes(uv, triangles),
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


def _check_uv(uv: np.ndarray, corner_count: int) -> np.ndarray:
    uv = np.asarray(uv, np.float64)
    if uv.shape != (corner_count, 2):
        raise SkinningError(f"The mesh has {corner_count} corners, but UVs of shape {uv.shape}: read the UV map again")
    if find_unusable(uv).any():
        raise SkinningError("Some UVs are not numbers, or are too large: unwrap the mesh again")
    return uv


def _cut_fans(corner_points: np.ndarray, corner_faces: np.ndarray, face_starts: np.ndarray) -> np.ndarray:
    """Corners of the faces cut into fans, without collapsed triangles: int array, shape (T, 3)."""
    fan = np.flatnonzero(np.arange(len(corner_faces)) >= face_starts[corner_faces] + 2)
    triangles = np.stack([face_starts[corner_faces[fan]], fan - 1, fan], axis=1)
    ends = corner_points[triangles]
    triangles = triangles[(ends != np.roll(ends, 1, axis=1)).all(axis=1)]
    check_faces(triangles)
    return triangles


def _find_uv_islands(
    corner_points: np.ndarray, corner_faces: np.ndarray, sizes: np.ndarray, uv: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The island of each face, shape (F,), and which corners' edges are seams and on a rim, shape (C,) each."""
    starts = np.cumsum(sizes) - sizes
    following = np.arange(len(corner_faces)) + 1
    following[starts + sizes - 1] = starts
    swapped = corner_points > corner_points[following]
    low = np.where(swapped, following, np.arange(len(following)))
    high = np.where(swapped, np.arange(len(following)), following)
    keys = corner_points[low] * (corner_points.max() + 1) + corner_points[high]
    order = np.argsort(keys, kind="stable")
    pairs = np.stack([order[:-1], order[1:]], axis=1)[keys[order[:-1]] == keys[order[1:]]]
    same = np.ones(len(pairs), bool)
    for end in (low, high):
        same &= (np.abs(uv[end[pairs[:, 0]]] - uv[end[pairs[:, 1]]]) <= UV_TOLERANCE).all(axis=1)
    seams = np.zeros(len(corner_faces), bool)
    seams[pairs[~same].ravel()] = True
    rims = np.ones(len(corner_faces), bool)
    rims[pairs[same].ravel()] = False
    return find_islands(corner_faces[pairs[same]], len(sizes)), seams, rims


def _find_uv_boxes(uv: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    ends = uv.T[:, triangles]
    return np.concatenate([ends.min(axis=2), ends.max(axis=2)])


def meet_uv_box(mesh: ChartMesh, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Find the triangles whose UVs may lie in a box.

    Parameters
    ----------
    low, high : float arrays, shape (2,)
        Least and greatest UV of the box.

    Returns
    -------
    bool array, shape (T,)

    Raises
    ------
    SkinningError
        Where the mesh has no UV map.
    """
    if mesh.uv_boxes is None:
        raise SkinningError("The mesh has no UV map: unwrap it, or place the pattern on the surface")
    left, bottom, right, top = mesh.uv_boxes
    return (left <= high[0]) & (right >= low[0]) & (bottom <= high[1]) & (top >= low[1])
