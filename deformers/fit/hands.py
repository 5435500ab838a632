"""Find modeled fingers: peaks of the distance from the wrist, through a fine solid of the hand."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Grid, Rims, Surface, vote_inside
from ..geometry.solid_skin import Box
from ..geometry.vectors import sum_by
from .joints import FINGERS
from .solid import BodyCells, label_parts, link, measure_paths

# Side of a cell of the hand, in heights
HAND_STEP = 0.0024


def find_fingers(
    points: np.ndarray, triangles: np.ndarray, wrist: np.ndarray, tip: np.ndarray
) -> dict[str, np.ndarray]:
    """Find the joints of the left hand's fingers, three and a tip each; none unless there are five fingers.

    Parameters
    ----------
    points : float array, shape (V, 3)
        In the space of the body.
    triangles : int array, shape (T, 3)
    wrist, tip : float arrays, shape (3,)
    """
    hand = _fill_hand(points, triangles, wrist, tip)
    # A human's hand has some 6,000 cells, a mitten of a body with a large head ten times as many.
    if hand is None or hand.count > 40_000:
        return {}
    along = (tip - wrist) / np.linalg.norm(tip - wrist)
    start = np.flatnonzero(np.abs((hand.points - wrist) @ along) < 0.008)
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
    """Fill the hand beyond the wrist. None if no cell is connected to the wrist."""
    margin = 0.05
    low, high = np.minimum(wrist, tip) - margin, np.maximum(wrist, tip) + margin
    box = Box(low, HAND_STEP, np.ceil((high - low) / HAND_STEP).astype(int) + 1)
    near = triangles[box.find_overlaps(points, triangles) >= 2]  # other triangles meet no line of cells along an axis
    none = np.zeros(0, int)
    surface = Surface(points, none, near, none, np.ones(1, bool), Rims(none.reshape(0, 2), none), 0, none.reshape(0, 3))
    inside = vote_inside(surface, low, HAND_STEP, box.shape)
    grid = Grid(low, HAND_STEP, inside)
    indices = np.argwhere(inside)
    along = (tip - wrist) / np.linalg.norm(tip - wrist)
    indices = indices[(grid.centers(indices) - wrist) @ along > -0.008]
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
    return BodyCells(grid.centers(indices), HAND_STEP, neighbors, grid)


def _find_peaks(hand: BodyCells, paths: np.ndarray) -> list[tuple[int, float, np.ndarray]]:
    """Find fingers: the cell of each tip, the distance at which it leaves the hand, and its cells.

    Cells are added from the farthest on. When two parts meet, the part with the nearer tip ends as a finger if it
    stands out far enough.
    """
    min_length = 0.012
    order = np.argsort(-paths, kind="stable")
    owner = np.full(hand.count + 1, -1)
    members: dict[int, list[int]] = {}
    found: list[tuple[int, float, np.ndarray]] = []
    last = -1
    for cell in order.tolist():  # each cell joins the parts of its neighbors
        around = {int(part) for part in owner[hand.neighbors[cell]] if part >= 0}
        if not around:
            owner[cell], members[cell] = cell, [cell]
            continue
        best = max(around, key=lambda part: paths[part])
        for part in around - {best}:
            if paths[part] - paths[cell] > min_length:
                found.append((part, float(paths[cell]), np.array(members[part])))
                last = best if last < 0 or paths[best] > paths[last] else last
            owner[members[part]] = best
            members[best] += members.pop(part)
        owner[cell] = best
        members[best].append(cell)
    if last >= 0:  # the farthest finger is as long as the finger next to it
        tips = hand.points[[part for part, _, _ in found]]
        saddle = found[int(((tips - hand.points[last]) ** 2).sum(axis=1).argmin())][1]
        inside = paths >= saddle
        for _, _, cells in found:
            inside[cells] = False
        own = np.flatnonzero(np.isfinite(measure_paths(hand, np.array([last]), inside)))
        found.append((last, saddle, own))
    return found


def _place_joints(
    name: str, hand: BodyCells, paths: np.ndarray, peak: tuple[int, float, np.ndarray], wrist: np.ndarray
) -> dict[str, np.ndarray]:
    tip, saddle, cells = peak
    numbers = np.floor((paths[cells] - saddle) / 0.003).astype(int)
    sizes = np.bincount(numbers)
    centers = sum_by(numbers, hand.points[cells], len(sizes))[sizes > 0] / sizes[sizes > 0][:, None]
    line = np.concatenate([centers, hand.points[tip][None]])
    if name == "thumb":
        line = np.concatenate([(wrist + 0.25 * (line[0] - wrist))[None], line])
    else:
        back = line[0] - line[min(len(line) - 1, max(1, len(line) // 2))]
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        # The knuckle is behind the web between two fingers.
        line = np.concatenate([(line[0] + 0.42 * length * back / np.linalg.norm(back))[None], line])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    shares = (0.0, 0.40, 0.70, 1.0) if name == "thumb" else (0.0, 0.46, 0.73, 1.0)
    at = [np.array([np.interp(share * lengths[-1], lengths, line[:, axis]) for axis in range(3)]) for share in shares]
    return {**{f"{name}{number}": point for number, point in enumerate(at[:3], 1)}, f"{name}_tip": at[3]}
