"""A user's first session: install the zip, bind a tube, bend it, disable the extension. Run by test_package.py.

    python installed_session.py supple-1.0.0.zip

It runs in its own process, with its own BLENDER_USER_RESOURCES, and ends with an exception where something is wrong.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import bpy
import addon_utils
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "blender"))
import scenes

MODULE = "bl_ext.user_default.supple"


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


def check_a_bent_tube() -> None:
    scenes.reset()
    skin, armature = scenes.add_tube()
    twin, rest = scenes.add_twin(skin), scenes.rest_points(skin)
    scenes.select(skin)
    assert bpy.ops.supple.bind(method="DLBNT") == {"FINISHED"}
    scenes.turn(armature, "bone.1", (2.0, 0.0, 0.0))
    bpy.context.scene.frame_set(2)
    posed, linear = scenes.evaluated_points(skin), scenes.evaluated_points(twin)
    start, end = rest[:, 1] < 0.25, rest[:, 1] > 2.75  # of the first bone alone, of the last one alone
    assert np.allclose(posed[start], rest[start], atol=1e-3), "the first bone's skin moved"
    assert np.abs(linear[end] - rest[end]).max() > 1.0, "nothing is bent"
    assert np.allclose(posed[end], linear[end], atol=1e-3), "the last bone's skin does not follow it"
    assert np.abs(posed - linear).max() > 0.01, "the bend is what Blender's own modifier gives"


def main(zip_file: str) -> None:
    assert not names_from_the_extension(), "registered before the installation"
    bpy.ops.extensions.package_install_files(
        filepath=zip_file, repo="user_default", enable_on_install=True, overwrite=True
    )
    assert MODULE in bpy.context.preferences.addons, "the installed extension is not enabled"
    try:
        assert names_from_the_extension(), "nothing is registered"
        check_a_bent_tube()
    finally:  # handlers that are left at exit crash Blender 4.2 and hang 4.5, and would hide what failed
        addon_utils.disable(MODULE, default_set=True)
    assert not names_from_the_extension(), f"left registered: {names_from_the_extension()}"
    assert not list(handlers_from_the_extension()), f"left installed: {list(handlers_from_the_extension())}"
    print("the installed extension works and leaves nothing behind")


if __name__ == "__main__":
    main(sys.argv[1])
