"""Rigs are hidden while animation is watched and rendered: the skin follows even so, as under Blender's modifier."""

from pathlib import Path

import bpy
import pytest

from scenes import add_tube, bind, distance, points_at, update

pytestmark = pytest.mark.usefixtures("silent_handlers", "evaluator")


def hide(armature: bpy.types.Object, way: str, hidden: bool = True) -> None:
    """Hide an armature, or show it again, in one of several ways."""
    if "Rigs" not in bpy.data.collections:
        bpy.context.scene.collection.children.link(bpy.data.collections.new("Rigs"))
        bpy.context.scene.collection.objects.unlink(armature)
        bpy.data.collections["Rigs"].objects.link(armature)
    collection = bpy.data.collections["Rigs"]
    if way == "eye":
        armature.hide_set(hidden)
    elif way == "monitor":
        armature.hide_viewport = hidden
    elif way == "collection":
        collection.hide_viewport = hidden
    elif way == "excluded":
        bpy.context.view_layer.layer_collection.children["Rigs"].exclude = hidden
    armature.hide_render = collection.hide_render = hidden
    update()


def animate(armature: bpy.types.Object) -> None:
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (10, 1.6)):
        bone.rotation_euler = (angle, 0.0, 0.3 * angle)
        bone.keyframe_insert("rotation_euler", frame=frame)


def test_viewport(subtests: pytest.Subtests):
    obj, armature = add_tube()
    animate(armature)
    expected = {frame: points_at(obj, frame) for frame in (1, 5, 10)}
    bind(obj, method="SSD")
    for way in ("eye", "monitor", "collection", "excluded"):
        with subtests.test(way):
            hide(armature, way)
            assert not armature.visible_get()
            for frame in (10, 1, 5):
                assert distance(expected[frame], points_at(obj, frame)) <= 1e-5
        hide(armature, way, hidden=False)
        assert armature.visible_get()


@pytest.mark.versions
def test_render(tmp_path: Path):
    obj, armature = add_tube()
    animate(armature)
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
    bind(obj, method="SSD")
    hide(armature, "excluded")
    shown = render("supple")
    assert len(set(expected)) == len(expected) == 4
    differing = [sum(a != b for a, b in zip(*pair, strict=True)) for pair in zip(expected, shown, strict=True)]
    assert max(differing) <= 4 * 8  # float32 rounding may move an edge by a pixel; a frozen pose moves hundreds
