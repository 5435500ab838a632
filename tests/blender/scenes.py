"""What Blender tests share: real characters, a tube to bend, and how far two shapes are apart."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from math import atan2, pi, tau
from pathlib import Path
from typing import Any

import bpy
import bmesh
import numpy as np
from mathutils import Matrix

EVALUATE = "PYTHON"
"""What computes the deformation of what `bind` binds: the fixture `evaluator` changes it for a test."""

TOLERANCE = 1e-5
"""Largest distance of shapes that are the same but for rounding, in diagonals of the posed mesh."""


def execute(statement: str, **names: object) -> None:
    """Run a statement of a table, which may name what is here, modules, and what else is given."""
    exec(statement, globals() | names)


def without_blenders_own(errors: str) -> str:
    """What a process wrote to stderr, less what Blender says where /etc/mtab is missing, as in bare containers."""
    return errors.replace("could not get a list of mounted file-systems\n", "")


def evaluated_points(obj: bpy.types.Object, in_render: bool = False) -> np.ndarray:
    """Vertex positions after all modifiers, float32, shape (V, 3), object space."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", points.ravel())
    return points


def rest_points(obj: bpy.types.Object) -> np.ndarray:
    """Vertex positions before all modifiers, float32, shape (V, 3)."""
    points = np.empty((len(obj.data.vertices), 3), np.float32)
    obj.data.vertices.foreach_get("co", points.ravel())
    return points


def diagonal(points: np.ndarray) -> float:
    """Length of the bounding box's diagonal."""
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """Largest distance between corresponding points, in diagonals of the first."""
    return float(np.linalg.norm(first - second, axis=1).max()) / diagonal(first)


def skinned_meshes() -> list[bpy.types.Object]:
    """Meshes of the scene that an armature deforms."""
    return [
        obj
        for obj in bpy.context.scene.objects
        if obj.type == "MESH" and any(m.type == "ARMATURE" for m in obj.modifiers)
    ]


def frames_of(action: bpy.types.Action, count: int = 5) -> list[int]:
    start, end = action.frame_range
    return [int(frame) for frame in np.linspace(start, end, count)]


def longest_action() -> bpy.types.Action:
    return max(bpy.data.actions, key=lambda action: action.frame_range[1] - action.frame_range[0])


def curves_of(action: bpy.types.Action) -> list:
    if hasattr(action, "fcurves"):  # before 5.0
        return list(action.fcurves)
    return [
        curve for layer in action.layers for strip in layer.strips for bag in strip.channelbags for curve in bag.fcurves
    ]


def play(armature: bpy.types.Object, action: bpy.types.Action) -> None:
    armature.animation_data_create().action = action
    if hasattr(armature.animation_data, "action_slot") and armature.animation_data.action_slot is None:
        armature.animation_data.action_slot = action.slots[0]


def armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The character's own."""
    return next(each for each in obj.modifiers if each.type == "ARMATURE" and not each.name.startswith("Supple"))


def reset() -> None:
    """Open an empty file; unlike ``read_factory_settings`` this leaves the extension enabled."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def clear() -> None:
    """Delete all objects; unlike `reset` this leaves the node groups that `built_groups` has brought."""
    bpy.data.batch_remove(bpy.data.objects)
    update()


def update() -> None:
    bpy.context.view_layer.update()


def push(message: str) -> None:
    bpy.ops.ed.undo_push(message=message)


def undo(times: int = 1) -> None:
    for _ in range(times):
        assert bpy.ops.ed.undo() == {"FINISHED"}


def redo(times: int = 1) -> None:
    for _ in range(times):
        assert bpy.ops.ed.redo() == {"FINISHED"}


def save(path: Path, **settings: bool) -> Path:
    """Save the file that is open, and return the path."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), **settings)
    return path


def build_once(build: Callable[[], object]) -> None:
    """Open what a function makes in an empty file; in a session it is made once."""
    path = Path(bpy.app.tempdir) / f"{build.__module__}.{build.__qualname__}.blend"
    if not path.exists():
        reset()
        build()
        save(path, compress=False)
    open_file(path)


def open_tube(path: Path) -> bpy.types.Object:
    """The tube of a file, which is opened."""
    open_file(path)
    return bpy.data.objects["Tube"]


def edit_bones(armature: bpy.types.Object, change: Callable) -> None:
    """Change the bones of an armature in Edit Mode: ``change(edit_bones)``."""
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    change(armature.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def select(*objects: bpy.types.Object) -> None:
    """Select these objects only; the first becomes the active one.

    What was linked or unlinked just now Blender would bring into the view layer while its objects are gone through,
    some of which it frees.
    """
    bpy.context.view_layer.update()
    for obj in list(bpy.context.view_layer.objects):
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def add_tube(
    bones: int = 3,
    rings: int = 31,
    sides: int = 16,
    length: float = 3.0,
    radius: float = 0.4,
    is_closed: bool = False,
    has_uv: bool = False,
    has_weights: bool = True,
    is_outward: bool = False,
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The character of most tests: a tube along Y with a chain of bones, "bone.0" first, and wide weights.

    Parameters
    ----------
    is_closed : bool
        Whether its ends have faces, and all normals point outward.
    has_uv : bool
        Whether it has a UV map: u around it, with a seam where x is largest, v along it.
    is_outward : bool
        Whether the normals of an open tube point outward; its faces are inside out for the sake of old files.

    Returns
    -------
    The mesh object "Tube", which is selected, and the armature object "Rig", both in the scene.
    """
    y = np.linspace(0.0, length, rings)
    centers = (np.arange(bones) + 0.5) * length / bones
    weights = np.maximum(0.0, 1.0 - np.abs(y[:, None] - centers) / (1.2 * length / bones))
    obj = add_cylinder("Tube", radius, y, sides)
    armature = add_object("Rig", bpy.data.armatures.new("Rig"))
    add_chain(armature, bones, length)
    if has_weights:
        weigh_rings(obj, weights / weights.sum(axis=1, keepdims=True))
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    if is_closed:
        close(obj.data)
    elif is_outward:
        obj.data.flip_normals()
    if has_uv:
        add_uv(obj)
    select(obj)
    return obj, armature


def add_cylinder(name: str, radius: float, y: np.ndarray, sides: int) -> bpy.types.Object:
    """An open tube along Y, with rings of vertices at y, shape (rings,); its faces are inside out."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    points = np.zeros((len(y), sides, 3))
    points[..., 0], points[..., 1], points[..., 2] = radius * np.cos(angles), y[:, None], radius * np.sin(angles)
    index = np.arange(len(y) * sides).reshape(len(y), sides)
    around = np.roll(index, -1, axis=1)
    faces = np.stack([index[:-1], around[:-1], around[1:], index[1:]], axis=-1).reshape(-1, 4)
    return add_mesh(name, points.reshape(-1, 3), faces)


def weigh_rings(obj: bpy.types.Object, weights: np.ndarray) -> None:
    """Give weights to the rings of a tube, shape (rings, bones), in groups for a chain of bones."""
    rings = np.arange(len(obj.data.vertices)).reshape(len(weights), -1)
    for bone, column in enumerate(weights.T):
        group = obj.vertex_groups.new(name=f"bone.{bone}")
        for ring in np.flatnonzero(column):
            group.add(rings[ring].tolist(), float(column[ring]), "REPLACE")


class edit:
    """A mesh as a bmesh, for a while."""

    def __init__(self, mesh: bpy.types.Mesh) -> None:
        self._mesh, self._edited = mesh, bmesh.new()

    def __enter__(self) -> bmesh.types.BMesh:
        self._edited.from_mesh(self._mesh)
        return self._edited

    def __exit__(self, *_) -> None:
        self._edited.to_mesh(self._mesh)
        self._edited.free()


def close(mesh: bpy.types.Mesh) -> None:
    """Fill the holes of a mesh, all normals outward."""
    with edit(mesh) as edited:
        bmesh.ops.holes_fill(edited, edges=edited.edges[:], sides=0)
        bmesh.ops.recalc_face_normals(edited, faces=edited.faces[:])


def add_uv(obj: bpy.types.Object) -> None:
    """A UV map of the tube: u around it, with a seam where x is largest, v along it."""
    layer = obj.data.uv_layers.new(name="UVMap")
    length = obj.data.vertices[-1].co.y
    for polygon in obj.data.polygons:
        corners = [obj.data.loops[loop].vertex_index for loop in polygon.loop_indices]
        angles = [atan2(obj.data.vertices[one].co.z, obj.data.vertices[one].co.x) % tau for one in corners]
        if max(angles) - min(angles) > pi:
            angles = [angle or tau for angle in angles]
        for loop, vertex, angle in zip(polygon.loop_indices, corners, angles, strict=True):
            layer.data[loop].uv = (angle / tau, obj.data.vertices[vertex].co.y / length)


def join_box(obj: bpy.types.Object, size: float, at: tuple[float, float, float]) -> np.ndarray:
    """A box as an island of a mesh, without weights; its vertices, shape (8,)."""
    before = len(obj.data.vertices)
    with edit(obj.data) as mesh:
        bmesh.ops.create_cube(mesh, size=size, matrix=Matrix.Translation(at))
    return np.arange(before, len(obj.data.vertices))


def add_chain(armature: bpy.types.Object, bones: int, length: float) -> None:
    """A chain of connected bones along Y."""
    ends = [(0.0, length * end / bones, 0.0) for end in range(bones + 1)]
    add_bones(armature, *((f"bone.{n}", f"bone.{n - 1}", *ends[n : n + 2]) for n in range(bones)), is_connected=True)


def turn(
    armature: bpy.types.Object, name: str, rotation: Sequence[float] = (0, 0, 0), scale: Sequence[float] = (1, 1, 1)
):
    """Pose a bone by Euler angles in radians and a scale."""
    bone = armature.pose.bones[name]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler, bone.scale = rotation, scale
    bpy.context.view_layer.update()


def animate_tube(armature: bpy.types.Object) -> None:
    """Keyframe bends, twists and uneven scales of each bone of a tube, from frame 1 to 8."""
    for frame, bend, twist, stretch in ((1, 0.3, 0.2, 1.1), (4, 1.4, 1.0, 1.6), (8, -0.5, 2.4, 0.7)):
        for number, bone in enumerate(armature.pose.bones):
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (bend * number / 2, twist * number / 2, 0.1 * number)
            bone.scale = (1.0, stretch, stretch**-0.5)
            bone.keyframe_insert("rotation_euler", frame=frame)
            bone.keyframe_insert("scale", frame=frame)


def link(obj: bpy.types.Object) -> bpy.types.Object:
    """Put an object into the scene."""
    bpy.context.scene.collection.objects.link(obj)
    return obj


def add_object(name: str, data: bpy.types.ID | None = None) -> bpy.types.Object:
    """A new object of the scene; an empty by default."""
    return link(bpy.data.objects.new(name, data))


def add_mesh(name: str, points: Any, faces: Any = (), edges: Any = ()) -> bpy.types.Object:
    """A new mesh object of the scene, from arrays or lists."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(*(np.asarray(part).tolist() for part in (points, edges, faces)))
    return add_object(name, mesh)


def add_armature(name: str, bones: Iterable[tuple]) -> bpy.types.Object:
    """A new armature of the scene, with bones given by name, parent ("" for none), head and tail."""
    armature = add_object(name, bpy.data.armatures.new(name))
    add_bones(armature, *bones)
    return armature


def add_bones(armature: bpy.types.Object, *bones: tuple, use_deform: bool = True, is_connected: bool = False) -> None:
    """Add bones to an armature, by name, parent, head and tail."""

    def add(edited: bpy.types.ArmatureEditBones) -> None:
        for name, parent, head, tail in bones:
            bone = edited.new(name)
            bone.head, bone.tail, bone.parent, bone.use_deform = head, tail, edited.get(parent), use_deform
            bone.use_connect = is_connected and bone.parent is not None

    edit_bones(armature, add)


def open_file(path: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(path))


def load(path: Path, *names: str, kind: str = "objects", is_linked: bool = True) -> list[Any]:
    """Link data of a file, or append it; objects also come into the scene."""
    with bpy.data.libraries.load(str(path), link=is_linked) as (_, wanted):
        setattr(wanted, kind, list(names))
    found = getattr(wanted, kind)
    for data in found:
        if kind == "objects":
            link(data)
        elif kind == "collections":
            bpy.context.scene.collection.children.link(data)
    update()
    return found


def duplicate(*objects: bpy.types.Object, linked: bool = False) -> list[bpy.types.Object]:
    """Duplicate objects as a user does; the copies are selected."""
    select(*objects)
    bpy.ops.object.duplicate(linked=linked)
    return list(bpy.context.selected_objects)


def set_mode(mode: str, *selected: bpy.types.Object) -> None:
    """Go to a mode, with these objects selected if any are given."""
    if selected:
        select(*selected)
    bpy.ops.object.mode_set(mode=mode)


def add_face_key(obj: bpy.types.Object, name: str = "Face", size: float = 0.25) -> bpy.types.ShapeKey:
    """A shape key that pushes one side of the tube out, beside a Basis; its value is 0."""
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name=name, from_mix=False)
    points = rest_points(obj)
    points[:, 2] += size * np.maximum(0.0, points[:, 0]) * np.sin(2.0 * points[:, 1])
    key.data.foreach_set("co", points.ravel())
    key.value = 0.0
    return key


def animate_key(key: bpy.types.ShapeKey) -> None:
    """Keyframe the value of a shape key from frame 1 to 8."""
    for frame, value in ((1, 0.0), (3, 1.0), (6, 0.2), (8, 0.9)):
        key.value = value
        key.keyframe_insert("value", frame=frame)


def bind(*objects: bpy.types.Object, method: str = "DLB", evaluate: str = "") -> None:
    """Select these objects and bind them, by what the fixture `evaluator` says if not told otherwise.

    What refuses raises RuntimeError, as operators do.
    """
    select(*objects)
    if (evaluate or EVALUATE) == "PYTHON":
        package = type(objects[0].supple).__module__.removesuffix(".settings.objects")  # of the Supple that is enabled
        skin = importlib.import_module(f"{package}.tasks.skin.bind")
        bpy.context.view_layer.update()
        try:
            skin.bind_each(objects, method, "PYTHON")
        except skin.SkinningError as error:
            raise RuntimeError(str(error)) from error
    else:
        bpy.ops.supple.bind(method=method)


def points_at(obj: bpy.types.Object, time: float) -> np.ndarray:
    """What `evaluated_points` gives at a frame or between two."""
    frame = int(np.floor(time))
    bpy.context.scene.frame_set(frame, subframe=time - frame)
    return evaluated_points(obj)


def add_twin(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of an unbound mesh object beside it, which Blender's own Armature modifier goes on deforming."""
    twin = obj.copy()
    twin.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(twin)
    return twin


def assert_own_carriers(*objects: bpy.types.Object) -> None:
    """Each object has a carrier that no other has; deformed by Blender, none has any."""
    carriers = [obj.supple.carrier for obj in objects]
    if EVALUATE == "BLENDER":
        assert not any(carriers)
    else:
        assert all(carriers)
        assert len(set(carriers)) == len(carriers)


VOLATILE = {"bl_rna", "rna_type", "bound_box", "dimensions", "execution_time", "is_active", "is_evaluated", "supple"}
"""Properties that are no part of what a user made."""


def rna_values(owner: bpy.types.bpy_struct) -> dict:
    """All plain properties of a Blender struct; pointers by name, collections by length."""
    values = {}
    for prop in owner.bl_rna.properties:
        if prop.identifier in VOLATILE:
            continue
        value = getattr(owner, prop.identifier)
        if prop.type == "COLLECTION":
            value = len(value)
        elif prop.type == "POINTER":
            value = getattr(value, "name_full", None if value is None else type(value).__name__)
        elif getattr(prop, "is_array", False):
            value = str([list(row) if hasattr(row, "__len__") else row for row in value])
        elif prop.type == "ENUM" and prop.is_enum_flag:
            value = sorted(value)
        values[prop.identifier] = value
    return values


def _is_brush(data: bpy.types.ID) -> bool:
    """Whether data is a brush of Blender's own, or the library that it comes from."""
    return isinstance(data, bpy.types.Brush) or "essentials_brushes" in data.name_full


def snapshot(*objects: bpy.types.Object) -> dict:
    """Everything of mesh objects and of the file around them that Bind could touch, Supple's own settings apart."""
    state = {
        f"bpy.data.{name}": len(getattr(bpy.data, name)) for name in ("objects", "meshes", "node_groups", "actions")
    }
    for prop in bpy.data.bl_rna.properties:
        if prop.type == "COLLECTION":
            state |= {
                f"users of {prop.identifier} {data.name_full}": data.users
                for data in getattr(bpy.data, prop.identifier)
                if not _is_brush(data)  # an undone step brings back those of an earlier file
            }
    for scene in bpy.data.scenes:
        state[f"lock of {scene.name}"] = scene.render.use_lock_interface
    for obj in objects:
        mesh, keys = obj.data, obj.data.shape_keys
        parts = {"object": obj, "mesh": mesh}
        parts |= {f"modifier {modifier.name}": modifier for modifier in obj.modifiers}
        parts |= {f"group {group.name}": group for group in obj.vertex_groups}
        parts |= {f"key {key.name}": key for key in (keys.key_blocks if keys else ())}
        for part, owner in parts.items():
            state |= {f"{obj.name}: {part}: {name}": value for name, value in rna_values(owner).items()}
        state |= {f"{obj.name}: order": list(parts)} | {
            f"{obj.name}: {owner.name}[{name}]": getattr(owner[name], "to_dict", lambda value=owner[name]: value)()
            for owner in (obj, mesh)
            for name in set(owner.keys()) - {"supple"}
        }
        state[f"{obj.name}: attributes"] = [attribute.name for attribute in mesh.attributes]
        state[f"{obj.name}: points"] = rest_points(obj).tobytes()
        state[f"{obj.name}: weights"] = [[(e.group, e.weight) for e in vertex.groups] for vertex in mesh.vertices]
        state[f"{obj.name}: keys"] = [[tuple(p.co) for p in key.data] for key in keys.key_blocks] if keys else []
    return state


def supple_modifier(obj: bpy.types.Object) -> bpy.types.NodesModifier:
    """The modifier that Bind has put into the stack."""
    return next(m for m in obj.modifiers if m.type == "NODES" and m.node_group.name.startswith(".Supple"))


def take_away() -> None:
    """Take what Bind and patterns have added off the selected meshes."""
    for operator in (bpy.ops.supple.unbind, bpy.ops.supple.pattern_remove_all):
        if operator.poll():
            assert operator() == {"FINISHED"}
