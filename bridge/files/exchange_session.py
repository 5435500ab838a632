"""A Blender of its own that exports a copy, imports the file again, and measures it.

Run as a script, with the path of a job (JSON), without Supple and the user's files, settings or add-ons. It appends its
progress to a file that the job names, a line each time, and writes `result.json` beside the job.
"""

import json
import os
import re
import sys
import threading
import traceback
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from mathutils.kdtree import KDTree

# What writes and reads a format, where it is not Blender itself
ADD_ONS = {"gltf": "io_scene_gltf2", "fbx": "io_scene_fbx"}

# Difference of weights, and of keys in sizes of the character, up to which vertices of one place move alike
ALIKE = 1e-4

# Distance at rest, in sizes of the character, at which a vertex of the file may be one of the copy
NEAR = 1e-5

# Bytes from which Blender may have cut a name: at 63, or with room for a number, and between two characters
SHORTEST_CUT = 55

# The same, in distances from the origin
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits that identify vertices: vertices with equal traits move alike.

    Attributes
    ----------
    rest : float64 array, shape (V, 3)
        World space.
    weights : list of dict
        By bone.
    offsets : float32 array, shape (V, K, 3)
        Of the corrective keys, world space.
    """

    rest: np.ndarray
    weights: list[dict[str, float]]
    offsets: np.ndarray


def main(path: Path) -> None:
    """Do a job, and leave its result beside it; end at once if the Blender that wants it ends."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    job = json.loads(path.read_text(encoding="utf-8"))
    result: dict[str, Any] = {"error": ""}
    try:
        result |= _export(job)
        if job["clips"] and job["measured"] and "lacks" not in result:
            result |= _measure(job, result["traits"])
        result.pop("traits", None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user's Blender has to know
        result = {"error": str(error).strip() or type(error).__name__, "traceback": traceback.format_exc()}
    (path.parent / "result.json").write_text(json.dumps(result), encoding="utf-8")


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


def _report(job: dict[str, Any], share: float) -> None:
    with Path(job["share"]).open("a", encoding="ascii") as lines:
        lines.write(f"{share:.4f}\n")


# Exporting


def _enable(add_on: str) -> bool:
    """Whether an add-on of Blender's is there, and enabled now if it was not."""
    add_ons = bpy.context.preferences.addons
    if add_on not in add_ons:
        with suppress(RuntimeError):  # it is not there
            bpy.ops.preferences.addon_enable(module=add_on)
    return add_on in add_ons


def _export(job: dict[str, Any]) -> dict[str, Any]:
    """Write the file from the copy in a library: the traits of its vertices, and its content."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    add_on = ADD_ONS.get(job["format"])
    if add_on is not None and not _enable(add_on):
        return {"lacks": add_on}
    if job["format"] == "usd" and not bpy.app.build_options.usd:
        return {"lacks": "USD"}
    scene = bpy.context.scene
    for name, value in job["scene"].items():
        owner, _, field = name.rpartition(".")
        setattr(scene.path_resolve(owner) if owner else scene, field, value)
    with bpy.data.libraries.load(job["library"]) as (source, target):
        target.objects = source.objects
    objects = {obj.name: obj for obj in target.objects}
    armature, *meshes = [objects[name] for name in job["objects"]]
    for obj in (armature, *meshes):
        scene.collection.objects.link(obj)
    for obj, name in zip((armature, *meshes), job["names"], strict=True):
        obj.name = obj.data.name = name
    armature.delta_location.zero()  # it may be shown beside the character
    _arrange_animations(job, armature)
    bpy.context.view_layer.update()
    traits = _look_at(job, armature, meshes)
    _report(job, 0.05)
    {"gltf": _export_gltf, "fbx": _export_fbx, "usd": _export_usd}[job["format"]](job)
    _report(job, 0.3)
    keys = [
        [key.name for key in mesh.data.shape_keys.key_blocks][1:] if mesh.data.shape_keys else [] for mesh in meshes
    ]
    return {"traits": traits, "keys": keys}


def _arrange_animations(job: dict[str, Any], armature: Any) -> None:
    """Have the tracks of an armature play, and nothing else; for USD, which has one animation, one after the other."""
    data = armature.animation_data
    if data is None:
        return
    data.action = None
    for track in data.nla_tracks:
        track.mute = False
    if job["format"] != "usd":
        return
    start = 0
    for track, clip in zip(data.nla_tracks, job["clips"], strict=True):
        action = track.strips[0].action
        track.strips.remove(track.strips[0])
        strip = track.strips.new(clip["name"], start, action)
        if hasattr(strip, "action_slot"):  # 4.4 and later
            strip.action_slot = action.slots[0]
        strip.extrapolation = "NOTHING"
        start += clip["end"] - clip["start"] + 1
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, max(0, start - 1)


def _look_at(job: dict[str, Any], armature: Any, meshes: list[Any]) -> Traits:
    """The traits of the copy's vertices."""
    tracks = armature.animation_data.nla_tracks if armature.animation_data else ()
    for track in tracks[:1]:
        track.is_solo = True
        bpy.context.scene.frame_set(job["clips"][0]["start"])
    traits = _read_traits(job, armature, meshes)
    for track in tracks[:1]:
        track.is_solo = False
    _mute_keys(meshes, ())
    return traits


def _read_traits(job: dict[str, Any], armature: Any, meshes: list[Any]) -> Traits:
    """Read the traits of vertices of meshes, all at rest."""
    weights = [row for mesh in meshes for row in _read_weights(mesh)]
    keys = {key.name for mesh in meshes if mesh.data.shape_keys for key in mesh.data.shape_keys.key_blocks}
    _mute_keys(meshes, keys)
    armature.data.pose_position = "REST"
    rest = _read_world(meshes)
    armature.data.pose_position = "POSE"
    offsets = [np.concatenate([_read_offsets(mesh, name) for mesh in meshes]) for name in job["correctives"]]
    return Traits(rest, weights, np.stack(offsets, axis=1) if offsets else np.zeros((len(rest), 0, 3), np.float32))


def _read_weights(mesh: Any) -> list[dict[str, float]]:
    """The weights of each vertex, by bone."""
    names = [group.name for group in mesh.vertex_groups]
    return [{names[entry.group]: entry.weight for entry in vertex.groups} for vertex in mesh.data.vertices]


def _read_offsets(mesh: Any, name: str) -> np.ndarray:
    """Offsets of a shape key, world space, zero for meshes without it: float32, shape (V, 3)."""
    count, keys = len(mesh.data.vertices), mesh.data.shape_keys
    if keys is None or name not in keys.key_blocks:
        return np.zeros((count, 3), np.float32)
    points = np.empty((2, count, 3), np.float32)
    for key, row in zip((keys.reference_key, keys.key_blocks[name]), points, strict=True):
        key.data.foreach_get("co", row.ravel())
    return (points[1] - points[0]) @ np.array(mesh.matrix_world, np.float32)[:3, :3].T


def _export_gltf(job: dict[str, Any]) -> None:
    bpy.ops.export_scene.gltf(
        filepath=job["output"],
        export_format="GLB" if job["output"].endswith(".glb") else "GLTF_SEPARATE",
        export_animation_mode="NLA_TRACKS",
        export_force_sampling=True,
        export_optimize_animation_size=False,
        export_anim_slide_to_zero=True,
        export_all_influences=job["influences"] > 4,
        export_influence_nb=4,
        export_def_bones=False,
        export_rest_position_armature=True,
        export_apply=False,
        export_morph=True,
        export_morph_animation=True,
        export_try_sparse_sk=False,
        export_yup=True,
    )


def _export_fbx(job: dict[str, Any]) -> None:
    bpy.ops.export_scene.fbx(
        filepath=job["output"],
        object_types={"ARMATURE", "MESH"},
        apply_scale_options="FBX_SCALE_ALL",
        use_mesh_modifiers=True,
        add_leaf_bones=False,
        bake_anim_use_all_bones=True,
        bake_anim_use_nla_strips=True,
        bake_anim_use_all_actions=False,
        bake_anim_simplify_factor=0.0,
        mesh_smooth_type="FACE",
        path_mode="COPY",
        embed_textures=True,
    )


def _export_usd(job: dict[str, Any]) -> None:
    export: Any = bpy.ops.wm.usd_export
    options = export.get_rna_type().properties.keys()
    textures = {"export_textures_mode": "NEW"} if "export_textures_mode" in options else {"export_textures": True}
    export(
        filepath=job["output"],
        export_animation=bool(job["clips"]),
        export_armatures=True,
        export_shapekeys=True,
        export_custom_properties=False,
        **textures,
    )


# Measuring


def _measure(job: dict[str, Any], traits: Traits) -> dict[str, Any]:
    """Distances of the file's vertices from their targets, written as an array: how many vertices it lacks."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    for name in ("render.fps", "render.fps_base"):
        setattr(scene.render, name.partition(".")[2], job["scene"][name])
    if job["format"] == "gltf":
        bpy.ops.import_scene.gltf(filepath=job["output"])
    else:
        bpy.ops.import_scene.fbx(filepath=job["output"], anim_offset=0.0)
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    _disconnect_bones(armature)
    meshes = [
        obj for obj in bpy.data.objects if obj.type == "MESH" and any(m.type == "ARMATURE" for m in obj.modifiers)
    ]
    found_keys = sorted(
        {key.name for mesh in meshes if mesh.data.shape_keys for key in mesh.data.shape_keys.key_blocks[1:]}
    )
    _go_to(_play(job, 0, armature, meshes))
    vertices, owners = _match_vertices(traits, _read_traits(job, armature, meshes))
    count = len(traits.rest)
    _mute_keys(meshes, [name for name in found_keys if name not in job["correctives"]])
    present, starts = np.unique(owners, return_index=True)
    rows = sum(clip["end"] - clip["start"] + 1 for clip in job["clips"])
    world, done = np.array(job["world"]), 0
    with Path(job["apart"]).open("wb") as stream:
        for at, clip in enumerate(job["clips"]):
            first = _play(job, at, armature, meshes)
            for number in range(clip["end"] - clip["start"] + 1):
                _go_to(first + number)
                space = np.array(clip["worlds"][number]) if clip["worlds"] else world
                target = job["scale"] * _read_target(job, clip["first"] + number, count).astype(np.float64)
                target = target @ space[:3, :3].T + space[:3, 3]
                distances = np.linalg.norm(_read_world(meshes)[vertices] - target[owners], axis=1)
                apart = np.zeros(count, np.float32)
                apart[present] = np.maximum.reduceat(distances, starts)
                stream.write(apart.tobytes())
                done += 1
                _report(job, 0.3 + 0.7 * done / rows)
    animated = _list_animations(job, armature)
    return {"missing": count - len(present), "found_keys": found_keys, "animations": animated}


def _read_target(job: dict[str, Any], example: int, count: int) -> np.ndarray:
    """Target positions of the vertices in one example, shape (V, 3): the whole file would take much memory."""
    return np.fromfile(job["targets"], np.float32, 3 * count, offset=12 * count * example).reshape(-1, 3)


def _disconnect_bones(armature: Any) -> None:
    """Have bones move as the file says: importers connect those that begin at another's tail, which then cannot."""
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")


def _match_vertices(copy: Traits, file: Traits) -> tuple[np.ndarray, np.ndarray]:
    """Match vertices of the file to those of the copy, by their rest positions and traits.

    Importers split vertices at seams and leave out those of no face; copies have vertices in one place that move as
    one, and others that do not. So one may have several partners. Pairs are ordered by the copy's vertex.
    """
    size = float(np.linalg.norm(np.ptp(copy.rest, axis=0)))
    near = NEAR * size + ROUNDING * float(np.abs(file.rest).max(initial=0.0))
    tree = KDTree(len(copy.rest))
    for number, point in enumerate(copy.rest.tolist()):
        tree.insert(Vector(point), number)
    tree.balance()
    pairs: list[tuple[int, int]] = []
    for vertex, point in enumerate(file.rest.tolist()):
        hits = [hit[1] for hit in tree.find_range(Vector(point), near)]
        if len(hits) > 1:
            away = [_tell_apart(copy, partner, file, vertex, size or 1.0) for partner in hits]
            hits = [hit for hit, one in zip(hits, away, strict=True) if one <= min(away) + ALIKE]
        pairs += [(partner, vertex) for partner in hits]
    owners, vertices = np.array(sorted(pairs), np.intp).reshape(-1, 2).T
    return vertices, owners


def _tell_apart(copy: Traits, partner: int, file: Traits, vertex: int, size: float) -> float:
    """How differently a vertex of the copy and one of the file move."""
    own, other = copy.weights[partner], file.weights[vertex]
    apart = sum(abs(own.get(bone, 0.0) - other.get(bone, 0.0)) for bone in {*own, *other})
    return apart + float(np.abs(copy.offsets[partner] - file.offsets[vertex]).sum()) / size


def _mute_keys(meshes: list[Any], names: Collection[str]) -> None:
    """Mute the shape keys of these names, and no others."""
    for mesh in meshes:
        for key in mesh.data.shape_keys.key_blocks if mesh.data.shape_keys else ():
            key.mute = key.name in names


def _go_to(frame: float) -> None:
    bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame - np.floor(frame))


def _play(job: dict[str, Any], clip: int, armature: Any, meshes: list[Any]) -> float:
    """Have the file's objects play one of its animations, and nothing else: its first frame."""
    owners = [armature, *meshes, *(mesh.data.shape_keys for mesh in meshes if mesh.data.shape_keys)]
    starts = []
    for owner in owners:
        data = owner.animation_data
        if data is None:
            continue
        action, slot = _find_action(job, clip, data)
        for track in data.nla_tracks:
            track.mute = True
        data.action = action
        if slot is not None:
            data.action_slot = slot
        if action is not None and owner == armature:
            starts.append(action.frame_range[0])
    if not starts:
        raise RuntimeError(f"The file has no animation '{job['clips'][clip]['name']}'")
    return float(starts[0])


def _find_action(job: dict[str, Any], clip: int, data: Any) -> tuple[Any, Any]:
    """The action and slot of an animation, among those that the importer has left in a data-block."""
    for track in data.nla_tracks:
        for strip in track.strips:
            if track.name == job["clips"][clip]["name"]:
                return strip.action, getattr(strip, "action_slot", None)
    action = _list_fbx_actions(job, data.id_data.name)[clip]
    slots: Any = getattr(action, "slots", ())
    return action, slots[0] if len(slots) else None


def _list_fbx_actions(job: dict[str, Any], owner: str) -> list[Any]:
    """The actions of a data-block from the FBX importer, by clip; None for none.

    They are called "owner|clip|layer", cut to Blender's length: those with equal starts are in the order of clips.
    """
    left = sorted(bpy.data.actions, key=lambda action: action.session_uid)
    found: list[Any] = [None] * len(job["clips"])
    for is_called in (_is_called, _is_cut_from):
        for at, clip in enumerate(job["clips"]):
            whole = f"{owner}|{clip['name']}"
            action = next((action for action in left if is_called(action.name, whole)), None)
            if found[at] is None and action is not None:
                found[at] = action
                left.remove(action)
    return found


def _is_called(name: str, whole: str) -> bool:
    return f"{name}|".startswith(f"{whole}|")


def _is_cut_from(name: str, whole: str) -> bool:
    return len(name.encode()) >= SHORTEST_CUT and whole.startswith(re.sub(r"\.\d{3}$", "", name))


def _list_animations(job: dict[str, Any], armature: Any) -> list[str]:
    """Names of the file's animations, as far as they move the armature."""
    tracks = [track.name for track in armature.animation_data.nla_tracks]
    actions = _list_fbx_actions(job, armature.name)
    return tracks or [clip["name"] for clip, action in zip(job["clips"], actions, strict=True) if action is not None]


def _read_world(meshes: list[Any]) -> np.ndarray:
    """Positions of the vertices of meshes, one mesh after the other, world space: float64, shape (N, 3)."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    rows = []
    for mesh in meshes:
        evaluated = mesh.evaluated_get(depsgraph)
        points = np.empty((len(evaluated.data.vertices), 3), np.float32)
        evaluated.data.vertices.foreach_get("co", points.ravel())
        matrix = np.array(evaluated.matrix_world)
        rows.append(points.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3])
    return np.concatenate(rows)


if __name__ == "__main__":
    main(Path(sys.argv[-1]))
    with suppress(OSError):
        Path(bpy.app.tempdir).rmdir()
    os._exit(0)  # as it ends by itself, Blender 4.5 waits for the thread that listens, and that waits, too
