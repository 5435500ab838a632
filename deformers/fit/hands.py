"""Fingers, where they are modeled: peaks of the distance from the wrist, through a finer solid of the hand."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Grid, Rims, Surface, vote_inside
from ..geometry.solid_skin import Box
from .joints import FINGERS
from .solid import BodyCells, label_parts, link, measure_paths

STEP, MARGIN = 0.0024, 0.05
"""Side of a cell of the hand, and what the box around it has beside wrist and tip, in heights."""

MOST_CELLS = 40_000
"""Of a hand with fingers; a human's has some 6,000, a mitten's of a large head's body ten times as many."""

WRIST_DEPTH = 0.008
"""How far from the plane of the wrist cells are its, in heights."""

LEAST_FINGER = 0.012
"""How far a finger stands out from where it leaves the hand, in heights."""

SECTION = 0.003
"""Length of a section of a finger, in heights."""

KNUCKLE = 0.42
"""How far behind the web a finger's first joint is, over the length from web to tip."""

JOINTS = (0.0, 0.46, 0.73)
"""Shares of the way from the first joint to the tip where a finger's joints are."""

THUMB = (0.0, 0.40, 0.70)
"""The same from the thumb's first joint, which is at the wrist."""

THUMB_START = 0.25
"""Share of the way from the wrist to where the thumb leaves the hand."""


def find_fingers(
    points: np.ndarray, triangles: np.ndarray, wrist: np.ndarray, tip: np.ndarray
) -> dict[str, np.ndarray]:
    """Find the joints of the left hand's fingers: three and a tip each; none where there are not five.

    Parameters
    ----------
    points : float array, shape (V, 3)
        In the space of the body.
    triangles : int array, shape (T, 3)
    wrist, tip : float arrays, shape (3,)
    """
    hand = _fill_hand(points, triangles, wrist, tip)
    if hand is None or hand.count > MOST_CELLS:
        return {}
    along = (tip - wrist) / np.linalg.norm(tip - wrist)
    start = np.flatnonzero(np.abs((hand.points - wrist) @ along) < WRIST_DEPTH)
    if not len(start):
        return {}
    paths = measure_paths(hand, start)
    peaks = _find_peaks(hand, paths)
    if len(peaks) != len(FINGERS):
        return {}
    peaks.sort(key=lambda peak: peak[1])
    thumb, *others = peaks
    ends = [hand.points[peak[0]] for peak in others]
    across = hand.points[thumb[0]] - np.mean(ends, axis=0)
    across -= along * (across @ along)
    others = [others[number] for number in np.argsort([-float(end @ across) for end in ends])]
    joints = {}
    for name, peak in zip(FINGERS, (thumb, *others), strict=True):
        joints |= _place_joints(name, hand, paths, peak, wrist)
    return joints


def _fill_hand(points: np.ndarray, triangles: np.ndarray, wrist: np.ndarray, tip: np.ndarray) -> BodyCells | None:
    """The cells before the wrist that are connected to it; None where there are none."""
    low, high = np.minimum(wrist, tip) - MARGIN, np.maximum(wrist, tip) + MARGIN
    box = Box(low, STEP, np.ceil((high - low) / STEP).astype(int) + 1)
    near = triangles[box.find_overlaps(points, triangles) >= 2]  # others meet no line of cells along an axis
    none = np.zeros(0, int)
    surface = Surface(points, none, near, none, np.ones(1, bool), Rims(none.reshape(0, 2), none), 0, none.reshape(0, 3))
    inside = vote_inside(surface, low, STEP, box.shape)
    grid = Grid(low, STEP, inside)
    indices = np.argwhere(inside)
    along = (tip - wrist) / np.linalg.norm(tip - wrist)
    indices = indices[(grid.centers(indices) - wrist) @ along > -WRIST_DEPTH]
    neighbors = np.zeros((0, 26), int)
    for _ in range(2):
        if not len(indices):
            return None
        inside = np.zeros_like(inside)
        inside[tuple(indices.T)] = True
        neighbors = link(inside, indices)
        parts = label_parts(neighbors)
        nearest = parts[int(((grid.centers(indices) - wrist) ** 2).sum(axis=1).argmin())]
        if (parts == nearest).all():
            break
        indices = indices[parts == nearest]
    return BodyCells(grid.centers(indices), STEP, neighbors, grid)


def _find_peaks(hand: BodyCells, paths: np.ndarray) -> list[tuple[int, float, np.ndarray]]:
    """Fingers: the cell of each tip, the distance at which it leaves the hand, and its cells.

    Cells are added from the furthest on; where two parts meet, the one with the nearer tip ends as a finger, if it
    stands out far enough.
    """
    order = np.argsort(-paths, kind="stable")
    owner = np.full(hand.count + 1, -1)
    members: dict[int, list[int]] = {}
    found: list[tuple[int, float, np.ndarray]] = []
    last = -1
    for cell in order.tolist():  # the cells of a hand: each joins what its neighbors belong to
        around = {int(part) for part in owner[hand.neighbors[cell]] if part >= 0}
        if not around:
            owner[cell], members[cell] = cell, [cell]
            continue
        best = max(around, key=lambda part: paths[part])
        for part in around - {best}:
            if paths[part] - paths[cell] > LEAST_FINGER:
                found.append((part, float(paths[cell]), np.array(members[part])))
                last = best if last < 0 or paths[best] > paths[last] else last
            owner[members[part]] = best
            members[best] += members.pop(part)
        owner[cell] = best
        members[best].append(cell)
    if last >= 0:  # the furthest tip ends where the nearest finger beside it does
        tips = hand.points[[part for part, _, _ in found]]
        saddle = found[int(((tips - hand.points[last]) ** 2).sum(axis=1).argmin())][1]
        own = np.flatnonzero(paths >= saddle)
        inside = np.zeros(hand.count, bool)
        inside[own] = True
        for _, _, cells in found:
            inside[cells] = False
        found.append((last, saddle, _grow(hand, inside, last)))
    return found


def _grow(hand: BodyCells, inside: np.ndarray, start: int) -> np.ndarray:
    """The cells among some that are connected to one."""
    return np.flatnonzero(np.isfinite(measure_paths(hand, np.array([start]), inside)))


def _place_joints(
    name: str, hand: BodyCells, paths: np.ndarray, peak: tuple[int, float, np.ndarray], wrist: np.ndarray
) -> dict[str, np.ndarray]:
    tip, saddle, cells = peak
    numbers = np.floor((paths[cells] - saddle) / SECTION).astype(int)
    sizes = np.bincount(numbers)
    centers = np.stack([np.bincount(numbers, hand.points[cells, axis]) for axis in range(3)], axis=1)[sizes > 0]
    centers = centers / sizes[sizes > 0][:, None]
    line = np.concatenate([centers, hand.points[tip][None]])
    if name == "thumb":
        line = np.concatenate([(wrist + THUMB_START * (line[0] - wrist))[None], line])
    else:
        back = line[0] - line[min(len(line) - 1, max(1, len(line) // 2))]
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        line = np.concatenate([(line[0] + KNUCKLE * length * back / np.linalg.norm(back))[None], line])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    shares = (*(THUMB if name == "thumb" else JOINTS), 1.0)
    at = [np.array([np.interp(share * lengths[-1], lengths, line[:, axis]) for axis in range(3)]) for share in shares]
    return {**{f"{name}{number}": point for number, point in enumerate(at[:3], 1)}, f"{name}_tip": at[3]}
