"""The particles in the 3D View: what is drawn where, in which color, and that it is made anew only when it changes."""

from collections.abc import Callable, Iterator
from types import ModuleType

import bpy
import gpu
import numpy as np
import pytest
from mathutils import Matrix

from scenes import add_tube, select, turn
from supple.deformers import Pose, SkinningError
from supple.tasks.skin import by_python
from supple.tasks.skin.particles import PlacedParticles, find_shown_objects, read_particles
from supple.viewport import outlines, weights
from supple.viewport import particles as overlay
from supple.viewport.drawing import LazyShader, color_joints, drawing_state

SIZE = 64
"""Of the pictures, in pixels; one is 1 / 16 of a unit."""

BACKGROUND = (0.0, 0.0, 0.0, 1.0)
FAR_PLANE = 100.0


def place(points: list, radii: list, joints: list | None = None) -> PlacedParticles:
    joints = [0] * len(radii) if joints is None else joints
    return PlacedParticles(np.array(points, float), np.array(radii, float), np.array(joints), (object(), None))


def bind_tube(method: str = "PARTICLES") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube bound with some 100 particles, which it shows."""
    obj, armature = add_tube(bones=2, rings=13, sides=12, length=2.0, radius=0.5, is_closed=True)
    obj.supple.particles.target_count = 100
    obj.supple.particles.radius = 0.15
    select(obj)
    bpy.ops.supple.bind(method=method, evaluate="PYTHON")
    obj.supple.particles.show = True
    bpy.context.view_layer.update()
    return obj, armature


def read(obj: bpy.types.Object, known: PlacedParticles | None = None) -> PlacedParticles:
    particles = read_particles(obj, bpy.context.evaluated_depsgraph_get(), known)
    assert particles is not None
    return particles


@pytest.mark.parametrize("method", ["PARTICLES", "PARTICLES_2010"])
def test_particles_are_read_at_rest_and_posed(method: str):
    obj, armature = bind_tube(method)
    kept = by_python.find(obj).skin
    rest = kept.deformer.particles(kept.binding)
    assert len(rest.radii) >= 20
    np.testing.assert_allclose(read(obj).points, rest.points, atol=1e-5)
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    posed = read(obj)
    bones = armature.pose.bones
    matrices = [bones[name].matrix @ bones[name].bone.matrix_local.inverted() for name in kept.skeleton.names]
    expected = kept.deformer.pose_particles(kept.binding, Pose(np.array(matrices)))
    np.testing.assert_allclose(posed.points, expected, atol=1e-5)
    assert np.abs(posed.points - rest.points).max() > 0.5
    np.testing.assert_array_equal(posed.radii, rest.radii)
    np.testing.assert_array_equal(posed.joints, rest.joints)
    obj.supple.particles.show_rest = True
    np.testing.assert_array_equal(read(obj).points, rest.points)


def test_particles_stand_in_the_objects_own_space():
    obj, armature = bind_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    before = read(obj).points
    for one in (obj, armature):
        one.location = (3.0, 1.0, -2.0)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(read(obj).points, before, atol=1e-5)
    obj.location = (3.5, 1.0, -2.0)
    bpy.context.view_layer.update()
    assert np.abs(read(obj).points - before).max() > 0.1  # the armature stays, and with it the place of the bend


def test_particles_are_read_anew_only_where_they_changed(monkeypatch: pytest.MonkeyPatch):
    obj, armature = bind_tube()
    first = read(obj)
    deformer, solved = by_python.find(obj).skin.deformer, []
    pose_particles = deformer.pose_particles
    monkeypatch.setattr(deformer, "pose_particles", lambda *given: solved.append(given) or pose_particles(*given))
    assert read(obj, first) is first
    assert solved == []
    turn(armature, "bone.1", (0.0, 0.0, 0.5))
    second = read(obj, first)
    assert second is not first
    assert read(obj, second) is second
    assert len(solved) == 1
    bpy.ops.supple.bind(method="PARTICLES", evaluate="PYTHON")
    assert read(obj, second) is not second


def test_particles_are_at_rest_while_bones_are_edited_or_do_not_fit_the_binding():
    obj, armature = bind_tube()
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    kept = by_python.find(obj).skin
    rest = kept.deformer.particles(kept.binding)
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    np.testing.assert_array_equal(read(obj).points, rest.points)
    bpy.ops.object.mode_set(mode="OBJECT")
    posed, kept = read(obj), by_python.find(obj).bound
    assert np.abs(posed.points - rest.points).max() > 0.5
    armature.data.bones["bone.0"].name = "other"
    bpy.context.view_layer.update()
    by_python.keep(obj, kept)
    assert np.abs(read(obj, posed).points - posed.points).max() > 0.5


def test_only_objects_with_particles_show_them():
    obj, _ = bind_tube()
    assert find_shown_objects() == [obj]
    obj.supple.particles.show = False
    assert find_shown_objects() == []
    obj.supple.particles.show = True
    bpy.ops.supple.bind(method="DLBNT", evaluate="PYTHON")
    assert find_shown_objects() == []
    assert read_particles(obj, bpy.context.evaluated_depsgraph_get()) is None
    bpy.ops.supple.unbind()
    assert find_shown_objects() == []


def test_each_particle_is_a_square_and_none_is_none():
    particles = place([(1, 2, 3), (4, 5, 6)], [0.5, 0.25])
    colors = np.array([(0.1, 0.2, 0.3), (0.4, 0.5, 0.6)])
    attributes, triangles = overlay.build_squares(particles, colors)
    assert {name: array.shape for name, array in attributes.items()} == {
        "ball": (8, 4), "color": (8, 4), "corner": (8, 2)
    }  # fmt: skip
    assert all(array.dtype == np.float32 for array in attributes.values())
    assert triangles.shape == (4, 3)
    assert triangles.dtype == np.int32
    for number in range(2):
        corners = slice(4 * number, 4 * number + 4)
        assert (attributes["ball"][corners, :3] == particles.points[number]).all()
        assert (attributes["ball"][corners, 3] == particles.radii[number]).all()
        np.testing.assert_allclose(attributes["color"][corners, :3], np.tile(colors[number], (4, 1)), rtol=1e-6)
        assert sorted(map(tuple, attributes["corner"][corners])) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
        own = triangles[2 * number : 2 * number + 2]
        assert set(own.ravel().tolist()) == set(range(4 * number, 4 * number + 4))
        assert sum(area_of(attributes["corner"][triangle]) for triangle in own) == 4.0  # all of it, once
    attributes, triangles = overlay.build_squares(place(np.empty((0, 3)), []), np.empty((0, 3)))
    assert len(triangles) == 0
    assert all(len(array) == 0 for array in attributes.values())


def area_of(corners: np.ndarray) -> float:
    """Area of a triangle of points in the plane, shape (3, 2), positive counter-clockwise."""
    return float(np.linalg.det(corners[1:] - corners[0]) / 2)


def test_bones_have_distinct_stable_colors_and_radii_go_from_warm_to_cool():
    colors = color_joints(np.arange(12))
    apart = np.linalg.norm(colors[:, None] - colors, axis=2)
    assert apart[~np.eye(12, dtype=bool)].min() > 0.1
    assert min(apart[i, i + 1] for i in range(11)) > 0.5
    assert colors.min() >= 0.0
    assert colors.max() <= 1.0
    np.testing.assert_array_equal(color_joints(np.array([7, 3])), colors[[7, 3]])
    colors = overlay.color_radii(np.array([0.4, 0.1, 0.2]))
    warmth = colors[:, 0] - colors[:, 2]
    assert warmth[1] > 0.5
    assert warmth[0] < -0.3
    np.testing.assert_allclose(colors[2], overlay.RAMP[2])  # twice and half as large: the middle
    assert np.isfinite(overlay.color_radii(np.full(3, 0.2))).all()
    assert overlay.color_radii(np.empty(0)).shape == color_joints(np.empty(0, int)).shape == (0, 3)


def test_squares_are_made_anew_only_where_they_changed(batches: list[dict]):
    obj, armature = bind_tube()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    first = overlay.update_drawn(obj, depsgraph, object())
    assert overlay.update_drawn(obj, depsgraph, object()) is first
    assert len(batches) == 1
    obj.supple.particles.color = "RADIUS"
    overlay.update_drawn(obj, depsgraph, object())
    assert len(batches) == 2
    assert (batches[0]["color"] != batches[1]["color"]).any()
    assert (batches[0]["ball"] == batches[1]["ball"]).all()
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    overlay.update_drawn(obj, depsgraph, object())
    assert len(batches) == 3
    assert np.abs(batches[2]["ball"] - batches[1]["ball"])[:, :3].max() > 0.5
    assert (batches[2]["color"] == batches[1]["color"]).all()
    assert obj.session_uid in overlay.cache
    obj.supple.particles.show = False
    overlay.draw()
    assert overlay.cache == {}


def test_an_object_that_can_not_be_posed_is_skipped(batches: list[dict]):
    obj, _ = bind_tube()
    next(modifier for modifier in obj.modifiers if modifier.type == "ARMATURE").object = None
    depsgraph = bpy.context.evaluated_depsgraph_get()
    with pytest.raises(SkinningError):
        read_particles(obj, depsgraph)
    assert overlay.update_drawn(obj, depsgraph, object()) is None
    assert batches == []


@pytest.mark.versions
@pytest.mark.parametrize(
    ("module", "draws"),
    [(overlay, ["draw"]), (weights, ["draw"]), (outlines, ["draw_posed", "draw_in_uv_editor"])],
    ids=["particles", "weights", "outlines"],
)
def test_unregister_removes_handlers(module: ModuleType, draws: list[str], monkeypatch: pytest.MonkeyPatch):
    installed: list[tuple] = []
    module.unregister()
    handlers = [(getattr(bpy.app.handlers, name), handler) for name, handler in getattr(module, "HANDLERS", ())]
    assert not any(handler in installed_ones for installed_ones, handler in handlers)
    with monkeypatch.context() as patch:
        for space in (bpy.types.SpaceView3D, bpy.types.SpaceImageEditor):
            patch.setattr(space, "draw_handler_add", lambda *given: installed.append(given) or given)
            patch.setattr(space, "draw_handler_remove", lambda handle, _region: installed.remove(handle))
        module.register()
        assert [given[0] for given in installed] == [getattr(module, name) for name in draws]
        module.unregister()
        assert installed == []
    module.register()
    assert all(installed_ones.count(handler) == 1 for installed_ones, handler in handlers)


class Noted:
    """Notes what is raised inside it."""

    problem: BaseException | None = None

    def __enter__(self) -> None:
        self.problem = None

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> bool:
        self.problem = problem
        return True


class PictureEngine(bpy.types.RenderEngine):
    """Runs a step where Blender has a graphics context: in a render, also with no window."""

    bl_idname = "SUPPLE_TEST_PICTURE"
    bl_label = "Picture"
    bl_use_gpu_context = True
    step: Callable[[], None]
    noted = Noted()
    """Of what a render raises, Blender only prints a traceback."""

    def render(self, _depsgraph: bpy.types.Depsgraph) -> None:
        with PictureEngine.noted:
            PictureEngine.step()


@pytest.fixture
def picture() -> Iterator[Callable[[Callable[[], None]], np.ndarray]]:
    """Run a drawing function, seen from above with X to the right, and return the pixels."""
    bpy.utils.register_class(PictureEngine)
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.render.engine, scene.render.resolution_x, scene.render.resolution_y = PictureEngine.bl_idname, 8, 8

    def take(draw: Callable[[], None], projection: Matrix | None = None) -> np.ndarray:
        taken = []
        PictureEngine.step = lambda: taken.append(draw_offscreen(draw, projection))
        bpy.ops.render.render()
        if PictureEngine.noted.problem is not None:
            raise PictureEngine.noted.problem
        return taken[0]

    if hasattr(gpu, "init"):
        gpu.init()
    yield take
    bpy.utils.unregister_class(PictureEngine)


def draw_offscreen(draw: Callable[[], None], projection: Matrix | None) -> np.ndarray:
    """Pixels, shape (SIZE, SIZE, 3), the lowest row first. By default 4 x 4 units are seen, without perspective."""
    depth = -1.0 / FAR_PLANE
    orthographic = Matrix(((0.5, 0, 0, 0), (0, 0.5, 0, 0), (0, 0, depth, 0), (0, 0, 0, 1)))
    offscreen = gpu.types.GPUOffScreen(SIZE, SIZE)
    with offscreen.bind(), gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
        buffer = gpu.state.active_framebuffer_get()
        buffer.clear(color=BACKGROUND, depth=1.0)
        gpu.matrix.load_matrix(Matrix.Translation((0.0, 0.0, -4.0)))
        gpu.matrix.load_projection_matrix(projection or orthographic)
        draw()
        pixels = np.array(buffer.read_color(0, 0, SIZE, SIZE, 4, 0, "FLOAT").to_list())
    offscreen.free()
    return pixels[..., :3]


def draw_particles(particles: PlacedParticles, to_world: Matrix | None = None) -> Callable[[], None]:
    def draw() -> None:
        shader = overlay.make_shader()
        attributes, triangles = overlay.build_squares(particles, np.eye(3)[particles.joints])
        gpu.matrix.multiply_matrix(to_world or Matrix())
        with drawing_state("LESS_EQUAL", mask=True):
            overlay.draw_spheres(overlay.batch_for_shader(shader, "TRIS", attributes, indices=triangles), shader)

    return draw


def coverage(pixels: np.ndarray) -> tuple[float, float, float, float]:
    """Left, right, lower and upper edge of what is drawn, in units."""
    rows, columns = np.nonzero(pixels.any(axis=2))
    edges = np.array([columns.min(), columns.max() + 1, rows.min(), rows.max() + 1])
    return tuple(edges / (SIZE / 4) - 2.0)


def test_a_sphere_is_drawn_where_it_is(picture: Callable):
    pixels = picture(draw_particles(place([(0.5, -0.5, 0.0)], [1.0])))
    np.testing.assert_allclose(coverage(pixels), (-0.5, 1.5, -1.5, 0.5), atol=0.07)
    covered = pixels.any(axis=2).sum() / (SIZE / 4) ** 2
    assert covered == pytest.approx(np.pi, rel=0.03)
    assert (pixels[..., 1:] == 0).all()  # joint 0 is red
    light = pixels[..., 0]
    assert light[light > 0].max() > 3 * light[light > 0].min()  # shaded
    # larger in perspective
    far, near = FAR_PLANE, 0.1
    projection = Matrix(
        ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, -(far + near) / (far - near), -2 * far * near / (far - near)),
         (0, 0, -1, 0))
    )  # fmt: skip
    pixels = picture(draw_particles(place([(0.0, 0.0, 2.0)], [0.8])), projection)
    half = 2.0 * 2.0 * 0.8 / np.sqrt(2.0**2 - 0.8**2)  # the cone from the eye that touches the sphere, 2 away
    np.testing.assert_allclose(coverage(pixels), (-half, half, -half, half), atol=0.07)
    # and as large as the object
    pixels = picture(draw_particles(place([(0.0, 0.0, 0.0)], [0.5]), Matrix.Diagonal((1.0, 3.0, 2.0, 1.0))))
    np.testing.assert_allclose(coverage(pixels), (-0.5, 0.5, -1.5, 1.5), atol=0.07)


@pytest.mark.versions
def test_nearer_spheres_hide_farther_ones(picture: Callable):
    points, radii = [(0.0, 0.0, 1.0), (0.3, 0.0, -1.0)], [0.5, 1.0]
    for order in ((0, 1), (1, 0)):
        particles = place([points[i] for i in order], [radii[i] for i in order], list(order))
        pixels = picture(draw_particles(particles))
        red, green = pixels[SIZE // 2, SIZE // 2, :2], pixels[SIZE // 2, SIZE // 2 + 14, :2]
        assert red[0] > 0.1
        assert red[1] == 0.0  # nothing of the other shines through
        assert green[0] == 0.0
        assert green[1] > 0.1


def test_spheres_are_in_front_of_the_skin(picture: Callable):
    particles = draw_particles(place([(0.0, 0.0, 0.0)], [1.0]))
    skin = gpu_square(height=3.0)
    alone, behind = picture(particles), picture(lambda: (skin(), particles()))
    assert behind[2, 2].tolist() == [1.0, 1.0, 1.0]
    center = behind[SIZE // 2, SIZE // 2]
    assert center[0] > center[1] + 0.3  # red over white
    assert (alone.any(axis=2) == (behind != 1.0).any(axis=2)).all()


def gpu_square(height: float) -> Callable[[], None]:
    """Draws a white square over all of the picture, nearer to the eye than what is at height 0, with its depth."""
    corners = [(x, y, height) for x, y in ((-3, -3), (3, -3), (3, 3), (-3, 3))]

    def draw() -> None:
        shader = gpu.shader.from_builtin("UNIFORM_COLOR")
        batch = overlay.batch_for_shader(shader, "TRIS", {"pos": corners}, indices=[(0, 1, 2), (0, 2, 3)])
        with drawing_state("LESS_EQUAL", mask=True):
            shader.uniform_float("color", (1.0, 1.0, 1.0, 1.0))
            batch.draw(shader)

    return draw


def draw_in_view(change: Callable[[bpy.types.SpaceView3D], None] = lambda _space: None) -> Callable[[], None]:
    """Draws as a 3D View does."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    change(area.spaces.active)

    def draw() -> None:
        with bpy.context.temp_override(window=window, area=area):
            overlay.draw()

    return draw


@pytest.mark.versions
def test_the_particles_of_the_scene_are_drawn(picture: Callable):
    obj, armature = bind_tube()
    rest = picture(draw_in_view())
    np.testing.assert_allclose(coverage(rest), (-0.5, 0.5, 0.0, 2.0), atol=0.2)
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    posed = picture(draw_in_view())
    assert coverage(posed)[0] < -1.0
    obj.supple.particles.show_rest = True
    np.testing.assert_array_equal(picture(draw_in_view()), rest)
    obj.supple.particles.color = "RADIUS"
    other = picture(draw_in_view())
    assert (other.any(axis=2) == rest.any(axis=2)).all()
    assert (other != rest).any()


def test_nothing_is_drawn_where_it_is_hidden(picture: Callable):
    obj, _ = bind_tube()
    for hidden in ("nothing", "overlays", "object", "particles"):
        draw = draw_in_view(lambda space, hidden=hidden: setattr(space.overlay, "show_overlays", hidden != "overlays"))
        obj.hide_set(hidden == "object")
        obj.supple.particles.show = hidden != "particles"
        bpy.context.view_layer.update()
        assert picture(draw).any() == (hidden == "nothing")


def test_a_shader_that_fails_is_tried_once(picture: Callable, monkeypatch: pytest.MonkeyPatch):
    bind_tube()
    monkeypatch.setattr(overlay, "lazy_shader", LazyShader(overlay.make_shader))
    monkeypatch.setattr(overlay, "FRAGMENT_SOURCE", "no shader")
    with pytest.raises(Exception, match="Shader"):
        picture(draw_in_view())
    assert not picture(draw_in_view()).any()
