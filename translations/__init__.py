"""Translations of Supple's texts.

`ja_JP.json` holds each text with its translation. Blender itself looks up labels and tooltips there, once they are
registered. Messages contain values, and `translate` looks them up when they are shown: `{}` in a text stands for a
value, `{0}` in a translation for the first value, if their order differs.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import bpy

from .phrases import Phrases, make_code

LOCALE = "ja_JP"
# Blender looks up labels of operators in a context of their own.
CONTEXTS = ("*", "Operator")


@cache
def read_phrases() -> Phrases:
    """The texts with their translations."""
    path = Path(__file__).with_name(f"{LOCALE}.json")
    return Phrases(json.loads(path.read_text(encoding="utf-8")))


def is_active() -> bool:
    """Whether Blender's interface is in the language of the table."""
    return bpy.app.translations.locale == LOCALE and bpy.context.preferences.view.use_translate_interface


def translate(text: str) -> str:
    """Translate a text to the language of the interface; an unknown text stays."""
    return read_phrases().translate(text) if is_active() else text


def find_code(message: str) -> str:
    """The code of a message on the site, such as "SUP-0A3F2"; "" for a message that is not in the table.

    The code is made from the English words without the values: other words have another code.
    """
    text = read_phrases().find(message)
    return make_code(text) if text else ""


def register() -> None:
    table = {(context, text): found for text, found in read_phrases().plain.items() for context in CONTEXTS}
    bpy.app.translations.register(__name__, {LOCALE: table})


def unregister() -> None:
    bpy.app.translations.unregister(__name__)
    read_phrases.cache_clear()
