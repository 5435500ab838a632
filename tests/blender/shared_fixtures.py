"""Fixtures that several test modules share; conftest registers them once Supple is enabled."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import pictures
import pytest
import scenes_cli
import scenes_maps
import scenes_weights

import scenes
from scenes import add_tube, animate_tube, bind, reset, save
from supple.cli import messages
from supple.deformers import DEFORMERS
from supple.viewport import particles, weights


@pytest.fixture(autouse=True)
def progress_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands tell progress at their end alone, however long a busy machine takes."""
    monkeypatch.setattr(messages, "REPORT_INTERVAL", math.inf)


@pytest.fixture(params=["PYTHON", "BLENDER"])
def evaluator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test twice: what `scenes.bind` binds is evaluated by Python, then by Blender's own modifiers."""
    monkeypatch.setattr(scenes, "EVALUATE", request.param)
    return request.param


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What was to be drawn, without a graphics card."""
    made = []
    for module in (particles, weights):
        monkeypatch.setattr(
            module, "batch_for_shader", lambda _shader, _kind, attributes, indices: made.append(attributes) or made
        )
    return made


@pytest.fixture
def fillings(monkeypatch: pytest.MonkeyPatch) -> list:
    """Grows by one with each mesh that is filled with particles."""
    made = []
    module = DEFORMERS["PARTICLES"]
    original = module.bind
    monkeypatch.setattr(module, "bind", lambda *given: (made.append(given), original(*given))[1])
    return made


@pytest.fixture
def animated_body(scene: bpy.types.Scene) -> bpy.types.Object:
    """A tube with patterns of each kind over one another, animated."""
    obj, armature = scenes_maps.add_body()
    animate_tube(armature)
    scene.frame_start, scene.frame_end = scenes_maps.FRAMES[0], scenes_maps.FRAMES[-1]
    scenes_maps.add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    return obj


@pytest.fixture
def bound_tube(scene: bpy.types.Scene) -> bpy.types.Object:
    """A tube that is bound by DLBNT."""
    obj, _ = add_tube()
    bind(obj, method="DLBNT")
    return obj


@pytest.fixture(scope="session")
def held_tube(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple]:
    """Opens what `scenes_weights.add_held_tube` makes of "points" or of a "cage": it is made once."""
    folder = tmp_path_factory.mktemp("held")

    def open_tube(kind: str) -> tuple:
        path = folder / f"{kind}.blend"
        if not path.exists():
            reset()
            scenes_weights.add_held_tube(kind)
            save(path)
        bpy.ops.wm.open_mainfile(filepath=str(path))
        handles = ["Cage"] if kind == "cage" else scenes_weights.POINTS
        return bpy.data.objects["Tube"], bpy.data.objects["Rig"], [bpy.data.objects[name] for name in handles]

    return open_tube


@pytest.fixture
def points_engine(scene: bpy.types.Scene) -> Iterator[None]:
    """Have renders take down points, for `pictures.render_points`."""
    bpy.utils.register_class(pictures.PointsEngine)
    pictures.use_points_engine(scene)
    yield
    bpy.utils.unregister_class(pictures.PointsEngine)


@pytest.fixture
def plain_file(tmp_path: Path) -> Path:
    """A file with an unbound character."""
    scenes_cli.add_character()
    return save(tmp_path / "plain.blend")


@pytest.fixture
def bound_file(tmp_path: Path) -> Path:
    """A file with a character that is bound by DLB."""
    bind(scenes_cli.add_character(), method="DLB")
    return save(tmp_path / "bound.blend")
