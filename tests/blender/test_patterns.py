"""Skin patterns on objects: added, shown, mirrored, copied, saved, and taken away without a trace."""

import math

import bpy
import numpy as np
import pytest

from scenes import (
    add_tube,
    add_twin,
    animate_tube,
    bind,
    distance,
    evaluated_points,
    points_at,
    rest_points,
    select,
    snapshot,
    turn,
)
from supple.bridge.carriers import read_input
from supple.bridge.images import new_image
from supple.deformers import SkinningError
from supple.nodes.patterns import amount_input
from supple.settings.objects import settings_of
from supple.tasks.patterns import library as pattern_library
from supple.tasks.patterns.display import clear, update
from supple.tasks.patterns.edit import add_pattern, mirror_pattern, remove_pattern
from supple.tasks.patterns.library import LibraryEntry, ensure_image, find_entry
from supple.tasks.patterns.nodes import describe_shared, find_modifier

FLAT = 1e-7


def add_skin(uv: bool = False, **settings) -> tuple:
    """A fine tube, with a UV map if told so, and its armature."""
    obj, armature = add_tube(**{"rings": 48, "sides": 32} | settings)
    for polygon in obj.data.polygons:
        polygon.use_smooth = True
    if uv:
        add_uv(obj)
    return obj, armature


def add_uv(obj: bpy.types.Object) -> None:
    """A UV map of the tube: u around it, with a seam where x is largest, v along it."""
    layer = obj.data.uv_layers.new(name="UVMap")
    length = obj.data.vertices[-1].co.y
    for polygon in obj.data.polygons:
        corners = [obj.data.loops[loop].vertex_index for loop in polygon.loop_indices]
        angles = [math.atan2(obj.data.vertices[one].co.z, obj.data.vertices[one].co.x) % math.tau for one in corners]
        if max(angles) - min(angles) > math.pi:
            angles = [angle or math.tau for angle in angles]
        for loop, vertex, angle in zip(polygon.loop_indices, corners, angles, strict=True):
            layer.data[loop].uv = (angle / math.tau, obj.data.vertices[vertex].co.y / length)


def add_own(obj: bpy.types.Object, kind: str = "BULGE", bone: str = "bone.1", values=None, **given):
    """A pattern with a picture of its own: a round hill if not told otherwise."""
    if values is None:
        x, y = np.meshgrid(*2 * [np.linspace(-1, 1, 32)])
        values = np.clip(1.0 - x**2 - y**2, 0.0, 1.0) * (0.5 if kind == "WRINKLE" else 1.0)
        values += 0.5 if kind == "WRINKLE" else 0.0
    entry = LibraryEntry("IMAGE", "Hill", kind, "", start=0.2, full=1.2)
    return add_pattern(obj, entry, new_image("Hill", values), bone, **given)


def full_snapshot(*objects: bpy.types.Object) -> dict:
    """`snapshot`, and all else that patterns touch."""
    state = snapshot(*objects)
    state |= {name: sorted(one.name for one in getattr(bpy.data, name)) for name in ("images", "materials", "textures")}
    for material in bpy.data.materials:
        tree = material.node_tree
        if tree is not None:
            state[f"{material.name} nodes"] = sorted(node.name for node in tree.nodes)
            state[f"{material.name} links"] = sorted(
                (one.from_node.name, one.from_socket.identifier, one.to_node.name, one.to_socket.identifier)
                for one in tree.links
            )
    for obj in objects:
        data = obj.animation_data
        state[f"{obj.name} drivers"] = (
            sorted((one.data_path, one.array_index) for one in data.drivers) if data else None
        )
        state[f"{obj.name} keys"] = sorted(key for key in obj.keys() if key != "supple")
        state[f"{obj.name} slots"] = [slot.material and slot.material.name for slot in obj.material_slots]
    return state


def moved_by_patterns(obj: bpy.types.Object) -> float:
    """Largest distance by which an object's patterns displace it now."""
    modifier = find_modifier(obj)
    shown = evaluated_points(obj)
    modifier.show_viewport = False
    plain = evaluated_points(obj)
    modifier.show_viewport = True
    return float(np.linalg.norm(shown - plain, axis=1).max())


def amounts(obj: bpy.types.Object) -> list[float]:
    """What the drivers have made of the pose, for each pattern that is shown."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    modifier = find_modifier(evaluated)
    if modifier is not None:
        shown = [one.number for one in settings_of(obj).patterns if one.show and one.driven]
        names = {item.name for item in modifier.node_group.interface.items_tree}
        return [read_input(modifier, amount_input(one)) for one in shown if amount_input(one) in names]
    names = sorted(key for key in evaluated.keys() if "_amounts_" in key)
    return [value for name in names for value in evaluated[name]]


# Adding


@pytest.mark.parametrize("preset", list(pattern_library.drawn_entries()))
def test_each_pattern_of_the_library_is_flat_at_rest_and_comes_out_with_its_joint(preset):
    obj, armature = add_skin()
    bpy.ops.supple.pattern_add(preset=preset, bone="bone.1")
    settings = settings_of(obj)
    settings.pattern_display = "DISPLACEMENT"
    pattern = settings.patterns[0]
    pattern.size = (0.7, 0.7)  # large enough for the tube's mesh
    assert (pattern.bone, pattern.kind, pattern.note) == ("bone.1", find_entry(preset).kind, "")
    assert distance(rest_points(obj), evaluated_points(obj)) <= FLAT
    assert moved_by_patterns(obj) == 0.0
    axis = "XYZ".index(pattern.axis)
    rotation = [0.0, 0.0, 0.0]
    rotation[axis] = 0.5 * (pattern.start + pattern.full)
    turn(armature, "bone.1", rotation)
    assert amounts(obj)[0] == pytest.approx(0.5, abs=1e-5)
    half = moved_by_patterns(obj)
    rotation[axis] = pattern.full + 0.1
    turn(armature, "bone.1", rotation)
    assert amounts(obj)[0] == 1.0
    full = moved_by_patterns(obj)
    assert 0.1 * pattern.strength < half < full <= pattern.strength * 1.0001
    turn(armature, "bone.1", [-angle for angle in rotation])
    assert moved_by_patterns(obj) == 0.0


def test_the_operator_does_what_the_task_does():
    first, _ = add_skin(uv=True)
    twin = add_twin(first)
    select(first)
    bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.2", axis="Z", uv=(0.4, 0.5), angle=0.3, size=(0.2, 0.1))
    entry = find_entry("RIBS_L")
    add_pattern(twin, entry, ensure_image(entry), "bone.2", axis="Z", uv=(0.4, 0.5), angle=0.3, size=(0.2, 0.1))
    charts = []
    for obj in (first, twin):
        pattern = settings_of(obj).patterns[0]
        assert (pattern.axis, pattern.space, pattern.image) == ("Z", "UV", ensure_image(entry))
        assert tuple(pattern.uv) == pytest.approx((0.4, 0.5))
        assert tuple(pattern.size) == pytest.approx((0.2, 0.1))
        attribute = obj.data.attributes[f"supple_{settings_of(obj).pattern_key}_0"]
        values = np.empty(3 * len(obj.data.loops), np.float32)
        attribute.data.foreach_get("vector", values)
        charts.append(values)
    assert charts[0].any()
    assert (charts[0] == charts[1]).all()


def test_without_a_place_a_pattern_lies_on_the_skin_nearest_to_its_bone():
    obj, _ = add_skin()
    pattern = add_own(obj)
    assert pattern.space == "SURFACE"
    assert pattern.location[1] == pytest.approx(1.0, abs=0.05)  # the bone's head is at (0, 1, 0)
    assert math.hypot(pattern.location[0], pattern.location[2]) == pytest.approx(0.4, rel=0.02)


@pytest.mark.parametrize("given", ["BUMP", "DISPLACEMENT", "KIND"])
def test_kinds_are_shown_as_chosen(given):
    obj, _ = add_skin()
    for kind in ("WRINKLE", "BULGE", "BONE"):
        add_own(obj, kind)
    settings_of(obj).pattern_display = given
    modifier = find_modifier(obj)
    displaced = {item.name for item in modifier.node_group.interface.items_tree} if modifier else set()
    bumps = [group for group in bpy.data.node_groups if group.name.startswith("Supple Bump")]
    pictures = [node for group in bumps for node in group.nodes if node.bl_idname == "ShaderNodeTexImage"]
    count = {"BUMP": 0, "DISPLACEMENT": 3, "KIND": 1}[given]
    assert sum(name.startswith("Amount") for name in displaced) == (3 if count else 0)
    assert len(pictures) == 3 - count
    assert (modifier is not None) == (count > 0)
    assert len(bumps) == (count < 3)


def test_patterns_work_over_blenders_own_modifier_and_over_supple():
    obj, armature = add_skin()
    twin = add_twin(obj)
    for one in (obj, twin):
        select(one)
        add_own(one, bone="bone.1", location=(0, 1, 0.4))
    bind(twin, method="SSD")
    turn(armature, "bone.1", (0.8, 0, 0))
    assert moved_by_patterns(obj) > 0.001
    assert distance(evaluated_points(obj), evaluated_points(twin)) <= 1e-5
    bind(twin, method="DLBNT")
    assert moved_by_patterns(twin) == pytest.approx(moved_by_patterns(obj), rel=0.05)


def test_the_patterns_level_subdivides_before_it_displaces():
    obj, armature = add_skin()
    add_own(obj)
    turn(armature, "bone.1", (1.5, 0, 0))
    count = len(evaluated_points(obj))
    settings_of(obj).pattern_level = 2
    assert len(evaluated_points(obj)) > 15 * count
    assert moved_by_patterns_is_local(obj)


def moved_by_patterns_is_local(obj: bpy.types.Object) -> bool:
    """Whether, subdivided alike, patterns move some points and leave most where they are."""
    pattern = settings_of(obj).patterns[0]
    shown = evaluated_points(obj)
    with_strength, pattern.strength = pattern.strength, 0.0
    plain = evaluated_points(obj)
    pattern.strength = with_strength
    moved = np.linalg.norm(shown - plain, axis=1)
    return 0.5 * with_strength < moved.max() <= with_strength * 1.0001 and (moved == 0.0).mean() > 0.5


# Joints


@pytest.mark.parametrize(("axis", "direction"), [(a, d) for a in "XYZ" for d in ("POSITIVE", "NEGATIVE", "BOTH")])
def test_only_the_chosen_turning_counts(axis, direction):
    obj, armature = add_skin()
    pattern = add_own(obj, axis=axis)
    pattern.direction = direction
    for other in range(3):
        for sign in (1.0, -1.0):
            rotation = [0.0, 0.0, 0.0]
            rotation[other] = 0.7 * sign
            turn(armature, "bone.1", rotation)
            counts = other == "XYZ".index(axis) and direction in ("BOTH", "POSITIVE" if sign > 0 else "NEGATIVE")
            assert amounts(obj)[0] == pytest.approx(0.5 if counts else 0.0, abs=1e-5)


def test_the_published_law_is_a_logarithm():
    obj, armature = add_skin()
    pattern = add_own(obj)
    pattern.law, pattern.gain, pattern.start = "LOG", 0.8, 0.1
    turn(armature, "bone.1", (0.9, 0, 0))
    assert amounts(obj)[0] == pytest.approx(0.8 * math.log(0.8 + 1.0), abs=1e-5)


def test_the_angle_between_two_bones_is_counted_from_rest():
    obj, armature = add_skin()
    pattern = add_own(obj)
    pattern.other_bone, pattern.axis = "bone.0", "BETWEEN"
    assert pattern.note == ""
    assert amounts(obj)[0] == 0.0
    turn(armature, "bone.1", (0, 0, 0.7))
    assert amounts(obj)[0] == pytest.approx(0.5, abs=1e-4)


def test_nothing_jumps_in_an_animation_across_the_start_angle():
    obj, armature = add_skin(rings=24, sides=16)
    add_own(obj, location=(0, 1.5, 0.4))
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, -0.2), (121, 1.6)):
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    seen = []
    for frame in range(1, 122):
        bpy.context.scene.frame_set(frame)
        seen.append((bone.rotation_euler[0], amounts(obj)[0]))
    angles, values = np.array(seen).T
    assert (values[angles < 0.2] == 0.0).all()
    assert (values[angles > 1.2] == 1.0).all()
    bends = np.abs(np.diff(values, 2))
    assert bends.max() < 5.8 / 1.0**2 * np.diff(angles).max() ** 2 * 1.3  # the law bends by 10 / sqrt(3) at most
    assert np.abs(np.diff(values, 3)).max() < 0.35 * bends.max()


def test_amounts_do_not_need_python_scripts():
    obj, _ = add_skin()
    for law in ("RANGE", "LOG"):
        add_own(obj).law = law
    settings_of(obj).patterns[1].direction = "BOTH"
    drivers = [curve.driver for curve in obj.animation_data.drivers]
    assert len(drivers) == 2
    assert all(driver.is_simple_expression and driver.is_valid for driver in drivers)


# Removing


def make_material(obj: bpy.types.Object, linked: bool) -> bpy.types.Material:
    material = bpy.data.materials.new("Skin")
    if bpy.app.version < (5, 0):
        material.use_nodes = True
    obj.data.materials.append(material)
    if linked:
        tree = material.node_tree
        bump = tree.nodes.new("ShaderNodeBump")
        shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
        tree.links.new(bump.outputs["Normal"], shader.inputs["Normal"])
    return material


@pytest.mark.parametrize("material", ["none", "empty slot", "plain", "with a normal"])
@pytest.mark.parametrize("way", ["remove", "unbind", "clear"])
def test_all_that_patterns_added_is_gone_again(material, way):
    obj, armature = add_skin(uv=True)
    obj.modifiers.new("Subdivision", "SUBSURF")
    if material == "empty slot":
        obj.data.materials.append(None)
    elif material != "none":
        make_material(obj, material == "with a normal")
    if way == "remove":
        obj.driver_add("location", 0)
    before = full_snapshot(obj)
    if way == "unbind":
        bind(obj)
    for preset in ("FOLDS_BELLY", "BULGE_STEEP", "RIBS_L"):
        bpy.ops.supple.pattern_add(preset=preset, bone="bone.1")
    turn(armature, "bone.1", (0.5, 0, 0))
    assert full_snapshot(obj) != before
    turn(armature, "bone.1")
    armature.pose.bones["bone.1"].rotation_mode = "QUATERNION"
    if way == "remove":
        for index in (2, 0, 0):
            bpy.ops.supple.pattern_remove(index=index)
    elif way == "unbind":
        bpy.ops.supple.unbind()
    else:
        assert clear(obj) == 3
    assert full_snapshot(obj) == before
    assert not settings_of(obj).patterns


def test_what_was_linked_to_the_normal_goes_through_the_bumps():
    obj, _ = add_skin()
    tree = make_material(obj, linked=True).node_tree
    add_own(obj, "WRINKLE")
    shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    group = shader.inputs["Normal"].links[0].from_node
    assert group.bl_idname == "ShaderNodeGroup"
    assert group.inputs["Normal"].links[0].from_node.bl_idname == "ShaderNodeBump"


def test_removing_one_leaves_the_others_as_they_are():
    obj, armature = add_skin()
    add_own(obj, location=(0, 0.6, 0.4))
    add_own(obj, location=(0, 2.4, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    both = evaluated_points(obj)
    remove_pattern(obj, 0)
    one = evaluated_points(obj)
    assert distance(both, one) > 0.001
    far = rest_points(obj)[:, 1] > 1.8
    assert np.abs(both - one)[far].max() <= 1e-6
    assert [pattern.name for pattern in settings_of(obj).patterns] == ["Hill.001"]


# Objects that share things


def test_objects_that_share_a_material_have_their_own_bumps():
    first, _ = add_skin()
    material = make_material(first, linked=True)
    before = full_snapshot(first)
    second = add_twin(first)
    for obj in (first, second):
        add_own(obj, "WRINKLE")
    groups = [node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeGroup"]
    assert len(groups) == 2
    clear(first)
    groups = [node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeGroup"]
    assert [node.node_tree.name for node in groups] == [f"Supple Bump {second.name}"]
    clear(second)
    for image in list(bpy.data.images):
        bpy.data.images.remove(image)
    bpy.data.objects.remove(second)
    bpy.data.meshes.remove(next(mesh for mesh in bpy.data.meshes if not mesh.users))
    assert full_snapshot(first) == before


def test_a_shared_material_is_told():
    first, _ = add_skin()
    make_material(first, linked=False)
    assert describe_shared(first) == ""
    add_own(first, "WRINKLE")
    assert describe_shared(first) == ""
    add_twin(first)
    assert describe_shared(first).startswith("Shared material 'Skin' looks as before on 1 other objects")


def test_uv_islands_that_lie_on_one_another_are_told_and_only_one_has_the_pattern():
    obj, armature = add_skin(uv=True)
    for polygon in obj.data.polygons:
        loops = [obj.data.uv_layers[0].data[index] for index in polygon.loop_indices]
        if sum(loop.uv[0] for loop in loops) / len(loops) > 0.5:
            for loop in loops:
                loop.uv[0] -= 0.5
    pattern = add_own(obj, uv=(0.25, 0.5), size=(0.1, 0.1))
    assert pattern.note.startswith("1 other UV islands lie there, too")
    turn(armature, "bone.1", (1.5, 0, 0))
    modifier = find_modifier(obj)
    shown = evaluated_points(obj)
    modifier.show_viewport = False
    moved = np.linalg.norm(shown - evaluated_points(obj), axis=1) > 1e-4
    sides = np.sign(rest_points(obj)[moved, 2])
    assert len(sides) > 5
    assert abs(sides.sum()) == len(sides)


@pytest.mark.parametrize("shares_mesh", [False, True])
def test_a_copy_is_edited_without_touching_the_original(shares_mesh):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    add_own(obj, "WRINKLE", location=(0, 1.5, -0.4))
    settings_of(obj).pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (1.5, 0, 0))
    copy = obj.copy()
    if not shares_mesh:
        copy.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    before = evaluated_points(obj)
    assert distance(before, evaluated_points(copy)) <= 1e-6
    settings_of(copy).patterns[0].location = (0, 2.5, 0.4)
    assert distance(before, evaluated_points(copy)) > 0.004
    assert distance(before, evaluated_points(obj)) <= 1e-6
    clear(copy)
    assert distance(before, evaluated_points(obj)) <= 1e-6
    assert settings_of(obj).patterns[0].note == ""


def test_patterns_survive_saving_and_opening(tmp_path):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "file.blend"))
    obj = bpy.data.objects["Tube"]
    assert distance(before, evaluated_points(obj)) <= 1e-6
    settings_of(obj).patterns[0].strength *= 2.0
    assert distance(before, evaluated_points(obj)) > 0.004
    clear(obj)
    assert find_modifier(obj) is None


def test_an_appended_object_brings_its_patterns(tmp_path):
    obj, armature = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    add_own(obj, "WRINKLE")
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    path = str(tmp_path / "file.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    found = []
    for _ in range(2):
        with bpy.data.libraries.load(path) as (_, wanted):
            wanted.objects = ["Tube", "Rig"]
        for one in wanted.objects:
            bpy.context.scene.collection.objects.link(one)
        found.append(wanted.objects[0])
    for one in found:
        assert distance(before, evaluated_points(one)) <= 1e-6
    settings_of(found[1]).patterns[0].strength = 0.2
    assert distance(before, evaluated_points(found[0])) <= 1e-6
    assert distance(before, evaluated_points(found[1])) > 0.01


def test_undo_takes_back_what_was_added():
    bpy.ops.ed.undo_push(message="Before")
    obj, armature = add_skin()
    bpy.ops.ed.undo_push(message="Tube")
    before = full_snapshot(obj)
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone="bone.1")
    bpy.ops.ed.undo_push(message="Pattern")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    assert full_snapshot(obj) == before
    bpy.ops.ed.redo()
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    turn(armature, "bone.1", (2.3, 0, 0))
    assert moved_by_patterns(obj) > 0.01


# Following changes


def test_a_changed_mesh_has_its_patterns_laid_anew():
    obj, armature = add_skin()
    pattern = add_own(obj, location=(0, 1.5, 0.4))
    turn(armature, "bone.1", (1.5, 0, 0))
    state = settings_of(obj).pattern_state
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=1)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    assert settings_of(obj).pattern_state != state
    assert pattern.note == ""
    assert moved_by_patterns(obj) > 0.5 * pattern.strength


def test_a_renamed_bone_goes_on_driving():
    obj, armature = add_skin()
    add_own(obj)
    armature.data.bones["bone.1"].name = "Elbow"
    bpy.context.view_layer.update()
    turn(armature, "Elbow", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0
    assert (settings_of(obj).patterns[0].bone, settings_of(obj).patterns[0].note) == ("Elbow", "")
    assert moved_by_patterns(obj) > 0.001


def test_a_deleted_bone_is_noted_and_the_others_stay():
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, bone="bone.2")
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones.remove(armature.data.edit_bones["bone.1"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    notes = [pattern.note for pattern in settings_of(obj).patterns]
    assert notes == ["'Rig' has no bone 'bone.1': choose another one", ""]
    turn(armature, "bone.2", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0


# Places


def test_a_pattern_keeps_its_place_from_uv_to_surface_and_back():
    obj, armature = add_skin(uv=True)
    pattern = add_own(obj, uv=(0.3, 0.5), angle=0.4, size=(0.12, 0.1))
    turn(armature, "bone.1", (1.5, 0, 0))
    before = evaluated_points(obj)
    pattern.space = "SURFACE"
    assert pattern.note == ""
    around = 0.8 * math.pi  # of the tube: what u = 1 is worth; v = 1 is 3
    lengths = [math.hypot(x * around, y * 3.0) for x, y in ((math.cos(0.4), math.sin(0.4)),)]
    assert pattern.size[0] == pytest.approx(0.12 * lengths[0], rel=0.02)
    on_surface = evaluated_points(obj)
    assert distance(before, on_surface) < 0.01
    pattern.space = "UV"
    assert tuple(pattern.uv) == pytest.approx((0.3, 0.5), abs=0.002)
    assert pattern.turn == pytest.approx(0.4, abs=0.02)
    assert distance(before, evaluated_points(obj)) < 0.002


def test_a_seam_cuts_a_pattern_in_uv_and_is_noted_but_not_on_the_surface():
    obj, armature = add_skin(uv=True)
    pattern = add_own(obj, uv=(0.97, 0.5), size=(0.2, 0.1))
    assert pattern.note.startswith("A UV seam cuts the pattern")
    turn(armature, "bone.1", (1.5, 0, 0))
    posed = evaluated_points(obj)
    pattern.space = "SURFACE"
    assert pattern.note == ""
    assert distance(posed, evaluated_points(obj)) > 0.002  # what was cut off is there now


@pytest.mark.parametrize("space", ["UV", "SURFACE"])
@pytest.mark.parametrize("axis", "XYZ")
def test_a_mirrored_pattern_is_the_mirror_image(space, axis):
    obj, armature = add_skin(uv=True)
    for number, name in enumerate(("Arm.L", "Arm.R"), start=1):
        armature.data.bones[f"bone.{number}"].name = name
    ramp = np.tile(np.linspace(0, 1, 16), (16, 1)) * np.linspace(0, 1, 16)[:, None]
    given = {"uv": (0.15, 0.5), "size": (0.15, 0.15)} if space == "UV" else {"location": (0.3, 1.5, 0.25)}
    source = add_own(obj, bone="Arm.L", values=ramp, axis=axis, angle=0.3, **given)
    source.name, source.strength = "Muscle.L", 0.05
    mirrored = mirror_pattern(obj, 0)
    assert (mirrored.name, mirrored.bone) == ("Muscle.R", "Arm.R")
    assert mirrored.direction == ("POSITIVE" if axis == "X" else "NEGATIVE")
    for curve in obj.animation_data.drivers:
        curve.driver.expression = "a*0+1"
    bpy.context.view_layer.update()
    raised = evaluated_points(obj) - rest_points(obj)
    points = rest_points(obj)
    opposite = [int(np.square(points - point * (-1, 1, 1)).sum(axis=1).argmin()) for point in points]
    assert np.abs(raised).max() > 0.02
    assert np.abs(raised - raised[opposite] * (-1, 1, 1)).max() < 0.12 * np.abs(raised).max()


# Bad input


def stretched_uv(obj):
    add_uv(obj)
    for one in obj.data.uv_layers[0].data:
        one.uv = (0.5, one.uv[1])


BAD = {
    "no armature": (lambda obj, _: obj.modifiers.clear(), {}, "'Tube' has no armature to drive patterns: parent it"),
    "no bone": (lambda *_: None, {"bone": ""}, "No bone drives the pattern: choose one"),
    "another bone": (lambda *_: None, {"bone": "Tail"}, "'Rig' has no bone 'Tail': choose another one"),
    "no UV map": (lambda *_: None, {"uv": (0.5, 0.5)}, "The mesh has no UV map: unwrap it, or lay the pattern on the"),
    "beside the UV map": (lambda obj, _: add_uv(obj), {"uv": (1.5, 0.5)}, "There is no face at UV"),
    "UV map of no size": (lambda obj, _: stretched_uv(obj), {"uv": (0.5, 0.5)}, "UV"),
    "zero size": (lambda *_: None, {"size": (0.0, 0.1)}, "size"),
    "negative size": (lambda *_: None, {"size": (0.1, -0.1)}, "size"),
    "size not a number": (lambda *_: None, {"size": (0.1, math.nan)}, "size"),
    "no faces": (lambda obj, _: obj.data.clear_geometry(), {}, "'Tube' has no faces: select a mesh with faces"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_changed(case):
    spoil, given, message = BAD[case]
    obj, armature = add_skin()
    spoil(obj, armature)
    entry = find_entry("BULGE_STEEP")
    image = ensure_image(entry)
    before = full_snapshot(obj)
    with pytest.raises(SkinningError, match=message):
        add_pattern(obj, entry, image, **{"bone": "bone.1"} | given)
    assert full_snapshot(obj) == before
    assert not settings_of(obj).patterns


def test_the_operator_says_what_is_wrong_and_leaves_no_picture_behind():
    obj, _ = add_skin()
    with pytest.raises(RuntimeError, match="'Rig' has no bone 'Tail': choose another one"):
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="Tail")
    assert not bpy.data.images
    assert not settings_of(obj).patterns
    with pytest.raises(RuntimeError, match="There is no image to add: choose one"):
        bpy.ops.supple.pattern_add(preset="IMAGE", bone="bone.1")
    with pytest.raises(RuntimeError, match="Cannot read"):
        bpy.ops.supple.pattern_add(preset="IMAGE", bone="bone.1", filepath="/nowhere/at/all.png")
    assert not bpy.data.images


def test_edit_mode_has_to_be_left_first():
    obj, _ = add_skin()
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="Leave Edit Mode first"):
        bpy.ops.supple.pattern_add(preset="RIBS_L", bone="bone.1")
    with pytest.raises(SkinningError, match="'Tube' is in Edit Mode: leave it first"):
        add_pattern(obj, find_entry("RIBS_L"), ensure_image(find_entry("RIBS_L")), "bone.1")
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("full", 0.1, "complete at 5.7 degrees, before it starts at 11.5: make the full angle the larger one"),
        ("image", None, "The pattern has no picture: choose one"),
        ("bone", "Tail", "has no bone 'Tail': choose another one"),
        ("axis", "BETWEEN", "No bone drives the pattern: choose one"),
        ("size", (0.0, 0.1), "size"),
        ("space", "UV", "The mesh has no UV map: unwrap it first"),
    ],
)
def test_a_setting_that_makes_no_sense_is_noted_and_its_pattern_not_shown(name, value, note):
    obj, armature = add_skin()
    add_own(obj)
    add_own(obj, location=(0, 2.5, 0.4))
    pattern = settings_of(obj).patterns[0]
    good = getattr(pattern, name)
    good = tuple(good) if name == "size" else good
    setattr(pattern, name, value)
    assert note in pattern.note
    turn(armature, "bone.1", (1.5, 0, 0))
    assert amounts(obj)[0] == 1.0  # the other one
    setattr(pattern, name, good)
    assert pattern.note == ""


def test_pictures_that_are_no_height_maps_are_noted():
    obj, _ = add_skin()
    pattern = add_own(obj)
    colored = bpy.data.images.new("Colored", 8, 8, is_data=True)
    colored.pixels[:] = [1.0, 0.2, 0.0, 1.0] * 64
    pattern.image = colored
    assert "convert it to grey" in pattern.note
    bent = new_image("Bent", np.ones((8, 8)))
    bent.colorspace_settings.name = "sRGB"
    pattern.image = bent
    assert pattern.note == "Image 'Bent' is read as sRGB, which bends its heights: set it to Non-Color"


def test_a_material_that_can_not_bump_is_told_and_displacement_goes_on():
    obj, armature = add_skin()
    material = make_material(obj, linked=False)
    material.node_tree.nodes.clear()
    add_own(obj, "WRINKLE")
    message = settings_of(obj).pattern_message
    assert message == (
        "Material 'Skin' has no shader that takes a normal: give it one, or show patterns as Displacement."
    )
    settings_of(obj).pattern_display = "DISPLACEMENT"
    assert settings_of(obj).pattern_message == ""
    turn(armature, "bone.1", (1.5, 0, 0))
    assert moved_by_patterns(obj) > 0.001


@pytest.mark.skipif(bpy.app.version >= (5, 0), reason="materials always have nodes from Blender 5.0 on")
def test_a_material_without_nodes_is_told():
    obj, _ = add_skin()
    make_material(obj, linked=False).use_nodes = False
    add_own(obj, "WRINKLE")
    assert settings_of(obj).pattern_message.startswith("Material 'Skin' has no nodes: switch Use Nodes on")


@pytest.mark.parametrize("operator", ["pattern_remove", "pattern_mirror", "pattern_save"])
def test_operators_need_a_pattern(operator):
    add_skin()
    with pytest.raises(RuntimeError, match="Add a pattern first"):
        getattr(bpy.ops.supple, operator)()


def test_an_index_that_is_not_there_is_refused():
    obj, _ = add_skin()
    add_own(obj)
    with pytest.raises(RuntimeError, match="'Tube' has 1 patterns, and none of index 3: choose one in the list"):
        bpy.ops.supple.pattern_remove(index=3)


def test_mirroring_needs_another_side():
    obj, _ = add_skin()
    add_own(obj, location=(0, 1.5, 0.4))
    with pytest.raises(SkinningError, match="lies in the middle of the body"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1
    for vertex in obj.data.vertices:
        vertex.co.x += 3.0
    update(obj)
    settings_of(obj).patterns[0].location = (3.0, 1.5, 0.4)
    with pytest.raises(SkinningError, match="not symmetrical in X"):
        mirror_pattern(obj, 0)
    assert len(settings_of(obj).patterns) == 1


# The library


def test_a_pattern_saved_to_the_library_comes_back_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(bpy.utils, "extension_path_user", lambda *_args, **_given: str(tmp_path))
    obj, _ = add_skin()
    pattern = add_own(obj, location=(0, 1.5, 0.4))
    pattern.name, pattern.axis, pattern.start = "My Hill", "Z", 0.3
    bpy.ops.supple.pattern_save()
    assert "USER_My_Hill" in pattern_library.all_entries()
    bpy.ops.supple.pattern_add(preset="USER_My_Hill", bone="bone.2")
    first, again = settings_of(obj).patterns
    for name in ("kind", "axis", "start", "full"):
        assert getattr(again, name) == pytest.approx(getattr(first, name))
    assert tuple(again.size) == pytest.approx(tuple(first.size), rel=1e-3)
    assert again.strength == pytest.approx(first.strength, rel=1e-3)
    values = [np.array(one.image.pixels[:]).reshape(32, 32, -1)[..., 0] for one in (first, again)]
    assert np.abs(values[0] - values[1]).max() <= 1e-5
    bpy.ops.supple.pattern_forget(preset="USER_My_Hill")
    assert "USER_My_Hill" not in pattern_library.all_entries()
    with pytest.raises(RuntimeError, match="There is no saved pattern 'USER_My_Hill'"):
        bpy.ops.supple.pattern_forget(preset="USER_My_Hill")


def test_patterns_of_an_animation_are_the_same_in_any_order():
    obj, armature = add_skin()
    animate_tube(armature)
    add_own(obj, location=(0, 1.5, 0.4))
    forward = [points_at(obj, frame) for frame in (2, 4, 6)]
    backward = [points_at(obj, frame) for frame in (6, 4, 2)]
    for one, other in zip(forward, reversed(backward), strict=True):
        assert (one == other).all()
