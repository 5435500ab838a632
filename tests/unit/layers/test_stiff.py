"""Stiff parts of layers are moved like one vertex."""

import numpy as np

from supple.deformers.layers.stiff import find_anchors

CLOTH = np.stack([*np.meshgrid(np.arange(5.0), np.arange(5.0)), np.zeros((5, 5))], axis=-1).reshape(-1, 3)
BOX = np.array([(x, y, z) for x in (1.7, 2.5) for y in (0.6, 1.4) for z in (0.2, 0.6)])


def test_a_part_is_moved_like_the_cloth_nearest_to_its_middle() -> None:
    points, part = np.concatenate([CLOTH, BOX]), np.arange(25, 33)
    anchors = find_anchors(points, [part])
    assert anchors is not None
    assert (anchors[part] == 7).all()  # at (2, 1)
    assert (anchors[:25] == np.arange(25)).all()


def test_a_part_without_cloth_near_it_is_moved_like_its_own_middle() -> None:
    far = BOX + np.array([0.0, 0.0, 9.0])
    for points in (far, np.concatenate([far, CLOTH])):
        anchors = find_anchors(points, [np.arange(8)])
        assert anchors is not None
        assert len(np.unique(anchors[:8])) == 1
        assert anchors[0] < 8


def test_cloth_without_parts_has_no_anchors() -> None:
    assert find_anchors(CLOTH, []) is None
