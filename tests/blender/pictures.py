"""Small pictures of an animated character, here and in another process, and how many of their pixels differ."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np

import checkout
from scenes import add_face_key, add_tube, animate_key, animate_tube, distance, points_at

FRAMES = (2, 3, 4)
WIDTH, HEIGHT = 96, 72
LEAST_CHANGE = 150
"""Pixels, of 6912, by which two pictures of different shapes differ at least: else there would be nothing to see."""

SHUTTER = 0.25
"""How far from its frame motion blur looks, before and after, by Blender's default."""


def add_character(face: str = "no keys") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small animated tube and its armature, with a face key that is keyframed or driven, or without."""
    obj, armature = add_tube(rings=16, sides=10)
    animate_tube(armature)
    if face != "no keys":
        key = add_face_key(obj)
        if face == "keyed":
            animate_key(key)
        else:
            key.driver_add("value").driver.expression = "0.2 * frame"
    return obj, armature


def prepare_pictures(engine: str) -> None:
    """Set the scene up for small, quick, repeatable pictures of `FRAMES`."""
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location, camera.rotation_euler = (6.5, 1.8, 0.6), (np.pi / 2, 0.0, np.pi / 2)  # from the side, Z is up
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.rotation_euler = (0.6, 0.7, 0.0)
    for new in (camera, sun):
        scene.collection.objects.link(new)
    scene.camera = camera
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    render = scene.render
    render.resolution_x, render.resolution_y = WIDTH, HEIGHT
    render.image_settings.file_format = "PNG"
    render.image_settings.color_mode = "RGB"
    eevee = "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
    render.engine = {"workbench": "BLENDER_WORKBENCH", "eevee": eevee}.get(engine, "CYCLES")
    scene.eevee.taa_render_samples = 1
    if render.engine == "CYCLES":
        scene.cycles.device = "CPU"
        scene.cycles.samples = 4
        scene.cycles.use_adaptive_sampling = scene.cycles.use_denoising = False
        render.use_motion_blur = engine == "cycles-blur"


def render_animation(folder: Path) -> np.ndarray:
    """Render the scene's frames as an animation: uint8, shape (F, HEIGHT, WIDTH, 3)."""
    bpy.context.scene.render.filepath = str(folder / "frame_")
    bpy.ops.render.render(animation=True)
    return read_pictures(folder)


def read_pictures(folder: Path) -> np.ndarray:
    """Read the pictures of `FRAMES`, which must be all there are."""
    paths = sorted(folder.iterdir())
    assert [path.name for path in paths] == [f"frame_{frame:04}.png" for frame in FRAMES]
    return np.stack([read_picture(path) for path in paths])


def read_picture(path: Path) -> np.ndarray:
    image = bpy.data.images.load(str(path))
    width, height = image.size
    flat = np.empty(width * height * image.channels, np.float32)
    image.pixels.foreach_get(flat)
    bpy.data.images.remove(image)
    return np.round(flat.reshape(height, width, -1)[..., :3] * 255.0).astype(np.uint8)


def count_changed(first: np.ndarray, second: np.ndarray) -> list[int]:
    """Pixels that differ, in each picture."""
    return (first != second).any(axis=-1).sum(axis=(-2, -1)).tolist()


def largest_change(first: np.ndarray, second: np.ndarray) -> int:
    """Largest difference of a color, 0 to 255."""
    return int(np.abs(first.astype(int) - second).max())


def assert_something_to_see(pictures: np.ndarray) -> None:
    """Pictures of different poses differ, and so would pictures of a wrong pose."""
    assert min(count_changed(pictures[1:], pictures[:-1])) >= LEAST_CHANGE


class PointsEngine(bpy.types.RenderEngine):
    """Renders nothing: takes down all meshes' points at each frame and at the ends of the shutter, as Cycles does."""

    bl_idname = "SUPPLE_TEST_POINTS"
    bl_label = "Points"
    seen: dict[tuple[str, float], np.ndarray] = {}

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        frame = depsgraph.scene.frame_current
        for time in (frame, frame - SHUTTER, frame + SHUTTER):
            whole = int(np.floor(time))
            self.frame_set(whole, subframe=time - whole)
            for obj in depsgraph.objects:
                if obj.type == "MESH":
                    points = np.empty((len(obj.data.vertices), 3), np.float32)
                    obj.data.vertices.foreach_get("co", points.ravel())
                    self.seen[obj.name, time] = points
        self.frame_set(frame, subframe=0.0)


def use_points_engine(scene: bpy.types.Scene) -> None:
    scene.render.engine = PointsEngine.bl_idname
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    scene.render.resolution_x, scene.render.resolution_y = 8, 8


def render_points(folder: Path, scene: str = "") -> dict[tuple[str, float], np.ndarray]:
    """Points by object and time that a render of the animation sees; by the fixture `points_engine`."""
    PointsEngine.seen.clear()
    for one in bpy.data.scenes:
        one.render.filepath = str(folder / "frame_")
    bpy.ops.render.render(animation=True, scene=scene)
    return dict(PointsEngine.seen)


SESSION = """
import sys
from pathlib import Path

import bpy
import numpy as np

tools, folder, *files = sys.argv[1:]
if tools:
    sys.path.insert(0, tools)
    import checkout
    checkout.enable(Path(folder) / "checkout")
try:
    assert hasattr(bpy.types.Object, "supple") == bool(tools)
    for file in files:
        bpy.ops.wm.open_mainfile(filepath=file)
        bpy.context.scene.render.filepath = str(Path(folder) / Path(file).stem / "frame_")
        bpy.ops.render.render(animation=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(Path(folder) / Path(file).name), check_existing=False)
        points = {}
        for frame in range(bpy.context.scene.frame_start, bpy.context.scene.frame_end + 1):
            bpy.context.scene.frame_set(frame)
            mesh = bpy.data.objects["Tube"].evaluated_get(bpy.context.evaluated_depsgraph_get()).data
            points[str(frame)] = np.array([vertex.co for vertex in mesh.vertices], np.float32)
        np.savez(Path(folder) / Path(file).with_suffix(".npz").name, **points)
finally:
    if tools:
        checkout.disable()
"""


def render_elsewhere(folder: Path, with_supple: bool, files: list[Path]) -> None:
    """Open, render and save files in a process of its own, where Supple is enabled or has never been.

    Beside each saved file go its pictures, in a folder of its name, and an .npz file of the tube's points by frame.
    """
    folder.mkdir()
    tools = str(checkout.ROOT / "tools") if with_supple else ""
    answer = subprocess.run(
        [sys.executable, "-c", SESSION, tools, folder, *files],
        env={**os.environ, "BLENDER_USER_RESOURCES": str(folder / "resources")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr, answer.stderr


def render_here(folder: Path, case: str, obj: bpy.types.Object) -> Path:
    """Render the scene, write an object's points by frame, and save the file: for `render_elsewhere`, which gets it."""
    render_animation(folder / "here" / case)
    np.savez(folder / "here" / f"{case}.npz", **{str(frame): points_at(obj, frame) for frame in FRAMES})
    bpy.context.scene.frame_set(7)
    file = folder / f"{case}.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    return file


def assert_same_elsewhere(folder: Path, case: str) -> None:
    """Assert that points and pictures of a case are the same here and where Supple has never been."""
    places = [folder / where for where in ("here", "without Supple")]
    here, there = (np.load(place / f"{case}.npz") for place in places)
    for frame in map(str, FRAMES):
        assert distance(here[frame], there[frame]) <= 1e-6
    pictures = [read_pictures(place / case) for place in places]
    assert_something_to_see(pictures[0])
    assert count_changed(*pictures) == [0] * len(FRAMES)
    assert largest_change(*pictures) == 0
