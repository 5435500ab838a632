"""Make the files of this folder anew: unbound characters that the rows of corpus.toml start from.

    .venv/bpy-4.2/bin/python tests/corpus/build.py [NAME ...]

The oldest Blender writes them, so that each can read them. The program zstd must be installed. New files have other
vertices only if a function below changes: then ``UPDATE=1`` of the runner writes what is expected.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bpy
import bmesh
import numpy as np
from mathutils import Euler, Matrix

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "blender"))

import scenes  # noqa: E402

JAPANESE, LONG = "左ひじ", "上腕の骨" * 5 + "abc"  # 9 and 63 bytes: Blender's names are at most 63 bytes long


def add_gentle(name: str = "Tube", rings: int = 13, sides: int = 8, **shape: float) -> tuple:
    """A tube whose bones bend and twist, but do not scale, from frame 1 to 8: (mesh object, armature object)."""
    obj, armature = scenes.add_tube(rings=rings, sides=sides, **shape)
    obj.name, armature.name = name, "Rig" if name == "Tube" else f"{name} Rig"
    animate(armature)
    return obj, armature


def animate(armature: bpy.types.Object, bones: tuple[str, ...] = (), angle: float = 1.0, axis: int = 0) -> None:
    """Bend and twist bones, by default all but the first, from frame 1 to 8."""
    for frame, bend, twist in ((1, 0.0, 0.0), (4, 1.0, 0.6), (8, 0.5, -1.2)):
        for bone in [armature.pose.bones[name] for name in bones] or armature.pose.bones[1:]:
            bone.rotation_mode = "YXZ"
            bone.rotation_euler[axis], bone.rotation_euler[1] = bend * angle, twist * angle
            bone.keyframe_insert("rotation_euler", frame=frame)


def add_cylinder(armature: bpy.types.Object, name: str, like: bpy.types.Object, scale: float) -> bpy.types.Object:
    """A wider or narrower tube with the same weights."""
    twin = scenes.add_twin(like)
    twin.name = twin.data.name = name
    twin.data.transform(Matrix.Diagonal((scale, 1.0, scale, 1.0)))
    return twin


def build_tube() -> None:
    """Bones bend, twist, and scale unevenly, so that their children are sheared."""
    _, armature = scenes.add_tube(rings=13, sides=8)
    scenes.animate_tube(armature)


def build_gentle() -> None:
    """Bones only rotate; a vertex group that fades, and one that holds every second vertex."""
    obj, _ = add_gentle()
    for name, start in (("fade", 0), ("half", 1)):
        group = obj.vertex_groups.new(name=name)
        for vertex in range(start, len(obj.data.vertices), 2):
            group.add([vertex], vertex % 14 / 13 if name == "fade" else 1.0, "REPLACE")


def build_limb() -> None:
    """A closed tube of two bones, which bends at one joint."""
    obj, _ = add_gentle(bones=2, length=2.0)
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.holes_fill(edited, edges=edited.edges[:])
    bmesh.ops.recalc_face_normals(edited, faces=edited.faces[:])
    edited.to_mesh(obj.data)
    edited.free()


def build_keys() -> None:
    """An animated face key, a lattice above the armature, subdivision and a displacement below it."""
    obj, _ = add_gentle()
    scenes.animate_key(scenes.add_face_key(obj))
    lattice = bpy.data.objects.new("Lattice", bpy.data.lattices.new("Lattice"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.scale = (4, 8, 4)
    for point in lattice.data.points:
        point.co_deform.x += 0.2 * point.co_deform.y
    obj.modifiers.new("Lattice", "LATTICE").object = lattice
    obj.modifiers.move(1, 0)
    obj.modifiers.new("Swell", "DISPLACE").strength = 0.1
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1


def build_bendy() -> None:
    """B-Bones of four segments: one eased and curved, one whose handle is a bone, one scaled."""
    obj, armature = add_gentle()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    first, _, last = armature.pose.bones
    first.bbone_easein, first.bbone_curveinz, first.bbone_rollout = 0.4, 0.3, 0.5
    last.bbone_scalein, last.bbone_scaleout = (0.7, 1.0, 0.8), (1.3, 1.0, 1.2)

    def add_handle(bones: bpy.types.ArmatureEditBones) -> None:
        handle = bones.new("handle")
        handle.head, handle.tail, handle.use_deform = (0, 2, 0), (0, 2, 0.4), False

    scenes.edit_bones(armature, add_handle)
    bone = armature.data.bones["bone.1"]
    bone.bbone_handle_type_end, bone.bbone_custom_handle_end = "TANGENT", armature.data.bones["handle"]
    armature.pose.bones["handle"].location = 0.2, 0.1, 0.1
    obj.select_set(True)


def build_meshes() -> None:
    """Four meshes on one armature: a tube, a sleeve, an object that shares the tube's mesh, and a rigid box."""
    obj, armature = add_gentle()
    add_cylinder(armature, "Sleeve", obj, 1.3)
    shared = obj.copy()
    shared.name = "Shared"
    bpy.context.scene.collection.objects.link(shared)
    shared.location.x = 2.0
    box = bpy.data.objects.new("Box", bpy.data.meshes.new("Box"))
    bpy.context.scene.collection.objects.link(box)
    corners = scenes.join_box(box, 0.4, (0.0, 2.5, 0.6))
    box.vertex_groups.new(name="bone.2").add(corners.tolist(), 1.0, "REPLACE")
    box.modifiers.new("Armature", "ARMATURE").object = armature


def build_two() -> None:
    """Two characters side by side, and a mesh that both armatures deform, the second on top with Multi Modifier."""
    obj, armature = add_gentle()
    other, second = add_gentle("Other")
    second.location.x = other.location.x = 3.0
    both = add_cylinder(armature, "Both", obj, 1.5)
    both.vertex_groups.new(name="share").add(list(range(40, 104)), 0.7, "REPLACE")
    modifier = both.modifiers.new("Second", "ARMATURE")
    modifier.object, modifier.use_multi_modifier, modifier.vertex_group = second, True, "share"


def build_placed() -> None:
    """A mirrored mesh, an armature with uneven scale, and a mesh that is parented to its moving armature."""
    turned = Euler((0.3, 0.2, 1.1)).to_matrix().to_4x4()
    for name, of_mesh, of_armature in (
        ("Mirrored", Matrix.Diagonal((-1, 1, 1, 1)), turned),
        ("Scaled", Matrix.Diagonal((0.5, 2, 1.5, 1)), Matrix.Diagonal((1, 1, 3, 1)) @ turned),
        ("Parented", turned, Matrix.Translation((-3, 0.2, 1))),
    ):
        obj, armature = add_gentle(name)
        if name == "Parented":
            obj.parent = armature
        obj.matrix_local, armature.matrix_world = of_mesh, of_armature
    for frame, value in ((1, 0.0), (8, 0.4)):
        armature.rotation_euler.z = armature.location.x = value
        armature.keyframe_insert("location", frame=frame)
        armature.keyframe_insert("rotation_euler", frame=frame)


def build_weights() -> None:
    """Vertices without weights, sums that are not one, tiny weights, groups without bones, and a bone that is off."""
    obj, armature = add_gentle(bones=4)
    for index, group in enumerate(list(obj.vertex_groups)):
        group.remove(list(range(40, 56)))
        group.add(list(range(0, 104, 3)), 0.3 + 0.3 * index, "REPLACE")
        group.add(list(range(1, 104, 3)), 0.02 * (index + 1), "REPLACE")
        group.add([17 * index + 5], 5e-5, "REPLACE")
    obj.vertex_groups.new(name="hair").add(list(range(104)), 0.9, "REPLACE")
    armature.data.bones["bone.2"].use_deform = False


def build_names() -> None:
    """Names in Japanese, and of 63 bytes, of bones, groups, meshes and keys."""
    obj, armature = add_gentle()
    for old, new in (("bone.1", JAPANESE), ("bone.2", LONG)):
        armature.data.bones[old].name = new
    scenes.animate_key(scenes.add_face_key(obj, "笑顔"))
    obj.name = obj.data.name = LONG
    armature.name = armature.data.name = "骨格"


def add_arms(bend: float = 1.2) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A closed tube that is both arms, upper and lower, at a trunk below its middle; the arms bend to their front."""
    obj, armature = scenes.add_tube(bones=5, rings=21, sides=8, length=6.0, radius=0.2)
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.holes_fill(edited, edges=edited.edges[:])
    bmesh.ops.translate(edited, verts=edited.verts[:], vec=(0.0, -3.0, 0.0))
    bmesh.ops.recalc_face_normals(edited, faces=edited.faces[:])
    edited.to_mesh(obj.data)
    edited.free()

    def move(bones: bpy.types.ArmatureEditBones) -> None:
        for bone in bones:
            bone.use_connect = False
        trunk = bones["bone.2"]
        trunk.name, trunk.parent, trunk.head, trunk.tail = "trunk", None, (0.0, 0.0, -1.5), (0.0, 0.0, 0.0)
        for side, sign, upper, lower in (("R", -1.0, "bone.1", "bone.0"), ("L", 1.0, "bone.3", "bone.4")):
            for old, new, parent, start in ((upper, "upper", trunk, 0.6), (lower, "lower", bones[upper], 1.8)):
                bone = bones[old]
                bone.name, bone.parent = f"{new}.{side}", parent
                bone.head, bone.tail = (0.0, sign * start, 0.0), (0.0, sign * (start + 1.2), 0.0)
                bone.align_roll((0.0, 0.0, 1.0))

    scenes.edit_bones(armature, move)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        animate(armature, (f"upper.{side}", f"lower.{side}"), sign * bend, axis=2)
    return obj, armature


def build_arms() -> None:
    """Two arms in wider sleeves that are stiffer at their joints."""
    obj, armature = add_arms()
    sleeve = add_cylinder(armature, "Sleeve", obj, 1.08)
    edited = bmesh.new()
    edited.from_mesh(sleeve.data)
    bmesh.ops.delete(edited, geom=[face for face in edited.faces if len(face.verts) > 4], context="FACES_ONLY")
    edited.to_mesh(sleeve.data)
    edited.free()
    scenes.select(sleeve)
    bpy.ops.object.vertex_group_levels(group_select_mode="ALL", offset=-0.2, gain=1.5)


def build_runner() -> None:
    """A runner whose tail is to swing, and whose belly is a vertex group."""
    import scenes_swing

    armature = scenes_swing.add_runner()
    scenes_swing.add_run(armature)
    scenes_swing.add_skin(armature).name = "Belly"
    scenes_swing.add_tail_skin(armature).name = "Tail"


def build_handles() -> None:
    """A tube with weights and empties and a cage that are to be handles."""
    obj, armature = add_gentle()
    armature.animation_data_clear()
    for name, at in (("Low", (0.0, 1.5, -0.4)), ("High", (0.0, 2.4, 0.4))):
        empty = bpy.data.objects.new(name, None)
        bpy.context.scene.collection.objects.link(empty)
        empty.location = at
    mesh = bpy.data.meshes.new("Cage")
    around = np.array([(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)]) * 0.6
    points = np.concatenate([around + np.array([0.0, y, 0.0]) for y in (1.9, 2.55, 3.2)])
    sides = [[r + c, r + (c + 1) % 4, r + 4 + (c + 1) % 4, r + 4 + c] for r in (0, 4) for c in range(4)]
    mesh.from_pydata(points.tolist(), [], [[0, 3, 2, 1], [8, 9, 10, 11], *sides])
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Cage", mesh))
    obj.data.flip_normals()


def build_skin() -> None:
    """A finer tube with a UV map, a material, and an image of a hill to be a pattern."""
    rings, sides = 25, 12
    obj, _ = add_gentle(rings=rings, sides=sides)
    layer = obj.data.uv_layers.new(name="UVMap")
    for face, (ring, side) in zip(obj.data.polygons, np.ndindex(rings - 1, sides), strict=True):
        for loop, (up, around) in zip(face.loop_indices, ((0, 0), (0, 1), (1, 1), (1, 0)), strict=True):
            layer.data[loop].uv = (side + around) / sides, (ring + up) / (rings - 1)
    obj.data.flip_normals()
    for polygon in obj.data.polygons:
        polygon.use_smooth = True
    material = bpy.data.materials.new("Skin")
    material.use_nodes = True
    obj.data.materials.append(material)
    x, y = np.meshgrid(*2 * [np.linspace(-1, 1, 16)])
    image = bpy.data.images.new("Hill", 16, 16)
    heights = 0.5 + 0.5 * np.clip(1.0 - x**2 - y**2, 0.0, 1.0)
    image.pixels.foreach_set(np.repeat(heights.ravel(), 4).astype(np.float32))
    image.pack()
    image.use_fake_user = True


FILES: dict[str, Callable[[], None]] = {
    name.removeprefix("build_"): build for name, build in list(globals().items()) if name.startswith("build_")
}


def save(name: str) -> None:
    """Build a file and save it, without what an empty file has besides."""
    scenes.reset()
    bpy.context.preferences.filepaths.save_version = 0
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    FILES[name]()
    scene.frame_set(1)
    write_small(FOLDER / f"{name}.blend")


def write_small(path: Path) -> None:
    """Save the open file without other workspaces, packed by zstd at its best: a fifth less than by Blender."""
    window = bpy.context.window
    bpy.data.batch_remove([one for one in bpy.data.workspaces if one != window.workspace])
    bpy.data.batch_remove([one for one in bpy.data.screens if one != window.screen])
    plain = path.with_suffix(".plain")
    bpy.ops.wm.save_as_mainfile(filepath=str(plain), compress=False, copy=True, relative_remap=False)
    subprocess.run(["zstd", "-19", "--quiet", "--force", str(plain), "-o", str(path)], check=True)
    plain.unlink()


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FILES:
        save(chosen)
