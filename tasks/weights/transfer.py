"""Weights copied from a mesh to meshes that lie on it."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers import SkinningError
from ...deformers.weight_editing import edits, transfer
from ...deformers.weight_editing.mirror import pair_names
from ...settings.objects import settings_of
from ..left_out import describe_left_out, sort_out
from ..steps import Steps
from ..subject.character import lacks_weights
from .copies import complete_sides
from .parts import WeightedSkin, add_armature_modifier, find_deforming_armature, lacks_modifier, read_skins
from .reports import count, end_sentence, list_names
from .targets import ALL_WEIGHTS, Edited, Scope, Target, aim, keep_chosen, write


def transfer_weights(
    source: bpy.types.Object,
    objects: Iterable[bpy.types.Object],
    scope: Scope = ALL_WEIGHTS,
    params: transfer.Params | None = None,
) -> Steps[list[str]]:
    """Copy the weights of a mesh to meshes that lie on it.

    Raises SkinningError if the source has no weights, or another armature.

    Parameters
    ----------
    objects : Objects
        Each is matched by itself. Meshes that no armature deforms get the source's armature.
    """
    (origin,), _ = read_skins([source])
    objects = [obj for obj in objects if obj.data != source.data]
    if not objects:
        raise SkinningError(
            f"No mesh to copy the weights of '{source.name}' to: select another mesh, with its own mesh data"
        )

    def find_target(obj: bpy.types.Object) -> Target:
        (skin,), _ = read_skins([obj], origin.armature, needs_faces=False)
        if skin.armature != origin.armature:
            raise SkinningError(
                f"'{obj.name}' is deformed by '{skin.armature.name}', and '{source.name}' by "
                f"'{origin.armature.name}': choose the same armature in their modifiers"
            )
        return aim(skin, scope)

    targets, left_out = sort_out(objects, find_target)
    left_behind = describe_left_out(left_out)
    targets, plan = keep_chosen(targets), []
    for number, target in enumerate(targets):
        yield (number + 1) / (len(targets) + 2)
        plan.append((target, *_transfer_one(origin, target, params or transfer.Params())))
    yield 1.0 - 1.0 / (len(targets) + 2)
    names = list_names([f"'{target.skin.parts[0].obj.name}'" for target in targets])
    messages = write(plan, lambda changed: f"Copied the weights of '{source.name}' to {changed} of {names}")
    for target, edited, notes in plan:
        (part,) = target.skin.parts
        obj = part.obj
        if lacks_modifier(obj, origin.armature):
            messages.append(add_armature_modifier(obj, origin.armature))
        pairs = pair_names(origin.names, bpy.utils.flip_name)
        messages += complete_sides(obj, origin.armature, origin.names, np.array(edited.any(axis=0)), pairs)
        report = [f"'{obj.name}': weights transferred from '{source.name}'.", *map(end_sentence, notes)]
        settings_of(obj).weights_report = "\n".join(report)
    return [*messages, *map(end_sentence, left_behind)]


def list_painted(source: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """The meshes whose weights a transfer replaces; raises SkinningError if no armature deforms the source."""
    armature = find_deforming_armature(source)
    return [obj for obj in objects if not lacks_weights(obj, armature)]


def _transfer_one(origin: WeightedSkin, target: Target, params: transfer.Params) -> Edited:
    """Weights transferred to one mesh, and notes on vertices that have no match on the source."""
    skin = target.skin
    found = transfer.transfer_weights(
        origin.points, origin.triangles, origin.weights, skin.points, skin.triangles, find_nearest_surface, params
    )
    weights = edits.merge_weights(skin.weights, found.weights, **target.masks)
    name, lost = skin.parts[0].obj.name, np.count_nonzero(~found.matched)
    notes = [f"{count(lost, 'vertex')} of {len(weights):,} have no match", *found.notes] if lost else found.notes
    return weights, [f"'{name}': {note}" for note in notes]
