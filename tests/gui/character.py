"""The character in one panel, with its armature active in Pose Mode: by mouse and by Blender's menu search."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from window import HEADER_ROW, WAIT, Window, check, press, take_picture, until

from scenes import add_tube, add_twin, distance, evaluated_points, turn

FIRST_ROW, BIND_ROW, MADE = 7.4, 17.22, 1.25
"""Where the list's first mesh and Bind are, in rows of buttons below the top of the sidebar, with two meshes; how much
lower once the character is bound."""
OFFER_ROW = 6.55
"""Where the first panel offers Stay Outside."""
TICK, BIND, UNBIND, CLOSE = 0.12, 0.2, 0.66, 0.83
"""How far from its left edge the ticks, Bind, Unbind and the cross of the offer are, as shares of its width."""


def search(window: Window, label: str) -> Iterator[float]:
    """Run an operator from the menu search, which F3 opens for a user."""
    window.move("WINDOW", 300, 300)
    yield WAIT
    window.call(bpy.ops.wm.search_menu)
    yield 4 * WAIT
    bpy.context.window_manager.clipboard = bpy.app.translations.pgettext_iface(label, "Operator")
    yield from press("ctrl+v")
    yield 4 * WAIT
    take_picture(f"search-{label}")
    yield from press("Return")
    yield 4 * WAIT


def use_character(window: Window) -> Iterator[float]:
    """Two meshes, one without weights: made supple, flipped, one unticked, unbound."""
    window.clear()
    body, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    sleeve.vertex_groups.clear()
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    window.look_down(armature, "POSE")
    yield from window.open_tab()
    yield from window.open_panel("fine_tune", is_bound=False)
    yield from window.click_row(BIND_ROW + window.method_rows(), BIND)
    take_picture("character-1-refused")
    check("Bind with an armature active binds what can be bound", body.supple.is_bound and not sleeve.supple.is_bound)
    check("... and says what it could not", "no vertex groups" in sleeve.supple.message)
    yield from search(window, "Make Supple")
    yield from until(lambda: sleeve.supple.is_bound and not window.running)
    take_picture("character-2-made")
    check("the menu search makes the character supple", body.supple.is_bound and sleeve.supple.is_bound)
    check("... with weights where there were none", len(sleeve.vertex_groups) == 2)
    yield from until(lambda: sleeve.supple.corrections and not window.running)
    check("... and then with flesh", len(sleeve.supple.corrections))
    check("... and leaves the look of what was bound before", not body.supple.corrections)
    offered = [obj for obj in (body, sleeve) if obj.supple.offers_layers]
    check("... and offers to keep layers apart", len(offered) == 1)
    yield from window.click_row(OFFER_ROW, CLOSE)
    check("... until the offer is closed", not any(obj.supple.offers_layers for obj in offered))
    posed = evaluated_points(body)
    yield from search(window, "Flip to Blender")
    check("Flip shows Blender's own", distance(posed, evaluated_points(body)) > 1e-3)
    take_picture("character-3-flipped")
    yield from search(window, "Flip to Blender")
    check("... and Supple's again", distance(posed, evaluated_points(body)) <= 1e-6)
    yield from window.click_row(FIRST_ROW + MADE, TICK)
    take_picture("character-4-unticked")
    check("a click on a tick leaves a mesh out", not sleeve.supple.is_ticked and body.supple.is_ticked)
    yield from window.click_row(BIND_ROW + MADE + window.method_rows(), UNBIND)
    check("Unbind is for what is ticked", not body.supple.is_bound and sleeve.supple.is_bound)
    yield from window.press_header(HEADER_ROW[True] + MADE)  # Make Supple is offered for the body again
    window.set_mode("OBJECT")
