"""Rigs are hidden while animation is watched and rendered: the skin follows even so, as under Blender's modifier."""

import bpy
import pytest

from scenes import EVALUATE, add_tube, distance, evaluated_points, select


def hide(armature: bpy.types.Object, way: str) -> None:
    collection = bpy.data.collections.new("Rigs")
    bpy.context.scene.collection.children.link(collection)
    bpy.context.scene.collection.objects.unlink(armature)
    collection.objects.link(armature)
    layer = bpy.context.view_layer.layer_collection.children["Rigs"]
    if way == "eye":
        armature.hide_set(True)
    elif way == "monitor":
        armature.hide_viewport = True
    elif way == "collection":
        collection.hide_viewport = True
    elif way == "excluded":
        layer.exclude = True
    armature.hide_render = collection.hide_render = True


def animate(armature: bpy.types.Object) -> None:
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (10, 1.6)):
        bone.rotation_euler = (angle, 0.0, 0.3 * angle)
        bone.keyframe_insert("rotation_euler", frame=frame)


def points_at(obj: bpy.types.Object, frame: int):
    bpy.context.scene.frame_set(frame)
    return evaluated_points(obj)


@pytest.mark.parametrize("way", ["eye", "monitor", "collection", "excluded"])
def test_viewport(way):
    obj, armature = add_tube()
    animate(armature)
    expected = {frame: points_at(obj, frame) for frame in (1, 5, 10)}
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    hide(armature, way)
    for frame in (10, 1, 5):
        assert distance(expected[frame], points_at(obj, frame)) <= 1e-5


def test_render(tmp_path):
    obj, armature = add_tube()
    animate(armature)
    select(obj)
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 64
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = (0.0, 1.5, 8.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.frame_start, scene.frame_end, scene.frame_step = 1, 10, 3

    def render(name: str) -> list[bytes]:
        scene.render.filepath = str(tmp_path / name)
        bpy.ops.render.render(animation=True)
        pixels = []
        for path in sorted(tmp_path.glob(f"{name}*.png")):
            image = bpy.data.images.load(str(path))
            pixels.append(bytes(int(255 * value + 0.5) for value in image.pixels[:]))
        return pixels

    expected = render("blender")
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    hide(armature, "excluded")
    shown = render("supple")
    assert len(set(expected)) == len(expected) == 4
    differing = [sum(a != b for a, b in zip(*pair, strict=True)) for pair in zip(expected, shown, strict=True)]
    assert max(differing) <= 4 * 8  # float32 rounding may move an edge by a pixel; a frozen pose moves hundreds
