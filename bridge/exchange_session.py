"""A Blender of its own that exports a copy, imports the file again, and measures what it has become.

Run as a script, with the path of a job (JSON): Supple is not there, and none of the user's files, settings or add-ons.
It prints lines "progress 0.5", and writes what it found beside the job, as `result.json`.
"""

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from mathutils.kdtree import KDTree

LOOKS = 4
"""Poses by which vertices of one place are told from one another."""

NEAR = 1e-5
"""Distance at rest, in sizes of the character, at which a vertex of the file may be one of the copy."""


def main(path: Path) -> None:
    job = json.loads(path.read_text(encoding="utf-8"))
    result: dict[str, Any] = {"error": ""}
    try:
        result |= export(job)
        if job["clips"] and job["measured"]:
            result |= measure(job, result.pop("looks"))
        result.pop("looks", None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user's Blender has to know
        result = {"error": str(error).strip() or type(error).__name__, "traceback": traceback.format_exc()}
    (path.parent / "result.json").write_text(json.dumps(result), encoding="utf-8")


def report(share: float) -> None:
    print(f"progress {share:.4f}", flush=True)


# Exporting


def export(job: dict[str, Any]) -> dict[str, Any]:
    """Write the file, from the copy as it is in a library: how it looks in some poses, and what it holds."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
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
    arrange_animations(job, armature)
    bpy.context.view_layer.update()
    looks = look_at(job, armature, meshes)
    report(0.05)
    if job["format"] == "usd":
        armature.animation_data.use_nla = True
    {"gltf": export_gltf, "fbx": export_fbx, "usd": export_usd}[job["format"]](job, scene)
    report(0.3)
    keys = [
        [key.name for key in mesh.data.shape_keys.key_blocks][1:] if mesh.data.shape_keys else [] for mesh in meshes
    ]
    return {"looks": looks, "keys": keys}


def arrange_animations(job: dict[str, Any], armature: Any) -> None:
    """Have the tracks of an armature play, and nothing else; for USD, which has one animation, one after the other."""
    data = armature.animation_data
    if data is None:
        return
    data.action = None
    for track in data.nla_tracks:
        track.mute = False
    if job["format"] != "usd":
        return
    start = 0.0
    for track, clip in zip(data.nla_tracks, job["clips"], strict=True):
        track.strips[0].extrapolation = "NOTHING"
        length = clip["end"] - clip["start"]
        track.strips[0].frame_start_ui, track.strips[0].frame_end_ui = start, start + length
        start += length + 1
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, max(0, int(start) - 1)


def look_at(job: dict[str, Any], armature: Any, meshes: list[Any]) -> np.ndarray:
    """The copy at rest and in some poses, world space: float array, shape (V, 1 + LOOKS, 3)."""
    armature.data.pose_position = "REST"
    looks = [read_world(meshes)]
    armature.data.pose_position = "POSE"
    frames = [
        (number, frame) for number, clip in enumerate(job["clips"]) for frame in range(clip["start"], clip["end"] + 1)
    ]
    for number, frame in [frames[at] for at in np.linspace(0, len(frames) - 1, LOOKS).astype(int)] if frames else ():
        for other, track in enumerate(armature.animation_data.nla_tracks):
            track.is_solo = other == number
        bpy.context.scene.frame_set(frame)
        looks.append(read_world(meshes))
    for track in armature.animation_data.nla_tracks if armature.animation_data else ():
        track.is_solo = False
    return np.stack(looks, axis=1)


def export_gltf(job: dict[str, Any], scene: Any) -> None:
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


def export_fbx(job: dict[str, Any], scene: Any) -> None:
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


def export_usd(job: dict[str, Any], scene: Any) -> None:
    export: Any = bpy.ops.wm.usd_export
    options = export.get_rna_type().properties.keys()
    textures = {"export_textures_mode": "NEW"} if "export_textures_mode" in options else {"export_textures": True}
    export(
        filepath=job["output"],
        export_animation=bool(job["clips"]),
        export_armatures=True,
        export_shapekeys=True,
        **textures,
    )


# Measuring


def measure(job: dict[str, Any], looks: np.ndarray) -> dict[str, Any]:
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
    meshes = [
        obj for obj in bpy.data.objects if obj.type == "MESH" and any(m.type == "ARMATURE" for m in obj.modifiers)
    ]
    found_keys = sorted(
        {key.name for mesh in meshes if mesh.data.shape_keys for key in mesh.data.shape_keys.key_blocks[1:]}
    )
    owners = match_vertices(job, looks, armature, meshes)
    targets = np.load(job["targets"], mmap_mode="r")
    order = np.argsort(owners, kind="stable")
    present, starts = np.unique(owners[order], return_index=True)
    rows = sum(clip["end"] - clip["start"] + 1 for clip in job["clips"])
    apart = np.lib.format.open_memmap(job["apart"], "w+", np.float32, (rows, len(looks)))
    world, done = np.array(job["world"]), 0
    for clip in job["clips"]:
        first = play(clip["name"], armature, meshes)
        mute_face_keys(job, meshes)
        for number in range(clip["end"] - clip["start"] + 1):
            at = first + number
            scene.frame_set(int(np.floor(at)), subframe=at - np.floor(at))
            space = np.array(clip["worlds"][number]) if clip["worlds"] else world
            target = job["scale"] * targets[clip["first"] + number].astype(np.float64)
            target = target @ space[:3, :3].T + space[:3, 3]
            distances = np.linalg.norm(read_world(meshes) - target[owners], axis=1)
            apart[done, present] = np.maximum.reduceat(distances[order], starts)
            done += 1
            report(0.3 + 0.7 * done / rows)
    apart.flush()
    animated = list_animations(armature)
    return {"missing": len(looks) - len(present), "found_keys": found_keys, "animations": animated}


def match_vertices(job: dict[str, Any], looks: np.ndarray, armature: Any, meshes: list[Any]) -> np.ndarray:
    """Which vertex of the copy each vertex of the file is: by where it is at rest, and where there are several, by how
    it looks in some poses."""
    rest, size = looks[:, 0], float(np.linalg.norm(np.ptp(looks[:, 0], axis=0)))
    tree = KDTree(len(rest))
    for number, point in enumerate(rest.tolist()):
        tree.insert(Vector(point), number)
    tree.balance()
    armature.data.pose_position = "REST"
    mute_face_keys(job, meshes)
    found = read_world(meshes)
    armature.data.pose_position = "POSE"
    candidates = [[hit[1] for hit in tree.find_range(Vector(point), NEAR * size)] for point in found.tolist()]
    owners = np.array(
        [own[0] if own else tree.find(Vector(point))[1] for own, point in zip(candidates, found.tolist(), strict=True)],
        np.intp,
    )
    unsure = [number for number, own in enumerate(candidates) if len(own) > 1]
    if not unsure:
        return owners
    seen = [read_world(meshes)[unsure] for _ in visit_looks(job, armature, meshes)]
    for at, number in enumerate(unsure):
        own = candidates[number]
        away = sum(np.linalg.norm(looks[own, 1 + look] - points[at], axis=1) for look, points in enumerate(seen))
        owners[number] = own[int(np.argmin(away))]
    return owners


def visit_looks(job: dict[str, Any], armature: Any, meshes: list[Any]) -> Iterator[None]:
    """Go to the frames of `look_at`, in the file."""
    frames = [(clip, number) for clip in job["clips"] for number in range(clip["end"] - clip["start"] + 1)]
    for clip, number in [frames[at] for at in np.linspace(0, len(frames) - 1, LOOKS).astype(int)]:
        first = play(clip["name"], armature, meshes)
        mute_face_keys(job, meshes)
        at = first + number
        bpy.context.scene.frame_set(int(np.floor(at)), subframe=at - np.floor(at))
        yield


def mute_face_keys(job: dict[str, Any], meshes: list[Any]) -> None:
    """Leave the copy's corrective keys alone: targets know no others."""
    for mesh in meshes:
        for key in mesh.data.shape_keys.key_blocks if mesh.data.shape_keys else ():
            key.mute = key.name not in job["correctives"]


def play(name: str, armature: Any, meshes: list[Any]) -> float:
    """Have the file's objects play one of its animations, and nothing else: its first frame."""
    owners = [armature, *meshes, *(mesh.data.shape_keys for mesh in meshes if mesh.data.shape_keys)]
    starts = []
    for owner in owners:
        data = owner.animation_data
        if data is None:
            continue
        action, slot = find_action(name, data)
        for track in data.nla_tracks:
            track.mute = True
        data.action = action
        if slot is not None:
            data.action_slot = slot
        if action is not None and owner == armature:
            starts.append(action.frame_range[0])
    if not starts:
        raise RuntimeError(f"The file has no animation '{name}'")
    return float(starts[0])


def find_action(name: str, data: Any) -> tuple[Any, Any]:
    """The action of an animation, and its slot, among what the importer has left in a data-block's animation."""
    for track in data.nla_tracks:
        for strip in track.strips:
            if track.name == name:
                return strip.action, getattr(strip, "action_slot", None)
    owner = data.id_data.name
    for action in bpy.data.actions:  # by FBX: "armature|animation|layer"
        parts = action.name.split("|")
        if len(parts) > 1 and parts[0] == owner and parts[1] == name:
            slots: Any = getattr(action, "slots", ())
            return action, slots[0] if len(slots) else None
    return None, None


def list_animations(armature: Any) -> list[str]:
    """Names of the file's animations, as far as they move the armature."""
    tracks = [track.name for track in armature.animation_data.nla_tracks]
    parts = [action.name.split("|") for action in bpy.data.actions]
    return tracks or sorted({part[1] for part in parts if len(part) > 1 and part[0] == armature.name})


def read_world(meshes: list[Any]) -> np.ndarray:
    """Where the vertices of meshes are, one mesh after the other, world space: float64, shape (N, 3)."""
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
