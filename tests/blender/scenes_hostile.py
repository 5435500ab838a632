"""Hostile characters: small scenes as users have them. Each command works on them, or says why not and changes nothing.

`ROWS` has them by name. Tests and random use load them by `load`, also where Supple is not enabled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import pi
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from scenes import (
    add_face_key,
    add_mesh,
    add_object,
    add_tube,
    animate_key,
    curves_of,
    edit_bones,
    link,
    set_mode,
    update,
)

CELL = 0.12
"""Edge of the cubes that a figure is made of, in meters."""
LIMBS = {
    "trunk": ((-3, 3), (-1, 1), (7, 13)),
    "head": ((-1, 1), (-1, 1), (13, 15)),
    "left leg": ((1, 3), (-1, 1), (0, 7)),
    "right leg": ((-3, -1), (-1, 1), (0, 7)),
    "left arm": ((3, 9), (-1, 1), (11, 13)),
    "right arm": ((-9, -3), (-1, 1), (11, 13)),
    "tail": ((-1, 1), (1, 7), (7, 9)),
}
"""Cubes of each limb along X, Y and Z: from, and up to."""
BONES = {
    "hips": ("", (0, 0, 7), (0, 0, 10)),
    "chest": ("hips", (0, 0, 10), (0, 0, 13)),
    "head": ("chest", (0, 0, 13), (0, 0, 15)),
    "tail.1": ("hips", (0, 1, 8), (0, 3, 8)),
    "tail.2": ("tail.1", (0, 3, 8), (0, 5, 8)),
    "tail.3": ("tail.2", (0, 5, 8), (0, 7, 8)),
    **{
        f"{name}.{side}": (parent.format(side), (sign * x, 0, z), (sign * u, 0, w))
        for side, sign in (("L", 1), ("R", -1))
        for name, parent, (x, z), (u, w) in (
            ("shoulder", "chest", (1, 12), (3, 12)),
            ("arm", "shoulder.{}", (3, 12), (6, 12)),
            ("forearm", "arm.{}", (6, 12), (9, 12)),
            ("leg", "hips", (2, 7), (2, 3.5)),
            ("shin", "leg.{}", (2, 3.5), (2, 0)),
        )
    },
}  # fmt: skip
"""Parent, head and tail of each bone, in cubes."""
REACH = 1.2
"""Distance in cubes, beyond that to the nearest bone, at which a bone's weight is down to 1/e."""
LONGEST_NAME = 63
"""Bytes of a name in Blender."""


@dataclass(frozen=True)
class Figure:
    """A dressed, animated figure, before it is spoiled.

    Attributes
    ----------
    armature, body, shirt : Object
        Meshes with an Armature modifier each. The body has a Basis and a key, a material and a UV map.
    folder : Path
        For files that belong to it.
    """

    armature: bpy.types.Object
    body: bpy.types.Object
    shirt: bpy.types.Object
    folder: Path


Spoil = Callable[[Figure], bpy.types.Object | None]
ROWS: dict[str, Spoil] = {}
"""What is done to a figure, by name; it returns which object is active then, if not the body."""


def row(*cases: Any) -> Callable[[Callable], Callable]:
    """Enter a function among the rows, once for each case: its name says what is hostile."""

    def enter(spoil: Callable) -> Callable:
        name = spoil.__name__.replace("_", " ")
        for case in cases:
            ROWS[f"{name} {case:g}" if isinstance(case, float) else f"{name} {case}"] = lambda figure, case=case: spoil(
                figure, case
            )
        if not cases:
            ROWS[name] = spoil
        return spoil

    return enter


def load(name: str, folder: Path) -> None:
    """Make a hostile character in the file that is open and empty, and select all of it, as after an import."""
    figure = add_figure(folder)
    active = ROWS[name](figure) or figure.body
    scene = bpy.context.scene
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    for obj in list(bpy.context.view_layer.objects):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = active


# The figure


def add_figure(folder: Path) -> Figure:
    armature = add_object("Figure", bpy.data.armatures.new("Figure"))
    edit_bones(armature, lambda bones: [_add_bone(bones, name, *BONES[name]) for name in BONES])
    body = add_skin("Body", armature, LIMBS)
    mesh = body.data
    mesh.materials.append(bpy.data.materials.new("Skin"))
    points = np.array([mesh.vertices[loop.vertex_index].co for loop in mesh.loops], np.float32)
    mesh.uv_layers.new(name="UVMap").data.foreach_set("uv", np.ascontiguousarray(points[:, ::2] / 2.0 + 0.5).ravel())
    add_face_key(body, size=0.05)
    shirt = add_skin("Shirt", armature, ("trunk", "left arm", "right arm"), thickness=0.03)
    for bone, axis, angle in (("arm.L", 2, 1.2), ("forearm.L", 0, -1.4), ("leg.R", 0, 0.9), ("shin.R", 0, -1.1)):
        posed = armature.pose.bones[bone]
        posed.rotation_mode = "XYZ"
        for frame, share in ((1, 0.0), (4, 1.0), (8, 0.3)):
            posed.rotation_euler[axis] = share * angle
            posed.keyframe_insert("rotation_euler", frame=frame)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    return Figure(armature, body, shirt, folder)


def _add_bone(bones: Any, name: str, parent: str, head: Iterable[float], tail: Iterable[float]) -> None:
    bone = bones.new(name)
    bone.head, bone.tail = CELL * np.array(head), CELL * np.array(tail)
    bone.parent = bones.get(parent)


def add_skin(name: str, armature: bpy.types.Object, limbs: Collection[str], thickness: float = 0.0) -> bpy.types.Object:
    """The skin of a whole figure on some limbs, with weights of the nearest bones and an Armature modifier."""
    points, faces = _cover(tuple(LIMBS.values()), tuple(LIMBS[limb] for limb in limbs))
    obj = add_mesh(name, CELL * points, faces)
    if thickness:
        normals = np.array([vertex.normal for vertex in obj.data.vertices])
        obj.data.vertices.foreach_set("co", (CELL * points + thickness * normals).astype(np.float32).ravel())
    weigh(obj, [bone.name for bone in armature.data.bones], _weights(points, armature))
    return dress(obj, armature)


def dress(obj: bpy.types.Object, armature: bpy.types.Object) -> bpy.types.Object:
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.parent = armature
    return obj


def weigh(obj: bpy.types.Object, names: Iterable[str], weights: np.ndarray) -> None:
    """Give weights, shape (V, bones), to vertex groups of these names."""
    for name, column in zip(names, weights.T, strict=True):
        vertices = np.flatnonzero(column).tolist()
        if vertices:
            group = obj.vertex_groups.new(name=name)
            for vertex in vertices:
                group.add((vertex,), float(column[vertex]), "REPLACE")


@lru_cache
def _cover(boxes: tuple, covered: tuple = ()) -> tuple[np.ndarray, np.ndarray]:
    """Points, shape (V, 3), and faces, shape (F, 4), of the surface of boxes of cubes; on some of the boxes only."""
    cubes, used = (
        {cube for box in some for cube in itertools.product(*(range(*ends) for ends in box))}
        for some in (boxes, covered or boxes)
    )
    index: dict[tuple[int, ...], int] = {}
    faces = []
    for cube in sorted(used):
        for axis, side in itertools.product(range(3), (0, 1)):
            beside = tuple(c + (2 * side - 1) * (a == axis) for a, c in enumerate(cube))
            if beside not in cubes:
                square = [(0, 0), (1, 0), (1, 1), (0, 1)][:: 2 * side - 1]
                corners = [tuple(np.add(cube, np.roll((side, *corner), axis)).tolist()) for corner in square]
                faces.append([index.setdefault(corner, len(index)) for corner in corners])
    return np.array(list(index), float), np.array(faces)


def _weights(points: np.ndarray, armature: bpy.types.Object) -> np.ndarray:
    """Weights by the distance to each bone, shape (V, bones)."""
    ends = np.array([(BONES[bone.name][1], BONES[bone.name][2]) for bone in armature.data.bones], float)
    along = ends[:, 1] - ends[:, 0]
    shares = np.einsum("vbi,bi->vb", points[:, None] - ends[:, 0], along) / (along**2).sum(1)
    nearest = ends[:, 0] + np.clip(shares, 0.0, 1.0)[..., None] * along
    far = np.linalg.norm(points[:, None] - nearest, axis=-1)
    weights = np.exp(-((far - far.min(axis=1, keepdims=True)) / REACH))
    weights[weights < 0.1] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def add_ball(figure: Figure, name: str, bone: str = "", size: float = 0.1) -> bpy.types.Object:
    """A small part about the tail of a bone: that bone's by all of its weights, if one is given."""
    at = figure.armature.data.bones[bone or "head"].tail_local
    points, faces = _cover((((-1, 1), (-1, 1), (-1, 1)),))
    obj = add_mesh(name, size * points + np.array(at), faces)
    if bone:
        weigh(obj, [bone], np.ones((len(points), 1)))
        dress(obj, figure.armature)
    return obj


def meshes(figure: Figure) -> tuple[bpy.types.Object, bpy.types.Object]:
    return figure.body, figure.shirt


def move_vertex(obj: bpy.types.Object, value: float) -> None:
    obj.data.vertices[3].co.x = value


def drive(owner: Any, path: str, expression: str, index: int = -1) -> None:
    owner.driver_add(path, index).driver.expression = expression


# Modifiers


@row()
def a_modifier_pinned_to_the_end(figure: Figure) -> None:
    """After the Armature modifier of the body, as Shade Auto Smooth is; the Armature modifier itself on the shirt."""
    figure.body.modifiers.new("Pinned", "WEIGHTED_NORMAL").use_pin_to_last = True
    figure.shirt.modifiers["Armature"].use_pin_to_last = True
    figure.shirt.modifiers.new("Smooth", "SMOOTH")


@row()
def visibility_driven_and_keyed(figure: Figure) -> None:
    for obj in meshes(figure):
        obj.modifiers.new("Smooth", "SMOOTH")
    for path in ("show_viewport", "show_render"):
        drive(figure.body, f'modifiers["Armature"].{path}', "1")
        drive(figure.body, f'modifiers["Smooth"].{path}', "frame < 5")
    for frame, shown in ((1, True), (5, False)):
        figure.shirt.modifiers["Armature"].show_viewport = shown
        figure.shirt.keyframe_insert('modifiers["Armature"].show_viewport', frame=frame)


@row()
def two_armature_modifiers(figure: Figure) -> None:
    """Of two armatures, mixed by a mask on the body; twice the same on the shirt, masked and inverted."""
    other = figure.armature.copy()
    other.data = figure.armature.data.copy()
    other.location.x = 0.1
    link(other)
    for obj in meshes(figure):
        mask = obj.vertex_groups.new(name="Mask")
        mask.add(range(len(obj.data.vertices) // 2), 0.5, "REPLACE")
        second = obj.modifiers.new("Second", "ARMATURE")
        second.object = other if obj == figure.body else figure.armature
        second.vertex_group = mask.name
        second.use_multi_modifier = obj == figure.body
        obj.modifiers["Armature"].vertex_group = mask.name
        obj.modifiers["Armature"].invert_vertex_group = obj == figure.shirt


@row()
def weights_changed_by_modifiers(figure: Figure) -> None:
    target = add_object("Target", None)
    for obj, names in ((figure.body, ("EDIT", "MIX")), (figure.shirt, ("PROXIMITY",))):
        for name in names:
            modifier = obj.modifiers.new(name, f"VERTEX_WEIGHT_{name}")
            if name == "MIX":
                modifier.vertex_group_a, modifier.vertex_group_b = "chest", "hips"
                modifier.mix_set, modifier.mix_mode = "OR", "ADD"
            else:
                modifier.vertex_group = "hips"
            if name == "EDIT":
                modifier.use_add, modifier.use_remove, modifier.add_threshold = True, True, 0.2
            elif name == "PROXIMITY":
                modifier.target, modifier.max_dist = target, 2.0
            obj.modifiers.move(len(obj.modifiers) - 1, 0)
    transfer = figure.shirt.modifiers.new("Transfer", "DATA_TRANSFER")
    transfer.object, transfer.use_vert_data, transfer.data_types_verts = figure.body, True, {"VGROUP_WEIGHTS"}
    figure.shirt.modifiers.move(len(figure.shirt.modifiers) - 1, 0)


@row()
def modifiers_that_change_the_mesh(figure: Figure) -> None:
    for obj, above in ((figure.body, "SUBSURF"), (figure.shirt, "MIRROR")):
        obj.modifiers.new("Above", above)
        obj.modifiers.move(len(obj.modifiers) - 1, 0)
        obj.modifiers.new("Solid", "SOLIDIFY")
    figure.body.modifiers["Above"].levels = 1
    figure.body.modifiers.new("Mask", "MASK").vertex_group = "head"


@row()
def modifiers_without_objects(figure: Figure) -> None:
    figure.body.modifiers.new("Empty", "ARMATURE")
    figure.body.modifiers.new("Hook", "HOOK")
    figure.body.modifiers.new("Nodes", "NODES")
    figure.body.modifiers.move(1, 0)
    figure.shirt.modifiers["Armature"].object = None


@row()
def other_kinds_of_objects(figure: Figure) -> None:
    """What is no mesh under an Armature modifier, and collections and nodes that bring instances."""
    curve = bpy.data.curves.new("Curve", "CURVE")
    curve.splines.new("BEZIER").bezier_points.add(2)
    for data in (curve, bpy.data.lattices.new("Lattice"), bpy.data.curves.new("Text", "FONT")):
        dress(add_object(data.name, data), figure.armature)
    for data in (bpy.data.cameras.new("Camera"), bpy.data.lights.new("Light", "SUN")):
        add_object(data.name, data)


# Names


def rename(data: Any, start: str, end: str = "") -> None:
    """Give a name of 63 bytes, the first of which are those of all names; what Blender shortens stays distinct."""
    text = start.encode()[: LONGEST_NAME - len(end.encode())].decode(errors="ignore")
    data.name = text + "x" * (LONGEST_NAME - len((text + end).encode())) + end


@row("Latin", "Cyrillic", "Japanese")
def names_of_63_bytes(figure: Figure, script: str) -> None:
    start = {"Latin": "character:skeleton_", "Cyrillic": "персонаж:скелет_", "Japanese": "キャラクターの骨"}[script] * 4
    for number, bone in enumerate(figure.armature.data.bones):
        side = bone.name[-2:] if bone.name[-2:] in (".L", ".R") else ""
        rename(bone, start, f"{number // 2 if side else number:02}{side}")
    add_face_key(figure.shirt)
    actions = bpy.data.actions
    figure.armature.animation_data.action.copy().use_fake_user = True
    keys = [key for obj in meshes(figure) for key in obj.data.shape_keys.key_blocks]
    others = (*meshes(figure), figure.armature, figure.body.data, figure.shirt.data, figure.armature.data)
    rest = (*bpy.data.materials, *figure.body.data.uv_layers, *(m for obj in meshes(figure) for m in obj.modifiers))
    for number, data in enumerate((*others, *keys, *actions, *rest, bpy.context.scene)):
        rename(data, start, f"{number:02}")


@row()
def names_like_those_of_supple(figure: Figure) -> None:
    """Groups, attributes, properties, modifiers, bones, keys and data that are called as Supple calls its own."""
    bones = [bone.name for bone in figure.armature.data.bones]
    for obj in meshes(figure):
        points = list(range(0, len(obj.data.vertices), 3))
        for name in ("Belly", "Belly.flesh", "Supple", *(f"{bone}.swing" for bone in bones), "tail.1.flesh"):
            obj.vertex_groups.new(name=name).add(points, 0.3, "REPLACE")
        for name in ("suppleness", "flesh", "swing", "layer"):
            obj.data.attributes.new(name, "FLOAT", "POINT")
        for name in ("Supple", "Supple Joints", "flesh", "swing"):
            obj[name] = obj.data[name] = "the user's"
        for name in ("Supple", "Supple Armature", "Supple Bake", "Supple Patterns"):
            obj.modifiers.new(name, "SMOOTH")
    for name in ("Supple 1", "Flesh arm.L", "arm.L 60"):
        add_face_key(figure.body, name).value = 0.5
    edit_bones(
        figure.armature, lambda edited: [_add_bone(edited, f"{b}.swing", b, (0, 0, 9), (0, 1, 9)) for b in bones[:3]]
    )
    for name in ("Supple", ".Supple", "Supple Joints Figure", "Supple Poses"):
        add_object(name, None)
        bpy.data.collections.new(name)
        bpy.data.node_groups.new(name, "GeometryNodeTree").use_fake_user = True
    bpy.data.scenes.new("Supple Poses")


# Data of several owners


@row()
def shared_meshes_and_fake_users(figure: Figure) -> None:
    """Alt D of the body under the same armature, and of all under another."""
    link(figure.body.copy()).name = "Twin"
    other = link(figure.armature.copy())
    other.location.x = 3.0
    for obj in meshes(figure):
        copy = link(obj.copy())
        copy.modifiers["Armature"].object = copy.parent = other
    for data in (figure.body.data, figure.armature.data, figure.armature.animation_data.action):
        data.use_fake_user = True


@row()
def instances(figure: Figure) -> None:
    """Of the collection of the character, and of vertices of another mesh."""
    cast = bpy.data.collections.new("Cast")
    bpy.context.scene.collection.children.link(cast)
    for obj in (figure.armature, *meshes(figure)):
        cast.objects.link(obj)
    for x in (2.0, -2.0):
        instance = add_object("Instance", None)
        instance.instance_type, instance.instance_collection, instance.location.x = "COLLECTION", cast, x
    holder = add_mesh("Holder", [(0, 3, 0), (1, 3, 0)])
    holder.instance_type = "VERTS"
    add_ball(figure, "Bead").parent = holder


# Shape keys


@row()
def odd_shape_keys(figure: Figure) -> None:
    """Relative to others, muted, driven, pinned and with a mask; the mesh is not its first key."""
    for obj in meshes(figure):
        first, second, third = (add_face_key(obj, f"Key {size}", size / 100) for size in (3, 5, 8))
        second.relative_key, third.relative_key = first, second
        first.value, second.value, third.value = 1.0, 0.7, -0.5
        third.slider_min, second.mute, third.vertex_group = -1.0, True, "chest"
        animate_key(first)
    drive(figure.body.data.shape_keys, 'key_blocks["Key 5"].value', "frame / 8")
    for vertex in figure.body.data.vertices:
        vertex.co.z += 0.02
    figure.shirt.active_shape_key_index, figure.shirt.show_only_shape_key = 2, True


@row()
def absolute_shape_keys(figure: Figure) -> None:
    for obj in meshes(figure):
        for name in ("Second", "Third"):
            add_face_key(obj, name, 0.05)
        keys = obj.data.shape_keys
        keys.use_relative, keys.eval_time = False, 15.0
    figure.body.data.shape_keys.keyframe_insert("eval_time", frame=1)


# Meshes


@row()
def scraps(figure: Figure) -> None:
    """Meshes that are empty, of points, of edges, without groups, without weights, with locked groups alone."""
    points = [(0.0, 0.0, 1.2), (0.1, 0.0, 1.2), (0.1, 0.1, 1.2)]
    for name, edges in (("Nothing", None), ("Points", []), ("Edges", [(0, 1), (1, 2)])):
        scrap = add_mesh(name, points if edges is not None else [], edges=edges or [])
        dress(scrap, figure.armature)
        group = scrap.vertex_groups.new(name="chest")
        if edges is not None:
            group.add(range(3), 1.0, "REPLACE")
    dress(add_ball(figure, "No Groups"), figure.armature)
    add_ball(figure, "No Weights", "head").vertex_groups[0].remove(range(26))
    locked = add_ball(figure, "Locked", "head")
    locked.vertex_groups[0].lock_weight = True
    locked.vertex_groups.new(name="chest").lock_weight = True
    add_ball(figure, "Other Groups", "head").vertex_groups[0].name = "no bone"
    for group in figure.body.vertex_groups:
        group.remove(list(range(0, len(figure.body.data.vertices), 7)))


@row()
def plates_of_one_bone_each(figure: Figure) -> None:
    """Each vertex has all its weight from one bone, as those of robots and block people."""
    for obj in meshes(figure):
        for vertex in obj.data.vertices:
            weights = {group.group: group.weight for group in vertex.groups}
            heaviest = max(weights, key=lambda index: (round(weights[index], 3), index))
            for index in weights:
                obj.vertex_groups[index].remove([vertex.index])
            obj.vertex_groups[heaviest].add([vertex.index], 1.0, "REPLACE")


@row("nan", "inf", "empty", "without groups", "of far vertices")
def a_bad_mesh_among_twelve(figure: Figure, kind: str) -> None:
    """First in the order of names, so that what ends at it does nothing of the others."""
    for number, bone in enumerate(figure.armature.data.bones[:9]):
        add_ball(figure, f"Part {number}", bone.name)
    bad = add_ball(figure, "A Bad One", "chest")
    if kind == "empty":
        bad.data.clear_geometry()
    elif kind == "without groups":
        bad.vertex_groups.clear()
    else:
        move_vertex(bad, 1e30 if kind == "of far vertices" else float(kind))


@row()
def custom_normals_and_colors(figure: Figure) -> None:
    for obj in meshes(figure):
        mesh = obj.data
        mesh.normals_split_custom_set([(0.0, 0.6, 0.8)] * len(mesh.loops))
        for kind, domain in (("FLOAT_VECTOR", "POINT"), ("BYTE_COLOR", "CORNER"), ("INT", "FACE"), ("BOOLEAN", "EDGE")):
            mesh.attributes.new(kind, kind, domain)
        mesh.materials.append(None)


@row()
def loose_and_doubled_geometry(figure: Figure) -> None:
    """Faces twice, faces of no area, an island without weights, vertices at one place."""
    obj = figure.shirt
    points = [tuple(vertex.co) for vertex in obj.data.vertices]
    faces = [list(face.vertices) for face in obj.data.polygons]
    count = len(points)
    twice = faces + [[vertex + count for vertex in face] for face in faces] + [[0, 1, 2 * count]]
    obj.data.clear_geometry()
    obj.data.from_pydata([*points, *points, points[0], (0, 0, 3)], [], twice)
    weigh(obj, ["hips"], np.ones((2 * count, 1)))


# Parts that are not deformed


@row()
def parts_on_bones(figure: Figure) -> None:
    """Parented to a bone, to an object on a bone, by Child Of; one of them has weights, another both."""
    socket = add_object("Socket", None)
    hat, staff, shield, belt, eye = (add_ball(figure, name) for name in ("Hat", "Staff", "Shield", "Belt", "Eye"))
    for obj, bone in ((hat, "head"), (socket, "forearm.R"), (belt, "hips"), (eye, "head")):
        obj.parent, obj.parent_type, obj.parent_bone = figure.armature, "BONE", bone
    staff.parent = socket
    follow = shield.constraints.new("CHILD_OF")
    follow.target, follow.subtarget = figure.armature, "forearm.L"
    weigh(belt, ["hips"], np.ones((len(belt.data.vertices), 1)))
    weigh(eye, ["head"], np.ones((len(eye.data.vertices), 1)))
    eye.modifiers.new("Armature", "ARMATURE").object = figure.armature


@row()
def a_prop_is_active(figure: Figure) -> bpy.types.Object:
    """It hangs on a bone; the skin has no modifier yet."""
    hat = add_ball(figure, "A Hat")
    hat.parent, hat.parent_type, hat.parent_bone = figure.armature, "BONE", "head"
    for obj in meshes(figure):
        obj.modifiers.clear()
        obj.vertex_groups.clear()
        obj.parent = None
    return hat


# Animation


@row()
def a_control_rig(figure: Figure) -> None:
    """The action is that of another armature's bones, which the deforming ones follow, and of an IK target."""
    rig = figure.armature.copy()
    rig.data, rig.name = figure.armature.data.copy(), "Control Rig"
    link(rig)
    for bone in rig.data.bones:
        bone.use_deform = False
    figure.armature.animation_data_clear()
    for bone in figure.armature.pose.bones:
        bone.rotation_euler = 0, 0, 0
        copied = bone.constraints.new("COPY_TRANSFORMS")
        copied.target, copied.subtarget = rig, bone.name
    edit_bones(rig, lambda bones: _add_bone(bones, "hand IK.R", "", (-9, 0, 12), (-10, 0, 12)))
    reach = rig.pose.bones["forearm.R"].constraints.new("IK")
    reach.target, reach.subtarget, reach.chain_count = rig, "hand IK.R", 2
    target = rig.pose.bones["hand IK.R"]
    for frame, x in ((1, 0.0), (5, 0.4)):
        target.location.x = x
        target.keyframe_insert("location", frame=frame)
    limit = figure.armature.pose.bones["head"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.owner_space = True, "LOCAL"
    drive(figure.armature, 'pose.bones["leg.L"].rotation_euler', "frame / 30", 1)


@row()
def nla(figure: Figure) -> None:
    """Strips that are scaled, repeated, muted, added to others and reversed; the active action is none."""
    animation = figure.armature.animation_data
    action = animation.action
    other = action.copy()
    animation.action = None
    for number, (name, used) in enumerate((("Base", action), ("Over", other), ("Muted", action))):
        track = animation.nla_tracks.new()
        track.name, track.mute = name, name == "Muted"
        strip = track.strips.new(name, 1 + 3 * number, used)
        strip.scale, strip.repeat, strip.use_reverse = 0.5 + number, 2.0, number == 1
        strip.blend_type, strip.influence = ("REPLACE", "ADD", "COMBINE")[number], 0.7


@row()
def actions_of_one_key_and_of_none(figure: Figure) -> None:
    """Poses, an action without curves, one of other bones, one of an object; nobody plays most of them."""
    action = figure.armature.animation_data.action
    pose = action.copy()
    pose.name, pose.use_fake_user = "Pose", True
    for curve in curves_of(pose):
        for point in list(curve.keyframe_points)[:0:-1]:
            curve.keyframe_points.remove(point)
    strange = action.copy()
    strange.name, strange.use_fake_user = "Of Other Bones", True
    for curve in curves_of(strange):
        curve.data_path = curve.data_path.replace("arm", "wing")
    bpy.data.actions.new("None").use_fake_user = True
    figure.shirt.keyframe_insert("location", frame=3)
    figure.armature.animation_data.action = pose


@row()
def time_is_not_the_frame(figure: Figure) -> None:
    """Time Remapping, an odd rate, negative frames, keys between frames, a preview range."""
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 150
    scene.render.fps, scene.render.fps_base = 30, 1.001
    scene.frame_start, scene.frame_end = 0, 5
    scene.use_preview_range, scene.frame_preview_start, scene.frame_preview_end = True, -4, 3
    for curve in curves_of(figure.armature.animation_data.action):
        for point in curve.keyframe_points:
            point.co.x = 1.37 * point.co.x - 7.5
    scene.frame_set(-3, subframe=0.25)


# Spaces


@row()
def two_characters(figure: Figure) -> None:
    tube, rig = add_tube(rings=9, sides=8, length=1.5, radius=0.2)
    tube.parent, rig.location.x = rig, 2.0
    add_figure(figure.folder).armature.location.x = -3.0


@row()
def turned_by_90_degrees(figure: Figure) -> None:
    """As FBX comes: the armature is turned and of a hundredth, its bones are hundred times as long."""
    turn = Matrix.Rotation(pi / 2, 4, "X") @ Matrix.Scale(0.01, 4)
    for data in (figure.armature.data, figure.body.data, figure.shirt.data):
        data.transform(turn.inverted(), **({} if data is figure.armature.data else {"shape_keys": True}))
    figure.armature.matrix_world = turn


@row()
def mirrored_and_uneven_scales(figure: Figure) -> None:
    """Objects of scales of their own, in a parent that shears them."""
    parent = add_object("Parent", None)
    parent.scale, parent.rotation_euler = (1.0, 0.3, 2.0), (0.4, 0.0, 0.0)
    figure.armature.parent = parent
    figure.armature.rotation_euler, figure.armature.scale = (0.3, 0.8, -0.5), (-1.0, 1.0, 1.0)
    figure.body.parent = None
    figure.body.scale, figure.body.rotation_euler = (1.1, 0.9, 1.0), (0.1, 0.2, 0.0)
    figure.shirt.scale = 1.0, 1.0, 0.0


# Bones


@row()
def odd_bones(figure: Figure) -> None:
    """Tips of a 500th of the others, B-Bones, bones that inherit nothing, envelopes, loose bones beside."""

    def add(bones: Any) -> None:
        for side, sign in (("L", 1), ("R", -1)):
            _add_bone(bones, f"tip.{side}", f"forearm.{side}", (9 * sign, 0, 12), (9.006 * sign, 0, 12))
        _add_bone(bones, "loose", "", (0, -8, 0), (0, -8, 1))
        _add_bone(bones, "short", "head", (0, 0, 15), (0, 0, 15 + 1e-4))

    edit_bones(figure.armature, add)
    bones = figure.armature.data.bones
    bones["chest"].bbone_segments = 4
    bones["leg.L"].inherit_scale, bones["shin.L"].use_inherit_rotation = "NONE", False
    bones["arm.R"].use_envelope_multiply = bones["arm.R"].use_local_location = False
    figure.shirt.modifiers["Armature"].use_bone_envelopes = True
    for obj in meshes(figure):
        obj.vertex_groups.new(name="tip.L").add([5, 6], 0.5, "ADD")


@row()
def hundreds_of_bones(figure: Figure) -> None:
    """Chains of ten, of which some have weights."""

    def add(bones: Any) -> None:
        for chain, link_number in itertools.product(range(20), range(10)):
            parent = f"hair.{chain}.{link_number - 1}" if link_number else "head"
            at = (chain / 10 - 1, 1.0, 15 - 0.5 * link_number)
            _add_bone(bones, f"hair.{chain}.{link_number}", parent, at, (*at[:2], at[2] - 0.5))

    edit_bones(figure.armature, add)
    for bone in range(0, 200, 8):
        figure.body.vertex_groups.new(name=f"hair.{bone // 10}.{bone % 10}").add(range(bone, bone + 9), 0.3, "ADD")


# Libraries


def _put_into_a_library(figure: Figure) -> Path:
    cast = bpy.data.collections.new("Cast")
    bpy.context.scene.collection.children.link(cast)
    for obj in (figure.armature, *meshes(figure)):
        cast.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(obj)
    update()
    path = figure.folder / "library.blend"
    bpy.data.libraries.write(str(path), {cast}, fake_user=True)
    return path


@row("linked", "overridden")
def a_character_of_a_library(figure: Figure, how: str) -> bpy.types.Object:
    """Beside a local character of the same names."""
    path = _put_into_a_library(figure)
    with bpy.data.libraries.load(str(path), link=True) as (_, target):
        target.collections = ["Cast"]
    cast, scene = target.collections[0], bpy.context.scene
    if how == "linked":
        scene.collection.children.link(cast)
    else:
        cast = cast.override_hierarchy_create(scene, bpy.context.view_layer, do_fully_editable=True)
    figure.armature.location.x = 20.0
    return next(obj for obj in cast.all_objects if obj.name.startswith("Body"))


# What is shown, and modes


@row()
def hidden_and_excluded(figure: Figure) -> None:
    """The shirt is in an excluded collection, the armature hidden, a part in another scene, another in none."""
    excluded = bpy.data.collections.new("Excluded")
    bpy.context.scene.collection.children.link(excluded)
    excluded.objects.link(figure.shirt)
    bpy.context.scene.collection.objects.unlink(figure.shirt)
    update()
    bpy.context.view_layer.layer_collection.children["Excluded"].exclude = True
    figure.armature.hide_viewport = True
    hidden, elsewhere, nowhere = (add_ball(figure, name, "head") for name in ("Hidden", "Elsewhere", "Nowhere"))
    hidden.hide_set(True)
    bpy.data.scenes.new("Other").collection.objects.link(elsewhere)
    for obj in (elsewhere, nowhere):
        bpy.context.scene.collection.objects.unlink(obj)


# Rows of a statement


STATEMENTS: dict[str, tuple[str, ...]] = {
    "deformed by its parent": (
        "for obj in both: obj.modifiers.clear(); obj.parent, obj.parent_type = rig, 'ARMATURE'",
    ),
    "nothing but scraps": (
        "for obj in both: obj.shape_key_clear(); obj.data.clear_geometry()\ndress(add_ball(figure, 'No Weights'), rig)",
    ),
    "locked groups": (
        "for group in (*body.vertex_groups, *list(figure.shirt.vertex_groups)[::2]): group.lock_weight = True",
    ),
    "deforming bones": ("for bone in list(rig.data.bones)[int(value):]: bone.use_deform = False", "1", "0"),
    "vertex at": ("for obj in both: move_vertex(obj, value)", "nan", "inf", "1e30"),
    "weight of": ("for obj in both: obj.data.vertices[3].groups[0].weight = value", "nan", "inf", "-1"),
    "thousands of groups": ("for number in range(3000): body.vertex_groups.new(name=f'group {number}')",),
    "shape key at": ("body.data.shape_keys.key_blocks['Face'].data[3].co.x = value", "nan", "inf"),
    "UV at": ("for one in body.data.uv_layers[0].data: one.uv = value, value", "nan", "1e30"),
    "mesh scaled by": (
        "for obj in both: obj.data.transform(Matrix.Scale(value, 4), shape_keys=True)", "1e-38", "1e-10", "1e10",
    ),
    "mesh flattened": (
        "for obj in both: obj.data.transform(Matrix.Diagonal((value > 2, value > 1, value > 0, 1)), shape_keys=True)",
        "2", "1", "0",
    ),
    "no action": ("rig.animation_data_clear(); bpy.data.actions.remove(bpy.data.actions[0])",),
    "key at frame": ("for key in find_last_keys(rig): key.co.x = value", "1e+08", "1e+30", "nan", "inf"),
    "keyed value": ("for key in find_last_keys(rig): key.co.y = value", "nan", "inf", "1e+15"),
    "a rate of a second a frame": ("scene.render.fps, scene.render.fps_base = 1, 12.0",),
    "scaled by": ("rig.scale = value, value, value", "0.01", "100"),
    "scaled to zero": ("rig.scale = 0, 0, 0",),
    "far away": ("rig.location = 1e5, -1e5, 1e5",),
    "armature at": ("rig.location.x = value", "nan", "1e+20"),
    "bone scaled to": (
        "bones = rig.pose.bones; bones['forearm.L'].scale = [value] * 3; bones['shin.R'].scale.x = value",
        "0", "nan", "inf", "-1",
    ),
    "a bone at": ("edit_bones(rig, lambda bones: setattr(bones['tail.3'], 'tail', (value, 0, 0)))", "1e20", "nan"),
    "a bone of no length": ("edit_bones(rig, lambda bones: setattr(bones['tail.3'], 'tail', bones['tail.3'].head))",),
    "names of quotes and brackets": (
        "for number, bone in enumerate(rig.data.bones): bone.name = f'\"][\\'{{{number}}}\\\\\\n%s'",
    ),
    "in rest position": ("rig.data.pose_position = 'REST'",),
    "armature in no scene": ("scene.collection.objects.unlink(rig)",),
    "armature in edit mode": ("set_mode('EDIT', rig)",),
    "mesh in edit mode": ("set_mode('EDIT', body)",),
    "nothing special": ("pass",),
}  # fmt: skip
"""What is done, and the values that it is done with, each a row."""


def find_last_keys(armature: bpy.types.Object) -> list[bpy.types.Keyframe]:
    return [curve.keyframe_points[-1] for curve in curves_of(armature.animation_data.action)[:2]]


def execute(statement: str, value: float, figure: Figure) -> bpy.types.Object | None:
    names = {"rig": figure.armature, "body": figure.body, "both": meshes(figure), "scene": bpy.context.scene}
    exec(statement, globals() | names | {"figure": figure, "value": value, "set_mode": set_mode})
    return figure.armature if figure.armature.mode == "EDIT" else None


for _name, (_statement, *_values) in STATEMENTS.items():
    ROWS |= {f"{_name} {_value}": partial(execute, _statement, float(_value)) for _value in _values}
    if not _values:
        ROWS[_name] = partial(execute, _statement, 0.0)
