"""Which fractions joints get, and which twists are spread: by what users chose, by twists, by which bones are long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fractions import Fractions
from .rest import Joints
from .skeleton import Chains
from .spread_twists import SpreadTwists

MOST = 5
"""Fractions of a joint, at most."""

LARGEST_STEP = np.radians(75.0)
"""Twist between neighbors, at most, where the number of fractions is free."""

LEAST_TWIST = np.radians(90.0)
"""Twist from which on a joint has fractions, where that is free."""

IN_LINE = np.radians(15.0)
"""Between bones that may be counted as one."""

LONGER = 1.5
"""How much longer bones counted as one may be than all before them, up to where the skeleton branches: the halves of a
forearm are one, forearm and upper arm are not, though they lie in line as well."""

LEAST_LENGTH = 0.08
"""Length of a long bone, as a share of the skeleton's size: fingers, toes and most collar bones are shorter."""

OF_BEFORE, SHORT = 0.6, 0.5
"""Least length of a long bone, as a share of that before it; length of what follows, as a share of its own, at most."""

MIRRORED = 0.02
"""Distance, as a share of the skeleton's size, up to which a joint is the mirror image of another."""


def count_fractions(twist: float) -> int:
    """How many fractions a joint takes that twists by so many radians, at most; 0 where it needs none."""
    return 0 if twist <= LEAST_TWIST else int(min(np.ceil(twist / LARGEST_STEP) - 1, MOST))


def plan_twists(joints: Joints, levels: np.ndarray, counts: np.ndarray) -> tuple[Fractions | None, SpreadTwists | None]:
    """The fractions of some joints, and the twists of others that are spread; None where there are none.

    Parameters
    ----------
    levels : int array, shape (B,)
        How many fractions each joint has.
    counts : int array, shape (B,)
        Along how many of the bones before it each joint's twist is spread; 0 for none. Such a joint has no fractions.

    Notes
    -----
    A bone has the twist of one joint spread along it: of several, the first. The others have their fractions.
    """
    spread = _plan_spread(joints, counts)
    levels = np.where(joints.parents >= 0, levels, 0)
    if spread is not None:
        levels[spread.joints] = 0
    return _plan_fractions(joints, levels), spread


def _plan_fractions(joints: Joints, levels: np.ndarray) -> Fractions | None:
    last = np.repeat(np.arange(len(levels)), levels)
    if not len(last):
        return None
    number = np.arange(len(last)) - np.repeat(np.cumsum(levels) - levels, levels)
    parents, index = joints.parents.copy(), len(levels) + np.arange(len(last))
    first = joints.parents[last]
    parents[last] = index  # the last of each joint stays
    before = np.where(number == 0, first, index - 1)
    centers = np.asarray(joints.centers, np.float64)[last]
    shares = (number + 1) / (levels[last] + 1)
    return Fractions(np.append(parents, before), first, last, shares, joints.axes[last], centers)


def _plan_spread(joints: Joints, counts: np.ndarray) -> SpreadTwists | None:
    centers, chosen, taken = np.asarray(joints.centers, np.float64), [], set()
    for joint in np.flatnonzero((counts > 0) & (joints.parents >= 0)).tolist():
        line = _list_before(joints, joint, int(counts[joint]))
        length = float(np.linalg.norm(centers[joint] - centers[line[0]]))
        if taken.isdisjoint(line) and length > 1e-6:
            taken.update(line)
            chosen.append((joint, line, length))
    if not chosen:
        return None
    ends, lines, lengths = ([each[part] for each in chosen] for part in range(3))
    along = np.zeros((len(chosen), len(counts)), bool)
    for row, line in zip(along, lines, strict=True):
        row[line] = True
    starts = [line[0] for line in lines]
    axes = (centers[ends] - centers[starts]) / np.array(lengths)[:, None]
    is_end = np.eye(len(counts), dtype=np.intp)[:, ends]
    below = joints.chains.sum(is_end).T > 0
    return SpreadTwists(np.array(ends), joints.parents, along, below, axes, centers[ends], np.array(lengths))


def _list_before(joints: Joints, joint: int, count: int) -> list[int]:
    """So many bones before a joint, from the first to that above it; fewer at a root."""
    line: list[int] = []
    while len(line) < count and joints.parents[joint] >= 0:
        joint = int(joints.parents[joint])
        line.insert(0, joint)
    return line


@dataclass(frozen=True)
class LongBones:
    """What of a skeleton a twist may be spread along.

    Attributes
    ----------
    counts : int array, shape (B,)
        How many bones before each joint are counted as one; 0 for a root.
    is_long : bool array, shape (B,)
        Whether they are a long bone before a short one: a forearm or a shin, whatever it is called.
    """

    counts: np.ndarray
    is_long: np.ndarray


def find_long_bones(joints: Joints, handles: np.ndarray | None = None) -> LongBones:
    """Which bones before each joint are counted as one, and are long, by where the joints are at rest.

    Parameters
    ----------
    handles : bool array, shape (B,), optional
        Joints that are left out: none is above another.

    Notes
    -----
    Long bones are in pairs, left and right: spine, neck, tail and head are not. They are long against the skeleton,
    what is before them and the one bone that follows, or that ends in several, as a hand does. Upper arms and thighs
    are left out: a forearm turns at the elbow that is bent, and the elbow's tip would go along.
    """
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    count = len(parents)
    counts, is_long = np.zeros(count, np.intp), np.zeros(count, bool)
    if not count:
        return LongBones(counts, is_long)
    if handles is not None and handles.any():
        kept = np.flatnonzero(~handles)
        index = np.append(np.where(handles, -1, np.cumsum(~handles) - 1), -1)
        tails = None if joints.tails is None else joints.tails[kept]
        others = find_long_bones(Joints(centers[kept], index[parents[kept]], tails))
        counts[kept], is_long[kept] = others.counts, others.is_long
        return LongBones(counts, is_long)
    size = measure_size(joints)
    (paired, *_), heirs, inner = find_paired(joints), find_heirs(parents), []
    before_each = _measure_before(joints, heirs)
    for joint in np.flatnonzero(parents >= 0).tolist():
        line = _list_line(joint, parents, centers, heirs, before_each)
        counts[joint] = len(line)
        is_long[joint] = paired[joint] and heirs[parents[joint]] == joint and _is_long(joint, line, joints, heirs, size)
        inner += line[:-1] if is_long[joint] else []
    is_long[inner] = False
    return LongBones(counts, is_long)


def find_paired(joints: Joints) -> tuple[np.ndarray, int, float]:
    """Which joints have a mirror image, as deep in the skeleton, across a plane at right angles to an axis.

    Returns
    -------
    paired : bool array, shape (B,)
    axis : int
        Of the plane across which most have one, 0 to 2.
    middle : float
        Where the plane is on it.
    """
    centers = np.asarray(joints.centers, np.float64)
    depths, tolerance = joints.chains.sum(np.ones(len(centers), np.intp)), MIRRORED * measure_size(joints)
    best = np.zeros(len(centers), bool), 0, 0.0
    for axis in range(3):
        for middle in (0.0, float(np.median(centers[:, axis]))):
            mirrored = centers.copy()
            mirrored[:, axis] = 2.0 * middle - mirrored[:, axis]
            away = np.abs(centers[:, axis] - middle) > tolerance
            squares = np.square(centers[:, None] - mirrored).sum(axis=2)
            squares[depths[:, None] != depths] = np.inf
            found = away & (squares.min(axis=1) <= tolerance * tolerance)
            if found.sum() > best[0].sum():
                best = found, axis, middle
    return best


def measure_size(joints: Joints) -> float:
    """The longest side of the box that holds all joints."""
    return float(np.ptp(np.asarray(joints.centers, np.float64), axis=0).max())


def find_heirs(parents: np.ndarray) -> np.ndarray:
    """The one joint below each that has joints below it, or is its only one; -1 where there are more: shape (B,)."""
    heirs = np.full(len(parents), -1)
    below = np.bincount(parents[parents >= 0], minlength=len(parents))
    for joint, count in enumerate(below.tolist()):
        children = np.flatnonzero(parents == joint)
        leading = children if count == 1 else children[below[children] > 0]
        if len(leading) == 1:
            heirs[joint] = leading[0]
    return heirs


def _list_line(
    joint: int, parents: np.ndarray, centers: np.ndarray, heirs: np.ndarray, before_each: np.ndarray
) -> list[int]:
    """Bones before a joint that count as one, from the last to the first; `before_each` is from `_measure_before`."""
    line = [int(parents[joint])]
    length = float(np.linalg.norm(centers[joint] - centers[line[0]]))
    before = line[0]
    while (above := int(parents[before])) >= 0 and heirs[above] == before:
        step = centers[before] - centers[above]
        if _find_angle(step, centers[joint] - centers[before]) > IN_LINE:
            break
        length += float(np.linalg.norm(step))
        if length > LONGER * before_each[above]:
            break
        line.append(above)
        before = above
    return line


def _measure_before(joints: Joints, heirs: np.ndarray) -> np.ndarray:
    """Length of the bones before each joint, up to where the skeleton branches, shape (B,)."""
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    is_heir = (parents >= 0) & (heirs[parents] == np.arange(len(parents)))
    steps = np.where(is_heir, np.linalg.norm(centers - centers[parents], axis=1), 0.0)
    return Chains(np.where(is_heir, parents, -1)).sum(steps)


def _is_long(joint: int, line: list[int], joints: Joints, heirs: np.ndarray, size: float) -> bool:
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    along = centers[joint] - centers[line[-1]]
    above = int(parents[line[-1]])
    before = np.zeros(3) if above < 0 else centers[line[-1]] - centers[above]
    length, length_before = float(np.linalg.norm(along)), float(np.linalg.norm(before))
    if length < max(LEAST_LENGTH * size, OF_BEFORE * length_before):
        return False
    return _measure_after(joint, centers, heirs) <= SHORT * length


def _measure_after(joint: int, centers: np.ndarray, heirs: np.ndarray) -> float:
    """Length of the bone that begins at a joint, with those in line with it; 0 where it ends or branches at once."""
    start, end = centers[joint], int(heirs[joint])
    if end < 0:
        return 0.0
    while (heir := int(heirs[end])) >= 0 and _find_angle(centers[end] - start, centers[heir] - centers[end]) <= IN_LINE:
        end = heir
    return float(np.linalg.norm(centers[end] - start))


def _find_angle(first: np.ndarray, second: np.ndarray) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.arccos(np.clip(first @ second / lengths, -1.0, 1.0))) if lengths > 0.0 else 0.0
