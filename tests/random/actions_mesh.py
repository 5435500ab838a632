"""Actions on skins: weights, vertices, face keys, and the modifiers around Supple's."""

from __future__ import annotations

from typing import Any

import bpy
import bmesh
import numpy as np
import state
from world import NothingToDoError, World, action, order_modifiers, texts


def _numbers(world: World, obj: bpy.types.Object, share: float = 0.3) -> list[int]:
    count = len(obj.data.vertices)
    return sorted(world.rng.sample(range(count), int(share * count)))


def _small(world: World) -> bpy.types.Object:
    return world.pick(obj for obj in world.own_meshes() if len(obj.data.vertices) < state.LARGE)


@action(often=4)
def paint_weights(world: World) -> str:
    obj = _small(world)
    group, value = world.pick(obj.vertex_groups), world.rng.choice((0.0, 1e-6, 1e-4, 0.2, 0.5, 1.0))
    vertices, how = _numbers(world, obj), world.rng.choice(("REPLACE", "ADD", "SUBTRACT"))
    group.add(vertices, value, how)
    return texts(obj, group, how, value)


@action(often=2)
def unweight_vertices(world: World) -> str:
    obj = _small(world)
    groups = list(obj.vertex_groups) if world.chance(0.3) else [world.pick(obj.vertex_groups)]
    vertices = _numbers(world, obj)
    for group in groups:
        group.remove(vertices)
    obj.data.update_tag()
    return texts(obj, len(groups))


@action(often=2)
def add_group(world: World) -> str:
    obj = _small(world)
    bones = [b.name for m in state.armature_modifiers(obj) if m.object for b in m.object.data.bones]
    group = obj.vertex_groups.new(name=world.pick([*sorted(bones), "other", "linear"]))
    group.add(_numbers(world, obj), world.between(0, 1), "REPLACE")
    return texts(obj, group)


@action(often=2)
def remove_group(world: World) -> str:
    obj = world.pick(world.own_meshes())
    group = world.pick(obj.vertex_groups)
    text = texts(obj, group)
    obj.vertex_groups.remove(group)
    obj.data.update_tag()  # Blender forgets to
    return text


@action(often=1)
def clear_groups(world: World) -> str:
    obj = world.pick(world.own_meshes())
    obj.vertex_groups.clear()
    obj.data.update_tag()
    return texts(obj)


@action(often=1)
def rename_group(world: World) -> str:
    obj = world.pick(world.own_meshes())
    group = world.pick(obj.vertex_groups)
    old, group.name = group.name, world.rng.choice(("linear", "bone.0", "bone.2", "nothing"))
    return texts(obj, old, "to", group)


@action(often=1)
def lock_group(world: World) -> str:
    group = world.pick(world.pick(world.own_meshes()).vertex_groups)
    group.lock_weight = not group.lock_weight
    return texts(group, group.lock_weight)


@action(often=2)
def order_groups(world: World) -> str:
    obj = world.pick(world.own_meshes())
    obj.vertex_groups.active_index = world.rng.randrange(max(1, len(obj.vertex_groups)))
    world.select(obj)
    if world.chance(0.3):
        return texts(obj, "sort", world.call(bpy.ops.object.vertex_group_sort, sort_type="NAME"))
    return texts(obj, world.call(bpy.ops.object.vertex_group_move, direction=world.rng.choice(("UP", "DOWN"))))


@action(often=2)
def blenders_weight_tool(world: World) -> str:
    obj = _small(world)
    obj.vertex_groups.active_index = 0
    world.select(obj)
    name, options = world.rng.choice((  # Normalize All asks whether the Armature modifier is on
        ("vertex_group_clean", {"limit": 0.2}), ("vertex_group_invert", {}), ("vertex_group_mirror", {}),
        ("vertex_group_limit_total", {"limit": 1, "group_select_mode": "ALL"}), ("vertex_group_quantize", {}),
    ))  # fmt: skip
    return texts(obj, name, world.call(getattr(bpy.ops.object, name), **options))


@action(often=2)
def many_influences(world: World) -> str:
    obj = _small(world)
    rng = np.random.default_rng(world.rng.randrange(1000))
    vertices = _numbers(world, obj, 0.05)
    for vertex in vertices:
        for group in obj.vertex_groups:
            group.add([vertex], float(rng.random()), "REPLACE")
    return texts(obj)


@action(often=3)
def move_vertices(world: World) -> str:
    obj = _small(world)
    points = np.empty((len(obj.data.vertices), 3), np.float32)
    obj.data.vertices.foreach_get("co", points.ravel())
    points[_numbers(world, obj)] += [world.between(-0.1, 0.1) for _ in range(3)]
    obj.data.vertices.foreach_set("co", points.ravel())
    obj.data.update()
    return texts(obj)


def _edit(world: World, obj: bpy.types.Object, change: Any) -> None:
    """Change a mesh in Edit Mode."""
    world.enter(obj, "EDIT")
    edited = bmesh.from_edit_mesh(obj.data)
    edited.verts.ensure_lookup_table()
    change(edited)
    bmesh.update_edit_mesh(obj.data)
    bpy.ops.object.mode_set(mode="OBJECT")


@action(often=3)
def edit_vertices(world: World) -> str:
    obj = _small(world)
    chosen, offset = _numbers(world, obj, 0.1), world.between(-0.1, 0.1)

    def move(edited: bmesh.types.BMesh) -> None:
        for index in chosen:
            edited.verts[index].co.z += offset

    _edit(world, obj, move)
    return texts(obj, offset)


@action(often=2)
def delete_vertices(world: World) -> str:
    obj = _small(world)
    share = world.rng.choice((0.02, 0.02, 0.3, 1.0))
    chosen = _numbers(world, obj, share)
    _edit(world, obj, lambda edited: bmesh.ops.delete(edited, geom=[edited.verts[i] for i in chosen], context="VERTS"))
    return texts(obj, share)


@action(often=2)
def subdivide(world: World) -> str:
    obj = world.pick(obj for obj in world.own_meshes() if 0 < len(obj.data.vertices) < 2000)
    world.enter(obj, "EDIT")
    world.call(bpy.ops.mesh.select_all, action="SELECT")
    done = world.call(bpy.ops.mesh.subdivide)
    bpy.ops.object.mode_set(mode="OBJECT")
    return texts(obj, done)


@action(often=1)
def join_meshes(world: World) -> str:
    meshes = world.own_meshes()
    first, second = world.pick(meshes), world.pick(meshes)
    if first == second or len(first.data.vertices) + len(second.data.vertices) > state.LARGE:
        raise NothingToDoError
    text = texts(first, second)
    for obj in (first, second):  # baked keys and the material of patterns would go along
        world.select(obj)
        world.call_supple("clear_bake")
        while getattr(obj, "supple", None) and obj.supple.patterns and world.call_supple("pattern_remove"):
            pass
    world.select(first, second)
    done = world.call(bpy.ops.object.join)
    first.active_shape_key_index = first.active_shape_key_index  # may be beyond the last, where nobody can set it
    return texts(text, done)


@action(often=1)
def separate_mesh(world: World) -> str:
    obj = _small(world)
    world.enter(obj, "EDIT")
    edited = bmesh.from_edit_mesh(obj.data)
    for face in edited.faces:
        face.select_set(face.index % 4 == 0)
    bmesh.update_edit_mesh(obj.data)
    done = world.call(bpy.ops.mesh.separate, type="SELECTED")
    bpy.ops.object.mode_set(mode="OBJECT")
    return texts(obj, done)


@action(often=2)
def edit_mode(world: World) -> str:
    obj = world.pick(world.own_meshes())
    world.enter(obj, "EDIT")
    return texts(obj)


@action(often=2)
def paint_mode(world: World) -> str:
    obj, mode = world.pick(world.own_meshes()), world.rng.choice(("WEIGHT_PAINT", "SCULPT", "VERTEX_PAINT"))
    world.enter(obj, mode)
    return texts(obj, mode)


@action(often=3)
def add_key(world: World) -> str:
    obj = _small(world)
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name=world.rng.choice(("Smile", "Frown", "Supple")), from_mix=False)
    points = np.empty((len(key.data), 3), np.float32)
    key.data.foreach_get("co", points.ravel())
    points[:, 2] += world.between(-0.3, 0.3) * points[:, 1]
    key.data.foreach_set("co", points.ravel())
    key.value = world.rng.choice((0.0, 0.5, 1.0))
    return texts(obj, key, key.value)


def _keys(world: World) -> tuple[bpy.types.Object, list[bpy.types.ShapeKey]]:
    obj = world.pick(obj for obj in world.own_meshes() if _own_keys(obj))
    return obj, _own_keys(obj)


def _own_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """The keys of a mesh that no bake has made; with the Basis of a bake where they stand on it."""
    if obj.data.shape_keys is None:
        return []
    baked = obj.supple.baked_keys.split("\n") if hasattr(obj, "supple") else []
    own = [key for key in obj.data.shape_keys.key_blocks if key.name not in baked]
    basis = obj.data.shape_keys.reference_key
    return [basis, *own] if own and basis not in own else own


@action(often=4)
def set_key(world: World) -> str:
    obj, keys = _keys(world)
    key = world.pick(keys)
    what, value = world.rng.choice((("value", world.between(0, 1)), ("value", 1.0), ("mute", world.chance(0.5))))
    setattr(key, what, value)
    return texts(obj, key, what, value)


@action(often=2)
def animate_key(world: World) -> str:
    obj, keys = _keys(world)
    key = world.pick(keys)
    for frame, value in ((1, 0.0), (8, world.between(0, 1))):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    return texts(obj, key)


@action(often=1)
def remove_key(world: World) -> str:
    obj, keys = _keys(world)
    key = world.pick(keys)
    text = texts(obj, key)
    obj.shape_key_remove(key)
    return text


@action(often=1)
def set_keys(world: World) -> str:
    obj, _ = _keys(world)
    what = world.rng.choice(("relative", "pin", "pin", "group", "clear"))
    if what == "relative":
        obj.data.shape_keys.use_relative = not obj.data.shape_keys.use_relative
    elif what == "pin":
        obj.show_only_shape_key = not obj.show_only_shape_key
    elif what == "group" and obj.vertex_groups:
        obj.data.shape_keys.key_blocks[-1].vertex_group = world.pick(obj.vertex_groups).name
    elif what == "clear":
        obj.shape_key_clear()
    return texts(obj, what)


@action(often=2)
def weights_and_key_at_once(world: World) -> str:
    obj, keys = _keys(world)
    key, group = world.pick(keys), world.pick(obj.vertex_groups)
    key.value = world.between(0, 1)
    group.add(_numbers(world, obj), world.between(0, 1), "REPLACE")
    obj.data.update()
    return texts(obj, key, group)


KINDS = ("SUBSURF", "MIRROR", "SOLIDIFY", "CAST", "DISPLACE", "SMOOTH", "TRIANGULATE", "CORRECTIVE_SMOOTH", "ARRAY",
         "SIMPLE_DEFORM", "WAVE", "MASK", "DECIMATE", "LATTICE", "HOOK", "WELD")  # fmt: skip


@action(often=4)
def add_modifier(world: World) -> str:
    obj = _small(world)
    if len(obj.modifiers) > 6:
        raise NothingToDoError
    kind = world.rng.choice(KINDS)
    modifier: Any = obj.modifiers.new(kind.title(), kind)
    if kind == "SUBSURF":
        modifier.levels = 1
    elif kind == "DISPLACE":  # not along normals, which are noise where faces have no area
        modifier.strength, modifier.direction = 0.1, "Z"
    elif kind == "SOLIDIFY":
        modifier.thickness = 1e-5
    elif kind == "CORRECTIVE_SMOOTH":
        modifier.use_only_smooth = True
    elif kind == "DECIMATE":
        modifier.decimate_type = "UNSUBDIV"
    elif kind == "CAST":
        modifier.factor = 0.3
    elif kind == "MASK" and obj.vertex_groups:
        modifier.vertex_group = obj.vertex_groups[0].name
    elif kind in ("LATTICE", "HOOK"):
        modifier.object = next(iter(world.objects("LATTICE" if kind == "LATTICE" else "EMPTY")), None)
    names = [own.name for own in state.own_modifiers(obj) if own != modifier]
    names.insert(world.rng.randrange(len(names) + 1), modifier.name)
    order_modifiers(obj, names)
    return texts(obj, kind, names.index(modifier.name))


@action(often=3)
def order_modifier(world: World) -> str:
    obj = world.pick(obj for obj in world.own_meshes() if len(state.own_modifiers(obj)) > 1)
    names = [own.name for own in state.own_modifiers(obj)]
    name = world.pick(names)
    names.remove(name)
    names.insert(world.rng.randrange(len(names) + 1), name)
    order_modifiers(obj, names)
    return texts(obj, name, names)


@action(often=3, any_mode=True)
def toggle_modifier(world: World) -> str:
    obj = world.pick(obj for obj in world.meshes() if state.own_modifiers(obj))
    modifier = world.pick(state.own_modifiers(obj))
    what = world.rng.choice(("show_viewport", "show_viewport", "show_render", "show_in_editmode"))
    settings = getattr(obj, "supple", None)
    targets: list[Any] = [modifier] if what == "show_in_editmode" else _list_toggled(obj, modifier)
    if targets:
        for target in targets:
            setattr(target, what, not getattr(target, what))
    else:
        index = ("show_viewport", "show_render").index(what)
        settings.live_toggles[index] = not settings.live_toggles[index]  # what is given back
    return texts(obj, modifier, what)


def _list_toggled(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> list[bpy.types.Modifier]:
    """What a user toggles to have a modifier's effect on or off; nothing where keys, or nothing, stand in for it."""
    settings = getattr(obj, "supple", None)
    if settings is None or modifier.type != "ARMATURE" or modifier.name != settings.armature_modifier:
        return [modifier]
    if settings.bake == "SHAPE_KEYS":
        return []
    added = [other for other in obj.modifiers if state.is_added(obj, other)]
    if settings.bake == "PC2":
        return [other for other in added if other.type == "MESH_CACHE"]
    if not settings.is_bound or settings.evaluate == "BLENDER":
        return [modifier]
    if settings.evaluate == "STRETCH":
        return [other for other in added if other.type == "ARMATURE"]
    above = obj.modifiers[: obj.modifiers.find(modifier.name)]
    return [other for other in above if other in added] or [modifier]


@action(often=2)
def pin_modifier(world: World) -> str:
    """Pin a modifier to the end of the stack, or unpin it."""
    obj = world.pick(obj for obj in world.own_meshes() if state.own_modifiers(obj))
    modifier = world.pick(state.own_modifiers(obj))
    modifier.use_pin_to_last = not modifier.use_pin_to_last
    return texts(obj, modifier, modifier.use_pin_to_last)


@action(often=1)
def remove_modifier(world: World) -> str:
    obj = world.pick(obj for obj in world.own_meshes() if state.own_modifiers(obj))
    modifier = world.pick(state.own_modifiers(obj))
    text = texts(obj, modifier)
    obj.modifiers.remove(modifier)
    return text


@action(often=1)
def rename_modifier(world: World) -> str:
    obj = world.pick(obj for obj in world.own_meshes() if state.own_modifiers(obj))
    modifier = world.pick(state.own_modifiers(obj))
    old, modifier.name = modifier.name, world.rng.choice(("Gerüst", "Armature", "M"))
    return texts(obj, old, "to", modifier)


@action(often=1)
def apply_modifier(world: World) -> str:
    obj = _small(world)
    modifier = world.pick(own for own in state.own_modifiers(obj) if own.type != "ARMATURE")
    text = texts(obj, modifier)
    world.select(obj)
    return texts(text, world.call(bpy.ops.object.modifier_apply, modifier=modifier.name))


@action(often=2)
def set_armature_modifier(world: World) -> str:
    obj = world.pick(world.skinned())
    modifier: Any = state.armature_modifiers(obj)[0]
    names = sorted(group.name for group in obj.vertex_groups)
    what, value = world.rng.choice((
        ("vertex_group", world.pick(["", "gone", *names])), ("invert_vertex_group", world.chance(0.5)),
        ("use_bone_envelopes", world.chance(0.3)), ("use_vertex_groups", world.chance(0.8)),
        ("use_deform_preserve_volume", world.chance(0.3)),
    ))  # fmt: skip
    setattr(modifier, what, value)
    return texts(obj, what, value)


@action(often=2)
def change_armature(world: World) -> str:
    obj = world.pick(world.skinned())
    armature = world.pick([*world.armatures(), None] if world.chance(0.2) else world.armatures())
    state.armature_modifiers(obj)[-1].object = armature
    return texts(obj, armature)


@action(often=1)
def second_armature_modifier(world: World) -> str:
    obj = world.pick(world.own_meshes())
    modifier: Any = obj.modifiers.new("Second", "ARMATURE")
    modifier.object = world.pick(world.armatures())
    modifier.use_multi_modifier = world.chance(0.2)
    return texts(obj, modifier, modifier.object)
