"""Which bones of a skeleton are limbs that take up a twist: forearms, shins, upper arms, thighs, and others.

All is decided by where the joints are at rest, not by names, and for left and right together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .rest import Joints, once_for_joints
from .rolls import Rolls
from .skeleton import Chains, distances_to_bones

IN_LINE = np.radians(15.0)
"""Between bones that may be counted as one."""

LONGER = 1.5
"""How much longer bones counted as one may be than all before them, up to where the skeleton branches: the halves of a
forearm are one, forearm and upper arm are not, though they lie in line as well."""

MIRRORED = 0.02
"""Distance, as a share of the skeleton's size, up to which a joint is the mirror image of another."""

ALIKE = 0.05
"""The same where those above both are mirror images already: rest poses are less even than that."""

LEAST_LENGTH = 0.08
"""Length of a limb's longer half, as a share of the skeleton's size: fingers and toes are shorter."""

OF_LONGEST = 0.35
"""Length of a limb, as a share of that of the longest, at least: hair, skirts and ears are no limbs."""

GAP = 0.3
"""Distance of a bone's tail from the next joint, as a share of its length, up to which it lies along the limb."""

ALONG = np.cos(np.radians(30.0))
"""Cosine between a bone's own axis and the limb, at least."""

STRAIGHT = 0.1
"""How far the joints inside of one half of a limb may be off its line, as a share of its length."""

MERGED = 0.15
"""What several bones in one half of a limb count against them."""

LAST = 0.5
"""Length of the last of several bones of a lower limb, as a share of the longest: hands are shorter."""

REACHES = 2.0
"""How much farther than all others a joint reaches that goes on, where several below a joint have joints below them."""

COLLARS = (0.35, 0.5, 0.0), (0.7, 0.35, 0.0), (0.75, 0.6, np.radians(40.0))
"""What is a collar bone, shoulder blade or half of a pelvis, in any of these rows: distance of its start from the plane
between both sides, as a share of that of its end, at most; length up to its end, as a share of what is left of the
limb, at most; bend against what follows, at least."""

FOLDED = np.radians(150.0)
"""Bend between both halves of a limb at rest, from which on they are controls, and no limb."""

TAPER = 0.6
"""Of a lower limb in several bones: it has turned log(1 - TAPER x) / log(1 - TAPER) of the way."""

SEGMENTS, FINE_SEGMENTS = 4, 8
"""Of each bone that rolls: more differ by .1 mm up to half a turn. Those of limbs that actions turn by that or farther:
with fewer, neighbors are blended that are too far apart."""

FAR_TWIST = np.radians(179.0)
"""Twist in the actions from which on limbs have more segments."""

LEAST_TWIST = np.radians(75.0)
"""Twist in the actions from which on the bone before any other joint takes it up."""

TINY = 1e-12

LOWER, UPPER, OTHER = "LOWER", "UPPER", "OTHER"


@dataclass(frozen=True, eq=False)
class Limb:
    """Bones in line that take up a twist.

    Attributes
    ----------
    kind : str
        LOWER: the twist of what follows, as a hand's along the forearm. UPPER: the bones' own, as an upper arm's,
        which is taken back where it begins. OTHER: that of what follows, because the actions twist it far.
    bones : tuple of int
        Their joints, from the trunk on.
    source : int
        The joint whose twist it is.
    axis : float64 array, shape (3,)
        Of that twist: a direction, armature space at rest.
    shares : float64 array, shape (bones, 2)
        Of the twist at each bone's head and tail.
    twist : float
        The largest in the actions, radians: the mean of both sides; 0 where the source's own axis is another.
    pair : int
        The same for what is decided together, left and right.
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
        """Of each of its bones, if they roll."""
        return FINE_SEGMENTS if self.twist > FAR_TWIST else SEGMENTS


@dataclass(frozen=True, eq=False)
class LimbChain:
    """Rows of joints from the trunk, or where the skeleton branches, to their ends, with the limbs in them.

    Attributes
    ----------
    joints : int array, shape (2, N)
        Of both sides.
    upper, lower, end : int
        Where in the rows the upper limb and the lower limb begin, and where the latter ends: at the hand, or foot. What
        comes before are collar bones, shoulder blades, halves of a pelvis.
    length : float
        Of both limbs.
    """

    joints: np.ndarray
    upper: int
    lower: int
    end: int
    length: float


def plan_limbs(joints: Joints, may_roll: np.ndarray, twists: np.ndarray | None = None) -> tuple[Limb, ...]:
    """The limbs of a skeleton that can take up twists.

    Parameters
    ----------
    joints : Joints
        Without segments. There are no limbs where they have no tails.
    may_roll : bool array, shape (B,)
        Joints that are plain bones, one joint each.
    twists : float array, shape (B,), optional
        The largest twist of each joint about its own bone in the actions, radians.

    Returns
    -------
    tuple of Limb
        No bone is in two of them. Those of one pair follow one another.
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
        if kind != OTHER or twist >= LEAST_TWIST:
            free[row[:, :-1]] = False
            limbs += [replace(limb, twist=twist) for limb in made]
    return tuple(limbs)


def _measure_twist(joints: Joints, limbs: Sequence[Limb], twists: np.ndarray) -> float:
    """Mean of the largest twists of limbs' sources; 0 where they twist about another axis, as feet do."""
    sources, axes = [limb.source for limb in limbs], np.array([limb.axis for limb in limbs])
    is_along = np.einsum("si,si->s", joints.axes[sources], axes).mean() >= ALONG
    return float(twists[sources].mean()) if is_along else 0.0


def make_rolls(limbs: Sequence[Limb]) -> Rolls | None:
    """The rolls of limbs' bones; None where there are no limbs."""
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
    """Whether bones lie along a limb, shape (sides, N + 1), the last the joint where it ends: in the mean of both."""
    centers, bones = np.asarray(joints.centers, np.float64), row[:, :-1]
    line = centers[row[:, -1]] - centers[row[:, 0]]
    gaps = np.linalg.norm(centers[row[:, 1:]] - np.asarray(joints.tails)[bones], axis=2)
    lengths = joints.lengths[bones]
    cosines = (
        np.einsum("sbi,si->sb", joints.axes[bones], line) / np.maximum(np.linalg.norm(line, axis=1), TINY)[:, None]
    )
    is_long = (lengths > TINY).all()
    return bool(
        is_long
        and ((gaps / np.maximum(lengths, TINY)).mean(axis=0) <= GAP).all()
        and (cosines.mean(axis=0) >= ALONG).all()
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
    """Bones before joints that the actions twist far, which are in no limb: rows as of limbs, shape (sides, N + 1)."""
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
        if joint != sides[0] or not goes_on or twists[sides].mean() < LEAST_TWIST:
            continue
        rows = [[side] for side in sides]
        for _ in range(int(counts[sides].min())):
            rows = [[int(parents[row[0]]), *row] for row in rows]
        yield np.array(rows)


@once_for_joints
def find_limb_chains(joints: Joints) -> tuple[LimbChain, ...]:
    """Arms and legs of a skeleton, each with its mirror image; none where there is no other side.

    Notes
    -----
    A chain of mirrored joints begins at the trunk, or where the skeleton branches, and goes on with the child that
    reaches farthest. Collar bones and the like are left out: they begin near the plane between both sides, or lead
    outward and are bent against what follows. What follows is cut in two halves, upper and lower limb, each in line, so
    that they are alike in length, long and of few bones.
    """
    mirrored, axis, middle = find_mirrored(joints)
    if joints.tails is None or not (mirrored != np.arange(len(mirrored)))[mirrored >= 0].any():
        return ()
    joints, size, found = make_even(joints), measure_size(joints), []
    even = joints.centers
    side = even[:, axis] - middle + 0.5 * joints.lengths * joints.axes[:, axis]
    heirs = _find_reaching_heirs(joints)
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
            if max(_measure_halves(even[row], *parts[:3])) >= LEAST_LENGTH * size:
                found.append(chain)
    return _drop_lesser(joints, found)


def _drop_lesser(joints: Joints, chains: Sequence[LimbChain]) -> tuple[LimbChain, ...]:
    """Those that are long against the longest, and do not hang on another: fingers, hair and skirts are left out."""
    longest, kept = max((chain.length for chain in chains), default=0.0), []
    for chain in sorted(chains, key=lambda each: -each.length):
        hangs = any(joints.chains.below[chain.joints[0, 0], other.joints[0, other.upper]] for other in kept)
        if chain.length >= OF_LONGEST * longest and not hangs:
            kept.append(chain)
    return tuple(kept)


def _cut_chain(points: np.ndarray, away: np.ndarray) -> tuple[int, int, int, float] | None:
    """Where upper limb, lower limb and what follows begin among joints in a row, and the length of both limbs.

    `away`: distances from the plane between both sides. None where there are not two halves.
    """
    start, best, found = _count_collars(points, away), np.inf, None
    total = float(np.linalg.norm(np.diff(points[start:], axis=0), axis=1).sum())
    for lower in range(start + 1, len(points) - 1):
        for end in range(lower + 1, len(points)):
            first, second = _measure_halves(points, start, lower, end)
            if min(first, second) <= TINY or not _can_be_limb(points, start, lower, end):
                continue
            merged = MERGED * ((lower - start > 1) + (end - lower > 1))
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
    return bool(bend <= FOLDED and lengths[-1] >= LAST * lengths.max())


def _count_collars(points: np.ndarray, away: np.ndarray) -> int:
    """How many bones of a row are no part of the limb: two are left to it, at least."""
    steps, count = np.diff(points, axis=0), 0
    lengths = np.linalg.norm(steps, axis=1)
    while count + 2 < len(steps):
        before, left = lengths[: count + 1].sum(), lengths[count + 1 :].sum()
        outward = away[count] / max(away[count + 1], TINY)
        bend = _find_angle(steps[count], steps[count + 1])
        is_collar = any(
            outward < most_outward and before < most_before * left and bend >= least_bend
            for most_outward, most_before, least_bend in COLLARS
        )
        if not is_collar:
            break
        count += 1
    return count


def _measure_halves(points: np.ndarray, start: int, lower: int, end: int) -> tuple[float, float]:
    return float(np.linalg.norm(points[lower] - points[start])), float(np.linalg.norm(points[end] - points[lower]))


def _is_straight(points: np.ndarray) -> bool:
    return bool(
        (distances_to_bones(points, points[0], points[-1]) <= STRAIGHT * np.linalg.norm(points[-1] - points[0])).all()
    )


@once_for_joints
def make_even(joints: Joints) -> Joints:
    """The joints in the mean with their mirror images: what is decided of one side then holds for the other.

    Parameters
    ----------
    joints : Joints
        Without segments; only centers, parents and tails count.
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
    """The joint below each that goes on: that reaches much farther than the others; -1 for none, shape (B,)."""
    parents, heirs, reaches = joints.parents, np.full(len(joints.parents), -1), measure_reaches(joints)
    is_leaf = np.bincount(parents[parents >= 0], minlength=len(parents)) == 0
    for joint in np.flatnonzero(~is_leaf).tolist():
        children = np.flatnonzero(parents == joint)
        leading = children[~is_leaf[children]] if len(children) > 1 else children
        order = leading[np.argsort(-reaches[leading], kind="stable")]
        if len(order) == 1 or (len(order) > 1 and reaches[order[0]] > REACHES * reaches[order[1]]):
            heirs[joint] = order[0]
    return heirs


def measure_reaches(joints: Joints) -> np.ndarray:
    """Length of the way from each joint to the farthest bone's end below it, along the skeleton, shape (B,)."""
    centers = np.asarray(joints.centers, np.float64)
    steps = np.linalg.norm(centers - joints.chains.of_parents(centers, 0.0), axis=1) * (joints.parents >= 0)
    depths = joints.chains.sum(steps)
    return np.where(joints.chains.below.T, depths + joints.lengths, -np.inf).max(axis=1, initial=-np.inf) - depths


@once_for_joints
def find_mirrored(joints: Joints) -> tuple[np.ndarray, int, float]:
    """Each joint's mirror image, found from the roots down.

    Returns
    -------
    mirrored : int array, shape (B,)
        The joint itself where that is in the middle; -1 where there is none.
    axis : int
        Of the plane between both sides, 0 to 2.
    middle : float
        Where the plane is on it.
    """
    _, axis, middle = find_paired(joints)
    centers = np.asarray(joints.centers, np.float64)
    tails = centers if joints.tails is None else np.asarray(joints.tails, np.float64)
    both = np.concatenate([centers, tails], axis=1)
    images = both.copy()
    images[:, [axis, axis + 3]] = 2.0 * middle - images[:, [axis, axis + 3]]
    mirrored, tolerance = np.full(len(centers), -1), ALIKE * measure_size(joints)
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
    """How many bones before each joint are counted as one, because they are in line, shape (B,); 0 for a root.

    Notes
    -----
    A bone is in line with the joint if it bends by `IN_LINE` at most from there, and if all together are at most
    `LONGER` times as long as what is before them.
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
        is_in_line = np.einsum("ji,ji->j", steps, rests) >= np.cos(IN_LINE) * before * after
        goes_on = is_in_line & (lengths <= LONGER * before_each[above])
        growing, firsts, lengths = growing[goes_on], above[goes_on], lengths[goes_on]
        counts[growing] += 1
    return counts


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


def _measure_before(joints: Joints, heirs: np.ndarray) -> np.ndarray:
    """Length of the bones before each joint, up to where the skeleton branches, shape (B,)."""
    parents, centers = joints.parents, np.asarray(joints.centers, np.float64)
    is_heir = (parents >= 0) & (heirs[parents] == np.arange(len(parents)))
    steps = np.where(is_heir, np.linalg.norm(centers - centers[parents], axis=1), 0.0)
    return Chains(np.where(is_heir, parents, -1)).sum(steps)


def _find_angle(first: np.ndarray, second: np.ndarray) -> float:
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.arccos(np.clip(first @ second / lengths, -1.0, 1.0))) if lengths > 0.0 else 0.0
