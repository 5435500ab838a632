"""EEVEE shows what Blender's own modifier shows. One small scene: with no graphics card it takes ten seconds."""

import bpy
import numpy as np

from scenes import add_tube, animate_tube, bind, select


def test_animation(tmp_path):
    obj, armature = add_tube()
    animate_tube(armature)
    select(obj)
    scene = bpy.context.scene
    scene.render.engine = "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
    scene.eevee.taa_render_samples = 1
    scene.render.resolution_x = scene.render.resolution_y = 64
    for name, data, place in (
        ("Camera", bpy.data.cameras.new("Camera"), (0.0, 1.5, 8.0)),
        ("Sun", bpy.data.lights.new("Sun", "SUN"), (0.0, 0.0, 5.0)),
    ):
        new = bpy.data.objects.new(name, data)
        new.location = place
        scene.collection.objects.link(new)
    scene.camera = bpy.data.objects["Camera"]
    scene.frame_start, scene.frame_end, scene.frame_step = 1, 9, 4

    def render(name: str) -> np.ndarray:
        scene.render.filepath = str(tmp_path / name)
        bpy.ops.render.render(animation=True)
        images = [bpy.data.images.load(str(path)) for path in sorted(tmp_path.glob(f"{name}*.png"))]
        return np.array([image.pixels[:] for image in images])

    expected = render("blender")
    bind(obj, method="SSD")
    shown = render("supple")
    assert len(np.unique(expected, axis=0)) == len(expected) == 3
    changed = (np.abs(shown - expected).reshape(3, -1, 4).max(axis=2) > 3 / 255).sum(axis=1)
    assert changed.max() <= 10  # where float32 rounding moves an edge
