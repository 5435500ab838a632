"""Weight lines and their handles in 3D Views: their positions, and picking them with the mouse."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from bpy_extras.view3d_utils import region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector

from ..deformers import SkinningError
from ..deformers.weight_editing.line_fields import HANDLES_PER_LINE
from ..deformers.weight_editing.line_moves import trace_handle_path
from ..deformers.weight_editing.line_picking import pick_distance, pick_segment
from ..tasks.weights.lines import WeightLines, read_posed_points
from .view import View
from .weight_lines import Drawing, LineDrawings, project

# The mouse picks handles and lines within these distances, pixels.
NEAR_HANDLE, NEAR_LINE = 14.0, 8.0

# Points this far below the skin, relative to the size of the mesh, still count as visible: handles lie a little below
# round skin.
HIDING_DEPTH = 0.01


@dataclass(frozen=True)
class LinePick:
    """A handle or a line that the mouse has picked.

    Attributes
    ----------
    joint : int
        Index of the joint.
    line : int
        Which of its three lines: 0 the line itself, 1 and 2 those beside it towards the parent and towards the child.
    handle : int
        Index of the handle, counted over the joint's lines.
    is_whole : bool
        Whether all handles of the line go along.
    """

    joint: int
    line: int
    handle: int
    is_whole: bool = False

    @property
    def indices(self) -> tuple[int, int]:
        """The index of the line of the joint, and of the handle on that line."""
        return divmod(self.handle, HANDLES_PER_LINE)


class LinesInView:
    """The weight lines of a mesh in 3D Views, drawn until `remove`.

    `joint`: index of the active joint: it shows its falloff.

    Attributes
    ----------
    hovered, dragged : LinePick or None
        The picks under the mouse and of the current drag.
    """

    def __init__(self, lines: WeightLines, depsgraph: bpy.types.Depsgraph, joint: int) -> None:
        self.lines, self.joint = lines, joint
        self.hovered: LinePick | None = None
        self.dragged: LinePick | None = None
        self._size = float(np.ptp(lines.points, axis=0).max())
        self._posed: np.ndarray = read_posed_points(lines.obj, depsgraph)
        self.update_lines()
        self.drawings = LineDrawings(self.update_drawings, self.is_in_sight)

    def remove(self) -> None:
        self.drawings.remove()

    @property
    def picked(self) -> LinePick | None:
        """The dragged handle, or the handle under the mouse."""
        return self.dragged or self.hovered

    def update_lines(self) -> None:
        """Find where lines and handles are, by the vertices of the mesh."""
        joints, lines = self.lines.joints, self.lines
        self._segments = [[lines.trace(joint, level) for level in joint.levels] for joint in joints]
        self._handles = [[lines.locate(joint, level) for level in joint.levels] for joint in joints]

    def _read_world_points(self, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
        """Positions of the mesh's vertices as posed, float64, shape (V, 3), world space."""
        self._posed = read_posed_points(self.lines.obj, depsgraph)
        matrix = np.array(self.lines.obj.evaluated_get(depsgraph).matrix_world)
        return self._posed.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]

    def update_drawings(self) -> None:
        """Move the drawings to the current pose."""
        try:
            world = self._read_world_points(bpy.context.view_layer.depsgraph)
        except SkinningError:
            return  # they stay as they were
        picked = self.picked
        active = picked.joint if picked is not None else self.joint
        self.drawings.drawings = [
            Drawing(
                [line.interpolate(world).astype(np.float32) for line in lines],
                [points.interpolate(world) for points in handles],
                joint == active,
            )
            for joint, (lines, handles) in enumerate(zip(self._segments, self._handles, strict=True))
        ]
        is_handle = picked is not None and not picked.is_whole
        self.drawings.highlighted = (picked.joint, picked.line, picked.handle) if is_handle else None
        self.drawings.path = np.empty((0, 2, 3), np.float32)
        if picked is not None:
            self.drawings.path = self._trace_path(picked, world)[0].astype(np.float32)

    def _trace_path(self, picked: LinePick, world: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The path that a handle is dragged on: segments, (S, 2, 3), world space, and distances along it, (S, 2)."""
        field = self.lines.joints[picked.joint].field
        path, distances = trace_handle_path(field, *picked.indices)
        return path.interpolate(world[field.vertices]), distances

    def is_in_sight(self, region: bpy.types.Region, view: bpy.types.RegionView3D, point: np.ndarray) -> bool:
        """Whether a point of the skin, shape (3,), world space, is not behind another part of it."""
        depsgraph = bpy.context.view_layer.depsgraph
        evaluated = self.lines.obj.evaluated_get(depsgraph)
        pixel = project(region, view, point[None])[0]
        if not np.isfinite(pixel).all():
            return False
        origin = region_2d_to_origin_3d(region, view, pixel.tolist())
        ray = region_2d_to_vector_3d(region, view, pixel.tolist())
        to_object = evaluated.matrix_world.inverted_safe()
        start = to_object @ origin
        direction = to_object.to_3x3() @ ray
        found, hit, _, _ = evaluated.ray_cast(start, direction)
        if not found:
            return True
        target = to_object @ Vector(point.tolist())
        behind = (target - hit).dot(direction.normalized())
        return behind < HIDING_DEPTH * self._size

    def pick(self, view: View, mouse: np.ndarray) -> LinePick | None:
        """The handle under the mouse, else the line; `mouse` (2,) is in pixels of the window."""
        self.update_drawings()
        pixel = view.locate(mouse)
        found: list[tuple[float, LinePick, np.ndarray]] = []
        for joint, drawing in enumerate(self.drawings.drawings):
            for line, handles in enumerate(drawing.handles):
                if line and not drawing.is_active:
                    continue
                away = np.linalg.norm(project(view.region, view.view, handles) - pixel, axis=1)
                near = np.flatnonzero(away < NEAR_HANDLE).tolist()
                found += [(float(away[handle]), LinePick(joint, line, handle), handles[handle]) for handle in near]
        for _, picked, point in sorted(found, key=lambda entry: entry[0]):
            if self.is_in_sight(view.region, view.view, point):
                return picked
        return self._pick_line(view, pixel)

    def _pick_line(self, view: View, pixel: np.ndarray) -> LinePick | None:
        """The whole line under the mouse, dragged by its nearest handle."""
        best, result = NEAR_LINE, None
        toward_eye = np.array(view.view.view_matrix)[2, :3]
        for joint, drawing in enumerate(self.drawings.drawings):
            segments = drawing.lines[0].astype(np.float64)
            found = pick_segment(segments, project(view.region, view.view, segments), pixel, best, toward_eye)
            if found is not None and self.is_in_sight(view.region, view.view, found[1]):
                best, point = found
                nearest = int(np.linalg.norm(drawing.handles[0] - point, axis=1).argmin())
                result = LinePick(joint, 0, nearest, is_whole=True)
        return result

    def find_distance(
        self, picked: LinePick, view: View, depsgraph: bpy.types.Depsgraph, mouse: np.ndarray, last: float | None
    ) -> float:
        """The position of the mouse along the limb, on the path of a handle.

        Parameters
        ----------
        mouse : float array, shape (2,)
            Pixels of the window.
        last : float, optional
            The last position of the handle; read from the lines if not given.

        Returns
        -------
        float
            Relative to the unmoved line, object units: positive toward the child.
        """
        segments, distances = self._trace_path(picked, self._read_world_points(depsgraph))
        pixels = project(view.region, view.view, segments)
        return pick_distance(
            pixels, distances, view.locate(mouse), self.read_distance(picked) if last is None else last
        )

    def read_distance(self, picked: LinePick) -> float:
        """How far along the limb a handle is from where its line was at first, object units."""
        field = self.lines.joints[picked.joint].field
        values = np.zeros(len(self._posed))
        values[field.vertices] = field.distances
        return float(self._handles[picked.joint][picked.line].interpolate(values)[picked.handle])
