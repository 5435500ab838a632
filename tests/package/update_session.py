"""What a user does who subscribes to the repository: install, bind, save; later update, and open the file. In Blender:

    blender --background --python update_session.py -- FOLDER install
    blender --background --python update_session.py -- FOLDER update

or in Python, with Blender as a module. `FOLDER/repository` is the repository; what was found goes to FOLDER/install.npz
and FOLDER/update.npz. Run by test_updates.py, each in a process, with a BLENDER_USER_RESOURCES of their own.
"""

import sys
import tomllib
from pathlib import Path

import bpy
import addon_utils
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "blender"))
import scenes

REPOSITORY = "supple_site"
MODULE = f"bl_ext.{REPOSITORY}.supple"
CHOICES = {"SSD": "PYTHON", "DLBNT": "NODES", "CENTERS": "NODES"}
"""Methods, and what evaluated them: nodes play on, and are bound no more."""

FRAMES = (4, 8)


def subscribe(folder: Path) -> int:
    """Subscribe to the repository, if that is not so yet, and see what it has: its place in Blender's list."""
    preferences = bpy.context.preferences
    preferences.system.use_online_access = True  # else Blender looks at no repository of others
    repositories = preferences.extensions.repos
    if REPOSITORY not in [one.module for one in repositories]:
        address = (folder / "repository" / "index.json").as_uri()
        repositories.new(name="Supple", module=REPOSITORY, remote_url=address)
    index = [one.module for one in repositories].index(REPOSITORY)
    bpy.ops.extensions.repo_sync(repo_index=index)
    return index


def read_version() -> str:
    path = Path(bpy.utils.user_resource("EXTENSIONS"), REPOSITORY, "supple", "blender_manifest.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))["version"]


def read_poses(tube: bpy.types.Object) -> np.ndarray:
    """Points of some frames, shape (frames, V, 3)."""
    poses = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        poses.append(scenes.evaluated_points(tube))
    return np.array(poses)


def install(folder: Path) -> dict[str, object]:
    bpy.ops.extensions.package_install(repo_index=subscribe(folder), pkg_id="supple", enable_on_install=True)
    found = {}
    for method, evaluate in CHOICES.items():
        scenes.reset()
        tube, armature = scenes.add_tube()
        scenes.animate_tube(armature)
        scenes.select(tube)
        found[f"plain {method}"] = read_poses(tube)
        assert bpy.ops.supple.bind(method=method, evaluate=evaluate) == {"FINISHED"}
        found[method] = read_poses(tube)
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / f"{method}.blend"))
    return found


def update(folder: Path) -> dict[str, object]:
    subscribe(folder)
    if MODULE not in bpy.context.preferences.addons:  # as a module, Blender starts with the factory's preferences
        addon_utils.enable(MODULE, default_set=True)
    found = {"before": read_version()}
    bpy.ops.extensions.package_upgrade_all()
    for method, evaluate in CHOICES.items():
        bpy.ops.wm.open_mainfile(filepath=str(folder / f"{method}.blend"))
        tube = bpy.data.objects["Tube"]
        found[method] = read_poses(tube)
        assert (tube.supple.is_bound, tube.supple.method, tube.supple.message) == (evaluate == "PYTHON", method, "")
    return found


def main(folder: Path, step: str) -> None:
    try:
        found = {"install": install, "update": update}[step](folder)
        assert MODULE in bpy.context.preferences.addons, "it is not enabled"
        found["version"] = read_version()
        bpy.ops.wm.save_userpref()
    finally:
        addon_utils.disable(MODULE)  # handlers that are left at exit crash Blender 4.2 and hang 4.5
    np.savez(folder / f"{step}.npz", **found)


if __name__ == "__main__":
    given, wanted = sys.argv[sys.argv.index("--") + 1 :]
    main(Path(given), wanted)
