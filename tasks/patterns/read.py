"""Reading the settings of patterns: drivers and laws, height maps, positions on the mesh, and notes on visibility."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.animation import drivers
from ...bridge.animation.drivers import DrivingJoint
from ...bridge.images.data import DATA, read_image
from ...bridge.meshes.charts import read_chart_arrays
from ...bridge.meshes.data import mesh_of
from ...bridge.owned import digest
from ...bridge.per_object import PerObject
from ...deformers import SkinningError
from ...deformers.anatomy.body import find_axis
from ...deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from ...deformers.patterns.charts import Chart, chart_by_stroke, chart_by_surface, chart_by_uv
from ...deformers.patterns.compression import DRIVERS, SPREADS, CompressionResponse
from ...deformers.patterns.heights import AXES, Response, respond
from ...deformers.patterns.surface_points import SurfacePoint, locate_point, locate_uv, surface_frame, uv_frame
from ...settings.objects import settings_of
from ...settings.patterns import SPACES, PatternSettings, driving_armature


def find_driving_armature(obj: bpy.types.Object) -> bpy.types.Object:
    """Find the armature whose joints drive an object's patterns; raises SkinningError if there is none."""
    armature = driving_armature(obj)
    if armature is not None:
        return armature
    raise SkinningError(f"'{obj.name}' has no armature to drive patterns: parent it to an armature first")


def has_angle(pattern: PatternSettings) -> bool:
    """Whether the angle of a joint drives a pattern."""
    return pattern.driver in ("ANGLE", "BOTH")


def has_compression(pattern: PatternSettings) -> bool:
    """Whether compression or stretch of the skin drives a pattern."""
    return pattern.driver in ("COMPRESSION", "STRETCH", "BOTH")


def has_depth(pattern: PatternSettings) -> bool:
    """Whether limbs that press into the skin drive a pattern."""
    return pattern.driver == "DEPTH"


def is_displaced(display: str, kind: str) -> bool:
    """Whether patterns of a kind move the skin, as an object shows its patterns."""
    return display == "DISPLACEMENT" or (display == "KIND" and kind == "BULGE")


def read_laws(
    obj: bpy.types.Object, pattern: PatternSettings
) -> tuple[DrivingJoint | None, Response, CompressionResponse | None]:
    """Read the joint that drives a pattern, its law, and the law of compression or depth, as far as they drive it.

    Raises SkinningError if the bones do not exist, the numbers make no sense, or a later version has stored the driver.
    """
    if pattern.driver not in DRIVERS:
        raise SkinningError("The pattern's driver is unknown to this version: choose one in Driven By")
    if pattern.compression_spread not in SPREADS:
        raise SkinningError("The pattern's compression amount is unknown to this version: choose one in Amount")
    joint, response, measured = None, Response(), None
    if has_angle(pattern):
        joint = find_joint(obj, pattern)
        response = Response(pattern.law, pattern.direction, pattern.start, pattern.full, pattern.gain)
    if pattern.driver != "ANGLE":
        start, full = 0.01 * pattern.compression_start, 0.01 * pattern.compression_full  # settings are in percent
        direction = "NEGATIVE" if pattern.driver == "STRETCH" else "POSITIVE"
        measured = CompressionResponse(pattern.law, direction, start, full, pattern.compression_gain)
    return joint, response, measured


def find_joint(obj: bpy.types.Object, pattern: PatternSettings) -> DrivingJoint:
    """Find the joint that drives a pattern; raises SkinningError if its bones do not exist."""
    armature = find_driving_armature(obj)
    if pattern.axis not in (*AXES, "BETWEEN"):
        raise SkinningError("The pattern's driving axis is unknown to this version: choose an axis")
    check_bones(armature, *_name_bones(pattern))
    if pattern.axis == "BETWEEN":
        rest = drivers.measure_rest(armature, pattern.bone, pattern.other_bone)
        return DrivingJoint(armature, pattern.bone, "BETWEEN", pattern.other_bone, rest)
    bones = list_chain(armature, pattern)
    if len(bones) > len(drivers.VARIABLES):
        raise SkinningError(
            f"There are more than {len(drivers.VARIABLES)} bones from '{pattern.first_bone}' to '{pattern.bone}': "
            "choose a closer bone"
        )
    first, *others = (np.array(bone.matrix_local, np.float64)[:3, :3] for bone in bones)
    axis = first[:, AXES.index(pattern.axis)]
    chain = []
    for bone, matrix in zip(bones[1:], others, strict=True):
        name, share = find_axis(matrix, axis)  # bones of a chain may be rolled: the axis nearest to that of the first
        chain.append((bone.name, name, 1 if share > 0.0 else -1))
    return DrivingJoint(armature, pattern.bone, pattern.axis, chain=tuple(chain))


def check_bones(armature: bpy.types.Object, *names: str) -> None:
    """Raise SkinningError if a bone was not chosen, or the armature does not have it."""
    for name in names:
        if not name:
            raise SkinningError("No bone drives the pattern: choose a bone")
        if name not in armature.data.bones:
            raise SkinningError(f"'{armature.name}' has no bone '{name}': choose another bone")


def list_chain(armature: bpy.types.Object, pattern: PatternSettings) -> list[bpy.types.Bone]:
    """List the bones from a pattern's bone up to its first bone, which is optional."""
    bones = [armature.data.bones[pattern.bone]]
    while pattern.first_bone and bones[-1].name != pattern.first_bone:
        parent = bones[-1].parent
        if parent is None:
            raise SkinningError(f"'{pattern.first_bone}' is not above '{pattern.bone}': choose a bone up the chain")
        bones.append(parent)
    return bones


def _name_bones(pattern: PatternSettings) -> tuple[str, ...]:
    """List the names of bones that the settings of a pattern use."""
    if pattern.axis == "BETWEEN":
        return pattern.bone, pattern.other_bone
    return (pattern.bone, pattern.first_bone) if pattern.first_bone else (pattern.bone,)


def follow_renamed(obj: bpy.types.Object, pattern: PatternSettings) -> None:
    """Read the new names of renamed bones from the pattern's driver, which Blender itself updates."""
    if not has_angle(pattern):
        return
    bones, names = find_driving_armature(obj).data.bones, _name_bones(pattern)
    if all(name in bones for name in names):
        return
    driven = drivers.read_bones(obj, pattern.driven, pattern.slot)
    if len(driven) >= len(names) and all(name in bones for name in driven):
        pattern.bone = driven[0]
        if len(names) > 1:  # drivers name the bones of a chain in order
            setattr(pattern, "other_bone" if pattern.axis == "BETWEEN" else "first_bone", driven[-1])


# problems of images, "" for none, by identity, size and file: reading the pixels of a large image takes long
_problems: dict[tuple, str] = {}


def check_image(image: bpy.types.Image | None) -> None:
    """Raise SkinningError if an image is not a height map; reads its pixels once."""
    if image is None:
        raise SkinningError("The pattern has no height map: choose an image")
    space = image.colorspace_settings.name
    if space != DATA:
        raise SkinningError(f"Image '{image.name}' is read as {space}, which distorts its heights: set it to {DATA}")
    key = (image.session_uid, tuple(image.size), image.filepath, image.source)
    if key not in _problems:
        try:
            read_image(image)
        except SkinningError as error:
            _problems[key] = str(error)
        else:
            _problems[key] = ""
    if _problems[key]:
        raise SkinningError(_problems[key])


@dataclass(frozen=True)
class MeshCharts:
    """A mesh prepared for charts, and charts of patterns on it by everything that they depend on.

    `code`: differs if the mesh has changed.
    """

    code: str
    mesh: ChartMesh
    charts: dict[tuple, Chart]


_known_meshes: PerObject[MeshCharts] = PerObject()


def check_mesh(obj: bpy.types.Object) -> None:
    """Raise SkinningError if patterns cannot be laid on an object."""
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh for the patterns")
    if obj.library is not None or mesh_of(obj).library is not None:
        raise SkinningError(f"'{obj.name}' or its mesh is linked from another file: make it local to add patterns")
    if mesh_of(obj).is_editmode:
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first")
    if not mesh_of(obj).polygons:
        raise SkinningError(f"'{obj.name}' has no faces: select a mesh with faces to lay patterns on")


def charts_of(obj: bpy.types.Object) -> MeshCharts:
    """Prepare an object's mesh for charts, or return it from memory if it has not changed.

    Raises SkinningError if patterns cannot be laid on it.
    """
    check_mesh(obj)
    arrays = read_chart_arrays(mesh_of(obj))
    code, known = digest(*arrays), _known_meshes.find(mesh_of(obj))
    if known is None or known.code != code:
        known = _known_meshes.keep(mesh_of(obj), MeshCharts(code, make_chart_mesh(*arrays), {}))
    return known


def describe_layout(pattern: PatternSettings) -> tuple:
    """List everything that a pattern's chart depends on, except for the mesh."""
    common = (pattern.space, pattern.turn, tuple(pattern.size), pattern.flip)
    if pattern.space == "UV":
        return (*common, tuple(pattern.uv), tuple(pattern.location))
    return (*common, *(tuple(point.location) for point in pattern.stroke or [pattern]))


def find_center(mesh: ChartMesh, pattern: PatternSettings) -> SurfacePoint:
    """Find the surface point at the center of a pattern. Raises SkinningError if the mesh has no such point."""
    if pattern.space == "UV":  # where islands overlap, the location tells which one is meant
        return locate_uv(mesh, np.array(pattern.uv), near=np.array(pattern.location))
    return locate_point(mesh, np.array(pattern.location))


def make_chart(known: MeshCharts, pattern: PatternSettings, max_charts: int = 200) -> Chart:
    """Make the chart of a pattern, or return it from memory, which holds more charts than a drag of the mouse makes.

    Raises SkinningError if the pattern cannot be laid on the mesh.
    """
    key = describe_layout(pattern)
    if key not in known.charts:
        while len(known.charts) >= max_charts:
            known.charts.pop(next(iter(known.charts)))
        known.charts[key] = _make_chart(known.mesh, pattern)
    return known.charts[key]


def _make_chart(mesh: ChartMesh, pattern: PatternSettings) -> Chart:
    size = tuple(pattern.size)
    if pattern.space == "SURFACE" and len(pattern.stroke) > 1:
        return chart_by_stroke(mesh, np.array([point.location for point in pattern.stroke]), size, pattern.flip)
    make = chart_by_uv if pattern.space == "UV" else chart_by_surface
    return make(mesh, find_center(mesh, pattern), pattern.turn, size, pattern.flip)


def _find_frame(mesh: ChartMesh, point: SurfacePoint, space: str) -> np.ndarray:
    """Find the vectors of one unit of u and v at a surface point, in the space "UV" or "SURFACE": shape (2, 3)."""
    return uv_frame(mesh, point) if space == "UV" else surface_frame(point)


def find_units(mesh: ChartMesh, center: SurfacePoint, pattern: PatternSettings) -> np.ndarray:
    """Find the vectors of one unit of a pattern's width and height: object space, shape (2, 3)."""
    cos, sin = math.cos(pattern.turn), math.sin(pattern.turn)
    return np.array([[cos, sin], [-sin, cos]]) @ _find_frame(mesh, center, pattern.space)


def find_sides(mesh: ChartMesh, center: SurfacePoint, pattern: PatternSettings) -> np.ndarray:
    """Find a pattern's lower and left side, left to right and bottom to top: object space, shape (2, 3)."""
    sides = find_units(mesh, center, pattern) * np.array(pattern.size)[:, None]
    if pattern.flip:
        sides[0] *= -1.0
    return sides


def lay_by_sides(mesh: ChartMesh, center: SurfacePoint, sides: np.ndarray, pattern: PatternSettings) -> None:
    """Lay a pattern about a surface point, in its space, with the sides that `find_sides` then returns.

    The sides stay at right angles in the space. If they cannot, the lower side counts.
    """
    frame = _find_frame(mesh, center, pattern.space)
    along, up = (np.linalg.lstsq(frame.T, side, rcond=None)[0] for side in sides)
    pattern.flip = bool(along[0] * up[1] - along[1] * up[0] < 0.0)
    if pattern.flip:
        along = -along
    pattern.stroke.clear()
    pattern.turn = math.atan2(along[1], along[0])
    pattern.size = float(np.hypot(*along)), float(np.hypot(*up))
    set_center(pattern, center)
    pattern.placed_in = pattern.space


def set_center(pattern: PatternSettings, center: SurfacePoint) -> None:
    """Store a surface point as the center of a pattern."""
    pattern.location = center.position
    if center.uv is not None:
        pattern.uv = center.uv


def follow_space(mesh: ChartMesh, pattern: PatternSettings) -> None:
    """If the user has chosen another space, lay the pattern there as it lay in the earlier one."""
    if pattern.space not in SPACES:
        raise SkinningError("The pattern's placement is unknown to this version: choose one in Place On")
    if pattern.placed_in not in SPACES:  # stored by an earlier version, or unknown to this one
        pattern.placed_in = pattern.space
    if pattern.placed_in == pattern.space:
        return
    wanted, pattern.space = pattern.space, pattern.placed_in
    center = find_center(mesh, pattern)
    if wanted == "UV" and center.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or leave the pattern on the surface")
    sides = find_sides(mesh, center, pattern)
    pattern.space = wanted
    lay_by_sides(mesh, center, sides, pattern)


def describe_visibility(obj: bpy.types.Object, pattern: PatternSettings, shading: str) -> list[str]:
    """Explain why a pattern is not fully visible; nothing if it is, or if its note has an error.

    `shading`: shading of the 3D View: "SOLID", "WIREFRAME", ... .
    """
    if not pattern.show:
        return ["Hidden: enable it in the list"]
    try:
        joint, response, _ = read_laws(obj, pattern)
    except SkinningError:
        return []
    hints = []
    if shading in ("SOLID", "WIREFRAME") and not is_displaced(settings_of(obj).pattern_display, pattern.kind):
        hints.append("Bumps do not show in Solid view: use Material Preview, or set Show As to Displacement")
    if settings_of(obj).pattern_full:
        return [*hints, "Shown in full in any pose"]
    if joint is not None:
        hints += _describe_angle(joint, response)
    return [*hints, *_describe_compression(pattern)]


def _describe_compression(pattern: PatternSettings) -> list[str]:
    """Explain at which compression, stretch or depth a pattern shows."""
    start, full = f"{pattern.compression_start:.0f} %", f"{pattern.compression_full:.0f} %"
    full = f"full at {full}" if pattern.law == "RANGE" else "more at higher values"
    if pattern.driver == "STRETCH":
        return [f"Shows where the skin is stretched, from {start} up, {full}"]
    if has_depth(pattern):
        return [f"Shows while the limb presses into the skin, from {start} of the pattern's smaller side up, {full}"]
    return [f"Shows where the skin is compressed, from {start} up, {full}"] if has_compression(pattern) else []


def _describe_angle(joint: DrivingJoint, response: Response, rest_angle: float = math.radians(0.5)) -> list[str]:
    """Explain how far a joint is from the angle at which its pattern is fully visible."""
    if joint.armature.data.pose_position == "REST":
        return [f"'{joint.armature.name}' is in Rest Position: set it to Pose Position"]
    angle = drivers.read_angle(joint.armature, joint)
    toward = {"POSITIVE": angle, "NEGATIVE": -angle, "BOTH": abs(angle)}[response.direction]
    amount = float(respond(response, angle))
    full = f"full at {_degrees(response.full)}" if response.law == "RANGE" else "more at larger angles"
    if amount >= 1.0:
        return []
    if amount > 0.0:
        return [f"{round(100.0 * amount)} % shows, at {_degrees(toward)}: {full}"]
    bone = f"'{joint.chain[-1][0]}' to '{joint.bone}'" if joint.chain else f"'{joint.bone}'"
    begins = f"from {_degrees(response.start)} up, {full}"
    if abs(angle) < rest_angle:
        return [f"At rest: rotate {bone}. It shows {begins}"]
    return [f"At {_degrees(toward)} nothing shows yet: {begins}"]


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.0f}°"
