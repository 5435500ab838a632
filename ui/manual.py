"""The manual on the site: the page of each panel, behind the question mark in its header, and of each button, at F1."""

from __future__ import annotations

import bpy

from ..tasks.manifest import read_manifest

# Operators and their pages; Blender uses the first pattern that matches.
PAGES = (
    ("supple.weights_brush*", "weights.html#the-brush"),
    ("supple.weight_lines*", "weights.html#weight-lines"),
    ("supple.weights_auto*", "weights.html#what-to-press-first"),
    ("supple.weights_check*", "weights.html#checking"),
    ("supple.weights_stiffen*", "checks.html#stiff-parts"),
    ("supple.weights_mirror*", "weights.html#mirror"),
    ("supple.weights_transfer*", "weights.html#transfer"),
    ("supple.weight*", "weights.html#editing"),
    ("supple.handles*", "handles.html#use"),
    ("supple.pattern_set*", "rig-presets.html"),
    ("supple.pattern_maps*", "patterns.html#bump-or-displacement"),
    ("supple.pattern*", "patterns.html#how-to-use-it"),
    ("supple.corrections_from*", "corrections.html#correct-from"),
    ("supple.correct*", "corrections.html#correct-a-pose"),
    ("supple.flesh*", "corrections.html#correct-from"),
    ("supple.check*", "checks.html#the-measures"),
    ("supple.side_by_side*", "side-by-side.html"),
    ("supple.engine_copy*", "engine-copy.html#make-one"),
    ("supple.send_to_farm*", "farms.html#before-the-first-job"),
    ("supple.make_independent*", "binding.html#make-independent"),
    ("supple.motion*", "motions.html"),
    ("supple.swing*", "swing.html"),
    ("supple.fit_skeleton*", "fit.html"),
    ("supple.layers*", "layers.html"),
    ("supple.drag_skin*", "posing.html"),
    ("supple.clear_pins*", "posing.html"),
    ("supple.update*", "binding.html#files-of-earlier-versions"),
    ("supple.flip*", "binding.html#looks"),
    ("supple.bake*", "binding.html#bakes"),
    ("supple.clear_bake*", "binding.html#bakes"),
    ("supple.bind*", "binding.html#what-bind-changes"),
    ("supple.unbind*", "binding.html#what-bind-changes"),
    ("supple.*", "overview.html#first-result"),
)


def find_page(page: str) -> str:
    """The address of a page."""
    return f"{find_manual()}{page}"


def find_manual() -> str:
    """The address of the pages of this version; bug-fix releases have the same pages."""
    manifest = read_manifest()
    return "{}{}.{}/".format(manifest["website"], *manifest["version"].split("."))


def list_addresses() -> tuple[str, tuple[tuple[str, str], ...]]:
    """The addresses that Blender opens at F1."""
    return find_manual(), tuple((f"bpy.ops.{pattern}", page) for pattern, page in PAGES)


def register() -> None:
    bpy.utils.register_manual_map(list_addresses)


def unregister() -> None:
    bpy.utils.unregister_manual_map(list_addresses)
