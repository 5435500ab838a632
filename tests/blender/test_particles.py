"""A mesh filled with particles: bound, posed, baked, saved, undone, and where there is nothing to fill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan, radians
from pathlib import Path

import bpy
import bmesh
import numpy as np
import pytest
from mathutils import Matrix

from scenes import (
    add_face_key,
    add_tube,
    add_twin,
    animate_key,
    animate_tube,
    armature_modifier,
    distance,
    evaluated_points,
    points_at,
    select,
    snapshot,
    turn,
    update,
)
from supple import cli, preview
from supple.bridge.armatures import read_skeleton
from supple.bridge.meshes import read_triangles
from supple.bridge.point_caches import open_cache, read_samples
from supple.deformers import DEFORMERS, SkinningError
from supple.operators.bind import describe_bind
from supple.settings.objects import METHOD_ITEMS, NODES_PROBLEM, PARTICLE_METHODS, settings_of
from supple.settings.reports import ParticleReport, particle_reports
from supple.tasks.skin import bake, live
from supple.tasks.skin.bind import bind, make_independent, unbind
from supple.ui.panels import describe

pytestmark = pytest.mark.usefixtures("silent_handlers")
COUNT = 120
"""Particles wanted: few, so that a pose takes milliseconds."""

SHOWN = 1e-4
"""Least distance, in diagonals, that counts as a change."""

RINGS, SIDES = 25, 10
FRAMES = range(1, 9)


# Scenes


def add_body(outward: bool = True) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A closed tube with a chain of three bones, and its armature."""
    obj, armature = add_tube(rings=RINGS, sides=SIDES)
    with edit(obj.data) as mesh:
        bmesh.ops.holes_fill(mesh, edges=mesh.edges[:], sides=0)
        bmesh.ops.recalc_face_normals(mesh, faces=mesh.faces[:])
        if not outward:
            bmesh.ops.reverse_faces(mesh, faces=mesh.faces[:])
    settings_of(obj).particles.target_count = COUNT
    settings_of(obj).particles.iterations_bake = settings_of(obj).particles.iterations
    return obj, armature


class edit:
    """A mesh as a bmesh, for a while."""

    def __init__(self, mesh: bpy.types.Mesh) -> None:
        self._mesh, self._edited = mesh, bmesh.new()

    def __enter__(self) -> bmesh.types.BMesh:
        self._edited.from_mesh(self._mesh)
        return self._edited

    def __exit__(self, *_) -> None:
        self._edited.to_mesh(self._mesh)
        self._edited.free()


def fill(*objects: bpy.types.Object, method: str = "PARTICLES") -> None:
    """Bind by particles, whatever --evaluate says: nodes do not know them."""
    bind(objects, method, "PYTHON")
    update()


def bend(armature: bpy.types.Object, angle: float = 80.0) -> None:
    turn(armature, "bone.1", (radians(angle), radians(0.5 * angle), 0))


def add_dlbnt_twin(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of an unbound object that DLBNT deforms."""
    twin = add_twin(obj)
    bind([twin], "DLBNT", "PYTHON")
    return twin


def add_group(obj: bpy.types.Object, solid: np.ndarray, name: str = "solid") -> None:
    """A vertex group of these values, shape (V,), that limits the particles."""
    group = obj.vertex_groups.new(name=name)
    for index, value in enumerate(solid.tolist()):
        group.add([index], value, "REPLACE")
    settings_of(obj).particles.group = name


def particles_of(obj: bpy.types.Object) -> ParticleReport:
    return particle_reports[obj.session_uid]


@pytest.fixture
def binds(monkeypatch: pytest.MonkeyPatch) -> list:
    """Grows by one with each mesh that is filled."""
    made = []
    module = DEFORMERS["PARTICLES"]
    original = module.bind
    monkeypatch.setattr(module, "bind", lambda *given: (made.append(given), original(*given))[1])
    return made


# What is bound


def test_methods_of_the_settings_are_those_of_the_deformers():
    assert [item[0] for item in METHOD_ITEMS] == list(DEFORMERS)
    assert set(PARTICLE_METHODS) == {name for name, module in DEFORMERS.items() if hasattr(module, "particles")}


def test_bind_fills_and_unbind_gives_everything_back(binds):
    obj, armature = add_body()
    before, at_rest = snapshot(obj), evaluated_points(obj)
    select(obj)
    assert bpy.ops.supple.bind(method="PARTICLES") == {"FINISHED"}
    assert len(binds) == 1
    update()
    assert len(binds) == 1
    count = settings_of(obj).particles.count
    assert count == live.find(obj).binding.count == particles_of(obj).count
    assert 0.5 * COUNT < count < 2 * COUNT
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


def test_count_cannot_be_set():
    obj, _ = add_body()
    with pytest.raises(AttributeError, match="read-only"):
        settings_of(obj).particles.count = 3


def test_what_bind_and_the_panel_tell():
    obj, armature = add_body(outward=False)
    other, _ = add_body()
    make_sheet(other)
    other.name = "Sheet"
    fill(obj, other)
    told = describe_bind([obj, other], "PARTICLES")
    assert told.startswith(f"Bound Tube, Sheet by PARTICLES: Tube: {settings_of(obj).particles.count} particles, ")
    assert "% of the skin is solid. " in told
    assert "Sheet: 0 particles, 0 % of the skin is solid. " in told
    assert describe_bind([obj], "PARTICLES").startswith("Bound Tube by PARTICLES: ")
    assert describe_bind([bpy.context.scene.objects["Rig"]], "DLB") == "Bound Rig by DLB"
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
    assert np.array_equal(evaluated_points(obj), evaluated_points(twin))


@pytest.mark.skipif(bool(NODES_PROBLEM), reason="this Blender has no such nodes")
def test_python_takes_over_from_nodes_and_gives_back():
    obj, armature = add_body()
    settings = settings_of(obj)
    settings.particles.radius = 0.15
    bind([obj], "DLBNT", "NODES")
    settings.method = "PARTICLES"
    update()
    assert settings.evaluate == "PYTHON"
    assert settings.evaluate_problem.startswith("PARTICLES cannot be evaluated by nodes")
    bend(armature)
    assert particles_of(obj).count == settings.particles.count > 0
    with pytest.raises(SkinningError, match="PARTICLES cannot be evaluated by nodes"):
        bind([obj], "PARTICLES", "NODES")

    settings.particles.group = "gone"
    settings.method = "PARTICLES_2010"
    assert settings.evaluate == "PYTHON"
    assert "has no vertex group 'gone'" in settings.message
    settings.particles.group = ""
    assert settings.evaluate_problem.startswith("PARTICLES_2010 cannot be evaluated by nodes")
    settings.method = "DLBNT"
    update()
    assert settings.evaluate == "NODES"
    assert settings.evaluate_problem == settings.message == ""
    assert settings.particles.count == 0


@pytest.mark.skipif(bool(NODES_PROBLEM), reason="this Blender has no such nodes")
def test_make_independent_forgets_what_was_chosen():
    obj, _ = add_body()
    bind([obj], "DLBNT", "NODES")
    settings_of(obj).particles.stiffness = 3.0
    make_independent([obj])
    assert settings_of(obj).particles.stiffness == 1.0
    assert not settings_of(obj).is_property_set("bound_space")


def test_progress_is_told():
    objects = [add_body()[0] for _ in range(2)]
    told = []
    bind(objects, "PARTICLES", "PYTHON", told.append)
    assert told == [0.0, 0.5]


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


@pytest.mark.parametrize(
    ("name", "value", "fills"),
    [
        ("stiffness", 8.0, 1), ("iterations", 40, 0), ("volume", 0.0, 0), ("target_count", 3 * COUNT, 1),
        ("smallest_radius", 0.07, 1),
    ],
)  # fmt: skip
def test_a_changed_choice_shows_at_once(binds, name, value, fills):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    before, count = evaluated_points(obj), settings_of(obj).particles.count
    default = getattr(settings_of(obj).particles, name)
    binds.clear()
    setattr(settings_of(obj).particles, name, value)
    update()
    update()
    after = evaluated_points(obj)
    assert len(binds) == fills
    assert distance(before, after) > (SHOWN if name != "volume" else 1e-5)
    assert (settings_of(obj).particles.count != count) == (name in ("target_count", "smallest_radius"))
    assert settings_of(obj).particles.count == live.find(obj).binding.count

    setattr(settings_of(obj).particles, name, default)
    update()
    assert np.array_equal(evaluated_points(obj), before)
    setattr(settings_of(obj).particles, name, value)
    fill(obj)
    assert np.array_equal(evaluated_points(obj), after)


def test_while_dragging_there_are_fewer_iterations(monkeypatch):
    obj, armature = add_body()
    settings_of(obj).particles.iterations_dragging = 2
    fill(obj)
    bend(armature)
    full = evaluated_points(obj)
    monkeypatch.setattr(preview, "is_dragging", lambda: True)
    bend(armature, 81)
    bend(armature)
    rough = evaluated_points(obj)
    assert distance(full, rough) > SHOWN
    assert bpy.app.timers.is_registered(preview.refine_dragged)
    assert preview.refine_dragged() == preview.BETWEEN_LOOKS
    monkeypatch.setattr(preview, "is_dragging", lambda: False)
    assert preview.refine_dragged() is None
    update()
    assert np.array_equal(evaluated_points(obj), full)
    settings_of(obj).particles.iterations = 2
    update()
    assert np.array_equal(evaluated_points(obj), rough)


def test_nothing_is_dragged_in_a_blender_at_rest():
    assert not preview.is_dragging()


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
    words = "'Tube' has no vertex group 'gone': choose another solid group, or none"
    with pytest.raises(SkinningError, match=words):
        bind([obj], "PARTICLES", "PYTHON")
    bind([obj], "DLBNT", "PYTHON")  # has no use for it
    assert not settings_of(obj).message
    settings_of(obj).method = "PARTICLES"
    update()
    assert settings_of(obj).message == words
    settings_of(obj).particles.group = ""
    update()
    bend(armature)
    assert settings_of(obj).message == ""
    assert particles_of(obj).volume is not None


# Frames


def add_animated_body() -> bpy.types.Object:
    obj, armature = add_body()
    animate_tube(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    return obj


def read_cache(path: Path) -> list[np.ndarray]:
    with open_cache(path):
        return [samples.copy() for samples in read_samples(path)]


def test_frames_do_not_depend_on_each_other():
    obj = add_animated_body()
    fill(obj)
    forward = [points_at(obj, frame) for frame in FRAMES]
    for frame in (5, 2, 8, 1):
        assert np.array_equal(points_at(obj, frame), forward[frame - 1])


def test_baked_frames_are_the_live_ones(tmp_path, binds):
    obj = add_animated_body()
    fill(obj)
    shown = [points_at(obj, frame) for frame in FRAMES]
    list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", FRAMES))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2"), shown, strict=True):
        assert np.array_equal(points, expected)
    list(bake.bake_shape_keys(obj, bpy.context.scene, FRAMES))
    for frame, expected in zip(FRAMES, shown, strict=True):
        assert distance(expected, points_at(obj, frame)) < 1e-5
    assert len(binds) == 1


def test_a_bake_has_its_own_iterations(tmp_path):
    obj = add_animated_body()
    fill(obj)
    shown = points_at(obj, 4)
    settings_of(obj).particles.iterations_bake = 24
    list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", range(4, 5)))
    assert np.array_equal(evaluated_points(obj), shown)
    baked = read_cache(tmp_path / "baked.pc2")[0]
    assert distance(shown, baked) > SHOWN
    settings_of(obj).particles.iterations = 24
    assert np.array_equal(points_at(obj, 4), baked)


def test_two_ranges_join_to_the_bytes_of_one(tmp_path):
    obj = add_animated_body()
    fill(obj)
    for name, frames in (("late", range(5, 9)), ("early", range(1, 5)), ("whole", FRAMES)):
        list(bake.bake_cache(obj, bpy.context.scene, tmp_path / name, frames))
        bpy.context.scene.frame_set(3)
    bake.join_caches([tmp_path / "early", tmp_path / "late"], tmp_path / "joined")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("is_bound", [False, True], ids=["bound by the bake", "bound before"])
def test_machines_share_a_headless_bake(tmp_path, capfd, is_bound):
    """Also of a file in which the object wanders through its armature: it is filled alike at each frame."""
    obj = add_animated_body()
    wander(obj)
    bpy.context.scene.frame_set(2)
    if is_bound:
        fill(obj)
    path = str(tmp_path / "body.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    for name, frames in (("whole", "1-8"), ("early", "1-4"), ("late", "5-8")):
        method = [] if is_bound else ["--method", "PARTICLES"]
        target = str(tmp_path / f"{name}.pc2")
        assert cli.main(["bake", path, "--object", "Tube", *method, "--frames", frames, "--output", target]) == 0
    said = capfd.readouterr().err
    assert is_bound or " particles, " in said
    parts = [str(tmp_path / f"{name}.pc2") for name in ("early", "late")]
    assert cli.main(["join", *parts, "--output", str(tmp_path / "joined.pc2")]) == 0
    assert (tmp_path / "joined.pc2").read_bytes() == (tmp_path / "whole.pc2").read_bytes()


def wander(obj: bpy.types.Object) -> None:
    """Keyframe the object's place, turn and size within its armature's space."""
    for frame, shift in ((1, 0.0), (8, 0.4)):
        obj.location, obj.rotation_euler, obj.scale = (shift, 0, 0), (0, 0.5 * shift, shift), (1 + shift,) * 3
        for path in ("location", "rotation_euler", "scale"):
            obj.keyframe_insert(path, frame=frame)


def test_an_object_that_moves_within_its_armature(binds):
    obj = add_animated_body()
    twin = add_dlbnt_twin(obj)
    for one in (obj, twin):
        wander(one)
    fill(obj)
    shapes = [points_at(obj, frame) for frame in FRAMES]
    assert len(binds) == 1
    assert settings_of(obj).message == ""
    assert all(distance(points_at(twin, frame), shapes[frame - 1]) < 0.15 for frame in FRAMES)
    assert np.array_equal(points_at(obj, 3), shapes[2])


class ParticleEngine(bpy.types.RenderEngine):
    """Renders nothing: takes down the tube's points."""

    bl_idname = "SUPPLE_TEST_PARTICLES"
    bl_label = "Particles"
    seen: list[np.ndarray] = []

    def render(self, depsgraph: bpy.types.Depsgraph) -> None:
        for obj in depsgraph.objects:
            if obj.type == "MESH" and obj.name == "Tube":
                self.seen.append(np.array([vertex.co for vertex in obj.data.vertices], np.float32))


@pytest.fixture
def engine(scene: bpy.types.Scene) -> Iterator[type[ParticleEngine]]:
    bpy.utils.register_class(ParticleEngine)
    scene.render.engine = ParticleEngine.bl_idname
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    yield ParticleEngine
    bpy.utils.unregister_class(ParticleEngine)


def test_a_render_has_the_points_of_the_viewport(tmp_path, monkeypatch, engine):
    obj = add_animated_body()
    fill(obj)
    scene = bpy.context.scene
    scene.frame_end, scene.render.filepath = 3, str(tmp_path / "picture")
    scene.render.resolution_x = scene.render.resolution_y = 8
    shown = [points_at(obj, frame) for frame in range(1, 4)]
    engine.seen.clear()
    monkeypatch.setattr(preview, "is_dragging", lambda: True)
    bpy.ops.render.render(animation=True)
    assert len(engine.seen) == 3
    for rendered, expected in zip(engine.seen, shown, strict=True):
        assert np.array_equal(rendered, expected)


# Files and undo


def test_a_saved_file_goes_on(tmp_path):
    obj, armature = add_body()
    obj.location = (0.3, 0, 0)
    fill(obj)
    bend(armature)
    settings_of(obj).particles.stiffness = 2.0
    update()
    shown, count = evaluated_points(obj), settings_of(obj).particles.count
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "body.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "body.blend"))
    obj = bpy.data.objects["Tube"]
    update()
    assert np.array_equal(evaluated_points(obj), shown)
    assert settings_of(obj).particles.count == count
    assert settings_of(obj).particles.stiffness == 2.0
    bend(bpy.data.objects["Rig"], 81)
    bend(bpy.data.objects["Rig"])
    assert np.array_equal(evaluated_points(obj), shown)
    assert particles_of(obj).count == settings_of(obj).particles.count == count


def test_undo():
    obj, armature = add_body()
    bend(armature)
    bpy.ops.ed.undo_push(message="built")
    select(obj)
    bpy.ops.supple.bind(method="PARTICLES")
    bpy.ops.ed.undo_push(message="bind")
    bound, count = evaluated_points(obj), settings_of(obj).particles.count
    settings_of(obj).particles.target_count = 3 * COUNT
    bpy.ops.ed.undo_push(message="count")  # as in the user interface: before the handlers have filled the mesh anew
    update()
    finer, more = evaluated_points(obj), settings_of(obj).particles.count
    assert more > 2 * count
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Tube"]
    assert np.array_equal(evaluated_points(obj), bound)
    assert settings_of(obj).particles.count == count
    bpy.ops.ed.redo()
    obj = bpy.data.objects["Tube"]
    assert np.array_equal(evaluated_points(obj), finer)
    assert settings_of(obj).particles.count == more
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    assert not settings_of(bpy.data.objects["Tube"]).is_bound
    assert settings_of(bpy.data.objects["Tube"]).particles.count == 0


def test_a_copy_has_its_own_particles():
    obj, armature = add_body()
    fill(obj)
    copy = add_twin(obj)
    update()
    settings_of(copy).particles.target_count = 3 * COUNT
    bend(armature)
    assert settings_of(copy).particles.count > 2 * settings_of(obj).particles.count > 0
    bpy.data.objects.remove(copy)
    update()
    assert set(particle_reports) == {obj.session_uid}


# Where there is nothing to fill, or little


def make_sheet(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for vertex in mesh.verts:
            vertex.co.z = 0.0


def make_plane(obj: bpy.types.Object) -> None:
    """Only half of the shell, open all around."""
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=[face for face in mesh.faces if face.calc_center_median().z < 0], context="FACES")


def make_holes(obj: bpy.types.Object) -> None:
    """Open at both ends, as sleeves are."""
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=[face for face in mesh.faces if len(face.verts) > 4], context="FACES_ONLY")


def remove_faces(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")


def make_point(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for vertex in mesh.verts:
            vertex.co = (0, 1, 0)


def make_islands(obj: bpy.types.Object) -> None:
    """Each face a patch of its own."""
    with edit(obj.data) as mesh:
        bmesh.ops.split_edges(mesh, edges=mesh.edges[:])
        for face in mesh.faces:
            middle = face.calc_center_median()
            for vertex in face.verts:
                vertex.co = middle + 0.8 * (vertex.co - middle)


def wrap_in_shells(obj: bpy.types.Object) -> None:
    """A second and a third skin around the body, crossing it."""
    with edit(obj.data) as mesh:
        for shift in (0.1, 0.2):
            made = bmesh.ops.duplicate(mesh, geom=mesh.verts[:122] + mesh.edges[:] + mesh.faces[: 26 * SIDES])
            for one in made["geom"]:
                if isinstance(one, bmesh.types.BMVert):
                    one.co.x += shift


def turn_inside_out(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        bmesh.ops.reverse_faces(mesh, faces=mesh.faces[:])


def move_bones_outside(obj: bpy.types.Object) -> None:
    obj.data.transform(Matrix.Translation((3, 0, 0)))


def add_loose_parts(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for place in range(5):
            mesh.verts.new((place, 4, 0))
        mesh.verts.ensure_lookup_table()
        mesh.edges.new(mesh.verts[-2:])


def remove_some_weights(obj: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(60)))


FAILURES: dict[Callable[[bpy.types.Object], None], bool | None] = {
    make_sheet: False, make_plane: False, make_holes: None, remove_faces: False, make_point: False,
    make_islands: False, wrap_in_shells: True, turn_inside_out: True, move_bones_outside: True,
    add_loose_parts: True, remove_some_weights: True,
}  # fmt: skip
"""Whether there is something to fill; None where either is right."""

MESSAGE_EXPECTED = {make_sheet, make_plane, remove_faces, make_point, make_islands, turn_inside_out}


@pytest.mark.parametrize("method", PARTICLE_METHODS)
@pytest.mark.parametrize("spoil", FAILURES)
def test_what_cannot_be_filled_is_told_and_follows_the_joints(spoil, method):
    obj, armature = add_body()
    settings_of(obj).particles.radius = 0.15
    spoil(obj)
    update()
    plain = add_dlbnt_twin(obj)
    before = snapshot(obj)
    fill(obj, method=method)
    bend(armature, 50)
    points, skinned, report = evaluated_points(obj), evaluated_points(plain), particles_of(obj)
    assert settings_of(obj).message == ""
    assert np.isfinite(points).all()
    if not report.count:
        assert report.messages
        assert np.array_equal(points, skinned)
    if FAILURES[spoil] is not None and method == "PARTICLES":
        assert bool(report.count) == FAILURES[spoil]
    if spoil in MESSAGE_EXPECTED and method == "PARTICLES":
        assert report.messages
    if report.count and method == "PARTICLES":
        assert distance(skinned, points) < 0.2
    armature.pose.bones["bone.1"].rotation_euler = (0, 0, 0)
    unbind([obj])
    assert snapshot(obj) == before


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_a_vertex_that_is_no_number_is_refused(method):
    obj, _ = add_body()
    obj.data.vertices[7].co.x = nan
    before = settings_of(obj).is_bound
    with pytest.raises(SkinningError, match=r"positions that are not numbers: repair the mesh and bind again"):
        bind([obj], method, "PYTHON")
    assert settings_of(obj).is_bound == before
    assert obj.session_uid not in particle_reports


def test_a_pose_that_is_no_number_is_told_and_passes():
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    armature.pose.bones["bone.1"].scale.x = nan
    update()
    assert "not numbers" in settings_of(obj).message
    armature.pose.bones["bone.1"].scale.x = 1.0
    update()
    assert settings_of(obj).message == ""
    assert np.array_equal(evaluated_points(obj), shown)


def test_a_mesh_that_breaks_while_bound_is_told():
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    place = obj.data.vertices[7].co.x
    obj.data.vertices[7].co.x = nan
    obj.data.update()
    update()
    assert "not numbers" in settings_of(obj).message
    obj.data.vertices[7].co.x = place
    obj.data.update()
    update()
    assert settings_of(obj).message == ""
    assert np.array_equal(evaluated_points(obj), shown)


# Besides


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_face_keys(method):
    """The keyed shape is what a mesh of that shape, filled as at rest, would be deformed to."""
    obj, armature = add_body()
    settings_of(obj).particles.radius = 0.15
    key = add_face_key(obj)
    fill(obj, method=method)
    bend(armature, 50)
    plain = evaluated_points(obj)
    key.value = 0.8
    update()
    keyed = evaluated_points(obj)
    assert 0.005 < distance(plain, keyed) < 0.2
    key.value = 0.0
    update()
    assert np.array_equal(evaluated_points(obj), plain)


def test_an_animated_face_key_bakes_as_it_is_shown(tmp_path, binds):
    obj = add_animated_body()
    animate_key(add_face_key(obj))
    fill(obj)
    shown = [points_at(obj, frame) for frame in FRAMES]
    list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", FRAMES))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2"), shown, strict=True):
        assert np.array_equal(points, expected)
    assert len(binds) == 1


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_a_modifier_above_moves_the_vertices_first(method):
    obj, armature = add_body()
    settings_of(obj).particles.radius = 0.15
    twin = add_twin(obj)
    obj.modifiers.new("Nothing", "CAST").factor = 0.0
    obj.modifiers.move(1, 0)
    fill(obj, twin, method=method)
    bend(armature, 50)
    assert distance(evaluated_points(twin), evaluated_points(obj)) < 2e-3
    obj.modifiers["Nothing"].factor = 0.3
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 0.01


def test_scaled_bones_take_the_flesh_along():
    obj, armature = add_body()
    plain = add_dlbnt_twin(obj)
    fill(obj)
    turn(armature, "bone.1", (0, 0, 0), (1.5, 1.5, 1.5))
    assert abs(volume_of(obj) / volume_of(plain) - 1.0) < 0.03
    assert distance(evaluated_points(plain), evaluated_points(obj)) < 0.05


def volume_of(obj: bpy.types.Object) -> float:
    points = evaluated_points(obj)[read_triangles(obj.data)].astype(float)
    return float(np.einsum("ti,ti->t", points[:, 0], np.cross(points[:, 1], points[:, 2])).sum()) / 6.0


def test_a_mesh_that_is_edited_is_filled_anew(binds):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    edited = bmesh.from_edit_mesh(obj.data)
    for vertex in edited.verts:
        vertex.co.x *= 1.5
    bmesh.update_edit_mesh(obj.data)
    update()
    assert len(binds) == 1
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert len(binds) == 2
    assert distance(shown, evaluated_points(obj)) > 0.02
    edited_points = evaluated_points(obj)
    fill(obj)
    assert np.array_equal(evaluated_points(obj), edited_points)


def test_an_edit_that_changes_nothing_fills_nothing(binds):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT", "OBJECT"):
        bpy.ops.object.mode_set(mode=mode)
        update()
    assert len(binds) == 1
    assert np.array_equal(evaluated_points(obj), shown)


def test_painted_weights_fill_anew(binds):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    obj.vertex_groups["bone.1"].add(list(range(100, 120)), 1.0, "REPLACE")
    obj.data.update()
    update()
    assert len(binds) == 2
    assert distance(shown, evaluated_points(obj)) > SHOWN


def test_faces_that_change_fill_anew(binds):
    obj, _ = add_body()
    fill(obj)
    remove_faces(obj)
    update()
    assert len(binds) == 2
    assert settings_of(obj).particles.count == 0


def test_strength_of_the_modifier():
    obj, armature = add_body()
    group = obj.vertex_groups.new(name="strength")
    armature_modifier(obj).vertex_group = "strength"
    group.add(list(range(125, len(obj.data.vertices))), 1.0, "REPLACE")
    fill(obj)
    bend(armature, 50)
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    assert np.abs(evaluated_points(obj)[:125] - rest[:125]).max() < 1e-5


# As it was published


def test_the_published_method_is_chosen_by_fill_and_radius():
    obj, armature = add_body()
    particles = settings_of(obj).particles
    particles.fill, particles.radius = "UNIFORM", 0.15
    fill(obj, method="PARTICLES_2010")
    count = particles.count
    assert count > 0
    bend(armature, 50)
    shown = evaluated_points(obj)
    particles.fill, particles.radius = "TWO_LEVEL", 0.12
    update()
    assert live.find(obj).binding.params.fill == "TWO_LEVEL"
    assert particles.count > count
    assert distance(shown, evaluated_points(obj)) > SHOWN
    particles.fill, particles.radius = "UNIFORM", 0.15
    update()
    assert np.array_equal(evaluated_points(obj), shown)


def test_the_published_method_bakes(tmp_path):
    obj = add_animated_body()
    settings_of(obj).particles.radius = 0.15
    fill(obj, method="PARTICLES_2010")
    shown = [points_at(obj, frame) for frame in (3, 4)]
    list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", range(3, 5)))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2"), shown, strict=True):
        assert np.array_equal(points, expected)
