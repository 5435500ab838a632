"""What Supple stores: on an object, in a scene, in the window manager.

`objects` holds `object.supple` and `settings_of(obj)`, with `particles` and `patterns` inside; `character` holds
`scene.supple_character`, the same settings for all ticked meshes of an armature; `weights` holds
`scene.supple_weights`, `bones` `bone.supple`, `side_by_side` what is shown as ghosts, `checks` what is shown of a
check, in the window, `engine_copy` what an armature's copy is made by, `corrections` the keys that poses bring in,
`dragging` the pins of an armature's skin and `scene.supple_drag`, `motion` how actions are compared and joined.
`events` passes changes on to whoever listens, `reports` keeps what is never saved.

Property groups have no methods: Blender 4.2 keeps an unregistered class, and a method keeps its module alive with it;
Blender as a module then crashes when Python ends.
"""

from . import (
    bones,
    character,
    checks,
    corrections,
    dragging,
    engine_copy,
    motion,
    objects,
    patterns,
    side_by_side,
    weights,
)

PARTS = (bones, corrections, dragging, objects, patterns, character, side_by_side, weights, checks, engine_copy, motion)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
