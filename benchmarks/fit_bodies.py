"""Bodies of balls and spindles, with known joints."""

from __future__ import annotations

import numpy as np

from benchmarks.surfaces import join_rings
from demo.topology import triangulate

Mesh = tuple[np.ndarray, np.ndarray]  # Points, shape (V, 3), and triangles, shape (T, 3)

# Of the left side of `make_human`, in heights
HUMAN_JOINTS = {
    "shoulder": (0.10, 0.0, 0.80), "elbow": (0.26, 0.0, 0.80), "wrist": (0.40, -0.005, 0.80),
    "hip": (0.06, 0.0, 0.50), "knee": (0.065, -0.005, 0.28), "ankle": (0.07, 0.01, 0.05),
}  # fmt: skip


def make_spindle(start: tuple[float, ...], end: tuple[float, ...], *radii: float) -> Mesh:
    """A closed limb between two points, with radii at even distances."""
    first, last = np.array(start), np.array(end)
    along = (last - first) / np.linalg.norm(last - first)
    side = np.cross(along, [0.3, 0.9, 0.1])
    side /= np.linalg.norm(side)
    other = np.cross(along, side)
    shares = np.linspace(0.0, 1.0, 13)
    sizes = np.interp(shares, np.linspace(0.0, 1.0, len(radii)), radii)
    sizes[0] = sizes[-1] = 1e-4
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    circle = np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * other
    points = first + shares[:, None, None] * (last - first) + sizes[:, None, None] * circle
    return points.reshape(-1, 3), triangulate(join_rings(13, 12))


def join(*meshes: Mesh) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(points) for points, _ in meshes)])
    return (
        np.concatenate([points for points, _ in meshes]),
        np.concatenate([triangles + start for (_, triangles), start in zip(meshes, starts, strict=False)]),
    )


def mirror(mesh: Mesh) -> Mesh:
    points, triangles = mesh
    return points * np.array([-1.0, 1.0, 1.0]), triangles[:, ::-1]


def make_human(fall: float = 0.0) -> Mesh:
    """A human of height 1 that faces -Y; arms fall by so many degrees."""
    arm = [
        make_spindle((0.06, 0, 0.80), (0.27, 0, 0.80), 0.03, 0.032, 0.03, 0.026),
        make_spindle((0.24, 0, 0.80), (0.42, -0.005, 0.80), 0.026, 0.026, 0.022, 0.016, 0.016),
        make_spindle((0.39, -0.005, 0.80), (0.50, -0.01, 0.80), 0.016, 0.028, 0.028, 0.02),
    ]
    angle = np.radians(fall)
    turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    center = np.array(HUMAN_JOINTS["shoulder"])
    arm = [((points - center) @ turn + center, triangles) for points, triangles in arm]
    leg = [
        make_spindle((0.06, 0, 0.56), (0.066, -0.005, 0.24), 0.05, 0.058, 0.05, 0.04, 0.035),
        make_spindle((0.065, -0.005, 0.31), (0.07, 0.01, 0.01), 0.035, 0.038, 0.03, 0.024, 0.024),
        make_spindle((0.07, 0.045, 0.022), (0.07, -0.12, 0.015), 0.022, 0.024, 0.022, 0.018),
    ]
    trunk = [
        make_spindle((0, 0, 0.45), (0, 0, 0.87), 0.06, 0.11, 0.085, 0.085, 0.11, 0.115, 0.04),
        make_spindle((0, 0.005, 0.82), (0, -0.005, 0.92), 0.033, 0.033, 0.033),
        make_spindle((0, -0.02, 0.86), (0, -0.02, 1.0), 0.03, 0.055, 0.06, 0.055, 0.03),
    ]
    return join(*trunk, *arm, *leg, *map(mirror, [*arm, *leg]))


def make_animal(legs: int = 2) -> Mesh:
    """An animal whose head is at -Y, with so many legs on each side."""
    places = np.linspace(-0.3, 0.3, legs)
    limbs = [make_spindle((0.09, y, 0.55), (0.09, y, 0.0), 0.05, 0.05, 0.04, 0.03, 0.03) for y in places]
    trunk = [
        make_spindle((0, -0.45, 0.62), (0, 0.42, 0.62), 0.08, 0.18, 0.18, 0.18, 0.08),
        make_spindle((0, -0.3, 0.65), (0, -0.55, 0.9), 0.09, 0.08, 0.07),
        make_spindle((0, -0.45, 0.92), (0, -0.85, 0.8), 0.06, 0.1, 0.06, 0.04),
        make_spindle((0, 0.3, 0.65), (0, 0.8, 0.6), 0.05, 0.04, 0.03),
    ]
    return join(*trunk, *limbs, *map(mirror, limbs))


def rotate(mesh: Mesh, degrees: float) -> Mesh:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    points, triangles = mesh
    return points @ np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]]), triangles
