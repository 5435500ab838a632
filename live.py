"""Blender's handlers: live features follow each change, in the viewport and in renders."""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from .bridge.animation.correction_drivers import own_properties
from .bridge.changes import Changes
from .bridge.handlers import install, uninstall
from .bridge.per_object import forget_all, forget_undone
from .bridge.removal import forget_put_off, in_handler, run_put_off
from .settings.events import bone_listeners, listeners, pattern_listeners
from .tasks.check.lines import follow_fixes
from .tasks.features import FEATURES
from .tasks.installed.engine import follow
from .tasks.patterns import follow as patterns
from .tasks.skin import live as skin
from .tasks.skin.bind import follow_spread

_is_rendering = False


@persistent
def _on_frame(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    _follow(depsgraph, is_frame=True)


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    _follow(depsgraph, is_frame=False)


def _follow(depsgraph: bpy.types.Depsgraph, is_frame: bool) -> None:
    if _is_rendering and depsgraph.mode != "RENDER":
        return  # the render has the carriers
    with in_handler():
        follow(FEATURES, Changes(depsgraph, is_frame))


@persistent
def _on_load(*_) -> None:
    forget_put_off()
    forget_all()
    _on_render_end()
    skin.take_in_file()


@persistent
def _before_undo(*_) -> None:
    skin.expect_undo()


@persistent
def _on_undo(*_) -> None:
    forget_put_off()
    forget_undone()
    skin.follow_undo()
    follow_fixes()


@persistent
def _before_save(*_) -> None:
    run_put_off()
    skin.hand_over_all()
    own_properties()


@persistent
def _after_save(*_) -> None:
    skin.take_over_all()


@persistent
def _on_render_start(*_) -> None:
    global _is_rendering
    if bpy.app.background:
        bpy.context.view_layer.update()  # what a script has posed since is followed now
    skin.finish_strokes()
    _is_rendering = True


@persistent
def _on_render_end(*_) -> None:
    global _is_rendering
    _is_rendering = False


HANDLERS = (
    ("frame_change_post", _on_frame),
    ("depsgraph_update_post", _on_change),
    ("load_post", _on_load),
    ("undo_pre", _before_undo),
    ("redo_pre", _before_undo),
    ("undo_post", _on_undo),
    ("redo_post", _on_undo),
    ("save_pre", _before_save),
    ("save_post", _after_save),
    ("save_post_fail", _after_save),
    ("render_init", _on_render_start),
    ("render_complete", _on_render_end),
    ("render_cancel", _on_render_end),
)


def register() -> None:
    skin.look_again()
    _on_render_end()
    install(HANDLERS)
    listeners.append(skin.follow_setting)
    pattern_listeners.append(patterns.show)
    bone_listeners.append(follow_spread)
    if hasattr(bpy.data, "objects"):
        skin.take_up()
    else:  # the file is out of reach while a user enables Supple
        bpy.app.timers.register(skin.take_up, first_interval=0.0)


def unregister() -> None:
    bone_listeners.remove(follow_spread)
    pattern_listeners.remove(patterns.show)
    listeners.remove(skin.follow_setting)
    for timer in filter(bpy.app.timers.is_registered, skin.TIMERS):
        bpy.app.timers.unregister(timer)
    uninstall(HANDLERS)
    if hasattr(bpy.data, "objects"):
        _before_save()
    forget_all()
