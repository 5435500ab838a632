"""Actions on objects, collections, scenes and files: copies, parents, undo, saving, linking."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy
import numpy as np
import state
from world import NothingToDoError, World, action, texts

_numbers = itertools.count()
CLOSE = 1e-5
"""Distance at which points are the same, in the size that they were computed with."""
CLOSE_REOPENED = 1e-6
"""The same for what is computed from the same file."""
FRAMES = (1, 8, 15, 5, 30)
"""Frames that are looked at again when a sequence is over: not in order, as nothing may depend on what was before."""


def _observe() -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Points of the objects that nothing is wrong with, and their sizes."""
    bpy.context.view_layer.update()
    states = {name: found for name, found in state.skin_states().items() if not found["message"]}
    points = {name: points for name, points in state.evaluated_points().items() if name in states}
    return points, {name: found["size"] for name, found in states.items()}


def find_moved(
    before: dict[str, np.ndarray], after: dict[str, np.ndarray], sizes: dict[str, float], close: float = CLOSE
) -> list[str]:
    """Names of the objects that look different."""
    moved = []
    for name in before.keys() & after.keys():
        first, second = before[name], after[name]
        if first.shape != second.shape:
            moved.append(name)
        elif np.isfinite(first).all() and len(first) and sizes.get(name, 1.0) < 1e6:
            distance = np.abs(first - second).max()
            if not distance <= close * max(sizes.get(name, 1.0), np.abs(first).max()):
                moved.append(f"{name} by {distance:.3g}")
    return moved


@contextmanager
def points_stay(world: World, when: str) -> Iterator[None]:
    """Whether all looks as before, at the end of the block."""
    before, sizes = _observe()
    yield
    if moved := find_moved(before, _observe()[0], sizes):
        world.problems.append(f"other points {when}: {', '.join(moved)}")


def check_frames(world: World) -> None:
    """A pose has one shape: save and open the file, and look at its frames before and after, there and back."""
    path = world.folder / "end.blend"
    before = {frame: _observe_at(frame) for frame in FRAMES}
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    world.open(path)
    for frame in reversed(FRAMES):
        points, sizes = before[frame]
        if moved := find_moved(points, _observe_at(frame)[0], sizes, CLOSE_REOPENED):
            world.problems.append(f"another shape in the opened file: {', '.join(moved)} in frame {frame}")


def _observe_at(frame: int) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    bpy.context.scene.frame_set(frame)
    return _observe()


@action(often=6, any_mode=True)
def undo(world: World) -> str:
    steps = min(world.rng.choice((1, 1, 2, 4)), world.depth)
    if not steps:
        raise NothingToDoError
    for _ in range(steps):
        world.call(bpy.ops.ed.undo)
    world.depth -= steps
    return texts(steps)


@action(often=5, any_mode=True)
def undo_and_redo(world: World) -> str:
    steps = min(world.rng.choice((1, 2, 3)), world.depth)
    if not steps:
        raise NothingToDoError
    with points_stay(world, "after undo and redo"):
        for step in [bpy.ops.ed.undo] * steps + [bpy.ops.ed.redo] * steps:
            scene = bpy.context.scene.name
            world.call(step)
            if bpy.context.scene.name != scene:
                world.tell_handlers()
            bpy.context.view_layer.update()
    return texts(steps)


@action(often=4)
def save_and_open(world: World) -> str:
    path = world.folder / "saved.blend"
    with points_stay(world, "when opened again"):
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        world.open(path)
    return ""


@action(often=2, any_mode=True)
def save(world: World) -> str:
    with points_stay(world, "after saving"):
        bpy.ops.wm.save_as_mainfile(filepath=str(world.folder / "other.blend"), copy=world.chance(0.7))
    return ""


def _save_copy(world: World) -> tuple[Path, list[str]]:
    """A copy of the file beside it, without bakes, and the names of a character in it: an armature and its meshes."""
    for obj in world.own_meshes():
        world.select(obj)
        world.call_supple("clear_bake")
    armature = world.pick(world.armatures())
    meshes = [obj.name for obj in world.skinned() if any(m.object == armature for m in state.armature_modifiers(obj))]
    path = world.folder / f"library{next(_numbers)}.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path, [armature.name, *meshes]


def _check_count() -> None:
    if len(bpy.context.view_layer.objects) > 20 or not state.is_small():
        raise NothingToDoError


@action(often=2)
def append_character(world: World) -> str:
    _check_count()
    path, names = _save_copy(world)
    files = [{"name": name} for name in names]
    bpy.ops.wm.append(directory=f"{path}/Object/", files=files, autoselect=False)
    return texts(names)


@action(often=1)
def append_by_python(world: World) -> str:
    _check_count()
    path, names = _save_copy(world)
    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.objects = names
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    return texts(names)


def _link(world: World) -> list[bpy.types.Object]:
    path, names = _save_copy(world)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = names
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    return list(wanted.objects)


@action(often=1)
def link_character(world: World) -> str:
    _check_count()
    return texts(*_link(world))


@action(often=2)
def override_character(world: World) -> str:
    _check_count()
    linked = _link(world)
    overrides = [obj.override_create(remap_local_usages=True) for obj in linked]
    scene = bpy.context.scene.collection
    for old, new in zip(linked, overrides, strict=True):
        if new.name not in [obj.name for obj in scene.objects if obj.library is None]:
            scene.objects.link(new)
        for obj in [obj for obj in scene.objects if obj == old]:
            scene.objects.unlink(obj)
    return texts(*overrides)


@action(often=1)
def override_collection(world: World) -> str:
    _check_count()
    path, _ = _save_copy(world)
    with bpy.data.libraries.load(str(path), link=True) as (there, wanted):
        wanted.collections = sorted(there.collections)[:1]
    if not wanted.collections:
        raise NothingToDoError
    wanted.collections[0].override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    return texts(*wanted.collections)


@action(often=1)
def make_local(world: World) -> str:
    obj = world.pick(obj for obj in bpy.context.view_layer.objects if obj.library or obj.override_library)
    text = texts(obj)
    if obj.library is not None:
        obj.make_local()
        obj.data.make_local()
    else:
        obj.override_library.destroy()
    return text


@action(often=3)
def duplicate(world: World) -> str:
    _check_count()
    linked, whole = world.chance(0.4), world.chance(0.5)
    obj = world.pick(world.objects("MESH", "ARMATURE"))
    objects = [obj]
    if whole:
        objects += [m.object for m in state.armature_modifiers(obj) if m.object and m.object in world.armatures()]
    world.select(*objects)
    return texts(*objects, linked, world.call(bpy.ops.object.duplicate, linked=linked))


@action(often=1)
def copy_by_python(world: World) -> str:
    _check_count()
    obj = world.pick(world.meshes())
    copy = obj.copy()
    if world.chance(0.5):
        copy.data = obj.data.copy()
    world.pick(
        [bpy.context.scene.collection, *sorted(bpy.context.scene.collection.children, key=lambda c: c.name)]
    ).objects.link(copy)
    return texts(obj, copy)


@action(often=2)
def delete_object(world: World) -> str:
    obj = world.pick(world.objects())
    kinds = [other for other in world.objects(obj.type) if other != obj]
    if not kinds and world.chance(0.7):
        raise NothingToDoError  # else soon nothing is left
    text = texts(obj)
    if world.chance(0.5):
        world.select(obj)
        return texts(text, world.call(bpy.ops.object.delete))
    bpy.data.objects.remove(obj)
    return texts(text, "by Python")


@action(often=2)
def hide_object(world: World) -> str:
    obj = world.pick(world.objects("MESH", "ARMATURE"))
    what = world.rng.choice(("hide", "hide_viewport", "hide_render"))
    if what == "hide":
        obj.hide_set(not obj.hide_get())
    else:
        setattr(obj, what, not getattr(obj, what))
    return texts(obj, what)


@action(often=2)
def show_all(world: World) -> str:
    for obj in world.objects():
        obj.hide_viewport = obj.hide_render = False
        obj.hide_set(False)
    for layer in bpy.context.view_layer.layer_collection.children:
        layer.exclude = layer.hide_viewport = False
    return ""


@action(often=1)
def hide_collection(world: World) -> str:
    layer = world.pick(bpy.context.view_layer.layer_collection.children)
    if world.chance(0.5):
        layer.exclude = not layer.exclude
    else:
        layer.hide_viewport = not layer.hide_viewport
    return texts(layer)


@action(often=2)
def to_collection(world: World) -> str:
    scene = bpy.context.scene.collection
    collection = next((child for child in scene.children if child.library is None), None)
    if collection is None:
        collection = bpy.data.collections.new("Cast")
        scene.children.link(collection)
    obj = world.pick(obj for obj in world.objects() if obj.name not in collection.objects)
    collection.objects.link(obj)
    if obj.name in scene.objects:
        scene.objects.unlink(obj)
    return texts(obj, collection)


@action(often=1)
def instance_collection(world: World) -> str:
    collection = world.pick(child for child in bpy.context.scene.collection.children if child.library is None)
    if any(obj.instance_collection == collection for obj in world.objects()):
        raise NothingToDoError
    obj = bpy.data.objects.new("Instance", None)
    obj.instance_type, obj.instance_collection = "COLLECTION", collection
    bpy.context.scene.collection.objects.link(obj)
    return texts(collection)


@action(often=2)
def make_single_user(world: World) -> str:
    obj = world.pick(world.meshes())
    world.select(obj)
    return texts(obj, world.call(bpy.ops.object.make_single_user, object=True, obdata=True))


@action(often=1)
def share_mesh(world: World) -> str:
    obj = world.pick(world.own_meshes())
    other = world.pick(mesh for mesh in world.own_meshes() if len(mesh.data.vertices) == len(obj.data.vertices))
    if obj.data == other.data:
        raise NothingToDoError
    obj.data = other.data
    return texts(obj, "takes the mesh of", other)


@action(often=2)
def set_parent(world: World) -> str:
    obj, armature = world.pick(world.meshes()), world.pick(world.armatures())
    kind = world.rng.choice(("OBJECT", "BONE", "NONE", "ARMATURE"))
    obj.parent = None if kind == "NONE" else armature
    if kind != "NONE":
        obj.parent_type = kind
        if kind == "BONE" and armature.pose.bones:
            obj.parent_bone = world.bone(armature).name
    return texts(obj, kind, armature)


@action(often=1)
def constrain_object(world: World) -> str:
    obj, target = world.pick(world.meshes()), world.pick(world.armatures())
    constraint = obj.constraints.new(world.rng.choice(("COPY_LOCATION", "COPY_TRANSFORMS", "CHILD_OF")))
    constraint.target = target  # not one of its bones: without that bone, Blender evaluates both in any order
    return texts(obj, constraint, target)


@action(often=1)
def rename_object(world: World) -> str:
    obj = world.pick(world.objects("MESH"))
    target = obj if world.chance(0.6) else obj.data
    old, target.name = target.name, world.rng.choice(("Supple", "Körper", "x" * 63))
    return texts(old, "to", target)


def evaluate_animation() -> None:
    """Go to the present frame: poses that were not keyed are gone.

    Bakes do so at their end, and Blender does where it shows a scene or a view layer for the first time.
    """
    scene = bpy.context.scene
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


@action(often=1)
def add_scene(world: World) -> str:
    if len(bpy.data.scenes) > 2:
        raise NothingToDoError
    kind = world.rng.choice(("EMPTY", "LINK_COPY", "FULL_COPY"))
    objects = world.objects()
    evaluate_animation()
    bpy.ops.scene.new(type=kind)
    if kind == "EMPTY":
        for obj in objects:
            bpy.context.scene.collection.objects.link(obj)
    return texts(kind)


@action(often=2)
def change_scene(world: World) -> str:
    scene = world.pick(sorted(bpy.data.scenes, key=lambda scene: scene.name))
    evaluate_animation()
    bpy.context.window.scene = scene
    return texts(scene)


@action(often=1)
def delete_scene(world: World) -> str:
    if len(bpy.data.scenes) < 2:
        raise NothingToDoError
    scene = world.pick(sorted(bpy.data.scenes, key=lambda scene: scene.name))
    text = texts(scene)
    evaluate_animation()
    bpy.data.scenes.remove(scene)
    return text


@action(often=1)
def add_view_layer(world: World) -> str:
    if len(bpy.context.scene.view_layers) > 2:
        raise NothingToDoError
    evaluate_animation()
    layer = bpy.context.scene.view_layers.new("Layer")
    bpy.context.window.view_layer = layer
    return texts(layer)


@action(often=1)
def change_view_layer(world: World) -> str:
    layer = world.pick(bpy.context.scene.view_layers)
    evaluate_animation()
    bpy.context.window.view_layer = layer
    return texts(layer)


@action(often=2)
def purge(_world: World) -> str:
    bpy.data.orphans_purge(do_local_ids=True, do_linked_ids=True, do_recursive=True)
    return ""


@action(often=1)
def render(_world: World) -> str:
    scene = bpy.context.scene
    if scene.camera is None:
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        scene.collection.objects.link(camera)
        camera.location = (0, 0, 10)
        scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.resolution_percentage = 100
    bpy.ops.render.render()
    return ""
