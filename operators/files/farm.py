"""Bakes on many machines: write a job, which the engine of a farm runs."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ...settings.character import find_shown
from ...tasks.farm.commands import CHUNK, FarmJob
from ...tasks.farm.engines import ENGINES
from ...tasks.farm.job import check_on_disk, describe_scripts, write_job
from ...tasks.farm.readme import README
from ...tasks.reports import farm_reports
from ...tasks.subject.frames import describe_frames, frame_range, parse_frames
from ...translations import translate
from ..base import RELATIVE_PATH, SKIP
from .bake import OnBoundMeshes

ENGINE_ITEMS = tuple((key.upper(), engine.label, engine.tooltip) for key, engine in ENGINES.items())


class SUPPLE_OT_send_to_farm(OnBoundMeshes, bpy.types.Operator):
    """Write a job that bakes meshes on many machines in chunks of frames, and optionally renders them"""

    bl_label = "Write Farm Job"
    bl_options = {"REGISTER"}

    engine: EnumProperty(name="Engine", description="Render farm manager that runs the job", items=ENGINE_ITEMS)
    directory: StringProperty(
        name="Folder",
        description="Folder for the files and the output of the job. All machines must have access to it",
        subtype="DIR_PATH",
        options={*SKIP, *RELATIVE_PATH},
    )
    frames: StringProperty(
        name="Frames",
        description="Frames to bake, such as 1-250 or 1-50,60,100-200:2. Follows the scene if not set",
        options=SKIP,
    )
    chunk: IntProperty(
        name="Frames per Chunk",
        description="Maximum number of frames that a machine bakes at a time",
        default=CHUNK,
        min=1,
    )
    save: BoolProperty(
        name="Save", description="Save the file first: workers open it from disk", options={"HIDDEN", *SKIP}
    )
    render: BoolProperty(name="Render", description="Also render the frames, from the bake", options=SKIP)

    scripts: BoolProperty(
        name="Allow Scripts",
        description="Let workers run scripts in the file, such as drivers in Python, even if this Blender does not. "
        "Only for files that you trust",
        options=SKIP,
    )

    def run(self, context: bpy.types.Context) -> str:
        engine, job = ENGINES[self.engine.lower()], self.describe_job(context)
        _, left_out = write_job(job, self.engine.lower(), self.save)
        self.tell_left_out(left_out)
        report = f"Job for {engine.label} written to '{self.directory}'. {README} there has the command that submits it"
        self.tell(describe_scripts(job))
        return farm_reports.keep(cast(bpy.types.Object, find_shown(context)), report)

    def describe_job(self, context: bpy.types.Context) -> FarmJob:
        """The job with the operator's settings; raises SkinningError for settings without a job."""
        meshes = self.list_meshes(context)
        self._take_defaults(context)
        return FarmJob(
            file=Path(bpy.data.filepath),
            objects=tuple(obj.name for obj in meshes),
            frames=parse_frames(self.frames),
            chunk=self.chunk,
            choices=(),
            output=Path(bpy.path.abspath(self.directory)),
            render=self.render,
            runs_python=self.scripts,
        )

    def _take_defaults(self, context: bpy.types.Context) -> None:
        """Use the scene's frames, and a folder next to the file, if they are not set."""
        check_on_disk(Path(bpy.data.filepath))
        scene = context.scene
        self.frames = self.frames or describe_frames([frame_range(scene.frame_start, scene.frame_end, 1)])
        self.directory = self.directory or f"//{Path(bpy.data.filepath).stem}_farm"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        return self.attempt(lambda: self._ask(context))

    def _ask(self, context: bpy.types.Context) -> set[str]:
        self._names = ", ".join(obj.name for obj in self.list_meshes(context))
        self._take_defaults(context)
        self.save = bpy.data.is_dirty
        return self.ask(context, "Save and Write" if self.save else "Write")

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.label(text=self._names, icon="MESH_DATA", translate=False)
        if self.save:
            file = Path(bpy.data.filepath).name
            self.layout.label(text=translate(f"'{file}' has unsaved changes: it is saved first"), icon="FILE_TICK")
        column = self.layout.column()
        column.use_property_split = True
        for name in ("engine", "directory", "frames", "chunk", "render", "scripts"):
            column.prop(self, name)
