"""Where to look at a fault from: its skin in the pose that is shown, and the side that shows most of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.shown_weights import ShownShape, read_shown_shape
from ...bridge.meshes.visibility import make_crossing_test
from ..subject.character import list_deformed
from .faults import Finding

# Vertices around a joint that stand for its skin; limit on the vertices of a fault that are tested
NEAREST = 60

# Radius of the view in radii of the fault's skin, and its minimum in sizes of the mesh, so that the place is recognized
AROUND, LEAST = 1.6, 0.05

ELEVATIONS = np.radians([-25.0, 5.0, 35.0, 70.0])
# Number of directions around the vertical axis
AZIMUTHS = 16

# Weights of the bend's profile, of uncovered skin and of the current view, relative to skin seen face on
PROFILE, UNCOVERED, NEAR = 1.0, 0.5, 0.05

# Distance from the skin at which a line of sight begins, in sizes of the character
LIFT = 1e-3


@dataclass(frozen=True)
class FaultView:
    """A view of a fault, world space.

    Attributes
    ----------
    center, eye : float array, shape (3,)
        The middle, and the direction from there to the eye, of length 1.
    radius : float
    """

    center: np.ndarray
    radius: float
    eye: np.ndarray


def find_view(armature: bpy.types.Object, mesh: bpy.types.Object, finding: Finding, before: np.ndarray) -> FaultView:
    """Find the view of a fault in the pose that is shown now.

    `before`, float array, shape (3,): direction to the eye in the view as it is, world space.
    """
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points, normals, triangles = _to_world(mesh, read_shown_shape(mesh, depsgraph))
    bone = armature.pose.bones.get(finding.bone)
    chosen = np.array([vertex for vertex in finding.vertices if vertex < len(points)], int)
    axes = np.zeros((2, 3))
    if len(chosen) or bone is None:
        chosen = chosen if len(chosen) else np.arange(len(points))
        center = np.median(points[chosen], axis=0)
    else:
        center = np.array(armature.matrix_world @ bone.head)
        chosen = np.argsort(np.linalg.norm(points - center, axis=1), kind="stable")[:NEAREST]
        axes = _find_axes(armature, bone)
    radius = float(np.percentile(np.linalg.norm(points[chosen] - center, axis=1), 80))
    radius = max(AROUND * radius, LEAST * float(np.linalg.norm(np.ptp(points, axis=0))), 1e-6)
    chosen = chosen[:: max(1, len(chosen) // NEAREST)]
    others = [obj for obj in list_deformed(bpy.context.view_layer, armature) if obj != mesh and obj.visible_get()]
    eye = _choose_eye(points, normals, triangles, chosen, others, axes, before)
    return FaultView(center, radius, eye)


def _choose_eye(
    points: np.ndarray,
    normals: np.ndarray,
    triangles: np.ndarray,
    chosen: np.ndarray,
    others: Iterable[bpy.types.Object],
    axes: np.ndarray,
    before: np.ndarray,
) -> np.ndarray:
    """The direction, shape (3,), from which most of the chosen vertices is seen, and the bend in profile."""
    eyes = np.array([
        (np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up))
        for up in ELEVATIONS
        for around in np.linspace(0.0, 2.0 * np.pi, AZIMUTHS, endpoint=False)
    ])  # fmt: skip
    size = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    starts = points[chosen] + LIFT * size * normals[chosen]
    facing = np.maximum(normals[chosen] @ eyes.T, 0.0)
    start, eye = np.nonzero(facing > 0.0)
    ends = starts[start] + 2.0 * size * eyes[eye]

    def see(corners: np.ndarray, faces: np.ndarray) -> np.ndarray:
        seen = np.zeros(facing.shape)
        if len(start):
            seen[start, eye] = ~make_crossing_test(corners, faces)(starts[start], ends)
        return seen

    own = facing * see(points, triangles)
    bare = own.copy()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in others:
        corners, _, faces = _to_world(obj, read_shown_shape(obj, depsgraph))
        if len(faces):
            bare *= see(corners, faces)
    bend, bone = axes
    profile = np.abs(eyes @ bend) - np.abs(eyes @ bone)
    score = own.mean(axis=0) + UNCOVERED * bare.mean(axis=0) + PROFILE * profile + NEAR * (eyes @ before)
    return eyes[int(score.argmax())]


def _find_axes(armature: bpy.types.Object, bone: bpy.types.PoseBone) -> np.ndarray:
    """The axis of a bone's bend against its parent, scaled by the sine of its angle, and the bone's direction.

    World space, shape (2, 3).
    """
    world = np.array(armature.matrix_world.to_3x3().normalized())
    along = world @ np.array(bone.vector.normalized())
    turn = (bone.matrix @ bone.bone.matrix_local.inverted()).to_3x3()
    if bone.parent is not None:
        turn @= (bone.parent.matrix @ bone.parent.bone.matrix_local.inverted()).to_3x3().inverted_safe()
    axis, angle = turn.to_quaternion().to_axis_angle()
    bend = world @ np.array(axis) * np.sin(min(abs(angle), np.pi / 2.0))
    return np.array([bend - (bend @ along) * along, along])


def _to_world(obj: bpy.types.Object, shape: ShownShape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals of length 1 that point out of the solid, and triangles, in world space."""
    matrix = np.array(obj.matrix_world)
    normals = shape.normals @ np.linalg.pinv(matrix[:3, :3])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    corners = (shape.points - shape.points.mean(axis=0))[shape.triangles]
    is_inside_out = np.linalg.det(corners.astype(np.float64)).sum() < 0.0
    return shape.points @ matrix[:3, :3].T + matrix[:3, 3], -normals if is_inside_out else normals, shape.triangles
