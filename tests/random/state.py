"""The state of a file: evaluated points, what Supple says of each object, and everything a user has made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import bpy
import numpy as np

LARGE = 4_000
"""Vertices of a file above which the whole state is compared at the end only, and of a mesh that actions edit."""

HELD = ("objects", "meshes", "armatures", "shape_keys", "actions", "collections", "scenes", "materials", "images",
        "lattices", "curves", "node_groups", "textures", "texts", "lights", "cameras")  # fmt: skip
VOLATILE = {
    "bl_rna", "rna_type", "bound_box", "dimensions", "execution_time", "is_active", "is_evaluated",
    "original", "session_uid", "preview", "view_layers", "id_data", "is_updated", "is_updated_data",
    "mode", "select", "tag", "has_motion_curves", "is_library_indirect", "override_library", "library_weak_reference",
    "statistics", "persistent_uid", "matrix", "matrix_channel", "matrix_world", "matrix_local", "head", "tail",
    "length", "depth", "is_float", "size", "channels", "has_data", "resolution",
    "last_slot_identifier", "name_display", "identifier", "users",
    "texspace_location", "texspace_size",  # from the points, once somebody asks
    "active_shape_key",  # its index tells, but for whether the object ever had keys, which Blender remembers
}  # fmt: skip
INSIDE = {"animation_data", "pose", "driver", "render", "node_tree", "user", "vector_data"}
"""Pointers that lead to what belongs to the same data-block."""
ARRAYS = {"vertices", "edges", "loops", "polygons", "loop_triangles", "attributes", "color_attributes",
          "vertex_colors", "uv_layers", "corner_normals", "polygon_normals", "vertex_normals", "data", "points",
          "loop_triangle_polygons", "keyframe_points", "pixels"}  # fmt: skip


OWN_ARMATURES = ("Supple Linear", "Supple Stretch", "Supple Rigid")
"""How the names of Supple's own Armature modifiers start."""


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The user's Armature modifiers."""
    return [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE" and not is_added(obj, modifier)]


def is_added(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether Supple has put a modifier into the stack."""
    if modifier.type == "NODES":
        return modifier.node_group is None or "Supple" in modifier.node_group.name
    if modifier.type == "ARMATURE":
        return modifier.name.startswith(OWN_ARMATURES)
    return modifier.type == "MESH_CACHE"


def own_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    return [modifier for modifier in obj.modifiers if not is_added(obj, modifier)]


def added_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that deforms in place of the Armature modifier, if there is one."""
    added = [m for m in obj.modifiers if is_added(obj, m) and not m.name.startswith("Supple Patterns")]
    caches = [modifier for modifier in added if modifier.type == "MESH_CACHE"]
    return next(iter(caches or added), None)


def visible_meshes() -> list[bpy.types.Object]:
    found = [obj for obj in bpy.context.view_layer.objects if obj.type == "MESH" and obj.visible_get()]
    return sorted(found, key=lambda obj: obj.name_full)


def evaluated_points() -> dict[str, np.ndarray]:
    """Evaluated positions of each visible mesh that is not in Edit Mode, (V, 3), by name."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = {}
    for obj in visible_meshes():
        evaluated = obj.evaluated_get(depsgraph)
        if obj.data.is_editmode or not evaluated.is_evaluated:
            continue
        points = np.empty((len(evaluated.data.vertices), 3), np.float32)
        evaluated.data.vertices.foreach_get("co", points.ravel())
        found[obj.name_full] = points
    return found


def skin_states() -> dict[str, dict[str, Any]]:
    """What is known of each visible mesh: by whom it is deformed, what the panel says, how precise it can be."""
    return {obj.name_full: _skin_state(obj) for obj in visible_meshes()}


def _skin_state(obj: bpy.types.Object) -> dict[str, Any]:
    settings = getattr(obj, "supple", None)
    added = [modifier for modifier in obj.modifiers if is_added(obj, modifier)]
    found: dict[str, Any] = {"bound": False, "message": "", "size": _find_size(obj), "users": obj.data.users}
    if settings is not None and settings.is_bound:
        found |= {name: str(getattr(settings, name)) for name in ("method", "evaluate", "bake", "message")}
        found["bound"] = True
        found["linear"] = settings.linear_group
    found["same"] = _is_like_blenders(obj, settings, added)
    others = (getattr(m, "target", None) or getattr(m, "object", None) for m in obj.modifiers if m not in added)
    found["others"] = [other.name_full for other in others if other is not None and other.type == "MESH"]
    return found


def _is_like_blenders(obj: bpy.types.Object, settings: Any, added: list[bpy.types.Modifier]) -> bool:
    """Whether an object has to look as under Blender's own modifier."""
    modifiers = armature_modifiers(obj)
    if any(m.use_deform_preserve_volume or m.use_multi_modifier for m in modifiers):
        return False  # methods stand in for the first, the second is ignored
    if any(m.object is not None and m.object.mode == "EDIT" for m in modifiers):
        return False  # the shape is kept meanwhile
    if settings is None:
        return not added or any(m.show_viewport for m in modifiers)
    if not settings.is_bound:
        return not added
    if settings.patterns or settings.bake != "NONE" or settings.method != "SSD" or settings.message:
        return False
    if any(bone.bbone_segments > 1 and "supple_segments" in bone for bone in _bones_of(modifiers)):
        return False  # they roll for other meshes
    is_first = [modifier.type for modifier in own_modifiers(obj)][:1] == ["ARMATURE"]
    is_moved_before = obj.data.shape_keys or len(modifiers) > 1 or not is_first
    is_moved_before = is_moved_before or obj.parent_type == "ARMATURE"
    return not (is_moved_before and _is_divided(modifiers))


def _bones_of(modifiers: list[Any]) -> list[bpy.types.Bone]:
    return [bone for modifier in modifiers if modifier.object for bone in modifier.object.data.bones]


def _is_divided(modifiers: list[Any]) -> bool:
    """Whether weights depend on where vertices are: Blender takes the shape that reaches the modifier, Supple rest."""
    bones = _bones_of(modifiers)
    has_envelopes = any(m.use_bone_envelopes for m in modifiers) or any(bone.use_envelope_multiply for bone in bones)
    return has_envelopes or any(bone.bbone_segments > 1 for bone in bones)


def _find_size(obj: bpy.types.Object) -> float:
    """The largest number that a position of an object goes through: float32 keeps seven digits of it."""
    numbers = [1e-3, *(abs(x) for corner in obj.bound_box for x in corner)]
    armatures = [modifier.object for modifier in armature_modifiers(obj) if modifier.object is not None]
    numbers += [abs(x) for armature in armatures for bone in armature.data.bones for x in bone.tail_local]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for armature in armatures:
        armature = armature.evaluated_get(depsgraph)
        space = armature.matrix_world.inverted_safe() @ obj.evaluated_get(depsgraph).matrix_world
        back = space.inverted_safe()
        reach = max(1.0, *(abs(x) for row in space for x in row), *(abs(x) for row in back for x in row))
        poses = [abs(x) for bone in armature.pose.bones for row in bone.matrix for x in row]
        numbers.append(reach * reach * max(1.0, *poses) * max(numbers))
    return float(max(numbers))


def is_small() -> bool:
    meshes = {obj.data for obj in bpy.context.scene.objects if obj.type == "MESH"}
    return sum(len(mesh.vertices) for mesh in meshes) <= LARGE


def dump() -> dict[str, Any]:
    """Everything of a file that a user could have made, by path."""
    found: dict[str, Any] = {}
    _keyed.clear()
    for key in bpy.data.shape_keys:
        if key.animation_data is not None and key.animation_data.action is not None:
            _keyed[key.animation_data.action.name_full] = _name(key)
    has_overrides = any(obj.override_library for obj in bpy.data.objects)
    for name in HELD:
        for data in getattr(bpy.data, name):
            if name == "node_groups" and has_overrides:
                continue  # a modifier of the library goes on using one
            if data.library is not None or (name == "objects" and data.override_library is not None):
                continue  # what the library holds is Supple's, too, if it was bound there
            path = f"{name}[{_name(data)}]"
            if name != "shape_keys":  # which Blender counts otherwise after undo
                found[f"{path}.users"] = data.users
            if name == "node_groups":
                continue  # only Supple makes any here
            found |= read_values(data, path)
            if name == "meshes":
                found |= _mesh_values(data, path)
            if name == "objects":
                found[f"{path}.shown"] = data.hide_get() if data.name in bpy.context.view_layer.objects else None
    return found


_keyed: dict[str, str] = {}
"""Whose keys actions move, by the names of the actions."""


def _name(data: bpy.types.ID) -> str:
    """A name of data that does not depend on the names that Supple's have taken."""
    if isinstance(data, bpy.types.Key):
        return f"keys of {data.user.name_full}"
    return _keyed.get(data.name_full, data.name_full) if isinstance(data, bpy.types.Action) else data.name_full


def read_values(owner: Any, path: str, depth: int = 0) -> dict[str, Any]:
    """All properties of a struct and of those inside it, by path; pointers to others by name."""
    found: dict[str, Any] = {}
    if depth == 0:
        for key in owner.keys():
            if "supple" not in key and "cycles" not in key:
                value = owner[key]
                plain = getattr(value, "to_dict", getattr(value, "to_list", lambda value=value: value))
                found[f"{path}[{key}]"] = str(plain())
    _add_values(found, owner, path, depth)
    return found


@cache
def _list_properties(kind: type) -> list[tuple[str, Callable[[Any], Any] | str]]:
    """Properties of a kind of struct that are compared, each with what makes a plain value of it, or its type."""
    found = []
    for prop in kind.bl_rna.properties:
        name = prop.identifier
        is_name = name == "name" and issubclass(kind, bpy.types.Key | bpy.types.Action)
        is_place = name == "frame" and issubclass(kind, bpy.types.ShapeKey)  # after those of a bake
        is_told = name == "children" and issubclass(kind, bpy.types.Bone)  # by the parent of each
        if name in VOLATILE or name.startswith("supple") or is_name or is_place or is_told or name == "name_full":
            continue
        if prop.type in ("COLLECTION", "POINTER"):
            found.append((name, prop.type))
        elif getattr(prop, "is_array", False):
            found.append((name, _copy_rows if prop.array_dimensions[1] else tuple))
        elif prop.type == "ENUM" and prop.is_enum_flag:
            found.append((name, sorted))
        else:
            found.append((name, _copy_expression if name == "expression" else ""))
    return found


def _is_of_no_mesh(key: bpy.types.ShapeKey) -> bool:
    """Whether `_mesh_values` leaves a key out."""
    user = key.id_data.user
    return not isinstance(user, bpy.types.Mesh) or user.is_editmode


def _copy_rows(matrix: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix))


def _copy_expression(text: str) -> str:
    return "0.0" if text == "-0.0" else text  # of a driver without a script: its latest value


def _add_values(found: dict[str, Any], owner: Any, start: str, depth: int) -> None:
    for name, kind in _list_properties(type(owner)) if depth <= 7 else ():
        value, path = getattr(owner, name), f"{start}.{name}"
        if not kind:
            found[path] = value
        elif kind == "COLLECTION":
            found[f"{path}#"] = len(value)
            if name == "keyframe_points":
                points = np.empty(2 * len(value), np.float32)
                value.foreach_get("co", points)
                found[path] = points.tolist()
            elif name not in ARRAYS or (isinstance(owner, bpy.types.ShapeKey) and _is_of_no_mesh(owner)):
                for index, item in enumerate(value):
                    if item is None or isinstance(item, bpy.types.ID):
                        found[f"{path}[{index}]"] = item and _name(item)
                    else:
                        _add_values(found, item, f"{path}[{index} {getattr(item, 'name', '')}]", depth + 1)
        elif kind != "POINTER":
            found[path] = kind(value)
        elif name != "pose" or owner.visible_get():  # else animated where something that is evaluated depends on it
            if value is not None and name in INSIDE:
                _add_values(found, value, path, depth + 1)
            else:
                is_data = isinstance(value, bpy.types.ID)
                found[path] = (
                    _name(value) if is_data else getattr(value, "name", None if value is None else "something")
                )


def _mesh_values(mesh: bpy.types.Mesh, path: str) -> dict[str, Any]:
    if mesh.is_editmode:
        return {}
    found: dict[str, Any] = {f"{path}.attributes": sorted(attribute.name for attribute in mesh.attributes)}
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    found[f"{path}.points"], found[f"{path}.corners"] = points.tobytes(), corners.tobytes()
    # Without their order within a vertex, which no user sees, and which the order of writing makes.
    found[f"{path}.weights"] = [sorted((e.group, e.weight) for e in vertex.groups) for vertex in mesh.vertices]
    for key in mesh.shape_keys.key_blocks if mesh.shape_keys else ():
        points = np.empty(3 * len(key.data), np.float32)
        key.data.foreach_get("co", points)
        found[f"{path}.key {key.name}"] = points.tobytes()
    return found


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Where two states differ, in words."""
    missing = "nothing"
    found = []
    for path in sorted(first.keys() | second.keys()):
        one, other = first.get(path, missing), second.get(path, missing)
        if one != other and repr(one) != repr(other):  # NaN is NaN, also in lists
            found.append(f"{path}: {_shorten(one)} -> {_shorten(other)}")
    return found


def changes_since(before: dict[str, Any]) -> str:
    """How the state of what is the user's differs from an earlier one; empty where it is the same."""
    changes = [change for change in differences(before, dump()) if "[Supple" not in change.partition(":")[0]]
    return "; ".join(changes[:4])


def _shorten(value: Any) -> str:
    text = "bytes" if isinstance(value, bytes) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
