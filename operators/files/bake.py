"""Bakes to shape keys and point caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ...deformers import SkinningError
from ...settings.character import list_ticked
from ...settings.objects import settings_of
from ...tasks.bake.caches import bake_caches
from ...tasks.bake.parts import name_stems
from ...tasks.bake.posed_frames import check_bakeable, choose_bakeable
from ...tasks.bake.shape_keys import bake_shape_keys, check_keys_can_hold
from ...tasks.skin.baked import clear_bake, show_cache
from ...tasks.steps import Steps, counted
from ...tasks.subject.frames import frame_range
from ..base import RELATIVE_PATH, SKIP, SuppleOperator
from ..computing import ComputingOperator


def _list_chosen(context: bpy.types.Context, whole: bool) -> list[bpy.types.Object]:
    """The active mesh, or the ticked meshes of the whole character."""
    active = context.active_object
    if whole or (active is not None and active.type == "ARMATURE"):
        return list_ticked(context)
    return [active] if active is not None and active.type == "MESH" else []


def _list_bound(context: bpy.types.Context, whole: bool) -> list[bpy.types.Object]:
    return [obj for obj in _list_chosen(context, whole) if settings_of(obj).is_bound]


def _list_baked(context: bpy.types.Context, whole: bool) -> list[bpy.types.Object]:
    return [obj for obj in _list_chosen(context, whole) if settings_of(obj).bake != "NONE"]


class BakeOperator(ComputingOperator):
    """Mix-in: bakes a range of frames."""

    subject = "the bake"
    canceled = "Bake canceled: no frames were saved"
    step_time = 0.2  # a redraw of the window may take longer than a frame

    frame_start: IntProperty(
        name="Start Frame", description="First frame to bake. Follows the scene if not set", default=1
    )
    frame_end: IntProperty(
        name="End Frame", description="Last frame to bake. Follows the scene if not set", default=250
    )
    frame_step: IntProperty(name="Frame Step", description="Bake every n-th frame", default=1, min=1)

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        """The bake: yields the number of frames that are done."""
        raise AssertionError("each bake has its own")

    def summarize(self, frames: int) -> str:
        """A message on the baked frames."""
        return f"{frames} {'frame' if frames == 1 else 'frames'} baked"

    def frames(self, context: bpy.types.Context) -> range:
        self._take_scene_range(context)
        return frame_range(self.frame_start, self.frame_end, self.frame_step)

    def _take_scene_range(self, context: bpy.types.Context) -> None:
        for name in ("frame_start", "frame_end"):
            if not self.is_set(name):
                setattr(self, name, getattr(context.scene, name))

    def list_steps(self, context: bpy.types.Context) -> Steps[int]:
        return counted(self.start(context), len(self.frames(context)))

    def finish(self, _context: bpy.types.Context, count: int) -> str:
        """Report the number of baked frames."""
        return self.summarize(count)


def needs_bound(context: bpy.types.Context) -> str:
    is_there = _list_bound(context, whole=False) or _list_bound(context, whole=True)
    return "" if is_there else "Select a mesh that is bound"


def needs_baked(context: bpy.types.Context) -> str:
    is_there = _list_baked(context, whole=False) or _list_baked(context, whole=True)
    return "" if is_there else "Select a mesh that Supple has baked"


class OnBoundMeshes(SuppleOperator):
    """Mix-in: works on the active mesh if it is bound, or on all bound and ticked meshes of the character."""

    requires = (needs_bound,)

    whole: BoolProperty(
        name="Whole Character", description="Bake all bound and ticked meshes of the character", options=SKIP
    )

    def list_meshes(self, context: bpy.types.Context) -> list[bpy.types.Object]:
        """The meshes to bake; raises SkinningError if there are none."""
        meshes = _list_bound(context, self.whole)
        if not meshes:
            raise SkinningError("Nothing to bake: tick a bound mesh in the list in the Supple tab")
        return meshes


class MeshBakeOperator(OnBoundMeshes, BakeOperator):
    """Mix-in: bakes meshes in one pass over the frames; leaves out meshes that cannot be baked."""

    check_mesh = staticmethod(check_bakeable)

    def run(self, context: bpy.types.Context) -> Any:
        meshes, frames = self.list_meshes(context), self.frames(context)
        self._meshes, self._left_out = choose_bakeable(meshes, context.scene, frames, self.check_mesh)
        return super().run(context)

    def finish(self, context: bpy.types.Context, count: int) -> str:
        self.tell_left_out(self._left_out)
        return super().finish(context, count)

    def summarize(self, frames: int) -> str:
        if len(self._meshes) == 1:
            return super().summarize(frames)
        return f"{frames} {'frame' if frames == 1 else 'frames'} of {len(self._meshes)} meshes baked"


class SUPPLE_OT_bake_shape_keys(MeshBakeOperator, bpy.types.Operator):
    """Add a shape key for each frame, animated to be on only in that frame. Renders the same without Supple"""

    bl_label = "Bake to Shape Keys"
    check_mesh = staticmethod(check_keys_can_hold)

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        return bake_shape_keys(self._meshes, context.scene, self.frames(context))

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_scene_range(context)
        self.is_interactive = True
        return cast(set[str], context.window_manager.invoke_props_dialog(self))


class SUPPLE_OT_bake_cache(MeshBakeOperator, bpy.types.Operator):
    """Write each frame to a PC2 file and play it with a Mesh Cache modifier. Renders the same without Supple"""

    bl_label = "Bake to Point Cache"

    filepath: StringProperty(name="File", description="PC2 file to write", subtype="FILE_PATH", options=RELATIVE_PATH)
    filter_glob: StringProperty(default="*.pc2", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    def path(self) -> Path:
        if not self.filepath:
            raise SkinningError("No file to bake to: choose a PC2 file")
        path = bpy.path.abspath(self.filepath)
        return Path(path if path.lower().endswith(".pc2") else f"{path}.pc2")

    def paths(self) -> dict[bpy.types.Object, Path]:
        """The file of each mesh: the chosen file, followed by the mesh's name if there are several meshes."""
        path = self.path()
        if len(self._meshes) == 1:
            return {self._meshes[0]: path}
        stems = name_stems(self._meshes)
        return {obj: path.with_name(f"{path.stem}_{stem}{path.suffix}") for obj, stem in stems.items()}

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        paths = self.paths()
        yield from bake_caches(paths, context.scene, self.frames(context))
        for obj, path in paths.items():
            show_cache(obj, path)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_scene_range(context)
        if not self.filepath:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(context.active_object.name)}.pc2")
        self.is_interactive = True
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}


class SUPPLE_OT_clear_bake(SuppleOperator, bpy.types.Operator):
    """Remove the bake, and deform live again. A PC2 file stays on disk"""

    bl_label = "Back to Live"
    requires = (needs_baked,)

    whole: BoolProperty(name="Whole Character", description="Remove the bakes of all ticked meshes", options=SKIP)

    def run(self, context: bpy.types.Context) -> None:
        for obj in _list_baked(context, self.whole):
            clear_bake(obj)
