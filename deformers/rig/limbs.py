"""Limbs of a skeleton that take up a twist: forearms, shins, upper arms, thighs, and others.

They are found from rest positions of joints, not from names, and for left and right together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .rest import Joints, once_for_joints
from .rolls import Rolls
from .skeleton import Chains, distances_to_bones

# Largest bend between bones that count as one
MAX_IN_LINE_BEND = np.radians(15.0)

# Bones that count as one may be this much longer than those before, up to a branch: the halves of a forearm are one,
# forearm and upper arm are not, even if they are in line.
MAX_GROWTH = 1.5

# Distance between a joint and another's mirror image, in sizes of the skeleton
MAX_MIRROR_GAP = 0.02

# Cosine between a bone's own axis and the limb
MIN_ALONG = np.cos(np.radians(30.0))

# A lower limb of several bones has rolled by log(1 - TAPER x) / log(1 - TAPER) at x.
TAPER = 0.6

# Of each bone that rolls: more would differ by .1 mm up to half a turn. Limbs with a larger twist need more, or
# neighbors would be blended that are too far apart.
SEGMENTS, FINE_SEGMENTS = 4, 8

# In the actions, for the bone before any other joint to take it up
MIN_TWIST = np.radians(75.0)

TINY = 1e-12

LOWER, UPPER, OTHER = "LOWER", "UPPER", "OTHER"


@dataclass(frozen=True, eq=False)
class Limb:
    """Bones in line that take up a twist.

    Attributes
    ----------
    kind : str
        LOWER: the twist of the next joint, such as a hand's along the forearm. UPPER: the bones' own, such as an upper
        arm's, which is taken back at its start. OTHER: that of the next joint, because the actions twist it far.
    bones : tuple of int
        Their joints, from the trunk on.
    source : int
        The joint that twists.
    axis : float64 array, shape (3,)
        Direction of the twist axis, armature space at rest.
    shares : float64 array, shape (bones, 2)
        Shares of the twist at each bone's head and tail.
    twist : float
        The largest in the actions, radians, mean of both sides; 0 if the source has another axis.
    pair : int
        Equal for left and right, which are decided together.
    """

    kind: str
    bones: tuple[int, ...]
    source: int
    axis: np.ndarray
    shares: np.ndarray
    twist: float
    pair: int

    @property
    def segments(self) -> int:
        """Segments of each bone, if they roll."""
        min_far_twist = np.radians(179.0)  # In the actions, for fine segments
        return FINE_SEGMENTS if self.twist > min_far_twist else SEGMENTS


@dataclass(frozen=True, eq=False)
class LimbChain:
    """Rows of joints from the trunk, or a branch, to their ends, with the limbs in them.

    Attributes
    ----------
    joints : int array, shape (2, N)
        Of both sides.
    upper, lower, end : int
        Starts of the upper and the lower limb in the rows, and end of the latter at the hand or foot. Before them are
        collar bones, shoulder blades, halves of a pelvis.
    length : float
        Of both limbs.
    """

    joints: np.ndarray
    upper: int
    lower: int
    end: int
    length: float


def plan_limbs(joints: Joints, may_roll: np.ndarray, twists: np.ndarray | None = None) -> tuple[Limb, ...]:
    """Find the limbs of a skeleton that can take up twists.

    Parameters
    ----------
    joints : Joints
        Without segments. None without tails.
    may_roll : bool array, shape (B,)
        Joints that are plain bones, one joint each.
    twists : float array, shape (B,), optional
        The largest twist of each joint about its own bone in the actions, radians.

    Returns
    -------
    tuple of Limb
        No bone is in two of them. Those of one pair are consecutive.
    """
    if joints.tails is None or not len(joints.parents):
        return ()
    chains = find_limb_chains(joints)
    rows = [(LOWER, chain.joints[:, chain.lower : chain.end + 1]) for chain in chains]
    rows += [
        (UPPER, chain.joints[:, chain.upper : chain.lower + 1])
        for chain in chains
        if (joints.parents[chain.joints[:, chain.upper]] >= 0).all()
    ]
    twists = np.zeros(len(joints.parents)) if twists is None else np.asarray(twists, np.float64)
    rows += [(OTHER, row) for row in _list_others(joints, twists, chains)]
    limbs: list[Limb] = []
    free = np.array(may_roll, bool)
    for pair, (kind, row) in enumerate(rows):
        if not free[row[:, :-1]].all() or not _lie_along(joints, row):
            continue
        made = [_make_limb(joints, kind, side, pair) for side in row]
        twist = _measure_twist(joints, made, twists)
        if kind != OTHER or twist >= MIN_TWIST:
            free[row[:, :-1]] = False
            limbs += [replace(limb, twist=twist) for limb in made]
    return tuple(limbs)


def _measure_twist(joints: Joints, limbs: Sequence[Limb], twists: np.ndarray) -> float:
    """Mean of the largest twists of limbs' sources; 0 if they twist about another axis, as feet do."""
    sources, axes = [limb.source for limb in limbs], np.array([limb.axis for limb in limbs])
    is_along = np.einsum("si,si->s", joints.axes[sources], axes).mean() >= MIN_ALONG
    return float(twists[sources].mean()) if is_along else 0.0


def make_rolls(limbs: Sequence[Limb]) -> Rolls | None:
    """The rolls of limbs' bones; None without limbs."""
    if not limbs:
        return None
    counts = [len(limb.bones) for limb in limbs]
    return Rolls(
        joints=np.concatenate([limb.bones for limb in limbs]).astype(np.intp),
        sources=np.repeat([limb.source for limb in limbs], counts),
        axes=np.repeat([limb.axis for limb in limbs], counts, axis=0),
        shares=np.concatenate([limb.shares for limb in limbs]),
        counts=np.repeat([limb.segments for limb in limbs], counts),
    )


def _lie_along(joints: Joints, row: np.ndarray) -> bool:
    """Whether bones lie along a limb, shape (sides, N + 1) with the end joint last, in the mean of both sides."""
    centers, bones = np.asarray(joints.centers, np.float64), row[:, :-1]
    line = centers[row[:, -1]] - centers[row[:, 0]]
    gaps = np.linalg.norm(centers[row[:, 1:]] - np.asarray(joints.tails)[bones], axis=2)
    lengths = joints.lengths[bones]
    cosines = (
        np.einsum("sbi,si->sb", joints.axes[bones], line) / np.maximum(np.linalg.norm(line, axis=1), TINY)[:, None]
    )
    is_long = (lengths > TINY).all()
    max_gap = 0.3  # Distance of a bone's tail from the next joint, in its lengths, for it to lie along the limb
    return bool(
        is_long
        and ((gaps / np.maximum(lengths, TINY)).mean(axis=0) <= max_gap).all()
        and (cosines.mean(axis=0) >= MIN_ALONG).all()
    )


def _make_limb(joints: Joints, kind: str, row: np.ndarray, pair: int) -> Limb:
    bones, centers = row[:-1], np.asarray(joints.centers, np.float64)
    along = np.append(0.0, np.cumsum(joints.lengths[bones]))
    along /= along[-1]
    if kind == UPPER:
        source, axis, shares = row[0], joints.axes[row[0]], along - 1.0
    else:
        source, axis = row[-1], centers[row[-1]] - centers[row[0]]
        axis = axis / np.linalg.norm(axis)
        shares = along if len(bones) == 1 else np.log(1.0 - TAPER * along) / np.log(1.0 - TAPER)
    return Limb(kind, tuple(bones.tolist()), int(source), axis, np.stack([shares[:-1], shares[1:]], axis=1), 0.0, pair)


def _list_others(joints: Joints, twists: np.ndarray, chains: Sequence[LimbChain]) -> Iterator[np.ndarray]:
    """Bones before joints that the actions twist far, outside of limbs: rows as of limbs, shape (sides, N + 1)."""
    parents, mirrored = joints.parents, find_mirrored(joints)[0]
    heirs = _find_reaching_heirs(make_even(joints))
    in_limbs = np.zeros(len(parents), bool)
    for chain in chains:
        in_limbs |= joints.chains.below[:, chain.joints[:, 0]].any(axis=1)
    counts = count_in_line(joints)
    order = np.argsort(joints.chains.sum(np.ones(len(parents), np.intp)), kind="stable")  # those above first
    for joint in order[(parents >= 0)[order] & ~in_limbs[order]].tolist():
        sides = [joint] if mirrored[joint] in (-1, joint) else sorted({joint, int(mirrored[joint])})
        goes_on = (heirs[parents[sides]] == sides).all()
        if joint != sides[0] or not goes_on or twists[sides].mean() < MIN_TWIST:
            continue
        rows = [[side] for side in sides]
        for _ in range(int(counts[sides].min())):
            rows = [[int(parents[row[0]]), *row] for row in rows]
        yield np.array(rows)


@once_for_joints
def find_limb_chains(joints: Joints) -> tuple[LimbChain, ...]:
    """Find arms and legs of a skeleton, each with its mirror image; none without two sides.

    Notes
    -----
    A chain of mirrored joints begins at the trunk, or at a branch, and continues with the child that reaches farthest.
    Collar bones and similar bones are left out: they begin near the plane between both sides, or lead outward and are
    bent relative to the next bone. The rest is cut into two halves, upper and lower limb, each in line, with similar
    lengths, long and of few bones.
    """
    mirrored, axis, middle = find_mirrored(joints)
    if joints.tails is None or not (mirrored != np.arange(len(mirrored)))[mirrored >= 0].any():
        return ()
    joints, size, found = make_even(joints), measure_size(joints), []
    even = joints.centers
    side = even[:, axis] - middle + 0.5 * joints.lengths * joints.axes[:, axis]
    heirs = _find_reaching_heirs(joints)
    min_half_length = 0.08  # Length of a limb's longer half, in sizes of the skeleton: fingers and toes are shorter.
    for start in np.flatnonzero((mirrored >= 0) & (mirrored != np.arange(len(mirrored))) & (side > 0.0)).tolist():
        parent = joints.parents[start]
        if parent >= 0 and heirs[parent] == start and mirrored[parent] not in (-1, parent):
            continue  # goes on from there
        row = [start]
        while (heir := int(heirs[row[-1]])) >= 0 and mirrored[heir] not in (-1, heir):
            row.append(heir)
        parts = _cut_chain(even[row], np.abs(even[row, axis] - middle))
        if parts is not None:
            chain = LimbChain(np.array([row, mirrored[row]]), *parts)
            if max(_measure_halves(even[row], *parts[:3])) >= min_half_length * size:
                found.append(chain)
    return _drop_lesser(joints, found)


def _drop_lesser(joints: Joints, chains: Sequence[LimbChain]) -> tuple[LimbChain, ...]:
    """Chains that are long relative to the longest and do not hang on another: not fingers, hair and skirts."""
    longest, kept = max((chain.length for chain in chains), default=0.0), []
    min_of_longest = 0.35  # Length of a limb relative to the longest: hair, skirts and ears are shorter.
    for chain in sorted(chains, key=lambda each: -each.length):
        hangs = any(joints.chains.below[chain.joints[0, 0], other.joints[0, other.upper]] for other in kept)
        if chain.length >= min_of_longest * longest and not hangs:
            kept.append(chain)
    return tuple(kept)


def _cut_chain(points: np.ndarray, away: np.ndarray) -> tuple[int, int, int, float] | None:
    """Starts of upper limb, lower limb and the rest in a row of joints, and the length of both limbs; None without
    halves.

    `away`: distances from the plane between both sides.
    """
    start, best, found = _count_collars(points, away), np.inf, None
    total = float(np.linalg.norm(np.diff(points[start:], axis=0), axis=1).sum())
    merge_cost = 0.15  # Cost of several bones in one half of a limb
    for lower in range(start + 1, len(points) - 1):
        for end in range(lower + 1, len(points)):
            first, second = _measure_halves(points, start, lower, end)
            if min(first, second) <= TINY or not _can_be_limb(points, start, lower, end):
                continue
            merged = merge_cost * ((lower - start > 1) + (end - lower > 1))
            cost = abs(float(np.log(first / second))) + merged - (first + second) / total
            if cost < best:
                best, found = cost, (start, lower, end, first + second)
    return found


def _can_be_limb(points: np.ndarray, start: int, lower: int, end: int) -> bool:
    """Whether both halves are straight, the limb is not folded, and its lower half does not end with a hand."""
    if not (_is_straight(points[start : lower + 1]) and _is_straight(points[lower : end + 1])):
        return False
    lengths = np.linalg.norm(np.diff(points[lower : end + 1], axis=0), axis=1)
    bend = _find_angle(points[lower] - points[start], points[end] - points[lower])
    min_last = 0.5  # Length of the last of several bones of a lower limb, relative to the longest: hands are shorter.
    max_fold = np.radians(150.0)  # Bones whose halves are bent more at rest are controls, not a limb.
    return bool(bend <= max_fold and lengths[-1] >= min_last * lengths.max())


def _count_collars(points: np.ndarray, away: np.ndarray) -> int:
    """Number of bones before the limb, which keeps at least two."""
    steps, count = np.diff(points, axis=0), 0
    lengths = np.linalg.norm(steps, axis=1)
    # A collar bone, shoulder blade or half of a pelvis satisfies one of these rows. Maximum: distance of its start
    # from the plane between both sides, relative to its end; length up to its end, relative to the rest of the limb.
    # Minimum: bend to the next bone.
    collars = (0.35, 0.5, 0.0), (0.7, 0.35, 0.0), (0.75, 0.6, np.radians(40.0))
    while count + 2 < len(steps):
        before, left = lengths[: count + 1].sum(), lengths[count + 1 :].sum()
        outward = away[count] / max(away[count + 1], TINY)
        bend = _find_angle(steps[count], steps[count + 1])
        is_collar = any(
            outward < most_outward and before < most_before * left and bend >= least_bend
            for most_outward, most_before, least_bend in collars
        )
        if not is_collar:
            break
        count += 1
    return count


def _measure_halves(points: np.ndarray, start: int, lower: int, end: int) -> tuple[float, float]:
    return float(np.linalg.norm(points[lower] - points[start])), float(np.linalg.norm(points[end] - points[lower]))


def _is_straight(points: np.ndarray) -> bool:
    max_off_line = 0.1  # Distance of joints inside half a limb from its line, in its lengths
    return bool(
        (
            distances_to_bones(points, points[0], points[-1]) <= max_off_line * np.linalg.norm(points[-1] - points[0])
        ).all()
    )


@once_for_joints
def make_even(joints: Joints) -> Joints:
    """Average the joints with their mirror images, so that decisions for one side hold for the other.

    `joints`: without segments; only centers, parents and tails count.
    """
    mirrored, axis, middle = find_mirrored(joints)
    has = mirrored >= 0

    def average(points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, np.float64)
        others = points[np.where(has, mirrored, 0)]
        others[:, axis] = 2.0 * middle - others[:, axis]
        return np.where(has[:, None], 0.5 * (points + others), points)

    tails = None if joints.tails is None else average(joints.tails)
    return Joints(average(joints.centers), joints.parents, tails)


def _find_reaching_heirs(joints: Joints) -> np.ndarray:
    """The child of each joint that continues it, with much more reach than the others; -1 for none, shape (B,)."""
    parents, heirs, reaches = joints.parents, np.full(len(joints.parents), -1), measure_reaches(joints)
    is_leaf = np.bincount(parents[parents >= 0], minlength=len(parents)) == 0
    min_reach_ratio = 2.0  # A limb continues with the child whose reach exceeds that of all others by this factor.
    for joint in np.flatnonzero(~is_leaf).tolist():
        children = np.flatnonzero(parents == joint)
        leading = children[~is_leaf[children]] if len(children) > 1 else children
        order = leading[np.argsort(-reaches[leading], kind="stable")]
        if len(order) == 1 or (len(order) > 1 and reaches[order[0]] > min_reach_ratio * reaches[order[1]]):
            heirs[joint] = order[0]
    return heirs


def measure_reaches(joints: Joints) -> np.ndarray:
    """Length of the path from each joint to the farthest end of a bone below it, along the skeleton, shape (B,)."""
    centers = np.asarray(joints.centers, np.float64)
    steps = np.linalg.norm(centers - joints.chains.of_parents(centers, 0.0), axis=1) * (joints.parents >= 0)
    depths = joints.chains.sum(steps)
    return np.where(joints.chains.below.T, depths + joints.lengths, -np.inf).max(axis=1, initial=-np.inf) - depths


@once_for_joints
def find_mirrored(joints: Joints) -> tuple[np.ndarray, int, float]:
    """Find each joint's mirror image, from the roots down.

    Returns
    -------
    mirrored : int array, shape (B,)
        The joint itself in the middle; -1 for none.
    axis : int
        Of the plane between both sides, 0 to 2.
    middle : float
        Coordinate of the plane on the axis.
    """
    _, axis, middle = find_paired(joints)
    centers = np.asarray(joints.centers, np.float64)
    tails = centers if joints.tails is None else np.asarray(joints.tails, np.float64)
    both = np.concatenate([centers, tails], axis=1)
    images = both.copy()
    images[:, [axis, axis + 3]] = 2.0 * middle - images[:, [axis, axis + 3]]
    # Larger below joints that are mirror images already, since rest poses are less symmetric
    max_mirror_gap_below = 0.05
    mirrored, tolerance = np.full(len(centers), -1), max_mirror_gap_below * measure_size(joints)
    parents, level = joints.parents, [(np.flatnonzero(joints.parents < 0),) * 2]
    while level:
        ours, theirs = level.pop()
        if not len(ours) or not len(theirs):
            continue
        costs = np.square(images[ours][:, None] - both[theirs]).sum(axis=2)
        near = np.square(images[ours][:, None, :3] - both[theirs][:, :3]).sum(axis=2) <= tolerance * tolerance
        costs[~near] = np.inf
        for row, column in enumerate(costs.argmin(axis=1).tolist()):
            if near[row, column] and costs[:, column].argmin() == row:
                one, other = int(ours[row]), int(theirs[column])
                mirrored[one] = other
                level.append((np.flatnonzero(parents == one), np.flatnonzero(parents == other)))
    return mirrored, axis, middle


def count_in_line(joints: Joints) -> np.ndarray:
    """Number of bones before each joint that are in line and count as one, shape (B,); 0 for a root.

    Notes
    -----
    A bone is in line with the joint if it bends from there by at most `MAX_IN_LINE_BEND`, and if all together are at
    most `MAX_GROWTH` times as long as the bones before them.
    """
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    heirs = find_heirs(parents)
    before_each = _measure_before(joints, heirs)
    growing = np.flatnonzero(parents >= 0)
    counts, firsts = (parents >= 0).astype(np.intp), parents[growing]
    lengths = np.linalg.norm(centers[growing] - centers[firsts], axis=1)
    while len(growing):
        above = parents[firsts]
        goes_on = (above >= 0) & (heirs[above] == firsts)
        growing, firsts, above, lengths = (each[goes_on] for each in (growing, firsts, above, lengths))
        steps, rests = centers[firsts] - centers[above], centers[growing] - centers[firsts]
        before, after = np.linalg.norm(steps, axis=1), np.linalg.norm(rests, axis=1)
        lengths = lengths + before
        is_in_line = np.einsum("ji,ji->j", steps, rests) >= np.cos(MAX_IN_LINE_BEND) * before * after
        goes_on = is_in_line & (lengths <= MAX_GROWTH * before_each[above])
        growing, firsts, lengths = growing[goes_on], above[goes_on], lengths[goes_on]
        counts[growing] += 1
    return counts


def find_paired(joints: Joints) -> tuple[np.ndarray, int, float]:
    """Find joints with a mirror image, at the same depth of the skeleton, across a plane orthogonal to an axis.

    Returns
    -------
    paired : bool array, shape (B,)
    axis : int
        Of the plane across which most have one, 0 to 2.
    middle : float
        Coordinate of the plane on the axis.
    """
    centers = np.asarray(joints.centers, np.float64)
    depths, tolerance = joints.chains.sum(np.ones(len(centers), np.intp)), MAX_MIRROR_GAP * measure_size(joints)
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
    """Longest side of the box of all joints."""
    return float(np.ptp(np.asarray(joints.centers, np.float64), axis=0).max())


def find_heirs(parents: np.ndarray) -> np.ndarray:
    """The only child of each joint, or the only one with children; -1 for none: shape (B,)."""
    heirs = np.full(len(parents), -1)
    below = np.bincount(parents[parents >= 0], minlength=len(parents))
    for joint, count in enumerate(below.tolist()):
        children = np.flatnonzero(parents == joint)
        leading = children if count == 1 else children[below[children] > 0]
        if len(leading) == 1:
            heirs[joint] = leading[0]
    return heirs


def _measure_before(joints: Joints, heirs: np.ndarray) -> np.ndarray:
    """Length of the bones before each joint, up to a branch, shape (B,)."""
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    is_heir = (parents >= 0) & (heirs[parents] == np.arange(len(parents)))
    steps = np.where(is_heir, np.linalg.norm(centers - centers[parents], axis=1), 0.0)
    return Chains(np.where(is_heir, parents, -1)).sum(steps)


def _find_angle(first: np.ndarray, second: np.ndarray) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.arccos(np.clip(first @ second / lengths, -1.0, 1.0))) if lengths > 0.0 else 0.0
