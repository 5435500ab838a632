"""A mesh filled with particles: bound, read, and changed by its settings."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_bake import read_cache
from scenes_particles import (
    COUNT,
    SHOWN,
    add_animated_body,
    add_body,
    add_dlbnt_twin,
    bend,
    fill,
    make_sheet,
    particles_of,
)

from scenes import TOLERANCE, add_twin, distance, evaluated_points, points_at, select, snapshot, update
from supple.bridge import changes
from supple.bridge.meshes.data import read_triangles
from supple.bridge.rigs.armatures import read_skeleton
from supple.deformers import DEFORMERS, SkinningError
from supple.operators.skin.bind import describe_bind
from supple.settings.objects import METHOD_ITEMS, PARTICLE_METHODS, settings_of
from supple.tasks.bake.caches import bake_cache
from supple.tasks.reports import ParticleReport, particle_reports
from supple.tasks.skin import by_python
from supple.tasks.skin import live as skin
from supple.tasks.skin.bind import bind_each, make_independent, unbind
from supple.ui.fine_tune import describe

pytestmark = pytest.mark.usefixtures("silent_handlers")


def add_group(obj: bpy.types.Object, solid: np.ndarray, name: str = "solid") -> None:
    """A vertex group of these values, shape (V,), that limits the particles."""
    group = obj.vertex_groups.new(name=name)
    for index, value in enumerate(solid.tolist()):
        group.add([index], value, "REPLACE")
    settings_of(obj).particles.group = name


# What is bound


def test_methods_of_the_settings_are_those_of_the_deformers():
    assert [item[0] for item in METHOD_ITEMS] == list(DEFORMERS)
    assert set(PARTICLE_METHODS) == {name for name, module in DEFORMERS.items() if hasattr(module, "particles")}


def test_bind_fills_and_unbind_gives_everything_back(fillings):
    obj, armature = add_body()
    before, at_rest = snapshot(obj), evaluated_points(obj)
    select(obj)
    assert bpy.ops.supple.bind(method="PARTICLES") == {"FINISHED"}
    assert len(fillings) == 1
    update()
    assert len(fillings) == 1
    count = settings_of(obj).particles.count
    assert count == by_python.find(obj).skin.binding.count == particles_of(obj).count
    assert 0.5 * COUNT < count < 2 * COUNT
    with pytest.raises(AttributeError, match="read-only"):
        settings_of(obj).particles.count = 3
    assert distance(at_rest, evaluated_points(obj)) < 1e-6
    bend(armature)
    bent = evaluated_points(obj)
    assert settings_of(obj).message == ""
    assert distance(at_rest, bent) > 0.1

    select(obj)
    bpy.ops.supple.bind(method="PARTICLES")
    update()
    assert np.array_equal(evaluated_points(obj), bent)
    armature.pose.bones["bone.1"].rotation_euler = (0, 0, 0)
    unbind([obj])
    update()
    assert snapshot(obj) == before
    assert settings_of(obj).particles.count == 0
    assert obj.session_uid not in particle_reports
    assert np.array_equal(evaluated_points(obj), at_rest)


def test_what_bind_and_the_panel_tell():
    obj, armature = add_body(outward=False)
    other, _ = add_body()
    make_sheet(other)
    other.name = "Sheet"
    fill(obj, other)
    told = describe_bind([obj, other], "PARTICLES")
    assert told.startswith(f"Bound Tube, Sheet by Particles: Tube: {settings_of(obj).particles.count} particles, ")
    assert "% of the skin is solid. " in told
    assert "Sheet: 0 particles, 0 % of the skin is solid. " in told
    assert describe_bind([obj], "PARTICLES").startswith("Bound Tube by Particles: ")
    assert describe_bind([bpy.context.scene.objects["Rig"]], "DLB") == "Bound Rig by Dual Quaternion"
    bend(armature)
    assert particles_of(obj).milliseconds > 0
    assert abs(particles_of(obj).volume - 1.0) < 0.01
    assert describe(ParticleReport(1303, 0.97, (), 12.34, 1.0026)) == "1,303 particles · 12.3 ms · volume +0.3 %"
    assert describe(ParticleReport(5, None, ())) == "5 particles"


def test_another_method_has_no_particles():
    obj, armature = add_body()
    twin = add_dlbnt_twin(obj)
    fill(obj)
    bend(armature)
    settings_of(obj).method = "DLBNT"
    update()
    assert settings_of(obj).particles.count == 0
    assert obj.session_uid not in particle_reports
    assert distance(evaluated_points(obj), evaluated_points(twin)) <= TOLERANCE


def test_python_takes_over_from_blender_and_gives_back():
    obj, armature = add_body()
    settings = settings_of(obj)
    settings.particles.radius = 0.15
    bind_each([obj], "DLBNT")
    settings.method = "PARTICLES"
    update()
    assert settings.evaluate == "PYTHON"
    bend(armature)
    assert particles_of(obj).count == settings.particles.count > 0
    settings.particles.group = "gone"
    settings.method = "PARTICLES_2010"
    update()
    assert "has no vertex group 'gone'" in settings.message
    settings.particles.group = ""
    settings.method = "DLBNT"
    update()
    assert settings.evaluate == "STRETCH"
    assert settings.evaluate_problem == settings.message == ""
    assert settings.particles.count == 0


def test_make_independent_forgets_what_was_chosen():
    obj, _ = add_body()
    bind_each([obj], "DLBNT")
    settings_of(obj).particles.stiffness = 3.0
    make_independent([obj])
    assert settings_of(obj).particles.stiffness == 1.0
    assert not settings_of(obj).is_property_set("bound_space")


# What is read


def test_tails_of_joints():
    _, armature = add_body()
    tails = read_skeleton(armature).joints.tails
    assert np.allclose(tails, [(0, 1, 0), (0, 2, 0), (0, 3, 0)])
    armature.data.bones["bone.1"].bbone_segments = 2
    update()
    joints = read_skeleton(armature).joints
    assert np.allclose(joints.centers[:, 1], [0, 1, 1.5, 2, 2], atol=1e-5)
    assert np.allclose(joints.tails[:, 1], [1, 1.5, 2, 2, 3], atol=1e-5)


def test_triangles_of_a_mesh():
    mesh = bpy.data.meshes.new("Faces")
    mesh.from_pydata([(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (3, 1, 0)], [], [(0, 1, 2, 3), (1, 4, 2)])
    triangles = read_triangles(mesh)
    assert triangles.shape == (3, 3)
    assert {frozenset(one) for one in triangles.tolist()} >= {frozenset((1, 2, 4))}
    points = np.array([vertex.co for vertex in mesh.vertices])[triangles]
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    assert np.allclose(normals.sum(axis=0), (0, 0, 2 * 5))


# What can be chosen


CHOICES = {
    "stiffness": (8.0, 1), "iterations": (40, 0), "volume": (0.0, 0), "target_count": (3 * COUNT, 1),
    "smallest_radius": (0.07, 1),
}  # fmt: skip
"""Another value, and how often the mesh is filled then."""


def test_a_changed_choice_shows_at_once(fillings, subtests):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    before, count = evaluated_points(obj), settings_of(obj).particles.count
    for name, (value, fills) in CHOICES.items():
        default = getattr(settings_of(obj).particles, name)
        with subtests.test(name):
            fillings.clear()
            setattr(settings_of(obj).particles, name, value)
            update()
            update()
            after = evaluated_points(obj)
            assert len(fillings) == fills
            assert distance(before, after) > (SHOWN if name != "volume" else 1e-5)
            assert (settings_of(obj).particles.count != count) == (name in ("target_count", "smallest_radius"))
            assert settings_of(obj).particles.count == by_python.find(obj).skin.binding.count

            setattr(settings_of(obj).particles, name, default)
            update()
            assert np.array_equal(evaluated_points(obj), before)
            setattr(settings_of(obj).particles, name, value)
            fill(obj)
            assert np.array_equal(evaluated_points(obj), after)
        setattr(settings_of(obj).particles, name, default)
        update()


def test_while_dragging_there_are_fewer_iterations(monkeypatch):
    assert not changes.is_dragging()
    obj, armature = add_body()
    settings_of(obj).particles.iterations_dragging = 2
    fill(obj)
    bend(armature)
    full = evaluated_points(obj)
    monkeypatch.setattr(changes, "is_dragging", lambda: True)
    bend(armature, 81)
    bend(armature)
    rough = evaluated_points(obj)
    assert distance(full, rough) > SHOWN
    assert bpy.app.timers.is_registered(skin.refine_dragged)
    assert skin.refine_dragged() == skin.BETWEEN_LOOKS
    monkeypatch.setattr(changes, "is_dragging", lambda: False)
    assert skin.refine_dragged() is None
    update()
    assert np.array_equal(evaluated_points(obj), full)
    settings_of(obj).particles.iterations = 2
    update()
    assert np.array_equal(evaluated_points(obj), rough)


def test_a_group_limits_the_particles():
    obj, armature = add_body()
    free = add_twin(obj)
    plain = add_dlbnt_twin(obj)
    along = np.array([vertex.co.y for vertex in obj.data.vertices])
    add_group(obj, np.clip(2.0 * along - 2.5, 0.0, 1.0))
    # What keeps the volume looks at the whole skin, and would differ with the group.
    settings_of(obj).particles.volume = settings_of(free).particles.volume = 0.0
    fill(obj, free)
    bend(armature)
    mixed, solid, skinned = (evaluated_points(one) for one in (obj, free, plain))
    none, whole = along < 1.2, along > 1.8
    assert np.array_equal(mixed[none], skinned[none])
    assert np.abs(mixed[whole] - solid[whole]).max() < 1e-6
    assert distance(solid[none], skinned[none]) > SHOWN


def test_a_missing_group_is_told():
    obj, armature = add_body()
    settings_of(obj).particles.group = "gone"
    words = "'Tube' has no vertex group 'gone': choose another solid group, or leave it empty"
    with pytest.raises(SkinningError, match=words):
        bind_each([obj], "PARTICLES", "PYTHON")
    bind_each([obj], "DLBNT", "PYTHON")  # has no use for it
    assert not settings_of(obj).message
    settings_of(obj).method = "PARTICLES"
    update()
    assert settings_of(obj).message == words
    settings_of(obj).particles.group = ""
    update()
    bend(armature)
    assert settings_of(obj).message == ""
    assert particles_of(obj).volume is not None


# As it was published


def test_the_published_method_is_chosen_by_fill_and_radius_and_bakes(tmp_path):
    obj = add_animated_body()
    particles = settings_of(obj).particles
    particles.fill, particles.radius = "UNIFORM", 0.15
    fill(obj, method="PARTICLES_2010")
    count = particles.count
    assert count > 0
    shown = [points_at(obj, frame) for frame in (4, 3)]
    particles.fill, particles.radius = "TWO_LEVEL", 0.12
    update()
    assert by_python.find(obj).skin.binding.params.fill == "TWO_LEVEL"
    assert particles.count > count
    assert distance(shown[1], evaluated_points(obj)) > SHOWN
    particles.fill, particles.radius = "UNIFORM", 0.15
    update()
    assert np.array_equal(evaluated_points(obj), shown[1])
    list(bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", range(3, 5)))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2")[1], reversed(shown), strict=True):
        assert np.array_equal(points, expected)
