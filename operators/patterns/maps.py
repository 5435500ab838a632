"""Height maps of skin patterns saved to files, with progress and Esc to cancel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ...bridge.images.formats import Format
from ...deformers import SkinningError
from ...settings.character import find_pattern_mesh
from ...tasks.patterns.maps import MAX_WIDTH, write_maps
from ..base import RELATIVE_PATH
from ..files.bake import BakeOperator
from .library import PatternOperator

FORMAT_ITEMS = (
    ("PNG16", "PNG, 16 Bit", "Mid-gray is flat; a file next to the height maps gives the height of white"),
    ("EXR", "OpenEXR", "Heights in the object's units"),
)


class SUPPLE_OT_pattern_maps(PatternOperator, BakeOperator, bpy.types.Operator):
    """Save the height map of all patterns at each frame, for displacement or bumps in other programs"""

    bl_label = "Save Height Maps..."
    bl_options = {"REGISTER"}

    frame_start: IntProperty(name="Start Frame", description="First frame; the current frame if not set", default=1)
    frame_end: IntProperty(name="End Frame", description="Last frame; the first frame if not set", default=1)
    directory: StringProperty(
        name="Folder", description="Folder for the height maps", subtype="DIR_PATH", options=RELATIVE_PATH
    )
    filter_folder: BoolProperty(default=True, options={"HIDDEN"})
    format: EnumProperty(name="Format", description="File format of the height maps", items=FORMAT_ITEMS)
    width: IntProperty(
        name="Width",
        subtype="PIXEL",
        description="Width and height, in pixels",
        default=1024,
        min=1,
        soft_min=64,
        max=MAX_WIDTH,
    )

    def run(self, context: bpy.types.Context) -> Any:
        return BakeOperator.run(self, context)

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        if not self.directory:
            raise SkinningError("No folder to write to: choose a folder")
        obj = cast(bpy.types.Object, find_pattern_mesh(context))
        folder, file_format = Path(bpy.path.abspath(self.directory)), cast(Format, self.format.lower())
        return write_maps(obj, context.scene, self.frames(context), folder, file_format, self.width)

    def _take_scene_range(self, context: bpy.types.Context) -> None:
        if not self.properties.is_property_set("frame_start"):
            self.frame_start = context.scene.frame_current
        if not self.properties.is_property_set("frame_end"):
            self.frame_end = self.frame_start

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_scene_range(context)
        self.is_interactive = True  # `run` then shows progress and does not wait
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}
