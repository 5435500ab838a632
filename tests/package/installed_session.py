"""A user's first session: install the zip, bind an arm, bend it, disable the extension. Run by test_package.py.

    python installed_session.py supple-1.0.0.zip

It runs in its own process, with its own BLENDER_USER_RESOURCES, and ends with an exception where something is wrong.
"""

import sys
from collections.abc import Iterator

import bpy
import addon_utils
import numpy as np

MODULE = "bl_ext.user_default.supple"
RINGS, SIDES = 21, 12


def handlers_from_the_extension() -> Iterator[str]:
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            yield from (
                f"{name}: {function.__qualname__}" for function in functions if function.__module__.startswith(MODULE)
            )


def names_from_the_extension() -> list[str]:
    """List the classes that are registered, and the properties that were added to Blender's own types."""
    names = dir(bpy.types)
    for owner in (bpy.types.Object, bpy.types.Mesh, bpy.types.Scene, bpy.types.WindowManager):
        names += [f"{owner.__name__}.{prop.identifier}" for prop in owner.bl_rna.properties]
    return [name for name in names if "supple" in name.lower()]


def make_armature() -> bpy.types.Object:
    armature = bpy.data.objects.new("Arm", bpy.data.armatures.new("Arm"))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    upper = armature.data.edit_bones.new("upper")
    upper.head, upper.tail = (0, 0, 0), (1, 0, 0)
    lower = armature.data.edit_bones.new("lower")
    lower.head, lower.tail, lower.parent = (1, 0, 0), (2, 0, 0), upper
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def make_skin(armature: bpy.types.Object) -> bpy.types.Object:
    """Make a tube of radius 0.2 m around both bones, whose weights cross over between 0.8 and 1.2 m."""
    angles = np.arange(SIDES) * 2 * np.pi / SIDES
    lengths = np.linspace(0, 2, RINGS)
    points = [(x, 0.2 * np.cos(a), 0.2 * np.sin(a)) for x in lengths for a in angles]
    faces = [
        (ring + side, ring + (side + 1) % SIDES, ring + SIDES + (side + 1) % SIDES, ring + SIDES + side)
        for ring in range(0, (RINGS - 1) * SIDES, SIDES)
        for side in range(SIDES)
    ]
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata(points, [], faces)
    skin = bpy.data.objects.new("Skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    upper, lower = (skin.vertex_groups.new(name=name) for name in ("upper", "lower"))
    for vertex in mesh.vertices:
        weight = min(max((vertex.co.x - 0.8) / 0.4, 0), 1)
        upper.add([vertex.index], 1 - weight, "REPLACE")
        lower.add([vertex.index], weight, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.objects.active = skin
    skin.select_set(True)
    return skin


def posed_points(skin: bpy.types.Object) -> np.ndarray:
    evaluated = skin.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([vertex.co for vertex in evaluated.data.vertices])


def with_armature_modifier(skin: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Return what Blender's own modifier makes of the same mesh, which holds the vertex groups too."""
    copy = bpy.data.objects.new("Linear", skin.data)
    bpy.context.scene.collection.objects.link(copy)
    copy.modifiers.new("Armature", "ARMATURE").object = armature
    return posed_points(copy)


def check_a_bent_elbow() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    armature = make_armature()
    skin = make_skin(armature)
    rest = posed_points(skin)
    assert bpy.ops.supple.bind(method="DLBNT") == {"FINISHED"}
    bone = armature.pose.bones["lower"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (0, 0, 2.0)
    bpy.context.scene.frame_set(2)
    posed, linear = posed_points(skin), with_armature_modifier(skin, armature)
    forearm, upper_arm = rest[:, 0] > 1.25, rest[:, 0] < 0.75
    assert np.allclose(posed[forearm], linear[forearm], atol=1e-3), "the forearm does not follow its bone"
    assert np.allclose(posed[upper_arm], rest[upper_arm], atol=1e-3), "the upper arm moved"
    assert np.abs(posed - linear).max() > 0.01, "the elbow is what Blender's own modifier gives"


def main(zip_file: str) -> None:
    assert not names_from_the_extension(), "registered before the installation"
    bpy.ops.extensions.package_install_files(
        filepath=zip_file, repo="user_default", enable_on_install=True, overwrite=True
    )
    assert MODULE in bpy.context.preferences.addons, "the installed extension is not enabled"
    try:
        assert names_from_the_extension(), "nothing is registered"
        check_a_bent_elbow()
    finally:  # handlers that are left at exit crash Blender 4.2 and hang 4.5, and would hide what failed
        addon_utils.disable(MODULE, default_set=True)
    assert not names_from_the_extension(), f"left registered: {names_from_the_extension()}"
    assert not list(handlers_from_the_extension()), f"left installed: {list(handlers_from_the_extension())}"
    print("the installed extension works and leaves nothing behind")


if __name__ == "__main__":
    main(sys.argv[1])
