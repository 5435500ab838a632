"""Fit joints into a mesh: the median of the joints that are found in several solids of the mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import SkinningError
from .frame import Frame, find_front, find_plane
from .hands import find_fingers
from .human import find_human
from .joints import HUMAN, QUADRUPED, Fit, mirror_joints, remove_side
from .quadruped import find_feet, find_front_end, find_quadruped
from .solid import BodyCells, check_mesh, fill_body, merge_near

# Cells along the height, and degrees of rotation. Errors that come from the cells differ among the solids.
SOLIDS = ((96, 0.0), (88, 20.0), (104, -20.0))

FINDERS = {HUMAN: find_human, QUADRUPED: find_quadruped}


def fit_joints(
    points: np.ndarray, triangles: np.ndarray, kind: str, progress: Callable[[float], None] = lambda share: None
) -> Fit:
    """Fit the joints of a human or of an animal on four legs into a mesh.

    Raises SkinningError if the mesh is not such a character, with what was found.

    Parameters
    ----------
    points : float array, shape (V, 3)
        All meshes of one character in a rest pose, z up, any unit.
    triangles : int array, shape (T, 3)
    kind : str
        HUMAN or QUADRUPED.
    """
    max_spread = 0.03  # a joint is doubtful if it is farther than this from the median in one of the solids
    check_mesh(points, triangles)
    whole = points, triangles
    points, triangles = merge_near(points, triangles, SOLIDS[0][0])
    cells = fill_body(points, triangles, SOLIDS[0][0])
    frame = _find_frame(cells, kind)
    progress(0.3)
    found: list[dict[str, np.ndarray]] = []
    doubts: list[str] = []
    problems = []
    for number, (count, angle) in enumerate(SOLIDS):
        body = frame.place(cells) if not number else _fill_rotated(points, triangles, frame, count, angle)
        try:
            joints, doubtful = FINDERS[kind](body)
            found.append(joints)
            doubts += doubtful
        except SkinningError as error:
            problems.append(error)
        progress(0.3 + 0.7 * (number + 1) / len(SOLIDS))
    if len(found) < 2:
        raise problems[0]
    names = set.intersection(*(set(joints) for joints in found))
    half = {name: np.median([joints[name] for joints in found], axis=0) for name in found[0] if name in names}
    unsure = {name for name in doubts if doubts.count(name) > 1}
    for name, median in half.items():
        spread = max(float(np.linalg.norm(joints[name] - median)) for joints in found)
        if spread > max_spread and not name.endswith("_tip"):
            unsure.add(name)
    if kind == HUMAN:
        half |= find_fingers(frame.to_body(whole[0]), whole[1], half["wrist"], half["hand_tip"])
    joints = mirror_joints(kind, half)
    return Fit(kind, frame, joints, frozenset(name for name in joints if remove_side(name) in unsure))


def _find_frame(cells: BodyCells, kind: str) -> Frame:
    frame = find_plane(cells, 1.0 if kind == HUMAN else -1.0)
    if frame.symmetry < 0.90:
        raise SkinningError(
            f"Left and right differ by {100 * (1 - frame.symmetry):.0f} %: select one character in a symmetric pose, "
            f"such as T or A"
        )
    body = frame.place(cells)
    if kind == HUMAN:
        return frame if find_front(body) >= 0.0 else frame.flipped()
    find_feet(body)
    return frame if find_front_end(body) >= 0.0 else frame.flipped()


def _fill_rotated(points: np.ndarray, triangles: np.ndarray, frame: Frame, count: int, degrees: float) -> BodyCells:
    """Fill a mesh that is rotated about the vertical, and rotate the cells back into the space of the body."""
    body = fill_body(frame.to_body(points) @ _rotation(degrees).T, triangles, count)
    return replace(body, points=body.points @ _rotation(-degrees).T)


def _rotation(degrees: float) -> np.ndarray:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
