"""Reports and hints in the panels: as many lines as the sidebar's width needs, each thing once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import bpy
import blf

from ..settings.character import find_armature, list_meshes
from ..tasks.installed.engine import find_notice
from ..tasks.installed.feature import Feature, Subject
from ..translations import translate

Icon = Literal["ERROR", "INFO"]

EAST_ASIAN = r"[\u3000-\u9fff\uff00-\uffef]"
NEVER_FIRST = r"[、。」』】ーゃゅょっャュョッ\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f]"
# Pieces that a line is not broken in: words, or Japanese characters with marks that must not begin a line
PIECES = re.compile(rf"[「『【]*(?:{EAST_ASIAN}|(?:(?!{EAST_ASIAN})\S)+){NEVER_FIRST}*|\s+")

# Pixels of the sidebar, at a scale of 1, that have no text: of a panel, of a box with an icon, and of a box with a
# button that closes it
PLAIN, BOXED, CLOSED = 56.0, 86.0, 114.0


def wrap(text: str, width: float, measure: Callable[[str], float]) -> list[str]:
    """Lines of a text: its own, each once, broken where they are too long.

    Parameters
    ----------
    width : float
        Of a line, in the unit of `measure`.
    measure : callable
        The width of a piece of text.
    """
    lines = []
    for own in dict.fromkeys(text.splitlines()):
        line, used = "", 0.0
        for piece in PIECES.findall(own):
            needed = measure(piece)
            if line.strip() and not piece.isspace() and used + needed > width:
                lines.append(line.rstrip())
                line, used = "", 0.0
            if line or not piece.isspace():
                line, used = line + piece, used + needed
        if line.strip():
            lines.append(line.rstrip())
    return lines


@lru_cache(maxsize=4096)
def _measure(piece: str, size: float) -> float:
    blf.size(0, size)
    return blf.dimensions(0, piece.replace(" ", "n"))[0]  # a space at the end has no width


def fit(context: bpy.types.Context, text: str, margins: float = PLAIN) -> list[str]:
    """Break a text into lines that fit the sidebar."""
    scale = context.preferences.system.ui_scale
    size = context.preferences.ui_styles[0].widget.points * scale
    return wrap(translate(text), context.region.width - margins * scale, lambda piece: _measure(piece, size))


def draw_hint(layout: bpy.types.UILayout, context: bpy.types.Context, text: str) -> None:
    """Draw a hint on the setting above."""
    column = layout.column(align=True)
    column.active = False
    for line in fit(context, text):
        column.label(text=line, translate=False)


def draw_message(
    layout: bpy.types.UILayout,
    context: bpy.types.Context,
    text: str,
    icon: Icon = "ERROR",
    closes: tuple[bpy.types.Object, str] | None = None,
) -> None:
    """Draw a message in a box.

    `closes` ((Object, str), optional): the object and the report that a button beside the message takes off the panel:
    see `tasks/reports.py`.
    """
    row = layout.box().row()
    column = row.column(align=True)
    for number, line in enumerate(fit(context, text, BOXED if closes is None else CLOSED)):
        column.label(text=line, icon="BLANK1" if number else icon, translate=False)
    if closes is not None:
        button = row.operator("supple.close_report", text="", icon="X", emboss=False)
        button.owner, button.kind = closes[0].name, closes[1]


def draw_notice(layout: bpy.types.UILayout, context: bpy.types.Context, feature: Feature) -> None:
    """Draw what no longer fits of a feature of the active character, and what to press."""
    armature = find_armature(context)
    if armature is None:
        return
    if notice := find_notice(feature, Subject(armature, tuple(list_meshes(context)))):
        draw_message(layout, context, notice, icon="INFO")
