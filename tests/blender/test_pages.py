"""Every Python block of the README and the manual runs, in order, on an example file that the page names."""

import re
from collections.abc import Callable
from pathlib import Path

import bpy
import addon_utils
import numpy as np
import pytest
from scenes_maps import add_body, add_overlapping

import checkout
from scenes import animate_tube, bind, reset, save, select
from supple import cli
from supple.bridge.images.formats import encode_heights

INSTALLED_AS = "bl_ext.user_default.supple"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def add_hero(_asset: Callable[..., Path]) -> None:
    """hero.blend of the pages: Body and Skirt on Rig, animated; Body has patterns."""
    body, armature = add_body()
    animate_tube(armature)
    body.name, skirt = "Body", body.copy()
    skirt.name, skirt.data = "Skirt", body.data.copy()
    bpy.context.scene.collection.objects.link(skirt)
    add_overlapping(body)
    bind(body)
    bpy.context.scene.frame_end = 3
    select(body)
    save(Path("hero.blend"))


def add_human(asset: Callable[..., Path]) -> None:
    """The human, with a UV map, and an image beside it."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
    body = bpy.data.objects["Body"]
    points = np.array([vertex.co for vertex in body.data.vertices])
    corners = [loop.vertex_index for loop in body.data.loops]
    body.data.uv_layers.new(name="UVMap").data.foreach_set(
        "uv", (points[corners][:, ::2] * (0.5, 0.55) + (0.5, 0.0)).ravel()
    )
    Path("scar.png").write_bytes(encode_heights(np.tile(np.linspace(0.0, 1.0, 16), (16, 1)), "png16"))
    select(body, bpy.data.objects["Tights"])


def add_posed(asset: Callable[..., Path]) -> None:
    """The human in Pose Mode."""
    add_human(asset)
    select(bpy.data.objects["Rig"])
    bpy.ops.object.mode_set(mode="POSE")


SCENES = {"headless.md": add_hero, "api.md": add_hero, "posing.md": add_posed}
ROOT = checkout.ROOT
PAGES = [
    path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if BLOCK.search(path.read_text("utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_blocks_run(page, asset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))  # by which Blender 4.2 resolves paths
    monkeypatch.syspath_prepend(ROOT)
    reset()
    SCENES.get(page.name, add_human)(asset)
    names = {"__name__": "page"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        try:
            exec(compile(block.replace(INSTALLED_AS, checkout.MODULE), page.name, "exec"), names)
        finally:  # a block may disable the extension, as at the end of a process
            addon_utils.enable(checkout.MODULE, default_set=True)
    assert names.get("code", cli.DONE) == cli.DONE


def test_pages_with_blocks_are_found():
    assert {"headless", "patterns", "weights", "posing", "rig-presets", "api"} <= {path.stem for path in PAGES}
