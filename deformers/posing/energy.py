"""A skeleton that follows a dragged point of the skin so that the skin deforms least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import SkinningError, find_unusable
from .bones import Handle, PosedBones
from .boxes import solve_in_box
from .joints import JointState
from .linkage import Linkage, link
from .moments import State, differentiate, evaluate, gather_moments
from .skin import SkinEnergy

ITERATIONS = 5
"""Steps for an event, unless told otherwise."""

DRAG_STRENGTH = 1e4
"""How strongly the dragged point is held to its target, in units of the skin's stiffness over its size squared."""

PIN_STRENGTH = 1e7
"""How strongly pins are held: a target out of reach moves them by a thousandth of its distance, before `_correct`."""

LEAST_STIFFNESS = 2e-3
"""What a joint resists by itself, as a share of the skin's stiffness: joints that deform no skin rotate least."""

LEAST_MOTION = 10.0
"""What it costs to move the skin, by the area and the distance over the size squared, as a share of what it costs to
deform it."""

DAMPING = 1e-7
"""What each unknown resists in a step, as a share of the skin's stiffness."""

LARGEST_STEP = 0.35
"""Radians by which a joint may rotate in a step, and share of the character's size by which it may move."""

TRIES = 5
"""Shorter steps that are tried where the energy rises."""

CORRECTIONS = 2
"""Tries of each: the first as computed, then with the handles brought back to where the step should have led them."""

SETTLED = 1e-5
"""A step ends the iterations if no unknown changes more."""


class Drag:
    """One drag: from the press of the mouse to its release.

    Attributes
    ----------
    linkage : Linkage
        The joints that move.
    moments : Moments
    state : State
        Of the energy, in the pose as it is now.
    targets : float64 array, shape (H, 3)
        Of the last event.
    """

    def __init__(self, skin: SkinEnergy, linkage: Linkage, handles: Sequence[Handle]) -> None:
        self.linkage = linkage
        self.moments = gather_moments(skin, linkage, LEAST_MOTION)
        self._unit, self._size = skin.stiffness, skin.size
        count = len(linkage.joints) + 1
        self._points = np.zeros((len(handles), count, 4))
        for row, handle in enumerate(handles):
            position = np.append(np.asarray(handle.position, np.float64), 1.0)
            np.add.at(self._points[row], linkage.groups[handle.bones], handle.shares[:, None] * position)
        strengths = np.where([handle.is_pin for handle in handles], PIN_STRENGTH, DRAG_STRENGTH)
        self._strengths = strengths * self._unit / self._size**2
        self._joints = JointState.begin(linkage)
        self.state = evaluate(self.moments, self._joints.place())
        self.targets = np.array([handle.position for handle in handles], np.float64)

    @property
    def energy(self) -> float:
        """Of the deformation since the drag began: half the sum of `w |e' - R e|^2`."""
        return max(self.state.energy, 0.0)

    @property
    def posed(self) -> np.ndarray:
        """The bones' matrices as they are now, shape (B, 4, 4)."""
        return self.linkage.pose(self.state.moved)

    @property
    def residuals(self) -> np.ndarray:
        """Distances of the handles from their targets, by linear blending, shape (H,)."""
        return np.linalg.norm(self._offsets(self.state), axis=1)

    def move(self, targets: np.ndarray, iterations: int = ITERATIONS) -> np.ndarray:
        """Follow targets, from where the last event has left the pose.

        Parameters
        ----------
        targets : float array, shape (H, 3)
            Where the handles shall be, in the order in which they were given, armature space.
        iterations : int
            Steps at most.

        Returns
        -------
        float64 array, shape (B, 4, 4)
            All bones' matrices.

        Raises
        ------
        SkinningError
            Where targets are not numbers, or not as many as handles.
        """
        targets = np.asarray(targets, np.float64)
        if targets.shape != self.targets.shape:
            raise SkinningError(f"{len(self.targets)} handles but {len(targets)} targets: begin the drag again")
        if find_unusable(targets).any():
            raise SkinningError("A target is not a number, or too far away: move the view nearer to the character")
        self.targets = targets
        self._joints = self._joints.begin_event()
        for _ in range(iterations):
            if not self._step():
                break
        return self.posed

    def _offsets(self, state: State) -> np.ndarray:
        """Vectors from the targets to the handles, shape (H, 3)."""
        return np.einsum("gxy,hgy->hx", state.moved[:, :3], self._points) - self.targets

    def _cost(self, joints: JointState, state: State) -> float:
        """What is made least: the energy, the handles' distances and what the joints resist by themselves."""
        held = 0.5 * float(self._strengths @ (self._offsets(state) ** 2).sum(axis=1))
        return state.energy + held + LEAST_STIFFNESS * self._unit * joints.resistance

    def _step(self) -> bool:
        """One step of Gauss-Newton within the limits, made shorter until the cost falls; whether it changed much."""
        axes, lower, upper = self._joints.unknowns(self.state.moved)
        gradient, hessian = differentiate(self.moments, self.state)
        resisting, stiff = self._joints.differentiate_resistance(self.state.moved)
        own = np.arange(len(stiff))
        gradient[own] += LEAST_STIFFNESS * self._unit * resisting
        hessian[own, :, own] += LEAST_STIFFNESS * self._unit * stiff
        hessian = hessian.reshape(gradient.size, -1)
        hessian[np.diag_indices(len(hessian))] += DAMPING * self._unit
        slopes = self._slopes(self.state).reshape(-1, gradient.size) @ axes
        pulls = np.repeat(self._strengths, 3)
        held = slopes.T * pulls
        hessian = axes.T @ hessian @ axes + held @ slopes
        offsets = self._offsets(self.state).ravel()
        gradient = gradient.ravel() @ axes + held @ offsets
        cost = self._cost(self._joints, self.state)
        damping = 0.0
        for _ in range(TRIES):
            damped = hessian + damping * np.diag(np.diag(hessian))
            change, solve = solve_in_box(damped, gradient, lower, upper)
            change *= min(
                1.0, LARGEST_STEP / max(np.abs(self._joints.scale(change, self._size)).max(initial=0.0), 1e-300)
            )
            for _ in range(CORRECTIONS):
                joints = self._joints.changed(change, self.state.moved)
                state = evaluate(self.moments, joints.place())
                if self._cost(joints, state) < cost:
                    moved = np.abs(self._joints.scale(change, self._size)).max(initial=0.0)
                    self._joints, self.state = joints, state
                    return moved > SETTLED
                surprise = self._offsets(state).ravel() - offsets - slopes @ change
                change = np.clip(change - solve(held @ surprise), lower, upper)
            damping = max(4.0 * damping, 1e-3)
        return False

    def _slopes(self, state: State) -> np.ndarray:
        """How the handles change with the joints' rotations and the movers' shifts, shape (H, 3, J + M, 3)."""
        linkage = self.linkage
        placed = np.einsum("gxy,hgy->hgx", state.moved, self._points)
        carried = np.einsum("jg,hgx->hjx", linkage.carried, placed)
        levers = carried[:, :, :3] - carried[:, :, 3:] * linkage.place_heads(state.moved)
        turns = np.zeros((len(self._points), 3, len(linkage.joints), 3))
        for first, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            # The derivative of u x v by u.
            turns[:, first, :, second] = levers[:, :, third]
            turns[:, first, :, third] = -levers[:, :, second]
        shifts = carried[:, linkage.movers, 3][:, None, :, None] * np.eye(3)[None, :, None]
        return np.concatenate([turns, shifts], axis=2)


def begin_drag(skin: SkinEnergy, bones: PosedBones, handles: Sequence[Handle], moving_root: bool | None = None) -> Drag:
    """Begin a drag from the pose as it is: its energy is 0, whatever the pose.

    Parameters
    ----------
    skin : SkinEnergy
        Of `prepare_skin`, with the same bones.
    bones : PosedBones
    handles : sequence of Handle
        The dragged point and the pins.
    moving_root : bool or None
        Whether the whole character may move. None: where there is a pin, or where nothing else can follow.

    Raises
    ------
    SkinningError
        Where nothing is free to move, or the skin is one of other bones.
    """
    if not handles:
        raise SkinningError("No point is dragged: choose one")
    if len(skin.posed) != len(bones.parents) + 1:
        raise SkinningError(
            f"{len(bones.parents)} bones but a skin of {len(skin.posed) - 1}: the armature has changed, begin again"
        )
    if max(int(np.max(handle.bones)) for handle in handles) >= len(bones.parents):
        raise SkinningError("The point follows a bone that the armature has not: begin again")
    return Drag(skin, link(bones, handles, skin.areas, moving_root), handles)
