"""Skinning written straight from Kurihara & Nishita and Le & Hodgins, one vertex and joint at a time, slow, float64.

It shares no code with `deformers`: stretches come from an eigen decomposition, quaternions from an eigenvector, signs
and translations from a walk over the joints, and points are carried by the product q v q* of dual quaternions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

LEAST_WEIGHT = 1e-4


class DualQuaternion(NamedTuple):
    """A real and a dual part, each a quaternion (w, x, y, z)."""

    real: np.ndarray
    dual: np.ndarray


def multiply_quaternions(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *vector])


def conjugate(quaternion: np.ndarray) -> np.ndarray:
    return quaternion * (1.0, -1.0, -1.0, -1.0)


def multiply(a: DualQuaternion, b: DualQuaternion) -> DualQuaternion:
    """Eq 3 with eps**2 = 0."""
    dual = multiply_quaternions(a.real, b.dual) + multiply_quaternions(a.dual, b.real)
    return DualQuaternion(multiply_quaternions(a.real, b.real), dual)


def transform_point(q: DualQuaternion, point: np.ndarray) -> np.ndarray:
    """Eq 5 and 8, q of any length: both conjugates are taken, and the product is divided by the squared norm."""
    position = DualQuaternion(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, *point]))
    back = DualQuaternion(conjugate(q.real), -conjugate(q.dual))
    return multiply(multiply(q, position), back).dual[1:] / (q.real @ q.real)


def quaternion_from_rotation(rotation: np.ndarray) -> np.ndarray:
    """The eigenvector of the largest eigenvalue of Bar-Itzhack's matrix; its sign is arbitrary."""
    trace = np.trace(rotation)
    matrix = np.empty((4, 4))
    matrix[0, 0] = trace
    matrix[1:, 1:] = rotation + rotation.T - trace * np.eye(3)
    twist = (rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1])
    matrix[0, 1:] = matrix[1:, 0] = twist
    return np.linalg.eigh(matrix)[1][:, -1]


def dual_quaternion_from_rigid(matrix: np.ndarray) -> DualQuaternion:
    """Eq 4, from a matrix of shape (4, 4)."""
    real = quaternion_from_rotation(matrix[:3, :3])
    half = DualQuaternion(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, *(0.5 * matrix[:3, 3])]))
    return multiply(half, DualQuaternion(real, np.zeros(4)))


def decompose(matrix: np.ndarray, toward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eq 12 for a regular matrix, shape (3, 3): R with determinant +1 and a symmetric S, matrix = R S.

    A stretch is a square root of M^T M. A positive determinant has just one R with a positive stretch; a mirrored
    matrix with three different scales has four choices, of which the R nearest to `toward` is taken.
    """
    squares, axes = np.linalg.eigh(matrix.T @ matrix)
    scales = np.sqrt(squares)
    mirrored = np.linalg.det(matrix) < 0
    choices = [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)] if mirrored else [(1, 1, 1)]
    stretches = [axes @ np.diag(signs * scales) @ axes.T for signs in np.array(choices)]
    rotations = [matrix @ np.linalg.inv(stretch) for stretch in stretches]
    best = max(range(len(choices)), key=lambda index: np.sum(rotations[index] * toward))
    return rotations[best], stretches[best]


def carry(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The rotation that carries one unit vector to another about the axis across both (Rodrigues)."""
    if source @ target < -1 + 1e-12:
        across = np.cross(source, np.eye(3)[np.abs(source).argmin()])
        return 2 * np.outer(across, across) / (across @ across) - np.eye(3)
    x, y, z = np.cross(source, target)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + cross + cross @ cross / (1 + source @ target)


def complete(matrix: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """The rotation of a matrix that scales axes to nothing: what is left is carried; of the rest, nearest to `toward`.

    Two directions and their cross products determine it. Of the turns about one direction, the trace of
    `Rot(u, angle) A` is `cos(angle) (tr A - u A u) + sin(angle) tr([u] A) + u A u`, here with A = start toward^T.
    """
    squares, axes = np.linalg.eigh(matrix.T @ matrix)
    kept = [axes[:, i] for i in (2, 1) if squares[i] > max(1e-12 * squares[2], 1e-10)] if squares[2] > 0 else []
    images = [matrix @ axis / np.linalg.norm(matrix @ axis) for axis in kept]
    if not kept:
        return toward
    if len(kept) == 2:
        bases = [np.array([a, b, np.cross(a, b)]).T for a, b in (images, kept)]
        return bases[0] @ bases[1].T
    u = images[0]
    start = carry(kept[0], u)
    a = start @ toward.T
    cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    angle = np.arctan2(np.trace(cross @ a), np.trace(a) - u @ a @ u)
    return (np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross) @ start


def from_root(parents: np.ndarray) -> list[int]:
    """Joints in an order that has each after its parent."""
    ordered: list[int] = []
    while len(ordered) < len(parents):
        ordered += [b for b, p in enumerate(parents) if b not in ordered and (p < 0 or p in ordered)]
    return ordered


def affine(linear: np.ndarray, translation: np.ndarray) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = linear
    matrix[:3, 3] = translation
    return matrix


def apply(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    return matrix[:3, :3] @ point + matrix[:3, 3]


def find_rotations(linear: np.ndarray, parents: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """R and S of each joint, linear (B, 3, 3) = R S. Below a mirrored joint, mirrored ones take over its mirror."""
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    mirrors: dict[int, np.ndarray] = {}
    for joint in from_root(parents):
        parent, matrix = parents[joint], linear[joint]
        toward = parts[parent][0] if parent >= 0 else np.eye(3)
        scales = np.linalg.svd(matrix, compute_uv=False)
        is_singular = scales[2] <= max(1e-6 * scales[0], 1e-5)
        if not is_singular and np.linalg.det(matrix) > 0:
            parts[joint] = decompose(matrix, toward)
            continue
        mirror = mirrors.get(parent, np.eye(3))
        rotation = complete(matrix @ mirror, toward) if is_singular else decompose(matrix @ mirror, toward)[0]
        parts[joint] = rotation, rotation.T @ matrix
        if parent in mirrors:
            mirrors[joint] = mirror
        elif not is_singular:
            mirrors[joint] = decompose(-matrix, toward)[0].T @ -rotation
    return [parts[joint] for joint in range(len(parents))]


def split(
    rest_to_pose: np.ndarray, centers: np.ndarray, parents: np.ndarray, order: str
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """G and H of each joint, shape (4, 4) each.

    Order "GH" is eq 13-16. For "HG" (eq 17) H stands to the left, S' = R S R^T, and the condition is put where H comes
    to act: the parent's H and the joint's own agree on x = G o. As M o = H x, the parent's H alone gives x.
    """
    linear = rest_to_pose[:, :3, :3]
    if order == "GH":
        parts = find_rotations(linear, parents)
    else:  # (S' R)^T = R^T S'
        parts = [(rotation.T, scale) for rotation, scale in find_rotations(linear.transpose(0, 2, 1), parents)]
    rigid: dict[int, np.ndarray] = {}
    stretch: dict[int, np.ndarray] = {}
    for joint in from_root(parents):
        parent, center, matrix = parents[joint], centers[joint], rest_to_pose[joint]
        rotation, scale = parts[joint]
        if order == "GH":
            goal = apply(stretch[parent], center) if parent >= 0 else scale @ center
            stretch[joint] = affine(scale, goal - scale @ center)
            rigid[joint] = matrix @ np.linalg.inv(stretch[joint])
        else:
            posed = apply(matrix, center)
            x = apply(np.linalg.inv(stretch[parent]), posed) if parent >= 0 else posed
            rigid[joint] = affine(rotation, x - rotation @ center)
            stretch[joint] = matrix @ np.linalg.inv(rigid[joint])
    joints = range(len(parents))
    return [rigid[joint] for joint in joints], [stretch[joint] for joint in joints]


def find_dual_quaternions(rigid: list[np.ndarray], parents: np.ndarray) -> list[DualQuaternion]:
    """Dual quaternions with the sign of section 3.4; roots agree with the identity."""
    found: dict[int, DualQuaternion] = {}
    for joint in from_root(parents):
        q = dual_quaternion_from_rigid(rigid[joint])
        like = found[parents[joint]].real if parents[joint] >= 0 else np.array([1.0, 0.0, 0.0, 0.0])
        found[joint] = DualQuaternion(-q.real, -q.dual) if q.real @ like < 0 else q
    return [found[joint] for joint in range(len(parents))]


def blend_linear(matrices: list[np.ndarray] | np.ndarray, weights: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Eq 1 and 10."""
    result = np.zeros(3)
    for matrix, weight in zip(matrices, weights, strict=True):
        result += weight * apply(matrix, point)
    return result


def blend_rigid(quaternions: list[DualQuaternion], weights: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Eq 8 and 11."""
    real, dual = np.zeros(4), np.zeros(4)
    for q, weight in zip(quaternions, weights, strict=True):
        real += weight * q.real
        dual += weight * q.dual
    return transform_point(DualQuaternion(real, dual), point)


def find_middles(points: np.ndarray, weights: np.ndarray, triangles: np.ndarray | None = None) -> np.ndarray:
    """As below, kept: tests ask for the same characters again and again."""
    points, weights = np.asarray(points, np.float64), np.asarray(weights, np.float64)
    totals = weights.sum(axis=1, keepdims=True)
    rows = np.where(totals > LEAST_WEIGHT, weights / np.maximum(totals, LEAST_WEIGHT), 0.0)
    areas = np.ones(len(points))
    if triangles is not None:
        rows, areas = smooth_along(points, rows, triangles)
    arrays = [np.ascontiguousarray(array) for array in (points, rows, areas)]
    return _find_middles(*((array.tobytes(), array.shape) for array in arrays))


def smooth_along(points: np.ndarray, rows: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights after 8 steps half the way to the mean of the neighbors; the thirds of the areas around each vertex."""
    areas, neighbors = np.zeros(len(points)), [set() for _ in points]
    for corners in triangles.tolist():
        a, b, c = points[corners]
        for corner in corners:
            areas[corner] += np.linalg.norm(np.cross(b - a, c - a)) / 6.0
            neighbors[corner] |= set(corners) - {corner}
    for _ in range(8):
        means = np.array([rows[list(around)].mean(axis=0) for around in neighbors])
        rows = 0.5 * (rows + means)
    return rows, areas


@cache
def _find_middles(*arrays: tuple[bytes, tuple]) -> np.ndarray:
    """The centers that Le & Hodgins 2016 find, eq 1 and 4, in armature space, shape (V, 3).

    As in `deformers.skinning.center_table`: each point stands for its area, and for each pair of joints the points
    are shared by the four corners of their bin among 33 x 33 of both weights.
    """
    points, rows, areas = (np.frombuffer(data).reshape(shape) for data, shape in arrays)
    rows = np.where(rows > 1e-3, rows, 0.0)
    grid = np.linspace(0, 1, 33)
    first, second = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    allowed = first + second <= 1 + 2 / 32 + 1e-9
    alike = np.exp(-(((np.outer(first, second) - np.outer(second, first)) / 0.1) ** 2)) * np.outer(allowed, allowed)
    sums, largest = np.zeros((len(points), 4)), 0.0
    for j in range(rows.shape[1]):
        for k in range(j + 1, rows.shape[1]):
            both = np.flatnonzero((rows[:, j] > 0) & (rows[:, k] > 0))
            table = np.zeros((33 * 33, 4))
            for vertex in both:
                mass = areas[vertex] * rows[vertex, j] * rows[vertex, k] * np.array([*points[vertex], 1.0])
                for cell, share in find_corners(*rows[vertex, [j, k]]):
                    table[cell] += share * mass
            table = alike @ table
            largest = max(largest, table[:, 3].max())
            for vertex in both:
                for cell, share in find_corners(*rows[vertex, [j, k]]):
                    sums[vertex] += rows[vertex, j] * rows[vertex, k] * share * table[cell]
    fade = 1e-6 * largest + 1e-30
    return (sums[:, :3] + fade * points) / (sums[:, 3:] + fade)


def find_corners(a: float, b: float) -> list[tuple[int, float]]:
    """The four corners of the bin that two weights are in, and how much each has of them."""
    i, j = min(int(32 * a), 31), min(int(32 * b), 31)
    x, y = 32 * a - i, 32 * b - j
    shares = ((0, 0, (1 - x) * (1 - y)), (1, 0, x * (1 - y)), (0, 1, (1 - x) * y), (1, 1, x * y))
    return [((i + right) * 33 + j + up, share) for right, up, share in shares]


def find_rotation_centers(
    points: np.ndarray,
    weights: np.ndarray,
    into: np.ndarray | None = None,
    triangles: np.ndarray | None = None,
    sharpness: float = 0.25,
) -> np.ndarray:
    """What vertices rotate about, armature space, shape (V, 3): their middles, moved toward them by the sharpness."""
    places = np.asarray(points, np.float64)
    places = places if into is None else np.array([apply(into, place) for place in places])
    middles = find_middles(places, weights, triangles)
    return middles + sharpness * (places - middles)


Move = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Where a vertex goes: of its weights, shape (B,), its position, and what it rotates about, (3,), armature space."""


def prepare_ssd(rest_to_pose: np.ndarray, _centers: np.ndarray, _parents: np.ndarray) -> Move:
    return lambda row, start, _about: blend_linear(rest_to_pose, row, start)


def prepare_centers(
    rest_to_pose: np.ndarray, _centers: np.ndarray, parents: np.ndarray, followed: np.ndarray | None = None
) -> Move:
    """V' = R(q) S (v - c) + sum w_b M_b c; centers follow other matrices where these are given."""
    followed = rest_to_pose if followed is None else followed
    parts = find_rotations(rest_to_pose[:, :3, :3], parents)
    quaternions = find_dual_quaternions([affine(rotation, np.zeros(3)) for rotation, _ in parts], parents)
    stretches = [affine(scale, np.zeros(3)) for _, scale in parts]

    def move(row: np.ndarray, start: np.ndarray, about: np.ndarray) -> np.ndarray:
        offset = blend_rigid(quaternions, row, blend_linear(stretches, row, start - about))
        return offset + blend_linear(followed, row, about)

    return move


def prepare_dlb(rest_to_pose: np.ndarray, _centers: np.ndarray, parents: np.ndarray) -> Move:
    """Blender's: each joint rotates the vertex by R, and then takes it to where its matrix M does. Its sign agrees with
    the sum of those before it."""
    rotations = [rotation for rotation, _ in find_rotations(rest_to_pose[:, :3, :3], parents)]

    def move(row: np.ndarray, start: np.ndarray, _about: np.ndarray) -> np.ndarray:
        found, total = [], np.zeros(4)
        for matrix, rotation, weight in zip(rest_to_pose, rotations, row, strict=True):
            q = dual_quaternion_from_rigid(affine(rotation, apply(matrix, start) - rotation @ start))
            found.append(DualQuaternion(-q.real, -q.dual) if q.real @ total < 0 else q)
            total += weight * found[-1].real
        return blend_rigid(found, row, start)

    return move


def prepare_dlbnt(order: str, rest_to_pose: np.ndarray, centers: np.ndarray, parents: np.ndarray) -> Move:
    rigid, stretch = split(rest_to_pose, centers, parents, order)
    quaternions = find_dual_quaternions(rigid, parents)
    if order == "GH":
        return lambda row, start, _about: blend_rigid(quaternions, row, blend_linear(stretch, row, start))
    return lambda row, start, _about: blend_linear(stretch, row, blend_rigid(quaternions, row, start))


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], Move]] = {
    "SSD": prepare_ssd,
    "DLB": prepare_dlb,
    "DLBNT-GH": partial(prepare_dlbnt, "GH"),
    "DLBNT-HG": partial(prepare_dlbnt, "HG"),
    "CENTERS": prepare_centers,
}
"""By method and choices: from the joints' transforms, centers and parents, what moves a vertex."""


def skin(
    method: str,
    points: np.ndarray,
    weights: np.ndarray,
    centers: np.ndarray,
    parents: np.ndarray,
    rest_to_pose: np.ndarray,
    object_to_armature: np.ndarray | None = None,
    linear: np.ndarray | None = None,
    strength: np.ndarray | None = None,
    rotation_centers: np.ndarray | None = None,
) -> np.ndarray:
    """Posed positions, shape (V, 3), object space.

    Parameters
    ----------
    method : key of METHODS
    points : shape (V, 3)
    weights : shape (V, B)
        Dense; rows of any sum.
    rotation_centers : shape (V, 3)
        For "CENTERS"; those of these points and weights, as if both spaces were one, if not given.
    others : as in `deformers.rig.rest`
    """
    into = np.eye(4) if object_to_armature is None else object_to_armature
    move = METHODS[method](rest_to_pose, centers, parents)
    if method == "CENTERS" and rotation_centers is None:
        rotation_centers = find_rotation_centers(points, weights)

    result = np.array(points, np.float64)
    for vertex, point in enumerate(np.asarray(points, np.float64)):
        if weights[vertex].sum() <= LEAST_WEIGHT:
            continue
        row = weights[vertex] / weights[vertex].sum()
        start = apply(into, point)
        posed = move(row, start, np.zeros(3) if rotation_centers is None else rotation_centers[vertex])
        if linear is not None:
            posed = (1 - linear[vertex]) * posed + linear[vertex] * blend_linear(rest_to_pose, row, start)
        if strength is not None:
            posed = (1 - strength[vertex]) * start + strength[vertex] * posed
        result[vertex] = apply(np.linalg.inv(into), posed)
    return result


def skin_by_running_sum(points: np.ndarray, weights: np.ndarray, rest_to_pose: np.ndarray) -> np.ndarray:
    """Preserve Volume of Blender's Armature modifier for rigid joints, shape (V, 3).

    The sign of each joint is set per vertex, against the sum of the joints before it, in the order of the columns of
    `weights`: another order of the vertex groups is another result.
    """
    quaternions = [dual_quaternion_from_rigid(matrix) for matrix in rest_to_pose]
    result = np.empty(points.shape)
    for vertex, point in enumerate(points):
        real, dual = np.zeros(4), np.zeros(4)
        for q, weight in zip(quaternions, weights[vertex], strict=True):
            signed = -weight if q.real @ real < 0 else weight
            real += signed * q.real
            dual += signed * q.dual
        result[vertex] = transform_point(DualQuaternion(real, dual), point)
    return result
