"""What Supple says in other languages than English.

`ja_JP.json` holds each text with its translation. Blender itself looks up labels and tooltips there, once they are
registered. Messages have values in them, and are looked up where they are shown, by `translate`: in the table, `{}`
stands for a value, in a translation `{0}` for the first, where they are in another order.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import bpy

from .phrases import Phrases, make_code

LOCALE = "ja_JP"
CONTEXTS = ("*", "Operator")
"""Blender looks for labels of operators in a context of their own."""


@cache
def read_phrases() -> Phrases:
    """The texts with their translations."""
    path = Path(__file__).with_name(f"{LOCALE}.json")
    return Phrases(json.loads(path.read_text(encoding="utf-8")))


def is_active() -> bool:
    """Whether Blender's interface is in the language of the table."""
    return bpy.app.translations.locale == LOCALE and bpy.context.preferences.view.use_translate_interface


def translate(text: str) -> str:
    """A text in the language of the interface; as it is where there is no translation."""
    return read_phrases().translate(text) if is_active() else text


def find_code(message: str) -> str:
    """What a message is found by on the site, such as "SUP-0A3F2"; "" for one that is not in the table.

    It is made of its English words without the values: other words are another code.
    """
    text = read_phrases().find(message)
    return make_code(text) if text else ""


def register() -> None:
    table = {(context, text): found for text, found in read_phrases().plain.items() for context in CONTEXTS}
    bpy.app.translations.register(__name__, {LOCALE: table})


def unregister() -> None:
    bpy.app.translations.unregister(__name__)
    read_phrases.cache_clear()
