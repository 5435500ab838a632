"""Muting by looks: the skin as before Bind, and the shape keys of flesh. Nothing is deleted."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...bridge.changes import without_changes
from ...bridge.rigs.segments import mute_rolls, read_rolls
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..left_out import LeftOut, choose_usable
from ..subject.corrected import find_key, list_flesh
from ..subject.stack import check_not_baked, check_not_linked, resolve, take_over
from .evaluators import find_evaluator
from .segments import list_wanting


def mute(objects: Sequence[bpy.types.Object], is_muted: bool, has_flesh: bool) -> LeftOut:
    """Have bound objects deformed as before Bind, or by Supple again, in viewport and renders; with flesh or without.

    Parameters
    ----------
    is_muted : bool
        Whether their own Armature modifiers deform them as before Bind.
    has_flesh : bool
        Whether the shape keys of flesh show.

    Returns
    -------
    LeftOut
        Objects that are baked or linked, or of which a modifier was removed: they stay as they are.

    Raises
    ------
    SkinningError
        If all are left out.
    """
    usable, left_out = choose_usable(objects, check_not_linked, check_not_baked, resolve)
    armatures = {}
    bpy.context.view_layer.update()  # what was changed before is followed
    with without_changes():
        for obj in usable:
            bound, settings = resolve(obj), settings_of(obj)
            armatures[bound.armature.session_uid] = bound.armature
            mute_flesh(obj, not has_flesh)
            if settings.is_muted != is_muted:
                take_over(obj)
                find_evaluator(obj).mute(bound, is_muted)
                settings.is_muted = is_muted
        for armature in armatures.values():
            follow_muted(armature)
        bpy.context.view_layer.update()
    return left_out


def mute_flesh(obj: bpy.types.Object, is_muted: bool) -> None:
    """Mute the shape keys of flesh, or show them."""
    for _, name in list_flesh([obj]):
        key = find_key(obj, name)
        if key is not None and key.mute != is_muted and obj.data.library is None:
            key.mute = is_muted


def follow_muted(armature: bpy.types.Object) -> None:
    """Have an armature's bones roll while a mesh that wants it is not muted."""
    wanting = list_wanting(armature)
    if wanting and read_rolls(armature):
        try:
            mute_rolls(armature, all(settings_of(obj).is_muted for obj in wanting))
        except SkinningError:
            return  # linked: it rolls as in its own file
