"""The figures that the pages in docs/ quote: run `python benchmarks/figures.py` in the checkout. Needs NumPy only.

All are of one tube along z, 2 m long and of radius 0.3 m, on two joints: one at z = -1, its child in the middle. The
weights cross over smoothly within 0.3 m on both sides of the middle.
"""

from __future__ import annotations

import numpy as np

from harness import print_section
from benchmarks.surfaces import join_rings
from deformers import DEFORMERS, Joints, Pose, Rest, Weights
from deformers.geometry.vectors import smooth_ramp
from deformers.measures.space import close_surface
from demo.topology import triangulate

RINGS, SIDES, RADIUS, BLEND = 201, 64, 0.3, 0.3
ORIGIN = np.zeros(3)
CENTERS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
MIDDLE = slice(RINGS // 2 * SIDES, (RINGS // 2 + 1) * SIDES)


def tube() -> tuple[np.ndarray, np.ndarray]:
    """Points, shape (V, 3), and dense weights, shape (V, 2)."""
    z = np.repeat(np.linspace(-1.0, 1.0, RINGS), SIDES)
    angles = np.tile(np.arange(SIDES) * 2.0 * np.pi / SIDES, RINGS)
    share = smooth_ramp(z, -BLEND, BLEND)
    points = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), z], axis=1)
    return points, np.stack([1.0 - share, share], axis=1)


def rotation(axis: int, degrees: float) -> np.ndarray:
    """Rotation about x, y or z, shape (3, 3)."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    result = np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    result[[a, b], [a, b]], result[a, b], result[b, a] = cos, -sin, sin
    return result


def pose_of(child: np.ndarray, parent_length: float = 1.0) -> np.ndarray:
    """The child turned at the end of a parent that is stretched along its length: shape (2, 4, 4)."""
    matrices = np.tile(np.eye(4), (2, 1, 1))
    matrices[0, 2, 2:] = parent_length, parent_length - 1.0  # its own center, at z = -1, stays
    matrices[1, :3, :3], matrices[1, 2, 3] = child, parent_length - 1.0
    return matrices


def skin(method: str, matrices: np.ndarray, move: np.ndarray = ORIGIN) -> np.ndarray:
    """The posed tube, shape (V, 3): `method` may name an order, `move` is where the tube stands at rest."""
    name, _, order = method.partition(" ")
    module = DEFORMERS[name]
    points, weights = tube()
    rest = Rest(points + move, Weights.from_dense(weights), Joints(CENTERS + move, np.array([-1, 0])))
    params = module.Params(order=order) if order else module.Params()
    return module.deform(module.bind(rest, params), Pose(matrices)).astype(np.float64)


def bends_and_twists() -> None:
    """Twist: radius at the joint. Bend: space filled, and twice; how far the skin stands off its bones, in radii."""
    solid = close_surface(tube()[0], triangulate(join_rings(RINGS, SIDES)), largest_hole=1.0)
    for degrees in (60, 90, 120, 150):
        for method in ("SSD", "DLB"):
            twisted = skin(method, pose_of(rotation(2, degrees)))
            radius = np.hypot(*twisted[MIDDLE, :2].T).min() / RADIUS
            bent = skin(method, pose_of(rotation(0, degrees)))
            ends = (np.array([0.0, 0.0, -1.0]), rotation(0, degrees) @ [0.0, 0.0, 1.0])
            off = [np.linalg.norm(bent - np.clip(bent @ end, 0.0, 1.0)[:, None] * end, axis=1) for end in ends]
            bulge = np.min(off, axis=0).max() / RADIUS
            space = solid.measure(bent)
            print(
                f"{degrees:>4} degrees  {method}  twist: radius {radius:.2f}"
                f"   bend: filled {space.filled:.2f}, twice {space.twice:.3f}, stands off {bulge:.2f}"
            )


def stretched_parent() -> None:
    """A parent twice as long, its child bent: by how much the skin at the joint misses it (in tube radii)."""
    for degrees in (0, 45, 90, 120):
        matrices = pose_of(rotation(0, degrees), parent_length=2.0)
        posed = {method: skin(method, matrices) for method in ("SSD", "DLB", "DLBNT GH", "DLBNT HG")}
        missed = {
            method: np.linalg.norm(points[MIDDLE].mean(axis=0) - [0, 0, 1]) / RADIUS for method, points in posed.items()
        }
        apart = np.linalg.norm(posed["DLBNT GH"] - posed["DLBNT HG"], axis=1).max() / RADIUS
        print(f"{degrees:>4} degrees  {'   '.join(f'{method} {by:.2f}' for method, by in missed.items())}", end="")
        print(f"   between the orders {apart:.2f}")


def far_from_the_origin() -> None:
    """The largest error, in diagonals of the posed tube, by how far it is from the armature's origin (in meters)."""
    matrices = pose_of(rotation(0, 70) @ np.diag([1.0, 1.3, 0.8]), parent_length=1.5)
    for distance in (10, 100, 1000):
        move = distance * np.array([0.7, -0.6, 0.39])
        there = matrices.copy()
        there[:, :3, 3] += move - matrices[:, :3, :3] @ move
        errors = []
        for method in ("SSD", "DLB", "DLBNT GH", "DLBNT HG"):
            near = skin(method, matrices)
            error = np.linalg.norm(skin(method, there, move) - move - near, axis=1).max()
            errors.append(f"{method} {error / np.linalg.norm(np.ptp(near, axis=0)):.0e}")
        print(f"{distance:>5} m  {'   '.join(errors)}")


if __name__ == "__main__":
    for section in (bends_and_twists, stretched_parent, far_from_the_origin):
        print_section(section)
