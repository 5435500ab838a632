"""Measure the skin in the current frame, and its distance from Blender's own methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.meshes.data import mesh_of, read_edges, read_evaluated_points, read_mixed_points
from ...bridge.rigs.armatures import Skeleton, read_pose, read_skeleton
from ...deformers import METHODS, Pose, Rest, SkinningError
from ...deformers.errors import find_unusable
from ...deformers.measures.difference import MILLIMETERS, Difference, measure_difference
from ...deformers.measures.limbs import Reach, Section
from ...deformers.measures.posed_shape import measure_shape
from ...deformers.measures.space import Space
from ...deformers.measures.stretch import MIN_TEAR, EdgeStretch
from ...settings.objects import settings_of
from ..reports import measure_reports
from ..skin.model import Choices, PosableSkin, SkinSource
from ..steps import Steps, computed
from ..subject.character import check_shown_vertices, has_armature_modifier, object_to_armature, read_character
from ..subject.stack import SkinnedObject, check_not_edited, find_deforming_modifier, resolve_skinned


@dataclass(frozen=True)
class PosedSkin:
    """A mesh in one frame, and its references.

    Attributes
    ----------
    rest : Rest
        With the shape keys of the frame; object space.
    space : Matrix
        From object to armature space.
    pose : Pose
        From the object's space to the armature's, too.
    points : float array, shape (V, 3)
        As shown, object space.
    to_world : float array, shape (3, 3)
        Object space to the directions and lengths of the world.
    millimeters : float
        In a unit of the scene.
    """

    skinned: SkinnedObject
    rest: Rest
    skeleton: Skeleton
    space: Matrix
    pose: Pose
    points: np.ndarray
    to_world: np.ndarray
    millimeters: float


@dataclass(frozen=True)
class Measures:
    """The measures of `deformers/measures` in a pose.

    Attributes
    ----------
    title : str
        Frame and method.
    space, rest_space : Space
        In the pose and at rest; NaN if the mesh is not a solid.
    reach, section : Reach, Section
        With indices of joints.
    reach_bone, section_bone : str
        The joints' bones, "" for none.
    from_linear, from_preserve_volume : Difference
        To the same pose under SSD and DLB.
    """

    title: str
    space: Space
    rest_space: Space
    stretch: EdgeStretch
    reach: Reach
    section: Section
    reach_bone: str
    section_bone: str
    from_linear: Difference
    from_preserve_volume: Difference

    def describe(self) -> list[str]:
        """Lines for the panel."""
        stretch = self.stretch
        lines = [self.title, _describe_space(self.space, self.rest_space)]
        if np.isfinite(stretch.rms):
            lines.append(
                f"Edge stretch: rms {100 * stretch.rms:.1f} %, {stretch.low:.2f} to {stretch.high:.2f}; "
                f"{stretch.tears:,} edges torn (beyond {MIN_TEAR:g})"
            )
        if self.reach_bone:
            lines.append(f"Farthest skin from its bone: {100 * self.reach.share:.0f} % of rest, at '{self.reach_bone}'")
        if self.section_bone:
            lines.append(
                f"Smallest cross-section: {100 * self.section.area:.0f} % of its area at rest, at '{self.section_bone}'"
            )
        lines.append(f"Distance from Linear: {_describe_difference(self.from_linear)}")
        lines.append(f"Distance from Preserve Volume (DLB): {_describe_difference(self.from_preserve_volume)}")
        return lines


def _describe_space(space: Space, rest: Space) -> str:
    if not np.isfinite(space.filled):
        return "Filled space: none, because the mesh is open"
    line = f"Filled space: {100 * space.filled:.1f} % of rest, filled twice: {100 * space.twice:.1f} %"
    return f"{line} (at rest {100 * rest.twice:.1f} %)" if rest.twice >= 5e-4 else line


def _describe_difference(difference: Difference) -> str:
    return f"{difference.largest:,.2f} mm at most, {difference.rms:,.2f} mm rms"


def measure_shown(
    obj: bpy.types.Object | None, scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph
) -> Steps[Measures]:
    """Measure a mesh as it is shown in the current frame, and keep the report for the panel.

    Raises SkinningError if there is no pose to measure.

    Parameters
    ----------
    obj : Object
        With an Armature modifier, bound or not. Its shown shape is measured.
    scene : Scene
        Its frame, and its unit of length.
    depsgraph : Depsgraph
        Of the viewport.
    """
    skinned = _check_measurable(obj)
    obj, skin = skinned.obj, _read_posed_skin(skinned, scene, depsgraph)
    title, edges = f"Frame {scene.frame_current}, {_find_title(obj)}", read_edges(mesh_of(obj))
    yield 0.1
    from_linear = _compare(skin, "SSD")
    yield 0.2
    from_preserve_volume = _compare(skin, "DLB")
    rest = replace(skin.rest, object_to_armature=skin.pose.object_to_armature)
    shape = yield from computed(partial(measure_shape, rest, skin.pose.rest_to_pose, skin.points, edges))
    *_, reach, section = shape
    measures = Measures(
        title,
        *shape,
        reach_bone=skin.skeleton.name_joint(reach.bone),
        section_bone=skin.skeleton.name_joint(section.bone),
        from_linear=from_linear,
        from_preserve_volume=from_preserve_volume,
    )
    measure_reports.keep(obj, "\n".join(measures.describe()))
    return measures


def _check_measurable(obj: bpy.types.Object | None) -> SkinnedObject:
    """An object with the armature that poses it; raises SkinningError if there is none, or no pose."""
    if obj is None or not has_armature_modifier(obj):
        raise SkinningError("Nothing to measure: select a mesh that has an Armature modifier")
    skinned = resolve_skinned(obj, find_deforming_modifier(obj))
    check_not_edited(skinned)
    return skinned


def _read_posed_skin(skinned: SkinnedObject, scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> PosedSkin:
    obj = skinned.obj
    evaluated, armature = obj.evaluated_get(depsgraph), skinned.armature.evaluated_get(depsgraph)
    for name, other in ((obj.name, evaluated), (skinned.armature.name, armature)):
        if not other.is_evaluated:
            raise SkinningError(f"'{name}' is disabled in this view layer: enable it and its collection")
    skeleton = read_skeleton(armature)
    space = object_to_armature(evaluated, armature)
    rest = read_character(skinned, skeleton, space).rest
    rest = replace(rest, points=read_mixed_points(obj, depsgraph))
    points = read_evaluated_points(obj, depsgraph)
    check_shown_vertices(obj, len(points))
    if find_unusable(points).any():
        raise SkinningError(
            f"'{obj.name}' has positions that are not numbers (NaN or infinite): check the drivers and constraints of "
            "the armature"
        )
    return PosedSkin(
        skinned=skinned,
        rest=rest,
        skeleton=skeleton,
        space=space,
        pose=read_pose(armature, skeleton).seen_from(np.array(space, np.float64)),
        points=points.astype(np.float64),
        to_world=np.array(evaluated.matrix_world, np.float64)[:3, :3],
        millimeters=MILLIMETERS * scene.unit_settings.scale_length,
    )


def _compare(skin: PosedSkin, method: str) -> Difference:
    """Distance of the skin from that of one of Blender's methods in the same pose."""
    choices = Choices.read(skin.skinned, method, is_blenders=True)
    source = SkinSource.of(skin.skinned, choices, skin.skeleton, skin.space)
    others = PosableSkin.of(source).at(points=skin.rest.points).pose(skin.pose)
    return measure_difference(skin.points @ skin.to_world.T, others @ skin.to_world.T, skin.millimeters)


def _find_title(obj: bpy.types.Object) -> str:
    """Label of the method that deforms an object."""
    settings = settings_of(obj)
    method = METHODS.get(settings.method)
    return method.label if settings.is_bound and method is not None else "Armature modifier"
