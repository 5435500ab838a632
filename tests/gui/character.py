"""The character in one panel, with its armature active in Pose Mode: by mouse and by Blender's menu search."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import bpy

from scenes import add_tube, add_twin, distance, evaluated_points, select, turn

WAIT = 0.5
FIRST_ROW, BIND_ROW = 3.3, 14.8
"""Where the list's first mesh and Bind are, in rows of buttons below the top of the sidebar, with two meshes."""
TICK, UNBIND = 0.092, 0.83
"""How far from its left edge the ticks and Unbind are, as shares of its width."""


def xdo(*arguments: object) -> None:
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def search(window: Any, label: str, take_picture: Any) -> Iterator[float]:
    """Run an operator from the menu search, which F3 opens for a user."""
    window.move("WINDOW", 300, 300)
    yield WAIT
    with bpy.context.temp_override(**window.override()):
        bpy.ops.wm.search_menu("INVOKE_DEFAULT")
    yield 1.0
    bpy.context.window_manager.clipboard = bpy.app.translations.pgettext_iface(label, "Operator")
    xdo("key", "ctrl+v")
    yield 1.0
    take_picture(f"search-{label}")
    xdo("key", "Return")
    yield 1.0


def use_character(
    window: Any, check: Callable[[str, bool], None], take_picture: Callable[[str], None]
) -> Iterator[float]:
    """Two meshes, one without weights: made supple, flipped, one unticked, unbound."""
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
    body, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    sleeve.vertex_groups.clear()
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    with bpy.context.temp_override(**window.override()):
        bpy.ops.view3d.view_axis(type="TOP")
        bpy.ops.view3d.view_all()
        select(armature)
        bpy.ops.object.mode_set(mode="POSE")
    window.space.show_region_ui = True
    yield WAIT
    window.region("UI").active_panel_category = "Supple"
    window.area.tag_redraw()
    yield 1.0
    linear = evaluated_points(body)
    window.click_button(BIND_ROW + window.hint_rows())
    yield 1.0
    take_picture("character-1-refused")
    check("Bind with an armature active binds what can be bound", body.supple.is_bound and not sleeve.supple.is_bound)
    check("... and says what it could not", "no vertex groups" in sleeve.supple.message)
    yield from search(window, "Make Supple", take_picture)
    yield 2.0
    take_picture("character-2-made")
    check("the menu search makes the character supple", body.supple.is_bound and sleeve.supple.is_bound)
    check("... with weights where there were none", len(sleeve.vertex_groups) == 2)
    posed = evaluated_points(body)
    yield from search(window, "Flip to Blender", take_picture)
    check("Flip shows Blender's own", distance(linear, evaluated_points(body)) <= 1e-6)
    take_picture("character-3-flipped")
    yield from search(window, "Flip to Blender", take_picture)
    check("... and Supple's again", distance(posed, evaluated_points(body)) <= 1e-6)
    window.move("WINDOW", 300, 300)  # a button takes a click only if the mouse has come to it
    yield WAIT
    window.click_button(FIRST_ROW, TICK)
    yield 1.0
    take_picture("character-4-unticked")
    check("a click on a tick leaves a mesh out", not sleeve.supple.is_ticked and body.supple.is_ticked)
    window.move("WINDOW", 300, 300)
    yield WAIT
    window.click_button(BIND_ROW + window.hint_rows(), UNBIND)
    yield 1.0
    check("Unbind is for what is ticked", not body.supple.is_bound and sleeve.supple.is_bound)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.object.mode_set(mode="OBJECT")
