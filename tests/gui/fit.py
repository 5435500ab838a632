"""A skeleton fitted in a window: from a bare mesh to a posed arm by mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector
from window import WAIT, Window, check, part, press, press_mouse, take_picture, until

from scenes import distance, evaluated_points, rest_points, select

HUMAN = Path(__file__).resolve().parents[2] / "demo" / "human" / "human.npz"
PULL = np.array((20.0, 10.0))
"""Pixels that a marker is dragged by."""

BELOW_HINT = 2.2
"""Where the button below a hint is, in rows of buttons below the top of the sidebar, beside the lines of the hint."""


def find_markers() -> Any:
    """The markers that are shown, or None."""
    return part("viewport.fit_markers").find_shown()


def find_row(window: Window, hint: str) -> float:
    """The row of the button below a hint of the first panel."""
    return window.count_lines(getattr(part("ui.first"), hint)) + BELOW_HINT


def add_bare_human() -> bpy.types.Object:
    """The human of the repository, without her armature."""
    data = np.load(HUMAN)
    mesh = bpy.data.meshes.new("Human")
    mesh.from_pydata(data["V"].tolist(), [], data["tris"].tolist())
    mesh.shade_smooth()
    obj = bpy.data.objects.new("Human", mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def see(window: Window, point: np.ndarray) -> np.ndarray:
    """Pixels of the region, shape (2,), at which a point is seen."""
    region = window.region("WINDOW")
    return np.array(location_3d_to_region_2d(region, window.space.region_3d, Vector(point.tolist())))


def fit_skeleton(window: Window) -> Iterator[float]:
    """Markers, Esc, a dragged knee, Enter, undo; then Make Supple, and an arm posed."""
    window.clear()
    add_bare_human()
    others = len(bpy.data.armatures)  # of the tests before
    with window.override():
        bpy.ops.view3d.view_axis(type="FRONT")
        select(bpy.data.objects["Human"])
        bpy.ops.view3d.view_selected()
        bpy.ops.ed.undo_push(message="A bare human")
    window.space.region_3d.view_perspective = "ORTHO"
    yield from window.open_tab()
    take_picture("fit-1-bare")
    for key in ("Escape", "Return"):
        yield from window.click_row(find_row(window, "BARE"))
        yield from until(lambda: find_markers() is not None)
        take_picture("fit-2-markers")
        if key == "Escape":
            yield from press(key)
            yield from until(lambda: find_markers() is None)
            check("Esc at the markers makes nothing", len(bpy.data.armatures) == others and not window.running)
    markers = find_markers()
    before = see(window, markers.fit.locate("knee.L"))
    yield from window.drag(*(before + share * PULL for share in (0.0, 0.2, 0.7, 1.0)))
    yield from press_mouse(False)
    away = see(window, markers.fit.locate("knee.L")) - before - PULL
    check(f"a marker is where the mouse let it go ({np.abs(away).max():.1f} pixels)", np.abs(away).max() < 4.0)
    knees = [markers.fit.joints[f"knee.{side}"] for side in "LR"]
    check("... and its mirror is mirrored", np.array_equal(knees[0] * [-1, 1, 1], knees[1]))
    take_picture("fit-3-dragged")
    knee = markers.fit.locate("knee.L")
    yield from press("Return")
    yield from until(lambda: len(bpy.data.armatures) > others and not window.running)
    rig = bpy.context.view_layer.objects.active
    made = np.array(rig.matrix_world @ rig.data.bones["shin.L"].head_local)
    check("Enter makes the armature, with its knee there", float(np.abs(made - knee).max()) < 1e-4)
    take_picture("fit-4-armature")
    yield from press("ctrl+z")
    check("one undo takes it back", not bpy.context.view_layer.objects.get("Human Rig"))
    yield from press("ctrl+shift+z")
    check("redo brings it again", bpy.context.view_layer.objects.get("Human Rig") is not None)
    yield from window.click_row(find_row(window, "NOT_BOUND_YET"))
    yield from until(lambda: bpy.data.objects["Human"].supple.is_bound and not window.is_computing, 120.0)
    obj, rig = bpy.data.objects["Human"], bpy.data.objects["Human Rig"]
    select(rig)
    window.set_mode("POSE")
    rig.pose.bones["upper_arm.L"].rotation_quaternion = (0.92, 0.0, 0.0, 0.38)
    rig.pose.bones["forearm.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    rig.pose.bones["shin.R"].rotation_quaternion = (0.85, 0.53, 0.0, 0.0)
    bpy.context.view_layer.update()
    yield 4 * WAIT
    take_picture("fit-5-posed")
    check("the skin follows the posed arm", distance(rest_points(obj), evaluated_points(obj)) > 0.05)
    window.set_mode("OBJECT")
