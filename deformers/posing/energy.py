"""A skeleton that follows a dragged point of the skin so that the skin deforms least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algebra.products import multiply_rows
from ..errors import SkinningError, find_unusable
from .bones import Handle, PosedBones
from .boxes import add_definite, solve_in_box
from .held import HeldPoints
from .joints import JointState
from .linkage import Linkage, link
from .moments import State, bend, differentiate, evaluate, gather_moments
from .skin import SkinEnergy

ITERATIONS = 5
"""Steps for an event, unless told otherwise."""

DRAG_STRENGTH = 1e4
"""How strongly the dragged point is held to its target, in units of the skin's stiffness over its size squared."""

DRAG_FORCE = 10.0
"""The most that the dragged point pulls, in units of the skin's stiffness over its size."""

PIN_STRENGTH = 1e5
"""How strongly pins are held: a target out of reach moves them by a thousandth of its distance, before `_correct`."""

LEAST_STIFFNESS = 2e-3
"""What a joint resists by itself, as a share of the skin's stiffness: joints that deform no skin rotate least."""

LEAST_MOTION = 10.0
"""What it costs to move the skin, by the area and the distance over the size squared, as a share of what it costs to
deform it."""

DAMPING = 1e-7
"""What each unknown resists in a step, as a share of the skin's stiffness."""

LARGEST_STEP = 0.25
"""Radians by which a joint may rotate in a step, and share of the character's size by which it may move."""

TRIES = 5
"""Shorter steps that are tried where the energy rises."""

SHORTER = 0.3
"""Of what was tried before."""

CORRECTIONS = 2
"""Tries of each: the first as computed, then with the handles brought back to where the step should have led them."""

SETTLED = 1e-5
"""A step ends the iterations if no unknown changes more."""

STRAIGHT, NUDGE = np.radians([6.0, 10.0])
"""How far a hinge is bent at most that counts as straight, and how far it is bent where its limb is pushed together."""

NUDGED = 3
"""How many times as many steps there are then at most: the rest of the body has to find its place."""

PUSH = 0.1
"""Torque by angle with which a straight limb is pushed along itself before it gives way, in units of the skin's
stiffness."""


class Drag:
    """One drag: from the press of the mouse to its release.

    Attributes
    ----------
    linkage : Linkage
        The joints that move.
    state : State
        Of the energy, in the pose as it is now.
    begun, targets : float64 arrays, shape (H, 3)
        Where the handles were, and their targets in the last event.
    """

    def __init__(self, skin: SkinEnergy, linkage: Linkage, handles: Sequence[Handle]) -> None:
        self.linkage = linkage
        self.moments = gather_moments(skin, linkage, LEAST_MOTION)
        self._unit, self._size = skin.stiffness, skin.size
        pins = np.array([handle.is_pin for handle in handles])
        strengths = np.where(pins, PIN_STRENGTH, DRAG_STRENGTH)
        reaches = self._size * np.where(pins, 1.0, DRAG_FORCE / DRAG_STRENGTH)
        self._held = HeldPoints.hold(linkage, handles, strengths * self._unit / self._size**2, reaches)
        self._joints = JointState.begin(linkage)
        self.state = evaluate(self.moments, self._joints.place())
        self.handles = tuple(handles)
        self.begun = np.array([handle.position for handle in handles], np.float64)
        self.targets = self.begun

    @property
    def energy(self) -> float:
        """Of the deformation since the drag began: half the sum of `w |e' - R e|^2`."""
        return max(self.state.energy, 0.0)

    @property
    def cost(self) -> float:
        """What is made least: the energy, the handles' distances, and what the joints resist by themselves."""
        return self._cost(self._joints, self.state)

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
            raise SkinningError(f"{len(self.targets)} handles, but {len(targets)} targets: start the drag again")
        if find_unusable(targets).any():
            raise SkinningError("A target is not a number, or is too far away: move the view closer to the character")
        self.targets = targets
        self._joints = self._joints.begin_event()
        begun, cost = (self._joints, self.state), self.cost
        if self._nudge():
            for _ in range(NUDGED):
                self._iterate(iterations)
                if self.cost < cost:
                    return self.posed
            self._joints, self.state = begun
        self._iterate(iterations)
        return self.posed

    def _iterate(self, iterations: int) -> None:
        """Take steps, at most so many."""
        for _ in range(iterations):
            if not self._step():
                break

    def _offsets(self, state: State) -> np.ndarray:
        """Vectors from the targets to the handles, shape (H, 3)."""
        return self._held.place(state.moved) - self.targets

    def _cost(self, joints: JointState, state: State) -> float:
        """What is made least: the energy, the handles' distances and what the joints resist by themselves."""
        held = self._held.evaluate(self._offsets(state))
        return state.energy + held + LEAST_STIFFNESS * self._unit * joints.resistance

    def _step(self) -> bool:
        """One step of Newton's method within the limits, shorter until the cost falls; whether it changed much."""
        axes, lower, upper = self._joints.unknowns(self.state.moved)
        gradient, hessian, slopes, held = self._differentiate(axes)
        cost, offsets = self._cost(self._joints, self.state), self._offsets(self.state).ravel()
        whole, solve = solve_in_box(hessian, gradient, lower, upper)
        whole = self._shorten(whole)
        for attempt in range(TRIES):
            change = SHORTER**attempt * whole
            planned = slopes @ change
            for _ in range(CORRECTIONS):
                joints = self._joints.changed(change, self.state.moved)
                state = evaluate(self.moments, joints.place())
                if self._cost(joints, state) < cost:
                    self._joints, self.state = joints, state
                    return self._joints.measure(change, self._size) > SETTLED
                surprise = self._offsets(state).ravel() - offsets - planned
                change = self._shorten(np.clip(change - solve(held @ surprise), lower, upper))
        return False

    def _nudge(self) -> bool:
        """Bend straight limbs that are pushed along themselves a little to their side; whether there are any.

        Where the handles' springs push a limb together, their energy's second derivative by its angle is less than 0.
        """
        angles = self._joints.angles
        straight = [(joint, hinge) for joint, hinge in self._joints.hinges if hinge.flexion(angles[joint]) < STRAIGHT]
        if not straight:
            return False
        forces, _ = self._held.differentiate(self._offsets(self.state))
        pushes = np.einsum("hja,ha->j", self._held.find_levers(self.state.moved)[:, :, :3], forces)
        nudges = {joint: hinge for joint, hinge in straight if pushes[joint] > PUSH * self._unit}
        if nudges:
            self._joints = self._joints.bent(nudges, NUDGE)
            self.state = evaluate(self.moments, self._joints.place())
        return bool(nudges)

    def _shorten(self, change: np.ndarray) -> np.ndarray:
        """A change of the unknowns (N,) that takes no joint farther than `LARGEST_STEP`."""
        return change * min(1.0, LARGEST_STEP / max(self._joints.measure(change, self._size), 1e-300))

    def _differentiate(self, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """By the unknowns, (N,): the cost's gradient and Hessian, slopes of handles (3 H, N) and springs (N, 3 H)."""
        gradient, hessian, pulls = differentiate(self.moments, self.state)
        resisting, stiff = self._joints.differentiate_resistance(self.state.moved)
        own = np.arange(len(stiff))
        gradient[own] += LEAST_STIFFNESS * self._unit * resisting
        hessian[own, :, own] += LEAST_STIFFNESS * self._unit * stiff
        hessian = hessian.reshape(gradient.size, -1)
        hessian[np.diag_indices(len(hessian))] += DAMPING * self._unit
        levers = self._held.find_levers(self.state.moved)
        offsets = self._offsets(self.state)
        forces, stiff = self._held.differentiate(offsets)
        pulls += levers[:, :, :3].transpose(1, 2, 0) @ forces
        bent = np.zeros_like(hessian)
        bent[: pulls.size // 3, : pulls.size // 3] = bend(self.linkage, pulls).reshape(pulls.size // 3, -1)
        slopes = multiply_rows(self._held.find_slopes(levers).reshape(-1, gradient.size), axes)
        held = (stiff @ slopes.reshape(len(offsets), 3, -1)).reshape(slopes.shape).T
        hessian, bent = (multiply_rows(axes.T.copy(), multiply_rows(part, axes)) for part in (hessian, bent))
        hessian = add_definite(hessian + multiply_rows(held, slopes), bent)
        return gradient.ravel() @ axes + forces.ravel() @ slopes, hessian, slopes, held


def begin_drag(skin: SkinEnergy, bones: PosedBones, handles: Sequence[Handle], moving_root: bool | None = None) -> Drag:
    """Begin a drag from the pose as it is: its energy is 0, whatever the pose.

    Parameters
    ----------
    skin : SkinEnergy
        Of `prepare_skin`, with the same bones.
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
        raise SkinningError("No point is dragged: choose a point")
    if len(skin.posed) != len(bones.parents) + 1:
        raise SkinningError(
            f"The armature has {len(bones.parents)} bones, but had {len(skin.posed) - 1} when its skin was read: start "
            "again"
        )
    if max(int(np.max(handle.bones)) for handle in handles) >= len(bones.parents):
        raise SkinningError("The point follows a bone that is not in the armature: start again")
    return Drag(skin, link(bones, handles, skin.areas, moving_root), handles)
