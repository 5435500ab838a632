"""Signs by the parent (section 3.4) against those of Preserve Volume, by a running sum: the order of groups matters."""

from itertools import permutations

import numpy as np

from ..cases import each
from ..characters import Character, deform, make_tube, pose_chain, rotation

SIDES, RINGS = 8, 40
TUBE = make_tube(rings=RINGS, sides=SIDES, width=0.8)
MATRICES = pose_chain(TUBE, {1: rotation((0, 0, 1), 120), 2: rotation((0, 0, 1), 120)})
ORDERS = [list(order) for order in permutations(range(3))]


def stretch(posed: np.ndarray) -> float:
    """The largest ratio of an edge along the tube to what it was at rest."""
    lengths = [
        np.linalg.norm(np.diff(points.reshape(RINGS, SIDES, 3), axis=0), axis=2) for points in (posed, TUBE.points)
    ]
    return float((lengths[0] / lengths[1]).max())


def reorder(order: list[int]) -> tuple[Character, np.ndarray]:
    return TUBE.permute_joints(np.array(order)), MATRICES[order]


@each("method", ["DLBNT-GH", "DLBNT-HG"])
@each("order", ORDERS)
def test_signs_by_the_parent_hold_together(order: list[int], method: str) -> None:
    character, matrices = reorder(order)
    posed = deform(character, method, matrices)
    assert stretch(posed) <= 1.3
    np.testing.assert_allclose(posed, deform(TUBE, method, MATRICES), rtol=0, atol=3e-6)


def test_signs_by_a_running_sum_tear() -> None:
    stretches = []
    for order in ORDERS:
        character, matrices = reorder(order)
        stretches.append(stretch(deform(character, "DLB", matrices)))
    assert max(stretches) > 4
    assert min(stretches) < 1.5
