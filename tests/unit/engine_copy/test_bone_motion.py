"""Poses split into what each bone does against its parent."""

import numpy as np
import pytest

from supple.deformers.engine_copy.bone_motion import find_bone_motion

from ..cases import each
from ..characters import about, rotation

RESTS = np.stack([about(rotation((1, 2, 3), 40.0 * bone), np.zeros(3), (0, bone, 0)) for bone in range(3)])
CHAIN = np.array([-1, 0, 1])


def compose(rests: np.ndarray, motion: object) -> np.ndarray:
    """Poses as Blender makes them of locations, rotations and scales, slowly."""
    frames, bones = motion.locations.shape[:2]
    poses = np.empty((frames, bones, 4, 4))
    for frame in range(frames):
        left = list(range(bones))
        while left:
            bone = next(bone for bone in left if motion.parents[bone] not in left)
            left.remove(bone)
            w, x, y, z = motion.rotations[frame, bone]
            local = np.eye(4)
            local[:3, :3] = [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
            local[:3, :3] *= motion.scales[frame, bone]
            local[:3, 3] = motion.locations[frame, bone]
            parent = motion.parents[bone]
            base = rests[bone] if parent < 0 else poses[frame, parent] @ np.linalg.inv(rests[parent]) @ rests[bone]
            poses[frame, bone] = base @ local
    return poses


def bend(degrees: float, scales: object = (1, 1, 1)) -> np.ndarray:
    """The chain, its second bone bent, moved and scaled along its own axes; the third bent, and not scaled."""
    second = about(rotation((1, 0, 0), degrees), np.array([0, 1.0, 0]), (0.1, 0.2, 0))
    second = second @ RESTS[1] @ np.diag([*scales, 1.0]) @ np.linalg.inv(RESTS[1])
    third = about(rotation((1, 0.4, 0), 1.7 * degrees), np.array([0, 2.0, 0]))
    return np.stack([RESTS[0], second @ RESTS[1], third @ RESTS[2]])


@each("scales", [(1, 1, 1), (1.5, 1.5, 1.5), (0.7, 1.6, 1.0), (-1, -1, -1)])
def test_poses_come_out_again(scales):
    poses = np.stack([bend(degrees, scales) for degrees in (0.0, 30.0, 80.0)])
    motion = find_bone_motion(RESTS, CHAIN, poses)
    assert compose(RESTS, motion) == pytest.approx(poses, abs=1e-9)


def test_a_bone_that_would_be_sheared_gets_another_parent():
    even = find_bone_motion(RESTS, CHAIN, np.stack([bend(50.0, (1.2, 1.2, 1.2))]))
    assert even.parents.tolist() == [-1, 0, 1]
    uneven = find_bone_motion(RESTS, CHAIN, np.stack([bend(50.0, (0.7, 1.6, 1.0))]))
    assert uneven.parents.tolist() == [-1, 0, 0]


def test_shear_of_its_own_is_left_out_and_made_up_for_below():
    pose = bend(50.0)
    pose[1] = pose[1] @ np.array([[1, 0.4, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    motion = find_bone_motion(RESTS, CHAIN, pose[None])
    again = compose(RESTS, motion)[0]
    assert np.abs(again[1] - pose[1]).max() > 0.05
    assert again[1][:3, 3] == pytest.approx(pose[1][:3, 3])
    assert again[2] == pytest.approx(pose[2], abs=1e-9)


def test_a_parent_of_no_size_has_no_children():
    poses = np.stack([bend(20.0), bend(20.0, (0, 0, 0))])
    motion = find_bone_motion(RESTS, CHAIN, poses)
    assert motion.parents[2] == 0
    assert np.isfinite(motion.rotations).all()
    assert compose(RESTS, motion)[:, 2] == pytest.approx(poses[:, 2], abs=1e-9)


def test_quaternions_go_on_without_a_change_of_sign():
    poses = np.stack([bend(degrees) for degrees in range(0, 400, 20)])
    motion = find_bone_motion(RESTS, CHAIN, poses)
    steps = (motion.rotations[1:] * motion.rotations[:-1]).sum(axis=2)
    assert steps.min() > 0.9
