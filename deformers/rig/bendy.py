"""Weights of B-Bones: a bone's weight of a vertex, divided among the ends of its segments."""

from __future__ import annotations

import numpy as np

from .rest import Rest, Weights


def straight_segment_indices(along: np.ndarray, segments: int | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Segment of a straight B-Bone that each point belongs to.

    Parameters
    ----------
    along : float array, shape (N,)
        Position along the bone at rest: 0 at the head, 1 at the tail; may be beyond.
    segments : int, or int array, shape (N,)

    Returns
    -------
    indices : int array, shape (N,)
    blends : float array, shape (N,)
        Share of the far end of the segment, 0 to 1; the near end has the rest.
    """
    position = along * segments
    indices = np.clip(np.floor(position), 0, segments - 1).astype(np.intp)
    return indices, np.clip(position - indices, 0.0, 1.0)


def divide_among_ends(rest: Rest) -> Weights:
    """Weights of a character's joints and of the ends of its rolled segments, if any, from those of the joints.

    Each vertex divides its weight for a rolled bone between both ends of its segment, by its position along the bone at
    rest, so that sums stay. Both ends take the bone's place in the order of weights.
    """
    rolls, joints, weights = rest.joints.rolls, rest.joints, rest.weights
    if rolls is None:
        return weights
    rolled = np.full(len(joints.parents), -1)
    rolled[rolls.joints] = np.arange(len(rolls.joints))
    own = np.flatnonzero(rolled[weights.joints] >= 0)
    vertices, bones, which = weights.vertices[own], weights.joints[own], rolled[weights.joints[own]]
    offsets = rest.armature_points[vertices] - joints.centers[bones]
    along = np.einsum("ni,ni->n", offsets, joints.axes[bones]) / joints.lengths[bones]
    indices, blends = straight_segment_indices(along, rolls.counts[which])
    near, values = weights.joints.copy(), np.asarray(weights.values, np.float64).copy()
    near[own] = len(joints.parents) + rolls.first_ends[which] + indices
    values[own] *= 1.0 - blends
    far = vertices, near[own] + 1, weights.values[own] * blends
    parts = zip((weights.vertices, near, values), far, strict=True)
    return Weights(*(np.insert(all_near, own + 1, all_far) for all_near, all_far in parts))
