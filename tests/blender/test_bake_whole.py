"""Bakes of a whole character: all of it, in one pass, or nothing of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_bake import FRAMES, KINDS, add_character, changes, everything, live_points

from scenes import add_twin, bind, evaluated_points, select
from supple.bridge.files import writing as files
from supple.deformers import SkinningError
from supple.tasks.bake.caches import bake_cache, bake_caches
from supple.tasks.bake.shape_keys import bake_shape_keys


@pytest.fixture
def meshes() -> list[bpy.types.Object]:
    """Two bound meshes of an armature, of which one has keyed shape keys."""
    first, _ = add_character("keyed")
    second = add_twin(first)
    second.name = "Sleeve"
    second.active_shape_key_index = 0
    second.shape_key_clear()
    bind(first, second)
    return [first, second]


def steps_of(kind: str, meshes: list[bpy.types.Object], folder: Path, frames: range = FRAMES) -> Iterator[int]:
    if kind == "PC2":
        return bake_caches({obj: folder / f"{obj.name}.pc2" for obj in meshes}, bpy.context.scene, frames)
    return bake_shape_keys(meshes, bpy.context.scene, frames)


def call(kind: str, path: Path, **settings: int) -> set[str]:
    """Run the operator of a kind of bake on the whole character."""
    if kind == "PC2":
        return bpy.ops.supple.bake_cache(filepath=str(path), whole=True, **settings)
    return bpy.ops.supple.bake_shape_keys(whole=True, **settings)


def test_a_canceled_bake_leaves_nothing_of_any_mesh(tmp_path, meshes, subtests):
    before, points = [everything(obj) for obj in meshes], [evaluated_points(obj) for obj in meshes]
    for kind, done in product(KINDS, (0, 1, 4)):
        with subtests.test(f"{kind}, after {done} frames"):
            steps = steps_of(kind, meshes, tmp_path)
            assert [next(steps) for _ in range(done)] == list(range(1, done + 1))
            steps.close()
            assert os.listdir(tmp_path) == []
            assert [changes(one, everything(obj)) for one, obj in zip(before, meshes, strict=True)] == [{}, {}]
            for obj, own in zip(meshes, points, strict=True):
                assert obj.supple.baked_keys == ""
                assert np.array_equal(evaluated_points(obj), own)


@pytest.mark.versions
def test_the_operator_bakes_all_in_one_pass(tmp_path, meshes, subtests):
    live = [live_points(obj, range(2, 6)) for obj in meshes]
    for obj in meshes:
        list(bake_cache(obj, bpy.context.scene, tmp_path / f"alone_{obj.name}.pc2", range(2, 6)))
    for kind in KINDS:
        with subtests.test(kind):
            frames = []
            bpy.app.handlers.frame_change_pre.append(
                note := lambda scene, *_, to=frames: to.append(scene.frame_current)
            )
            try:
                assert call(kind, tmp_path / "hero.pc2", frame_start=2, frame_end=5) == {"FINISHED"}
            finally:
                bpy.app.handlers.frame_change_pre.remove(note)
            own = bpy.context.scene.frame_current
            assert frames[:6] == [2, own, 2, 3, 4, 5]  # the first is tried
            assert len(frames) <= 8  # the scene's own frame, once or twice
            for obj, points in zip(meshes, live, strict=True):
                assert obj.supple.bake == kind
                np.testing.assert_allclose(live_points(obj, range(2, 6)), points, rtol=0, atol=1e-5)
                if kind == "PC2":
                    alone = (tmp_path / f"alone_{obj.name}.pc2").read_bytes()
                    assert (tmp_path / f"hero_{obj.name}.pc2").read_bytes() == alone
        bpy.ops.supple.clear_bake(whole=True)


def test_a_mesh_that_fails_takes_the_others_back(tmp_path, meshes, subtests):
    meshes[1].hide_viewport = True
    select(meshes[0])
    before = [everything(obj) for obj in meshes]
    for kind in KINDS:
        with subtests.test(kind):
            with pytest.raises(SkinningError, match="Frame 1: 'Sleeve' is disabled in this view layer"):
                list(steps_of(kind, meshes, tmp_path))
            assert os.listdir(tmp_path) == []
            assert [changes(one, everything(obj)) for one, obj in zip(before, meshes, strict=True)] == [{}, {}]


def test_a_file_that_cannot_be_put_in_its_place_takes_the_message(tmp_path, meshes, monkeypatch):
    def put(path: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "_put", put)
    with pytest.raises(SkinningError, match=r"Cannot write '.*\.pc2' \(Permission denied\)"):
        list(steps_of("PC2", meshes, tmp_path, range(1, 3)))
    assert os.listdir(tmp_path) == []


def test_two_meshes_that_would_share_a_file(tmp_path, meshes):
    meshes[0].name, meshes[1].name = "a/b", "a_b"
    with pytest.raises(RuntimeError, match="would share the file 'a_b': rename one"):
        call("PC2", tmp_path / "hero.pc2", frame_start=1, frame_end=2)
    assert os.listdir(tmp_path) == []
    assert [obj.supple.bake for obj in meshes] == ["NONE", "NONE"]


def test_a_bake_to_shape_keys_counts_all_meshes(meshes, monkeypatch):
    size = 10 * 12 * len(meshes[0].data.vertices)
    for most, is_refused in ((size, True), (2 * size, False)):
        monkeypatch.setattr("supple.tasks.bake.shape_keys.LARGEST_KEYS", most)
        steps = bake_shape_keys(meshes, bpy.context.scene, FRAMES)
        if is_refused:
            with pytest.raises(SkinningError, match="10 frames of 'Tube', 'Sleeve' need"):
                next(steps)
        else:
            assert next(steps) == 1
            steps.close()
