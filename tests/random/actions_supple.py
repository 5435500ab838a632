"""Actions by Supple's operators and settings; only weights are edited in the run without Supple, too."""

from __future__ import annotations

import sys
from typing import Any

import bpy
import numpy as np
import state
from actions_file import evaluate_animation, points_stay
from world import NothingToDoError, World, action, disable, enable, is_enabled, texts

import checkout
import panels

METHODS = ("SSD", "CENTERS", "DLB", "DLBNT", "PARTICLES")
PRESETS = 4
"""How many patterns of the library are tried."""


def draw_method(world: World) -> str:
    """A method to bind by: SSD where all has to be as under Blender's own modifier."""
    drawn = world.rng.choices([*METHODS, "other"], (7, 5, 6, 6, 1, 1))[0]
    if world.only_linear:
        return "SSD"
    if drawn == "other":
        return world.rng.choice(sorted({*_methods()} - {"PARTICLES_2010"}))  # which may take minutes
    return drawn if drawn in _methods() else "SSD"


def _methods() -> list[str]:
    return [item.identifier for item in bpy.ops.supple.bind.get_rna_type().properties["method"].enum_items]


@action(often=16)
def bind(world: World) -> str:
    objects = world.skinned()
    if world.chance(0.6):
        objects = [world.pick(objects)]
    elif world.chance(0.3):
        objects = [world.pick(world.armatures())]
    method = draw_method(world)
    if not objects:
        raise NothingToDoError
    world.select(*objects)
    if "PARTICLES" in method and not world.without_supple and is_enabled():
        for obj in objects:  # few, as they are slow
            obj.supple.particles.target_count, obj.supple.particles.radius = 100, 0.25 * max(obj.dimensions)
    print("bound:", world.call_supple("bind", method=method))
    return texts(*objects, method)


@action(often=3)
def bind_again(world: World) -> str:
    """Bind what is bound, as it is bound: it looks as before, but where other limbs are found to roll."""
    obj = world.pick(world.meshes())
    world.select(obj)
    if not world.without_supple and is_enabled() and obj.supple.is_bound and obj.supple.bake == "NONE":
        known, rolled = len(world.problems), _list_rolled()
        with points_stay(world, "after Bind again"):
            world.call_supple("bind", method=obj.supple.method)
        if _list_rolled() != rolled:
            del world.problems[known:]
    return texts(obj)


def _list_rolled() -> list[tuple[str, str, int]]:
    """Bones in segments, by armature."""
    return [(data.name, bone.name, bone.bbone_segments) for data in bpy.data.armatures for bone in data.bones]


@action(often=2, any_mode=True)
def bind_whole(world: World) -> str:
    """Bind, of what can be bound, all meshes of the armature that one of them or the armature itself is active for."""
    objects = [*world.skinned(), *world.armatures()]
    if not objects:
        raise NothingToDoError
    obj = world.pick(objects)
    if bpy.context.mode == "OBJECT":
        world.select(obj)
    world.call_supple("bind", whole=True)
    return texts(obj)


@action(often=3, any_mode=True)
def flip_there_and_back(world: World) -> str:
    """While flipped, what is bound is as Blender's own modifier has it, and afterwards as before."""
    if world.call_supple("flip"):
        bpy.context.view_layer.update()
        if world.call_supple("flip"):
            bpy.context.view_layer.update()
    return "-"


@action(often=5)
def unbind(world: World) -> str:
    objects = world.meshes() if world.chance(0.3) else [world.pick(world.meshes())]
    if not objects:
        raise NothingToDoError
    world.select(*objects)
    world.call_supple("unbind")
    return texts(*objects)


@action(often=5, any_mode=True)
def set_setting(world: World) -> str:
    obj = world.pick(world.meshes())
    if world.without_supple or not is_enabled():
        return texts(obj)
    groups = sorted(group.name for group in obj.vertex_groups)
    what, value = world.rng.choice((
        ("method", draw_method(world)), ("twist", world.rng.choice(("AUTO", "OFF"))),
        ("linear_group", world.rng.choice(["", "", "gone", *groups])),
    ))  # fmt: skip
    setattr(obj.supple, what, value)
    print("setting:", what, value)
    return texts(obj)


@action(often=3)
def bake(world: World) -> str:
    obj, kind = world.pick(world.meshes()), world.rng.choice(("bake_cache", "bake_shape_keys"))
    start, count = world.rng.randrange(-2, 5), world.rng.randrange(1, 5)
    options: dict[str, Any] = {"frame_start": start, "frame_end": start + count, "frame_step": world.rng.choice((1, 2))}
    if kind == "bake_cache":
        options["filepath"] = str(world.folder / "bake.pc2")
    world.select(obj)
    evaluate_animation()
    world.call_supple(kind, **options)
    return texts(obj, kind)


@action(often=1)
def cancel_bake(world: World) -> str:
    obj, keys = world.pick(world.meshes()), world.chance(0.5)
    evaluate_animation()
    if world.without_supple or not is_enabled() or not obj.supple.is_bound:
        return texts(obj)
    package = sys.modules[checkout.MODULE].__name__
    bakes = f"{package}.tasks.bake"
    errors = sys.modules[f"{package}.deformers"].SkinningError
    frames = range(1, 5)
    scene = bpy.context.scene
    before = state.dump() if state.is_small() and obj.supple.bake == "NONE" else None
    try:
        path = world.folder / "canceled.pc2"
        if keys:
            steps = sys.modules[f"{bakes}.shape_keys"].bake_shape_keys([obj], scene, frames)
        else:
            steps = sys.modules[f"{bakes}.caches"].bake_cache(obj, scene, path, frames)
        next(steps)
        next(steps)
        steps.close()
        if path.exists():
            world.problems.append("a canceled bake has left a file")
    except errors as error:
        print("refused:", error)
    if before is not None and (changes := state.changes_since(before)):
        world.problems.append(f"changed by a canceled bake: {changes}")
    return texts(obj)


@action(often=3)
def clear_bake(world: World) -> str:
    obj = world.pick(world.meshes())
    world.select(obj)
    world.call_supple("clear_bake")
    return texts(obj)


@action(often=1)
def make_independent(world: World) -> str:
    obj = world.pick(world.skinned())
    world.select(obj)
    if world.without_supple or not is_enabled():
        return texts(obj)
    had_preserve_volume = obj.supple.had_preserve_volume
    if world.call_supple("make_independent"):  # a user's choice from now on: as in the run without Supple
        state.armature_modifiers(obj)[0].use_deform_preserve_volume = had_preserve_volume
    return texts(obj)


@action(often=1)
def disturb(world: World) -> str:
    """Do to what Supple has added what a user may do by mistake."""
    obj = world.pick(world.meshes())
    added = [modifier for modifier in obj.modifiers if state.is_added(obj, modifier)]
    what = world.rng.choice(("remove", "rename", "group", "hidden", "duplicate"))
    if world.without_supple or not is_enabled() or not added or not obj.supple.is_bound:
        return texts(obj)
    modifier: Any = world.rng.choice(added)
    print("disturbs:", what, modifier.name)
    if what == "remove" and modifier.show_viewport and modifier.show_render:  # toggles go with it
        obj.modifiers.remove(modifier)
    elif what == "rename" and modifier.type != "ARMATURE":  # a modifier of Supple's own is known by its name here
        modifier.name = "Mine"
    elif what == "group" and modifier.type == "NODES" and modifier.node_group:
        modifier.node_group.name = "Other Supple"
    elif what == "hidden" and obj.supple.carrier is not None:
        bpy.data.objects.remove(obj.supple.carrier)
    elif what == "duplicate" and (modifier.type == "NODES" or (modifier.type == "ARMATURE" and _names_copies())):
        # a copy of a bake's Mesh Cache is a user's
        world.select(obj)
        world.call(bpy.ops.object.modifier_copy, modifier=modifier.name)
    return texts(obj)


def _names_copies() -> bool:
    """Whether Blender names a copy of a modifier for it: else one that is known by its name is a user's."""
    return bpy.app.version >= (4, 5)


@action(often=2, any_mode=True)
def draw_panels(_world: World) -> str:
    if is_enabled():
        for name in sorted(name for name in dir(bpy.types) if "VIEW3D_PT_supple" in name):
            panels.draw(name)
    return ""


@action(often=1)
def disable_and_enable(_world: World) -> str:
    disable()
    bpy.context.view_layer.update()
    enable()
    return ""


@action(often=3)
def edit_weights(world: World) -> str:
    name, options = world.rng.choice((
        ("smooth", {"repeats": 2}), ("smooth", {"method": "SOLID", "repeats": 1}), ("sharpen", {}),
        ("limit", {"limit": 2}), ("normalize", {}), ("prune", {"threshold": 0.1}), ("mirror", {}), ("clean", {}),
        ("check", {}), ("select", {"kind": "ANY"}),
    ))  # fmt: skip
    obj = world.pick(_weighted(world))
    world.select(obj)
    return texts(obj, name, _call_in_both(world, f"weights_{name}", options))


@action(often=1)
def automatic_weights(world: World) -> str:
    method = world.rng.choice(
        [i.identifier for i in bpy.ops.supple.weights_auto.get_rna_type().properties["method"].enum_items]
    )
    mode = world.rng.choice(("REPLACE", "ADD", "UNWEIGHTED"))
    obj = world.pick(obj for obj in _weighted(world) if len(obj.data.vertices) < 3000)
    world.select(obj)
    return texts(obj, method, mode, _call_in_both(world, "weights_auto", {"method": method, "mode": mode}))


@action(often=1)
def transfer_weights(world: World) -> str:
    meshes = _weighted(world)
    first, second = world.pick(meshes), world.pick(meshes)
    if first == second:
        raise NothingToDoError
    world.select(first, second)
    return texts(first, second, _call_in_both(world, "weights_transfer", {}))


def _weighted(world: World) -> list[bpy.types.Object]:
    """Meshes whose weights can be edited, bound or not: with none or several Armature modifiers, that differs."""
    meshes = (obj for obj in world.own_meshes() if len(obj.data.vertices) < 5000)
    return [obj for obj in meshes if len(state.armature_modifiers(obj)) == 1]


def _call_in_both(world: World, name: str, options: dict[str, Any]) -> bool:
    """Call an operator of weights, which does the same with and without a bound object."""
    without, world.without_supple = world.without_supple, False
    try:
        return world.call_supple(name, **options)
    finally:
        world.without_supple = without


@action(often=3)
def add_pattern(world: World) -> str:
    obj, number = world.pick(_weighted(world)), world.rng.randrange(PRESETS)
    armatures = [m.object for m in state.armature_modifiers(obj) if m.object is not None]
    names = [bone.name for armature in armatures for bone in armature.data.bones]
    if world.without_supple or not is_enabled() or world.only_linear or not names:
        return texts(obj)
    library = sys.modules[f"{checkout.MODULE}.tasks.patterns.library"]
    presets = sorted(library.all_entries())
    world.select(obj)
    options = {"preset": presets[number % len(presets)], "bone": world.pick(names), "axis": world.rng.choice("XYZ")}
    print("pattern:", options, world.call_supple("pattern_add", **options))
    return texts(obj)


@action(often=3)
def change_pattern(world: World) -> str:
    obj = world.pick(world.own_meshes())
    if world.without_supple or not is_enabled() or not obj.supple.patterns:
        return texts(obj)
    pattern: Any = world.rng.choice(list(obj.supple.patterns))
    what, value = world.rng.choice((
        ("strength", world.between(-0.1, 0.1)), ("turn", world.between(-3, 3)), ("show", world.chance(0.5)),
        ("kind", world.rng.choice(("WRINKLE", "BULGE", "BONE"))), ("full", world.between(-3, 3)), ("bone", "gone"),
        ("size", [world.between(0.0, 1)] * 2), ("location", [world.between(-1, 1) for _ in range(3)]),
        ("name", "Falte"), ("space", world.rng.choice(("UV", "SURFACE"))), ("flip", world.chance(0.5)), ("image", None),
    ))  # fmt: skip
    print("pattern:", what, value)
    setattr(pattern, what, value)
    return texts(obj)


@action(often=2)
def show_patterns(world: World) -> str:
    obj = world.pick(world.own_meshes())
    if world.without_supple or not is_enabled() or not obj.supple.patterns:
        return texts(obj)
    obj.supple.pattern_display = world.rng.choice(("KIND", "BUMP", "DISPLACEMENT"))
    obj.supple.pattern_level = world.rng.choice((0, 1))
    return texts(obj)


@action(often=2)
def remove_pattern(world: World) -> str:
    obj = world.pick(world.own_meshes())
    world.select(obj)
    world.call_supple(world.rng.choice(("pattern_remove", "pattern_mirror")))
    return texts(obj)


@action(often=3)
def correct_pose(world: World) -> str:
    """Correct a pose, and take that back: all is as before, in the run without Supple, too."""
    obj = world.pick(obj for obj in world.own_meshes() if obj in world.skinned() and obj.visible_get())
    world.select(obj)
    if world.without_supple or not is_enabled():
        return texts(obj)
    known, active_key = len(obj.supple.corrections), obj.active_shape_key_index
    before = state.dump() if state.is_small() else None
    if world.call_supple("correct_pose", mode=world.rng.choice(("OBJECT", "EDIT"))):
        _keep_or_discard(world, obj)
        while len(obj.supple.corrections) > known:
            world.select(obj)
            if not world.call_supple("correction_remove", key=obj.supple.corrections[known].name):
                world.problems.append(f"a correction of '{obj.name}' can not be removed")
                break
        obj.active_shape_key_index = active_key
    if before is not None and (changes := state.changes_since(before)):
        world.problems.append(f"changed by corrections that were taken back: {changes}")
    return texts(obj)


def _keep_or_discard(world: World, obj: bpy.types.Object) -> None:
    """End the correction of a mesh: discarded, or kept after its vertices were moved."""
    world.leave_modes()
    if world.chance(0.3):
        world.call_supple("correction_discard")
        return
    sculpt(world)
    modifier = state.armature_modifiers(obj)[0]
    bones = [bone.name for bone in modifier.object.data.bones] if modifier.object is not None else []
    joints = world.rng.choice(["", *bones])
    if not world.call_supple("correction_keep", joints=joints, mirror=world.chance(0.3), name="A correction"):
        world.call_supple("correction_discard")
        return
    print("kept:", [entry.name for entry in obj.supple.corrections])
    if not all(np.isfinite(points).all() for points in state.evaluated_points().values()):
        world.problems.append("points are not finite after Keep")


def sculpt(world: World) -> None:
    """Move vertices of the posed copy, if a pose is being corrected."""
    copy = bpy.context.active_object
    world.leave_modes()
    if copy is None or copy.supple.corrected is None:
        return
    for vertex in list(copy.data.vertices)[:: world.rng.randrange(1, 5)]:
        vertex.co.z += 0.1 * max(copy.dimensions)
    copy.data.update()
    bpy.context.view_layer.update()


def _remove_independent(obj: bpy.types.Object) -> None:
    """Remove the modifier of an object that is independent, and can not be bound any more."""
    modifier: Any = state.added_modifier(obj)
    for own in state.armature_modifiers(obj)[:1]:
        own.show_viewport, own.show_render = modifier.show_viewport, modifier.show_render
    blending = [own for own in obj.modifiers if own.type == "ARMATURE" and state.is_added(obj, own)]
    for added in (modifier, *blending):
        sys.modules[f"{checkout.MODULE}.bridge.modifiers"].remove_modifier(obj, added, None)
    sys.modules[f"{checkout.MODULE}.tasks.skin.bind"].remove_unused()


def take_supple_away() -> list[str]:
    """Unbind all, as at the end of a run: what could not be."""
    problems = []
    package = checkout.MODULE
    task, errors = sys.modules[f"{package}.tasks.skin.bind"], sys.modules[f"{package}.deformers"].SkinningError
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.library is None]
    plain = [obj.name for obj in meshes if not obj.supple.patterns]
    for name in [obj.name for obj in meshes]:
        obj = bpy.data.objects.get((name, None))
        if obj is None or not (obj.users_scene or obj.supple.is_bound):
            continue  # one of Supple's own, and perhaps removed with an object that was unbound
        settings = obj.supple
        try:
            if not settings.is_bound and state.added_modifier(obj) is not None:
                task.bind([obj], "SSD")  # made independent, or a copy of such
        except errors:
            _remove_independent(obj)
        try:
            if settings.is_bound:
                task.unbind([obj])
            if settings.patterns:
                sys.modules[f"{package}.tasks.patterns.edit"].remove_all([obj])
        except errors as error:
            if "linked" not in str(error):
                problems.append(f"'{obj.name}' can not be unbound: {error}")
    sys.modules[f"{package}.tasks.skin.segments"].release_rolls(
        obj for obj in bpy.data.objects if obj.type == "ARMATURE" and obj.library is None
    )  # of what was made independent
    for obj in filter(None, map(bpy.data.objects.get, plain)):  # copied with a mesh that another object's patterns
        sys.modules[f"{package}.bridge.images.materials"].remove_made_material(
            obj
        )  # have given a material: a user's by now
    return problems
