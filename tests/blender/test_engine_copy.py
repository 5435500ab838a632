"""Engine copies: what they are made of, and that files of them are what was measured."""

from pathlib import Path

import numpy as np
import pytest

from scenes import add_tube, animate_tube, bind
from supple.deformers.engine_copy import Examples, Fit, Helper, Skin, fit_linear, pose_copy
from supple.tasks.actions import list_actions, read_poses
from supple.tasks.engine_copy.copy import make_copy
from supple.tasks.engine_copy.examples import Motion, list_clips, read_subject, write_targets
from supple.tasks.engine_copy.export import prepare_export
from supple.tasks.engine_copy.played import read_played


class Made:
    """A copy by linear blending, and what it was made of."""

    def __init__(self, tmp_path: Path, *meshes, target: str = "gltf", helpers: bool = False) -> None:
        self.subject = read_subject(meshes)
        actions = list_actions(self.subject.armature)
        clips = list_clips(actions)
        poses = [
            pose
            for action, clip in zip(actions, clips, strict=True)
            for pose in read_poses(self.subject.armature, self.subject.skeleton, action, clip.frames)
        ]
        self.motion = Motion(clips, np.array(poses))
        self.played = [read_played(self.subject, clip, action) for clip, action in zip(clips, actions, strict=True)]
        self.targets = tmp_path / "targets.npy"
        values = write_targets(self.targets, self.subject, self.motion, lambda share: None)
        self.examples = Examples(self.motion.matrices, lambda frames: values[frames])
        skin = self.subject.skin
        self.fit = fit_linear(skin, self.examples, 4)
        self.target = target
        if helpers:
            self.fit = add_helper(self.fit, skin, self.motion)
        expected = pose_copy(skin, self.examples, self.fit, np.arange(len(poses)))
        self.apart = np.linalg.norm(expected - values, axis=2)
        self.copy = make_copy(self.subject, self.fit, self.motion, target, self.played)

    def export(self, path: Path, folder: Path):
        folder.mkdir()
        export = prepare_export(self.copy, self.motion, self.played, self.target, path, folder, self.targets, 4)
        return export.run()


def add_helper(fit: Fit, skin: Skin, motion: Motion) -> Fit:
    """A helper that all vertices of joint 1 follow by half."""
    helper = Helper(1, 0, skin.joints.centers[1])
    bones = np.concatenate([fit.bones[:, :3], np.full((len(fit.bones), 1), len(skin.joints.parents), np.int32)], axis=1)
    values = np.concatenate([fit.values[:, :3], 0.25 * (fit.bones == 1).any(axis=1)[:, None]], axis=1)
    values /= values.sum(axis=1, keepdims=True)
    turned = motion.matrices[:, 1].copy()
    left, _, right = np.linalg.svd(turned[:, :3, :3])
    turned[:, :3, :3] = left @ right
    return Fit((helper,), bones, values.astype(np.float32), turned[:, None], (), fit.key_values)


@pytest.mark.parametrize("target", ["gltf", "fbx"])
def test_a_file_is_what_was_measured(tmp_path, target):
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    for bone in armature.pose.bones:
        bone.scale = (1, 1, 1)
    bind(obj)
    made = Made(tmp_path, obj, target=target, helpers=True)
    path = tmp_path / f"tube.{'glb' if target == 'gltf' else 'fbx'}"
    found = made.export(path, tmp_path / "between")
    assert path.is_file()
    assert found.missing == 0
    assert found.animations == [made.motion.clips[0].action]
    assert found.apart.max() == pytest.approx(made.apart.max(), abs=5e-5)
    assert found.apart == pytest.approx(made.apart, abs=5e-5)
