"""Bakes, with progress and Esc to cancel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..tasks.skin import bake

RELATIVE_PATH: set[Any] = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()
"""Blender from 4.5 on warns of paths relative to the file where a property does not say that it takes them."""

BETWEEN_REDRAWS = 0.2
"""Seconds of baking between two redraws of the window, which may take longer than a frame."""


def _active_mesh(context: bpy.types.Context) -> bpy.types.Object:
    """The active object, once `poll` has seen that there is one."""
    return cast(bpy.types.Object, context.active_object)


class BakeOperator:
    """Mix-in: a frame range, run in one go from Python and frame by frame from the user interface."""

    bl_options = {"REGISTER", "UNDO"}
    is_interactive = False
    """Whether a user waits in front of a window: set by `invoke`."""

    frame_start: IntProperty(name="Start", description="First frame to bake. Follows the scene if not set", default=1)
    frame_end: IntProperty(name="End", description="Last frame to bake. Follows the scene if not set", default=250)
    frame_step: IntProperty(name="Step", description="Bake every n-th frame", default=1, min=1)

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        obj = context.active_object
        if obj is None or obj.type != "MESH" or not settings_of(obj).is_bound:
            cls.poll_message_set("Select a mesh that is bound")
            return False
        return True

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        """The bake, as a generator that yields the number of frames done."""
        raise AssertionError("each bake has its own")

    def finish(self, context: bpy.types.Context) -> None:
        """What is left to do after the last frame."""

    def frames(self, context: bpy.types.Context) -> range:
        self._take_scene_range(context)
        return bake.frame_range(self.frame_start, self.frame_end, self.frame_step)

    def _take_scene_range(self, context: bpy.types.Context) -> None:
        for name in ("frame_start", "frame_end"):
            if not self.properties.is_property_set(name):
                setattr(self, name, getattr(context.scene, name))

    def execute(self, context: bpy.types.Context) -> set[str]:
        is_interactive, self.is_interactive = self.is_interactive, False  # Repeat Last and Redo execute this instance
        if is_interactive:
            return self.run_modal(context)
        try:
            for _ in self.start(context):
                pass
            self.finish(context)
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}

    def run_modal(self, context: bpy.types.Context) -> set[str]:
        """Go on frame by frame, with a progress bar."""
        try:
            self._count = len(self.frames(context))
            self._steps = self.start(context)
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self._timer = context.window_manager.event_timer_add(0.001, window=context.window)
        context.window_manager.progress_begin(0, self._count)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC":
            self._steps.close()
            self.report({"INFO"}, "Bake canceled: no frames were saved")
            return self._end(context, {"CANCELLED"})
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        try:
            deadline = time.monotonic() + BETWEEN_REDRAWS
            done = next(self._steps, None)
            while done is not None and time.monotonic() < deadline:
                done = next(self._steps, None)
            if done is not None:
                context.window_manager.progress_update(done)
                context.workspace.status_text_set(f"Supple: frame {done} of {self._count} baked. Esc to cancel")
                return {"RUNNING_MODAL"}
            self.finish(context)
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return self._end(context, {"CANCELLED"})
        self.report({"INFO"}, f"{self._count} frames baked")
        return self._end(context, {"FINISHED"})

    def _end(self, context: bpy.types.Context, result: set[str]) -> set[str]:
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        context.workspace.status_text_set(None)
        return result


class SUPPLE_OT_bake_shape_keys(BakeOperator, bpy.types.Operator):
    """Add a shape key for each frame, animated to be on in that frame. Renders the same without Supple"""

    bl_idname = "supple.bake_shape_keys"
    bl_label = "Bake to Shape Keys"

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        return bake.bake_shape_keys(_active_mesh(context), context.scene, self.frames(context))

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_scene_range(context)
        self.is_interactive = True
        return cast(set[str], context.window_manager.invoke_props_dialog(self))


class SUPPLE_OT_bake_cache(BakeOperator, bpy.types.Operator):
    """Write each frame to a PC2 file and play it with a Mesh Cache modifier. Renders the same without Supple"""

    bl_idname = "supple.bake_cache"
    bl_label = "Bake to Point Cache"

    filepath: StringProperty(name="File", description="PC2 file to write", subtype="FILE_PATH", options=RELATIVE_PATH)
    filter_glob: StringProperty(default="*.pc2", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    def path(self) -> Path:
        if not self.filepath:
            raise SkinningError("No file to bake to: choose a PC2 file")
        path = bpy.path.abspath(self.filepath)
        return Path(path if path.lower().endswith(".pc2") else f"{path}.pc2")

    def start(self, context: bpy.types.Context) -> Iterator[int]:
        return bake.bake_cache(_active_mesh(context), context.scene, self.path(), self.frames(context))

    def finish(self, context: bpy.types.Context) -> None:
        bake.show_cache(_active_mesh(context), self.path())

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_scene_range(context)
        if not self.filepath:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(_active_mesh(context).name)}.pc2")
        self.is_interactive = True
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}


class SUPPLE_OT_clear_bake(bpy.types.Operator):
    """Remove the bake and deform live again. A PC2 file stays on disk"""

    bl_idname = "supple.clear_bake"
    bl_label = "Back to Live"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        obj = context.active_object
        if obj is None or obj.type != "MESH" or settings_of(obj).bake == "NONE":
            cls.poll_message_set("Select a mesh that Supple has baked")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            bake.clear_bake(_active_mesh(context))
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_OT_bake_shape_keys, SUPPLE_OT_bake_cache, SUPPLE_OT_clear_bake)
)
