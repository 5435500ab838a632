"""The arm's surface: the cage refined to a wanted number of vertices and laid onto the implicit shape. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .anatomy import DIGITS, arm_field, digits
from .implicit import BLOCK, Array, Field, segment_parameter, smooth_step
from .topology import Indices, build_cage

SPACING = 11.0
"""Distance between the cage's rings in millimeters, before it is adapted to the wanted number of vertices."""

MAX_FIRST_SPLIT = 6
"""A finer surface than the cage's quads split by this is laid out coarse, and only then split to its full number."""

LANE_BLEND = 6.0
"""How gradually the palm goes from one finger's share to the next's, in millimeters."""


@dataclass(frozen=True)
class Surface:
    """A closed quad surface.

    Attributes
    ----------
    points : ndarray, shape (V, 3), millimeters
    quads : ndarray, shape (F, 4), wound so that normals look outward
    membership : ndarray, shape (V, D)
        How much a vertex belongs to each of DIGITS (0 to 1); the rest belongs to the limb and the palm.
    """

    points: Array
    quads: Indices
    membership: Array


def quad_edges(quads: Indices) -> tuple[Indices, Indices]:
    """Return the unique edges (E, 2), lower index first, and for each side of each quad its edge (F, 4)."""
    sides = np.sort(np.stack([quads, np.roll(quads, -1, axis=1)], axis=2), axis=2).reshape(-1, 2)
    keys, inverse = np.unique(sides[:, 0] * (quads.max() + 1) + sides[:, 1], return_inverse=True)
    return np.stack(np.divmod(keys, quads.max() + 1), axis=1), inverse.reshape(-1, 4)


def split_quads(quads: Indices, values: Array, parts: int) -> tuple[Indices, Array]:
    """Split every quad into `parts * parts`, with the values (V, C) of the vertices interpolated linearly.

    Returns
    -------
    quads : ndarray, shape (F * parts**2, 4)
    values : ndarray, shape (V', C)
    """
    edges, edge_of = quad_edges(quads)
    inner = np.arange(1, parts)
    share = (inner / parts)[None, :, None]
    on_edges = values[edges[:, 0], None] * (1.0 - share) + values[edges[:, 1], None] * share
    u, v = (grid.ravel()[None, :, None] / parts for grid in np.meshgrid(inner, inner, indexing="ij"))
    corner = [values[quads[:, side], None] for side in range(4)]
    in_quads = (corner[0] * (1 - u) + corner[1] * u) * (1 - v) + (corner[3] * (1 - u) + corner[2] * u) * v
    grid = np.empty((len(quads), parts + 1, parts + 1), dtype=np.int64)
    grid[:, 0, 0], grid[:, -1, 0], grid[:, -1, -1], grid[:, 0, -1] = quads.T
    edge_points = len(values) + np.arange(len(edges) * (parts - 1)).reshape(len(edges), parts - 1)
    for side, where in enumerate(((inner, 0), (parts, inner), (parts - inner, parts), (0, parts - inner))):
        along = edge_points[edge_of[:, side]]
        forward = (quads[:, side] < np.roll(quads, -1, axis=1)[:, side])[:, None]
        grid[(slice(None), *where)] = np.where(forward, along, along[:, ::-1])
    first = len(values) + edge_points.size
    grid[:, 1:-1, 1:-1] = (first + np.arange(len(quads) * (parts - 1) ** 2)).reshape(len(quads), parts - 1, parts - 1)
    corners = (grid[:, :-1, :-1], grid[:, 1:, :-1], grid[:, 1:, 1:], grid[:, :-1, 1:])
    channels = values.shape[1]
    return (
        np.stack([corner.ravel() for corner in corners], axis=1),
        np.concatenate([values, on_edges.reshape(-1, channels), in_quads.reshape(-1, channels)]),
    )


def neighbor_means(values: Array, edges: Indices) -> Array:
    """Return for each vertex the mean (V, C) of its neighbors' values (V, C)."""
    count = len(values)
    ends = np.concatenate([edges, edges[:, ::-1]])
    sums = [np.bincount(ends[:, 0], weights=column, minlength=count) for column in values[ends[:, 1]].T]
    return np.stack(sums, axis=1) / np.bincount(ends[:, 0], minlength=count)[:, None]


def lay_onto(field: Field, points: Array, steps: int, longest: float = 1.0) -> tuple[Array, Array]:
    """Return points (V, 3) moved onto the field's surface, and the surface's unit normals (V, 3).

    Each of the Newton steps goes at most `longest` millimeters.
    """
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    delta = 0.1
    laid, normals = points.copy(), np.empty_like(points)
    for start in range(0, len(points), BLOCK):
        block = laid[start : start + BLOCK]
        for _ in range(steps):
            values = np.stack([field.distance(block + delta * corner) for corner in corners])
            gradient = values.T @ corners / (4.0 * delta)
            squared = np.maximum(np.einsum("ni,ni->n", gradient, gradient), 0.05)[:, None]
            block = block - np.clip(values.mean(axis=0)[:, None] / squared, -longest, longest) * gradient
            normals[start : start + BLOCK] = gradient / np.sqrt(squared)
        laid[start : start + BLOCK] = block
    return laid, normals


def even_out(field: Field, points: Array, edges: Indices, rates: Array, rounds: int) -> Array:
    """Even out the spacing of points (V, 3) along the surface, each moved by its rate (V, 1), 0 to 1."""
    points, normals = lay_onto(field, points, steps=8, longest=6.0)
    for _ in range(rounds):
        move = rates * (neighbor_means(points, edges) - points)
        points = points + move - np.einsum("vi,vi->v", move, normals)[:, None] * normals
        points, normals = lay_onto(field, points, steps=1)
    return points


def fair(field: Field, points: Array, edges: Indices, rounds: int, steps: int) -> Array:
    """Smooth the flow of points (V, 3) along the surface (fourth order: spacing keeps its large-scale changes)."""
    points, normals = lay_onto(field, points, steps=8)
    for _ in range(rounds):
        for _ in range(steps):
            bend = neighbor_means(points, edges) - points
            move = 0.4 * (bend - neighbor_means(bend, edges))
            points = points + move - np.einsum("vi,vi->v", move, normals)[:, None] * normals
        points, normals = lay_onto(field, points, steps=1)
    return points


def digit_membership(points: Array, quads: Indices, owners: Array, reach: int) -> Array:
    """Return how much each vertex belongs to each of DIGITS (V, D), spread into the palm from where they leave it.

    `owners` (V, D) is 1 on the digits' own vertices, so that no finger takes hold of another; the result is smoothed
    over about `reach` quads.
    """
    thumb, *fingers = digits()
    spread = np.zeros_like(owners)
    gap = np.linalg.norm(segment_parameter(points, thumb.joints[0], thumb.joints[1])[1], axis=1)
    spread[:, 0] = smooth_step((36.0 - gap) / 22.0)
    flat = [segment_parameter(points, *finger.joints[:2])[1][:, :2] for finger in fingers]
    lanes = np.linalg.norm(np.stack(flat, axis=1), axis=2)
    nearness = np.exp(-0.5 * ((lanes - lanes.min(axis=1, keepdims=True)) / LANE_BLEND) ** 2)
    spread[:, 1:] = (1.0 - spread[:, :1]) * nearness / nearness.sum(axis=1, keepdims=True)
    membership = owners + (1.0 - owners.sum(axis=1, keepdims=True)) * spread
    edges = quad_edges(quads)[0]
    for _ in range(reach**2):
        membership = neighbor_means(membership, edges)
    return membership


def choose_refinement(vertices: int) -> tuple[int, int, float]:
    """Return how often to split the cage's quads, and these again, and the ring spacing, for about `vertices`."""
    cage = len(build_cage(SPACING)[1])
    parts = max(round((vertices / cage) ** 0.5), 1)
    again = -(-parts // MAX_FIRST_SPLIT)
    first = round(parts / again)
    return first, again, SPACING * (first * again) ** 2 * cage / vertices


def build_surface(vertices: int = 22_000) -> Surface:
    """Build the arm with about `vertices` vertices (2,000 to some millions)."""
    field = arm_field()
    first, again, spacing = choose_refinement(vertices)
    points, quads, owner = build_cage(spacing)
    edges = quad_edges(quads)[0]
    rates = np.where(owner < 0, 0.5, 0.0)[:, None]
    for _ in range(4):
        rates = neighbor_means(rates, edges)
    points = even_out(field, points, edges, rates, rounds=40)
    owners = (owner[:, None] == np.arange(len(DIGITS))).astype(float)
    quads, values = split_quads(quads, np.concatenate([points, owners], axis=1), first)
    points = fair(field, values[:, :3], quad_edges(quads)[0], rounds=4, steps=2 * first)
    membership = digit_membership(points, quads, values[:, 3:], reach=first)
    if again > 1:
        quads, values = split_quads(quads, np.concatenate([points, membership], axis=1), again)
        points, membership = values[:, :3], values[:, 3:]
    return Surface(lay_onto(field, points, steps=4)[0], quads, membership)
