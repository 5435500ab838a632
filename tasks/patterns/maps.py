"""Patterns drawn by Python: their amounts in a pose, their heights on the skin, and height maps as files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...bridge.animation.drivers import read_angle
from ...bridge.files.writing import filling, read_json
from ...bridge.images.data import read_image
from ...bridge.images.formats import SUFFIXES, Format, encode_heights
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.heights import KINDS, HeightMap, draw_heights, lay_pattern, measure_range, respond
from ...deformers.patterns.rasters import rasterize_corners
from ..subject.frames import LAST_FRAME, check_frames
from .compression import Measured, join_measured, read_layers
from .read import charts_of
from .write import ShownPattern, describe, lay_out_all

MEANINGS: dict[Format, str] = {"png16": "height = (value - 0.5) * 2 * range", "exr": "height = value"}
MAX_WIDTH = 16384


@dataclass(frozen=True, eq=False)
class LaidPatterns:
    """An object's patterns laid on an image that fills the UV map, or on the corners of the faces.

    Attributes
    ----------
    patterns : list of ShownPattern
        In the order of `heights.patterns`.
    samples : list of (int array, float array)
        Vertices around each sample of each pattern, and their weights, shape (N, K) each.
    """

    heights: HeightMap
    patterns: list[ShownPattern]
    measured: Measured
    samples: list[tuple[np.ndarray, np.ndarray]]

    def spread(self, amounts: Sequence[float], compression: Sequence[np.ndarray]) -> list[float | np.ndarray]:
        """Combine the amounts by angles with compression: amounts for `draw_heights`.

        Parameters
        ----------
        amounts : sequence of float
            Amount of each pattern by its angle.
        compression : sequence of float arrays, shape (V,)
            By the indices of `measured`.
        """
        found: list[float | np.ndarray] = []
        parts = zip(self.patterns, self.heights.patterns, self.samples, amounts, strict=True)
        for pattern, laid, (vertices, weights), amount in parts:
            if pattern.measured is None:  # one number is faster to draw than an array
                found.append(amount)
                continue
            values = compression[self.measured.index_of[pattern.settings.number]][vertices]
            found.append(laid.spread(amount * respond(pattern.measured.response, (values * weights).sum(axis=1))))
        return found


def read_angles(obj: bpy.types.Object, patterns: Sequence[ShownPattern], depsgraph: bpy.types.Depsgraph) -> list[float]:
    """Find the amounts of patterns by angles in a depsgraph's pose, as drivers do; 1 if compression alone drives it.

    Raises SkinningError if the armature is not evaluated.
    """
    amounts = []
    for pattern in patterns:
        joint = pattern.joint
        if joint is None:
            amounts.append(1.0)
            continue
        armature = joint.armature.evaluated_get(depsgraph)
        if not armature.is_evaluated:
            raise SkinningError(
                f"'{joint.armature.name}' and '{obj.name}' are disabled in this view layer: enable one of them and its "
                "collection to draw patterns"
            )
        amounts.append(float(respond(pattern.response, read_angle(armature, joint))))
    return amounts


def read_amounts(obj: bpy.types.Object, laid: LaidPatterns, depsgraph: bpy.types.Depsgraph) -> list[float | np.ndarray]:
    """Find the amounts of all patterns in a depsgraph's pose, as Blender shows them.

    Raises SkinningError if the armature is not evaluated, or compression cannot be read.
    """
    compression = read_layers(obj, depsgraph, laid.measured)
    return laid.spread(read_angles(obj, laid.patterns, depsgraph), compression)


def bind_map(obj: bpy.types.Object, width: int, height: int, kinds: Collection[str] = KINDS) -> LaidPatterns:
    """Lay an object's patterns on a height map, in pixels, that fills its UV map from 0 to 1.

    If faces overlap in the UV map, the patterns of all of them are drawn. Raises SkinningError if there is no UV map,
    or no pattern to draw.

    Parameters
    ----------
    kinds : collection of str
        Kinds of patterns that are drawn, whether they are displaced or bumped.
    """
    mesh = charts_of(obj).mesh
    if mesh.uv_map is None:
        raise SkinningError(
            f"'{obj.name}' has no UV map to draw into: unwrap it, or remove the height maps from its patterns"
        )
    if not (1 <= width <= MAX_WIDTH and 1 <= height <= MAX_WIDTH):
        raise SkinningError(f"A height map of {width} x {height} pixels cannot be drawn: choose 1 to {MAX_WIDTH}")
    laid = _find_shown(obj, kinds)
    covered = [rasterize_corners(mesh, pattern.chart, width, height) for pattern in laid]
    if not any(len(pixels) for pixels, *_ in covered):
        raise SkinningError(
            f"No pattern of '{obj.name}' covers a pixel of the UV map between 0 and 1: unwrap the mesh into that "
            "square, or choose a larger width"
        )
    return _lay(mesh, laid, (height, width), covered)


def _lay(
    mesh: ChartMesh,
    patterns: list[ShownPattern],
    shape: tuple[int, int],
    covered: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> LaidPatterns:
    """Lay patterns on a map; `covered` has the samples of each, and the corners around them with their weights."""
    laid = []
    for pattern, (samples, corners, weights) in zip(patterns, covered, strict=True):
        inside = np.einsum("pc,pci->pi", weights, pattern.chart.spread_coordinates(mesh)[corners])
        laid.append(lay_pattern(pattern.relief, read_image(pattern.settings.image), shape, samples, inside))
    return LaidPatterns(
        HeightMap(shape, tuple(laid)),
        patterns,
        join_measured(mesh, [(pattern.settings.number, pattern.measured) for pattern in patterns]),
        [(mesh.corner_vertices[corners], weights) for _, corners, weights in covered],
    )


def bind_points(obj: bpy.types.Object, kinds: Collection[str] = KINDS) -> LaidPatterns:
    """Lay an object's patterns on the corners of its faces, as a map of shape (1, C).

    Raises SkinningError if there is no pattern to draw.
    """
    mesh, laid = charts_of(obj).mesh, _find_shown(obj, kinds)
    corners = [shown.chart.corners for shown in laid]
    covered = [(own, own[:, None], np.ones((len(own), 1))) for own in corners]
    return _lay(mesh, laid, (1, len(mesh.corner_faces)), covered)


def _find_shown(obj: bpy.types.Object, kinds: Collection[str]) -> list[ShownPattern]:
    """List the patterns of some kinds that are shown; raises SkinningError if there are none."""
    if unknown := set(kinds) - set(KINDS):
        raise SkinningError(f"There is no kind of pattern '{min(unknown)}': choose {', '.join(KINDS)}")
    laid = [pattern for pattern in lay_out_all(obj, charts_of(obj)) if pattern.settings.kind in kinds]
    if not laid:
        notes = " ".join(describe(obj))
        raise SkinningError(f"'{obj.name}' has no pattern to draw: {notes or 'add a pattern, or show those it has'}")
    return laid


def write_maps(
    obj: bpy.types.Object,
    scene: bpy.types.Scene,
    frames: Sequence[int],
    folder: Path,
    file_format: Format = "png16",
    width: int = 1024,
    kinds: Collection[str] = KINDS,
) -> Iterator[int]:
    """Write a height map for each frame, and yield the number of finished frames.

    Files are `<object>_<frame>.png` or `.exr`, and `<object>_heights.json` next to them describes their values. All
    appear together at the end, and none if it ends early. A frame has the same bytes in any run. Raises SkinningError
    if patterns cannot be drawn, or files cannot be written.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    file_format : str
        "png16": 0.5 + height / (2 range), with the largest height that the patterns can reach as the range. "exr": the
        height itself. In the object's units.
    width : int
        Width and height in pixels.
    kinds : collection of str
        Kinds of patterns that are drawn, whether they are displaced or bumped.
    """
    if file_format not in SUFFIXES:
        raise SkinningError(f"There is no format '{file_format}' for height maps: choose {', '.join(SUFFIXES)}")
    if not frames:
        raise SkinningError("There are no frames to draw: choose at least one")
    check_frames(min(frames), max(frames))
    laid = bind_map(obj, width, width, kinds)
    largest, name = measure_range(laid.heights), bpy.path.clean_name(obj.name)
    description = _describe_maps(obj, laid, largest, file_format)
    current, sub, scene_name = scene.frame_current, scene.frame_subframe, scene.name
    try:
        with filling(folder) as staging:
            for done, frame in enumerate(frames, start=1):
                scene.frame_set(frame)
                depsgraph = bpy.context.evaluated_depsgraph_get()
                try:
                    drawn = draw_heights(laid.heights, read_amounts(obj, laid, depsgraph))
                except SkinningError as error:
                    raise SkinningError(f"Frame {frame}: {error}") from error
                values = drawn if file_format == "exr" else _to_gray(drawn, largest)
                (staging / map_name(name, frame, file_format)).write_bytes(encode_heights(values, file_format))
                yield done
            _write_sidecar(folder, staging, name, description, frames, file_format)
    finally:
        # the user may have deleted the scene meanwhile
        if (scene_now := bpy.data.scenes.get(scene_name)) is not None:
            scene_now.frame_set(current, subframe=sub)


def _to_gray(drawn: np.ndarray, largest: float) -> np.ndarray:
    return 0.5 + drawn.astype(np.float64) / (2.0 * largest) if largest else np.full(drawn.shape, 0.5)


def map_name(name: str, frame: int, file_format: Format) -> str:
    """Name the file of a frame, numbered as Blender numbers frames: -0003, 0001, 12345."""
    return f"{name}_{'-' if frame < 0 else ''}{abs(frame):04}{SUFFIXES[file_format]}"


def sidecar_name(name: str) -> str:
    """Name the file that describes the height maps."""
    return f"{name}_heights.json"


def _describe_maps(obj: bpy.types.Object, laid: LaidPatterns, largest: float, file_format: Format) -> dict[str, Any]:
    """Describe the height maps of all frames, for JSON."""
    return {
        "object": obj.name,
        "format": file_format,
        "meaning": MEANINGS[file_format],
        "units": "object",
        "range": largest,
        "width": laid.heights.shape[1],
        "height": laid.heights.shape[0],
        "patterns": [
            {
                "name": pattern.settings.name,
                "image": pattern.settings.image.name,
                **_describe_drivers(pattern),
                **asdict(pattern.relief),
                "pixels": int(np.count_nonzero(drawn.gains)),
            }
            for pattern, drawn in zip(laid.patterns, laid.heights.patterns, strict=True)
        ],
    }


def _describe_drivers(pattern: ShownPattern) -> dict[str, Any]:
    """Describe the drivers of a pattern, for JSON."""
    joint, measured = pattern.joint, pattern.measured
    found: dict[str, Any] = {"driver": pattern.settings.driver}
    if joint is not None:
        found |= {
            "armature": joint.armature.name,
            "bone": joint.bone,
            "first_bone": joint.chain[-1][0] if joint.chain else "",
            "other_bone": joint.other_bone,
            "axis": joint.axis,
            **asdict(pattern.response),
        }
    if measured is not None:
        law = {name: value for name, value in asdict(measured.response).items() if name != "direction"}
        if measured.pressed is not None:
            bones = {name: getattr(pattern.settings, name) for name in ("bone", "first_bone", "other_bone")}
            found["depth"] = law | bones
        else:
            found["compression"] = {**law, "along": pattern.settings.compression_angle, "spread": measured.spread}
    return found


def _write_sidecar(
    folder: Path, staging: Path, name: str, description: dict[str, Any], frames: Sequence[int], file_format: Format
) -> None:
    """Describe these frames, and frames of an earlier run with the same description whose files still exist."""
    known, before = set(frames), read_json(folder / sidecar_name(name))
    earlier = before.pop("frames", None)
    if before == description and isinstance(earlier, list):
        # the file may have been edited; True would count as 1
        numbers = [frame for frame in earlier if type(frame) is int and abs(frame) <= LAST_FRAME]
        known |= {frame for frame in numbers if (folder / map_name(name, frame, file_format)).is_file()}
    (staging / sidecar_name(name)).write_text(json.dumps({**description, "frames": sorted(known)}, indent=2), "utf-8")
