"""Let a skeleton follow a dragged point of the skin so that the skin deforms least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algebra.products import multiply_rows
from ..errors import SkinningError, find_unusable
from .bones import DragHandle, PosedBones
from .boxes import add_definite, solve_in_box
from .held import HeldPoints
from .joints import JointState
from .linkage import Linkage, link
from .moments import SkinState, bend, differentiate, evaluate, gather_moments
from .skin import SkinEnergy

# How strongly the dragged point and pins are held to their targets, in units of the skin's stiffness over its size
# squared. A target out of reach moves pins by a thousandth of its distance, before `_step` corrects them.
DRAG_STRENGTH, PIN_STRENGTH = 1e4, 1e5

# Stiffness of each joint by itself, as a share of the skin's, so that joints that do not deform the skin rotate least.
MIN_STIFFNESS = 2e-3

# Limit of a step: radians by which a joint rotates, or share of the character's size by which it moves.
MAX_STEP = 0.25


class Drag:
    """A drag, from the press of the mouse to its release.

    Attributes
    ----------
    linkage : Linkage
        Joints that move.
    state : SkinState
        Energy of the present pose.
    begun, targets : float64 arrays, shape (H, 3)
        Positions of the handles at the start, and their targets in the last event.
    """

    def __init__(self, skin: SkinEnergy, linkage: Linkage, handles: Sequence[DragHandle]) -> None:
        self.linkage = linkage
        self.moments = gather_moments(skin, linkage, 10.0)
        self._unit, self._size = skin.stiffness, skin.size
        pins = np.array([handle.is_pin for handle in handles])
        strengths = np.where(pins, PIN_STRENGTH, DRAG_STRENGTH)
        max_force = 10.0  # of the dragged point, in units of the skin's stiffness over its size
        reaches = self._size * np.where(pins, 1.0, max_force / DRAG_STRENGTH)
        self._held = HeldPoints.hold(linkage, handles, strengths * self._unit / self._size**2, reaches)
        self._joints = JointState.begin(linkage)
        self.state = evaluate(self.moments, self._joints.place())
        self.handles = tuple(handles)
        self.begun = np.array([handle.position for handle in handles], np.float64)
        self.targets = self.begun

    @property
    def energy(self) -> float:
        """Energy of the deformation since the start of the drag: half the sum of `w |e' - R e|^2`."""
        return max(self.state.energy, 0.0)

    @property
    def cost(self) -> float:
        """Minimized sum of the energy, the springs of the handles, and the resistance of the joints."""
        return self._cost(self._joints, self.state)

    @property
    def posed(self) -> np.ndarray:
        """Present matrices of the bones, shape (B, 4, 4)."""
        return self.linkage.pose(self.state.moved)

    @property
    def residuals(self) -> np.ndarray:
        """Distances of the handles from their targets, by linear blending, shape (H,)."""
        return np.linalg.norm(self._offsets(self.state), axis=1)

    def move(self, targets: np.ndarray, iterations: int = 5) -> np.ndarray:
        """Follow targets, from the pose of the last event.

        Raises SkinningError if targets are not numbers, or there are not as many as handles.

        Parameters
        ----------
        targets : float array, shape (H, 3)
            Wanted positions of the handles, in armature space.
        iterations : int
            Largest number of steps.

        Returns
        -------
        float64 array, shape (B, 4, 4)
            Matrices of all bones.
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
            for _ in range(3):  # the rest of the body has to adapt
                self._iterate(iterations)
                if self.cost < cost:
                    return self.posed
            self._joints, self.state = begun
        self._iterate(iterations)
        return self.posed

    def _iterate(self, iterations: int) -> None:
        """Take steps until nothing changes."""
        for _ in range(iterations):
            if not self._step():
                break

    def _offsets(self, state: SkinState) -> np.ndarray:
        """Vectors from the targets to the handles, shape (H, 3)."""
        return self._held.place(state.moved) - self.targets

    def _cost(self, joints: JointState, state: SkinState) -> float:
        held = self._held.evaluate(self._offsets(state))
        return state.energy + held + MIN_STIFFNESS * self._unit * joints.resistance

    def _step(self) -> bool:
        """Take a step of Newton's method within the limits, shorter until the cost falls. Returns whether to go on."""
        axes, lower, upper = self._joints.unknowns(self.state.moved)
        gradient, hessian, slopes, held = self._differentiate(axes)
        cost, offsets = self._cost(self._joints, self.state), self._offsets(self.state).ravel()
        whole, solve = solve_in_box(hessian, gradient, lower, upper)
        whole = self._shorten(whole)
        for attempt in range(5):
            change = 0.3**attempt * whole
            planned = slopes @ change
            # As planned, then with the handles corrected to where the step should have led them.
            for _ in range(2):
                joints = self._joints.changed(change, self.state.moved)
                state = evaluate(self.moments, joints.place())
                if self._cost(joints, state) < cost:
                    self._joints, self.state = joints, state
                    return self._joints.measure(change, self._size) > 1e-5
                surprise = self._offsets(state).ravel() - offsets - planned
                change = self._shorten(np.clip(change - solve(held @ surprise), lower, upper))
        return False

    def _nudge(self) -> bool:
        """Bend straight limbs that are compressed along their length a little to their side. Returns whether any are.

        If the handles' springs compress a limb, the second derivative of their energy by its angle is negative.
        """
        max_straight, bent = np.radians([6.0, 10.0])
        min_torque = 0.1 * self._unit  # by angle, for a limb to give way
        angles = self._joints.angles
        straight = [
            (joint, hinge) for joint, hinge in self._joints.hinges if hinge.flexion(angles[joint]) < max_straight
        ]
        if not straight:
            return False
        forces, _ = self._held.differentiate(self._offsets(self.state))
        pushes = np.einsum("hja,ha->j", self._held.find_levers(self.state.moved)[:, :, :3], forces)
        nudges = {joint: hinge for joint, hinge in straight if pushes[joint] > min_torque}
        if nudges:
            self._joints = self._joints.bent(nudges, bent)
            self.state = evaluate(self.moments, self._joints.place())
        return bool(nudges)

    def _shorten(self, change: np.ndarray) -> np.ndarray:
        """Shorten a change of the unknowns (N,) so that no joint moves farther than `MAX_STEP`."""
        return change * min(1.0, MAX_STEP / max(self._joints.measure(change, self._size), 1e-300))

    def _differentiate(self, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Gradient and Hessian of the cost by the N unknowns, and slopes of handles (3 H, N) and springs (N, 3 H)."""
        gradient, hessian, pulls = differentiate(self.moments, self.state)
        resisting, stiff = self._joints.differentiate_resistance(self.state.moved)
        own = np.arange(len(stiff))
        gradient[own] += MIN_STIFFNESS * self._unit * resisting
        hessian[own, :, own] += MIN_STIFFNESS * self._unit * stiff
        hessian = hessian.reshape(gradient.size, -1)
        hessian[np.diag_indices(len(hessian))] += 1e-7 * self._unit
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


def begin_drag(
    skin: SkinEnergy, bones: PosedBones, handles: Sequence[DragHandle], moving_root: bool | None = None
) -> Drag:
    """Start a drag from the present pose, whose energy counts as 0.

    Raises SkinningError if nothing is free to move, or the skin has other bones.

    Parameters
    ----------
    skin : SkinEnergy
        Result of `prepare_skin` for the same bones.
    handles : sequence of DragHandle
        The dragged point and the pins.
    moving_root : bool or None
        Whether the whole character may move. By default it may if there is a pin, or if nothing else can follow.
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
