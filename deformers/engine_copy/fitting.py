"""The fit of an engine copy: helpers, then weights and motions in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .candidates import MIN_BEND, blame_joints, count_helpers, list_candidates, place_helpers
from .keys import evaluate_keys, fit_keys
from .model import CopiedSkin, CopyFit, Examples, FitParams, Helper, Key, fit_linear, limit_weights
from .motions import blend_rigidly, fit_rigid, measure_angles, move_helpers, share_turns, split_turns
from .patch import Patch, merge_coincident
from .posing import blend, chunk_frames
from .regions import VERTEX_CHUNK, Blends, choose_frames, find_blends, invert_affine, relate_to_parents
from .twist_rules import find_rules
from .weights import solve_weights

# Weights and motions are fitted in turn this often before helpers are added, and after each addition.
ROUNDS = 6

# Joints whose vertices miss the tolerance get one more helper this often.
ADDITIONS = 3


@dataclass
class Fitting:
    """A fit under way.

    Attributes
    ----------
    local, quaternions : float arrays, shapes (F, B, 4, 4) and (F, B, 4)
        Motion of joints relative to their parents, and its rotation, in all frames.
    frames : int array, shape (N,)
        Chosen frames.
    holds : list of (float, or pair of arrays (B,) and (3,))
        Motion that each helper is softly held at: a share of its joint's rotation, or a blend of joints with these
        weights around a center.
    moved : float array, shape (N, H, 4, 4)
        Motion of helpers in the chosen frames.
    """

    skin: CopiedSkin
    examples: Examples
    params: FitParams
    local: np.ndarray
    quaternions: np.ndarray
    frames: np.ndarray
    patch: Patch
    helpers: list[Helper] = field(default_factory=list)
    holds: list[float | tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    moved: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 4, 4)))

    @property
    def bases(self) -> list[int]:
        """Parent joint of each helper."""
        return [helper.base for helper in self.helpers]

    @property
    def matrices(self) -> np.ndarray:
        """Matrices of joints and helpers in the chosen frames, shape (N, B + H, 4, 4)."""
        return np.concatenate([self.examples.matrices[self.frames], self.moved], axis=1)

    def hold(self, frames: np.ndarray) -> np.ndarray:
        """Motion that helpers are held at in some frames, relative to their bases, shape (N, H, 4, 4)."""
        local, quaternions, joints = self.local[frames], self.quaternions[frames], self.skin.joints
        matrices = self.examples.matrices[frames]
        held = [
            blend_rigidly(matrices, hold[0], helper.base, hold[1])
            if isinstance(hold, tuple)
            else share_turns(local, quaternions, joints, helper.joint, hold)
            for helper, hold in zip(self.helpers, self.holds, strict=True)
        ]
        return np.stack(held, axis=1) if held else np.empty((len(frames), 0, 4, 4))

    def place(self, counts: np.ndarray) -> None:
        """Start with `counts`, int array (B,), helpers at each joint, at even shares of its rotation."""
        self.helpers, shares = place_helpers(counts, self.skin.joints)
        self.holds = shares.tolist()
        self.moved = self.examples.matrices[self.frames][:, self.bases] @ self.hold(self.frames)
        patch, params = self.patch, self.params
        patch.bones, patch.allowed = list_candidates(
            patch.blends, self.helpers, shares, patch.joint_count, params.influences
        )

    def add(self, joint: int, rows: np.ndarray, near: np.ndarray) -> None:
        """Add a helper at a joint, for vertices `near`, int, shape (m,), of the patch.

        Neighboring vertices `rows`, int, shape (n,), determine its initial motion.
        """
        patch, matrices = self.patch, self.examples.matrices[self.frames]
        base = int(self.skin.joints.parents[joint])
        weights = np.bincount(patch.blends.joints[rows].ravel(), patch.blends.values[rows].ravel(), patch.joint_count)
        hold = weights / weights.sum(), patch.points[rows].mean(axis=0)
        full = np.concatenate([patch.points[rows], np.ones((len(rows), 1))], axis=1)
        targets = np.concatenate([patch.targets[rows], np.ones((*patch.targets[rows].shape[:2], 1))], axis=2)
        local = np.einsum("fij,nfj->nfi", invert_affine(matrices[:, base])[:, :3], targets)
        wanted = np.einsum("nfi,nj->fij", local, full)
        held = blend_rigidly(matrices, hold[0], base, hold[1])
        moved = matrices[:, base] @ fit_rigid(full.T @ full, wanted, held, self.skin.size)
        self.helpers.append(Helper(joint, base, np.asarray(self.skin.joints.centers[joint], np.float64)))
        self.holds.append(hold)
        self.moved = np.concatenate([self.moved, moved[:, None]], axis=1)
        patch.offer(patch.joint_count + len(self.helpers) - 1, near)

    def improve(self) -> None:
        """CopyFit weights to motions, then motions to weights unless rules determine them."""
        patch, params, matrices = self.patch, self.params, self.matrices
        products = patch.find_products(matrices)
        count = products.shape[1]
        # A weight that changes by 1 costs as much as an error of a tenth of the tolerance in all frames.
        products[:, np.arange(count), np.arange(count)] += (0.1 * params.tolerance) ** 2 * len(matrices)
        patch.values = solve_weights(products, patch.allowed, params.influences)
        if not params.uses_rules:
            self.moved = self._move(self.frames, patch.find_moments(patch.targets, len(self.helpers)), self.moved)
        patch.emphasize(patch.find_residuals(self.matrices), params.tolerance)

    def _move(self, frames: np.ndarray, moments: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        pairs = self.patch.find_pairs(len(self.helpers))
        matrices = self.examples.matrices[frames]
        return move_helpers(self.bases, pairs, moments, matrices, self.hold(frames), self.skin.size, start)

    def move_everywhere(self, progress: Callable[[float], None]) -> np.ndarray:
        """Motion of helpers in all frames, shape (F, H, 4, 4). `progress` is called with the share of frames read."""
        patch, everything = self.patch, np.arange(self.examples.count)
        if self.params.uses_rules:
            return self.examples.matrices[:, self.bases] @ self.hold(everything)
        moments = np.zeros((len(everything), len(self.helpers), 3, 4))
        for chunk in chunk_frames(len(self.skin.points), everything):
            progress(chunk[0] / len(everything))
            targets = np.ascontiguousarray(self.examples.read(chunk)[:, patch.vertices].transpose(1, 0, 2))
            moments[chunk] = patch.find_moments(targets, len(self.helpers))
        return self._move(everything, moments)


def fit(skin: CopiedSkin, examples: Examples, params: FitParams, progress: Callable[[float], None]) -> CopyFit:
    """Find bones, weights and keys that make linear blending look like the examples.

    Parameters
    ----------
    examples : Examples
        Each frame is read at most twice.
    progress : function
        Called with the finished share. An exception that it raises ends the fit.
    """
    copy = fit_linear(skin, examples, params.influences)
    if not examples.count or not len(skin.points):
        return copy
    fitting, members, errors = _begin(skin, examples, params, lambda share: progress(0.2 * share))
    if not len(fitting.patch.points):
        return copy
    angles = measure_angles(fitting.quaternions[fitting.frames])
    joints, patch = skin.joints, fitting.patch
    counts = count_helpers(
        *blame_joints(patch.blends, errors, angles), angles, joints, params.tolerance, params.helpers
    )
    fitting.place(counts)
    steps = ROUNDS * (ADDITIONS + 1)
    for step in range(steps):
        progress(0.2 + 0.6 * step / steps)
        if step and step % ROUNDS == 0 and not params.uses_rules:
            _add_helpers(fitting, angles)
        fitting.improve()
    moved = fitting.move_everywhere(lambda share: progress(0.8 + 0.15 * share))
    helpers, moved, keys = _finish(fitting, moved, members, progress)
    order = np.argsort(-patch.values, axis=1, kind="stable")[:, : params.influences]
    active = members >= 0
    copy.bones[active] = np.take_along_axis(patch.bones, order, axis=1)[members[active]]
    copy.values[active] = np.take_along_axis(patch.values, order, axis=1)[members[active]]
    return CopyFit(
        tuple(helpers), copy.bones, copy.values, moved, tuple(keys), evaluate_keys(keys, fitting.quaternions)
    )


def _finish(
    fitting: Fitting, moved: np.ndarray, members: np.ndarray, progress: Callable[[float], None]
) -> tuple[list[Helper], np.ndarray, list[Key]]:
    """Helpers with their rules, their motion in all frames, and corrective keys."""
    patch, params = fitting.patch, fitting.params
    if params.uses_rules:
        shares = [hold if isinstance(hold, float) else None for hold in fitting.holds]
        pairs = zip(fitting.helpers, shares, strict=True)
        return [replace(helper, turn_share=share) for helper, share in pairs], moved, []
    poses = fitting.examples.matrices, fitting.quaternions
    helpers, moved = find_rules(fitting.helpers, moved, fitting.skin, patch, poses, params.tolerance)
    fitting.moved = moved[fitting.frames]
    progress(0.95)
    turns = fitting.quaternions[fitting.frames]
    return helpers, moved, fit_keys(patch, fitting.matrices, turns, members, params.tolerance, params.keys)


def _add_helpers(fitting: Fitting, angles: np.ndarray) -> None:
    """Add a helper to joints whose vertices miss the tolerance, the worst first, up to a limit."""
    max_per_joint, suited, reach = 2.5, 24, 3.0  # vertices that it first suits, and reach beyond them in their radii
    patch, params = fitting.patch, fitting.params
    lengths = np.linalg.norm(patch.find_residuals(fitting.matrices), axis=2)
    blamed, largest = blame_joints(patch.blends, lengths, angles)
    bent = np.isin(np.unique(patch.blends.cuts), np.flatnonzero(angles.max(axis=0) > MIN_BEND)).sum()
    owners = [helper.joint for helper in fitting.helpers]
    missed = np.where((blamed >= 0) & (largest > params.tolerance), largest, 0.0)
    while missed.any() and len(fitting.helpers) < max_per_joint * bent:
        worst = int(missed.argmax())
        joint = int(blamed[worst])
        missed[blamed == joint] = 0.0
        if 0 <= params.helpers <= owners.count(joint):
            continue
        across = np.flatnonzero((patch.blends.cuts == joint).any(axis=1))
        away = np.linalg.norm(patch.points[across] - patch.points[worst], axis=1)
        order = np.argsort(away, kind="stable")
        rows = across[order[:suited]]
        near = across[away < reach * max(away[order[: len(rows)]].max(), 1e-9)]
        fitting.add(joint, rows, near)


def _begin(
    skin: CopiedSkin, examples: Examples, params: FitParams, progress: Callable[[float], None]
) -> tuple[Fitting, np.ndarray, np.ndarray]:
    """Start a fit. Also returns each skin vertex's index in the patch, or -1, and the errors of the patch."""
    local, blends = relate_to_parents(examples.matrices, skin.joints.parents), find_blends(skin)
    count = len(skin.points)
    most = int(np.clip(250_000_000 // (12 * count), 8, 160))  # frames, by the memory of their targets
    wanted = np.isin(np.arange(len(skin.joints.parents)), blends.cuts)
    frames = choose_frames(local, skin.joints, wanted, most, skin.size)
    targets = _read_targets(examples, frames, count, progress)
    bones, values = limit_weights(skin, params.influences)
    errors = np.empty(targets.shape[:2], np.float32)
    for start in range(0, count, VERTEX_CHUNK):
        own = slice(start, start + VERTEX_CHUNK)
        posed = blend(examples.matrices[frames], skin.points[own], bones[own], values[own]).transpose(1, 0, 2)
        errors[own] = np.linalg.norm(targets[own] - posed, axis=2)
    # A vertex of one bone is fitted only if it misses its targets.
    active = (values[:, 1] > 1e-3) | (errors.max(axis=1) > 0.3 * params.tolerance)
    active = np.flatnonzero(active & (values[:, 0] > 0.0))
    kept, which = merge_coincident(skin.points[active], targets[active], skin.size)
    kept, members = active[kept], np.full(count, -1)
    members[active] = which
    own = Blends(blends.joints[kept], blends.values[kept], blends.cuts[kept], blends.beyond[kept])
    patch = Patch(kept, np.asarray(skin.points, np.float64)[kept], targets[kept], own, len(skin.joints.parents))
    patch.emphasis = np.ones((len(kept), len(frames)), np.float32)
    return Fitting(skin, examples, params, local, split_turns(local), frames, patch), members, errors[kept]


def _read_targets(examples: Examples, frames: np.ndarray, count: int, progress: Callable[[float], None]) -> np.ndarray:
    """Read the targets of frames, float32, shape (V, F, 3)."""
    targets = np.empty((count, len(frames), 3), np.float32)
    done = 0
    for chunk in chunk_frames(count, frames):
        progress(done / len(frames))
        targets[:, done : done + len(chunk)] = examples.read(chunk).transpose(1, 0, 2)
        done += len(chunk)
    return targets
