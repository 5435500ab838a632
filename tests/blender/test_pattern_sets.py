"""Sets of patterns on real characters: where an anatomist would put them, the right way round, driven by their joint.

The points of reference are of anatomy books, measured on the mesh and from joint to joint: they know no landmarks.
"""

import itertools
import math

import bpy
import bmesh
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector
from scenes_patterns import amounts
from scenes_state import refuse

from benchmarks.generated import open_rigify
from scenes import add_object, add_tube, edit_bones, link, open_file, select
from supple.deformers import SkinningError
from supple.deformers.patterns.surface_points import locate_point, surface_frame
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_set, find_set_meshes
from supple.tasks.patterns.maps import bind_points, read_amounts
from supple.tasks.patterns.read import charts_of, find_center, find_sides
from supple.tasks.steps import take_all

NEAR = 0.03 / 1.7
"""Of the stature: 3 cm on a body of 1.7 m."""

JOINTS = {
    "human": {
        "hip": "thigh_{}", "shoulder": "upperarm_{}", "elbow": "lowerarm_{}", "wrist": "hand_{}", "sides": "lr",
        "spine": [f"spine_0{n}" for n in (1, 2, 3)], "body": "Body",
    },
    "mh_human": {
        "hip": "upperleg01.{}", "shoulder": "upperarm01.{}", "elbow": "lowerarm01.{}", "wrist": "wrist.{}",
        "sides": "LR", "spine": [f"spine0{n}" for n in (5, 4, 3, 2, 1)], "body": "mh_human_body",
    },
}  # fmt: skip
JOINTS["human_male"] = JOINTS["human"] | {"body": "Mannequin"}


def as_it_is(armature, meshes) -> None:
    """The character as it is in the file."""


def turned(armature, meshes) -> None:
    """All objects rotated by 90 degrees, and that applied to meshes and bones: it looks to +X."""
    for obj in (armature, *meshes):
        obj.data.transform(Matrix.Rotation(math.pi / 2, 4, "Z"))


def change_objects(armature, meshes, change: Matrix) -> None:
    for obj in (armature, *meshes):
        if obj.parent != armature:
            obj.matrix_world = change @ obj.matrix_world


def lying(armature, meshes) -> None:
    """Bones and meshes lie on their back, as those of many imported files; the objects stand them up."""
    rotation = Matrix.Rotation(-math.pi / 2, 4, "X")
    for obj in (armature, *meshes):
        obj.data.transform(rotation)
    change_objects(armature, meshes, rotation.inverted())


def in_centimeters(armature, meshes) -> None:
    """Bones and meshes are a hundred times as large, the objects as much smaller."""
    for obj in (armature, *meshes):
        obj.data.transform(Matrix.Scale(100.0, 4))
    change_objects(armature, meshes, Matrix.Scale(0.01, 4))


def mirrored(armature, meshes) -> None:
    """Left is right: bones that are named after the left are on the right."""
    flip = Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0))

    def flip_bones(bones) -> None:
        for bone in bones:
            bone.use_connect = False
        for bone in bones:
            axis = flip.to_3x3() @ bone.z_axis
            bone.head, bone.tail = flip @ bone.head, flip @ bone.tail
            bone.align_roll(axis)

    edit_bones(armature, flip_bones)
    for obj in meshes:
        obj.data.transform(flip)
        obj.data.flip_normals()


def scaled_by_minus_one(armature, meshes) -> None:
    """The armature object is mirrored, and its meshes with it."""
    change_objects(armature, meshes, Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0)))


def imported(armature, meshes) -> None:
    """As other programs export it: lying, in centimeters."""
    lying(armature, meshes)
    in_centimeters(armature, meshes)


VARIANTS = (as_it_is, imported, mirrored, scaled_by_minus_one)


def open_character(path, vary=as_it_is):
    """The armature of a file, at rest, and its body."""
    open_file(path)
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis = Matrix()
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH"]
    vary(armature, meshes)
    bpy.context.view_layer.update()
    return armature


class Reference:
    """The body in the world, from named joints and the mesh: +Z is up, and the toes say where the front is."""

    def __init__(self, armature, name: str) -> None:
        names = JOINTS[name]
        self.obj = bpy.data.objects[names["body"]]
        matrix = np.array(self.obj.matrix_world)
        points = np.array([vertex.co for vertex in self.obj.data.vertices]) @ matrix[:3, :3].T + matrix[:3, 3]
        self.points = points
        self.low, self.stature = points[:, 2].min(), np.ptp(points[:, 2])

        def joint(key: str, side: int) -> np.ndarray:
            bone = armature.data.bones[names[key].format(names["sides"][side])]
            return np.array(armature.matrix_world @ bone.head_local)

        self.joints = {key: (joint(key, 0), joint(key, 1)) for key in ("hip", "shoulder", "elbow", "wrist")}
        self.up = np.array((0.0, 0.0, 1.0))
        feet = points[points[:, 2] < self.low + 0.03 * self.stature].mean(axis=0)
        ankles = points[np.abs(points[:, 2] - self.low - 0.07 * self.stature) < 0.02 * self.stature].mean(axis=0)
        self.front = (feet - ankles) * (1, 1, 0)
        self.front /= np.linalg.norm(self.front)
        self.left = np.cross(self.up, self.front)

    def skin(self, inside: np.ndarray, toward: np.ndarray) -> np.ndarray:
        """Where a ray from inside leaves the skin: as far along it as the vertex that is nearest to it."""
        offsets = self.points - inside
        along = offsets @ toward
        beside = np.linalg.norm(offsets - along[:, None] * toward, axis=1)
        is_near = (along > 0.0) & (along < 0.12 * self.stature)
        return inside + toward * along[np.where(is_near, beside, np.inf).argmin()]

    def middle(self, key: str) -> np.ndarray:
        return 0.5 * (self.joints[key][0] + self.joints[key][1])

    def belly(self) -> np.ndarray:
        """The navel: at 60 % of the stature, in the middle of the front (anthropometric tables: 58 to 62 %)."""
        inside = self.middle("hip") * (1, 1, 0) + self.up * (self.low + 0.60 * self.stature)
        return self.skin(inside, self.front)

    def biceps(self, side: int) -> np.ndarray:
        """The belly of the biceps: half way from shoulder to elbow, on the side to which the elbow bends."""
        shoulder, elbow, wrist = (self.joints[key][side] for key in ("shoulder", "elbow", "wrist"))
        arm = (elbow - shoulder) / np.linalg.norm(elbow - shoulder)
        aside = (wrist - elbow) - arm * ((wrist - elbow) @ arm)
        if np.linalg.norm(aside) < 0.1 * np.linalg.norm(wrist - elbow):
            aside = self.front - arm * (self.front @ arm)
        return self.skin(0.5 * (shoulder + elbow), aside / np.linalg.norm(aside))

    def shoulder_blade(self, side: int) -> np.ndarray:
        """Middle of the blade, between the second and the seventh rib: of 1.7 m, 10 cm beside the spine, and 8 cm below
        the joint of the shoulder."""
        shoulder = self.joints["shoulder"][side]
        outward = np.sign((shoulder - self.middle("shoulder")) @ self.left) * self.left
        inside = self.middle("shoulder") + outward * 0.06 * self.stature - self.up * 0.045 * self.stature
        return self.skin(inside, -self.front)


def center_of(obj, pattern):
    """The middle of a pattern, its right side, its top and the skin's normal, in the world."""
    mesh = charts_of(obj).mesh
    center = find_center(mesh, pattern)
    matrix = np.array(obj.matrix_world)
    along, top = find_sides(mesh, center, pattern) @ matrix[:3, :3].T
    normal = np.linalg.inv(matrix[:3, :3]).T @ center.normal
    return (
        matrix[:3, :3] @ center.position + matrix[:3, 3],
        along / np.linalg.norm(along),
        top / np.linalg.norm(top),
        normal / np.linalg.norm(normal),
    )


def add_to(armature, region: str = "ALL"):
    report = take_all(add_set(armature, find_set_meshes(armature, (), armature, bpy.context.view_layer), region))
    return report, {name: (obj, obj.supple.patterns[name]) for obj, names in report.added.items() for name in names}


def near(patterns: dict, start: str, point: np.ndarray):
    """Of both sides' patterns, the one nearest to a point: names swap sides where a body is mirrored."""
    found = [pair for name, pair in patterns.items() if name.startswith(start)]
    return min(found, key=lambda pair: float(np.linalg.norm(center_of(*pair)[0] - point)))


def bend(armature, names, axis: Vector, angle: float) -> None:
    """Rotate bones by equal shares of an angle about an axis in the world, whatever their roll."""
    matrix = armature.matrix_world.to_3x3()
    axis = matrix.inverted() @ axis * math.copysign(1.0, matrix.determinant())
    for name in names:
        bone = armature.pose.bones[name]
        own = bone.bone.matrix_local.to_3x3().inverted() @ axis
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion(own.normalized(), angle / len(names))
    bpy.context.view_layer.update()


def amount_of(obj, pattern) -> float:
    """What the drivers have made of the pose, for one of the patterns that are shown as bumps."""
    return amounts(obj)[[one.name for one in settings_of(obj).patterns].index(pattern.name)]


def assert_where_an_anatomist_puts_them(reference, patterns, sides) -> None:
    wanted = [("Belly", reference.belly())]
    for side in range(2):
        wanted += [("Biceps", reference.biceps(side)), ("Shoulder blade", reference.shoulder_blade(side))]
    for start, point in wanted:
        obj, pattern = near(patterns, start, point)
        center, along, top, normal = center_of(obj, pattern)
        assert np.linalg.norm(center - point) < NEAR * reference.stature, (start, center, point)
        assert pattern.note == ""
        if start == "Biceps":  # the tendon points to the elbow
            elbow = min(reference.joints["elbow"], key=lambda joint: float(np.linalg.norm(joint - center)))
            assert along @ (elbow - center) / np.linalg.norm(elbow - center) > 0.8
        else:
            assert top @ reference.up > 0.8
            assert normal @ (reference.front if start == "Belly" else -reference.front) > 0.7
    for name, (side, sign) in itertools.product(("Shoulder blade", "Collar bone", "Ribs"), sides.items()):
        obj, pattern = patterns[f"{name} {side}"]
        assert sign * (center_of(obj, pattern)[0] - reference.middle("hip")) @ reference.left > 0.03
        assert pattern.image["supple_preset"].endswith(f"_{side[0].upper()}")


def assert_the_spine_brings_folds_out_only_forward(armature, spine, reference, patterns) -> None:
    forward, upward = (Vector(axis) for axis in (np.cross(reference.up, reference.front), reference.up))
    for axis, angle, least, most in (
        (forward, 0.0, 0.0, 0.0), (forward, 25.0, 0.1, 0.6), (forward, 60.0, 0.99, 1.0), (forward, -60.0, 0.0, 0.0),
        (upward, 57.0, 0.0, 0.2),
    ):  # fmt: skip
        bend(armature, spine, axis, math.radians(angle))
        assert least <= amount_of(*patterns["Belly"]) <= most, angle
    bend(armature, spine, upward, 0.0)


def assert_elbows_and_arms_bring_their_patterns_out(armature, bones, reference, patterns) -> None:
    for side in range(2):
        shoulder, elbow = (reference.joints[key][side] for key in ("shoulder", "elbow"))
        for start, bone, axis in (
            ("Biceps", "elbow", np.cross(elbow - shoulder, reference.biceps(side) - 0.5 * (shoulder + elbow))),
            ("Shoulder blade", "shoulder", np.cross(shoulder - reference.middle("shoulder"), reference.up)),
        ):
            obj, pattern = near(patterns, start, shoulder)
            rotated = bones[bone].format(bones["sides"][side])
            for angle, expected in ((1.55, 1.0), (-1.0, 0.0), (0.0, 0.0)):
                bend(armature, [rotated], Vector(axis), angle)
                assert amount_of(obj, pattern) == pytest.approx(expected, abs=0.01), (start, side, angle)


@pytest.mark.characters("mh_human", "human_male")
def test_a_set_lies_where_it_belongs_and_follows_its_joints(asset, character, subtests):
    for vary in VARIANTS if character == "human" else (as_it_is,):
        armature = open_character(asset(character), vary)
        bones, reference = JOINTS[character], Reference(armature, character)
        settings_of(reference.obj).pattern_display = "BUMP"
        report, patterns = add_to(armature)
        sides = {"left": 1.0, "right": -1.0} if vary != scaled_by_minus_one else {"left": -1.0, "right": 1.0}
        with subtests.test("places", vary=vary.__name__):
            assert report.skipped == []
            assert [obj.name for obj in report.added] == [bones["body"]]
            assert_where_an_anatomist_puts_them(reference, patterns, sides)
        with subtests.test("spine", vary=vary.__name__):
            assert_the_spine_brings_folds_out_only_forward(armature, bones["spine"], reference, patterns)
        with subtests.test("elbows", vary=vary.__name__):
            assert_elbows_and_arms_bring_their_patterns_out(armature, bones, reference, patterns)


def test_a_set_comes_once_on_the_skin_or_on_a_chosen_garment(asset):
    armature = open_character(asset("human"))
    bpy.context.view_layer.objects.active = armature
    body, tights = bpy.data.objects["Body"], bpy.data.objects["Tights"]
    assert bpy.ops.supple.pattern_set_add() == {"FINISHED"}
    assert (len(body.supple.patterns), len(tights.supple.patterns)) == (16, 0)
    refuse("already exists", bpy.ops.supple.pattern_set_add, region="ARMS")
    assert len(body.supple.patterns) == 16
    select(tights)
    bpy.ops.supple.pattern_set_add(region="LEGS")
    assert sorted(pattern.name for pattern in tights.supple.patterns) == [
        "Calf left", "Calf right", "Thigh left", "Thigh right",
    ]  # fmt: skip


def test_folds_of_a_set_come_where_the_skin_is_pushed_together(asset):
    armature, body = open_character(asset("human")), bpy.data.objects["Body"]
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.supple.pattern_set_add(region="TORSO", folds="COMPRESSION") == {"FINISHED"}
    found = [pattern for pattern in body.supple.patterns if pattern.driver == "COMPRESSION"]
    assert found == [pattern for pattern in body.supple.patterns if pattern.kind == "WRINKLE"] != []
    belly = body.supple.patterns.find("Belly")
    seen = []
    for angle in (0.0, 1.0, -0.6):
        bend(armature, JOINTS["human"]["spine"], Vector((1.0, 0.0, 0.0)), angle)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        seen.append(float(np.max(read_amounts(body, bind_points(body), depsgraph)[belly])))
    assert seen[0] == 0.0
    assert seen[1] > 0.5
    assert seen[2] < 0.1


def test_a_body_in_parts_has_each_pattern_on_its_part(asset):
    armature, body = open_character(asset("human")), bpy.data.objects["Body"]
    is_arm, is_leg = (lambda point: point.x > 0.16 and point.z > 0.8), (lambda point: point.x < 0.0 and point.z < 0.7)
    for name, is_inside in (
        ("Arm", is_arm), ("Leg", is_leg), ("Torso", lambda point: not (is_arm(point) or is_leg(point))),
    ):  # fmt: skip
        part, shape = body.copy(), bmesh.new()
        part.name, part.data = name, body.data.copy()
        link(part)
        shape.from_mesh(part.data)
        bmesh.ops.delete(shape, geom=[one for one in shape.verts if not is_inside(one.co)], context="VERTS")
        shape.to_mesh(part.data)
        shape.free()
    bpy.data.objects.remove(body)
    bpy.context.view_layer.update()
    report, patterns = add_to(armature)
    assert report.skipped == []
    names = ("Biceps left", "Biceps right", "Calf right", "Calf left", "Belly")
    assert [patterns[name][0].name for name in names] == ["Arm", "Torso", "Leg", "Torso", "Torso"]


def add_tubes(armature) -> bpy.types.Object:
    """A skin of tubes: around the torso, the neck, arms and legs."""
    heads = {bone.name.removeprefix("DEF-"): bone.head_local for bone in armature.data.bones}
    tubes = [(("spine", "spine.004"), 0.15), (("spine.003", "spine.006"), 0.06)]
    for side, names in itertools.product("LR", (("upper_arm", "forearm", "hand"), ("thigh", "shin", "foot"))):
        tubes += [(ends, 0.06) for ends in itertools.pairwise(f"{name}.{side}" for name in names)]
    shape = bmesh.new()
    for ends, radius in tubes:
        start, end = (heads[name] for name in ends)
        matrix = Matrix.Translation(0.5 * (start + end)) @ (end - start).to_track_quat("Z", "Y").to_matrix().to_4x4()
        depth = (end - start).length
        bmesh.ops.create_cone(shape, segments=32, radius1=radius, radius2=radius, depth=depth, matrix=matrix)
    bmesh.ops.subdivide_edges(shape, edges=shape.edges, cuts=3, use_grid_fill=True)
    mesh = bpy.data.meshes.new("Body")
    shape.to_mesh(mesh)
    shape.free()
    obj = add_object("Body", mesh)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    return obj


def test_rigify_has_the_set_by_its_deforming_bones(tmp_path):
    armature = open_rigify(tmp_path / "human.blend")
    obj = add_tubes(armature)
    settings_of(obj).pattern_display = "BUMP"
    report, patterns = add_to(armature)
    assert report.rig == "Rigify"
    assert report.skipped == []
    assert len(patterns) == 16
    assert all(pattern.bone.startswith("DEF-") for _, pattern in patterns.values())
    assert center_of(*patterns["Belly"])[3] @ (0, -1, 0) > 0.7
    for name in ("upper_arm_parent.L", "upper_arm_parent.R"):
        armature.pose.bones[name]["IK_FK"] = 1.0
    armature.pose.bones["forearm_fk.L"].rotation_mode = "XYZ"
    armature.pose.bones["forearm_fk.L"].rotation_euler = (1.6, 0.0, 0.0)
    armature.update_tag()
    bpy.context.view_layer.update()
    assert amount_of(*patterns["Biceps left"]) == pytest.approx(1.0, abs=0.02)


def test_an_unknown_rig_is_refused_and_nothing_changed():
    obj, armature = add_tube()
    with pytest.raises(SkinningError, match="No rig preset matches"):
        take_all(add_set(armature, [obj]))


def test_without_a_preset_the_shape_of_the_body_says_where_the_belly_is(asset):
    armature, obj = open_character(asset("human"), turned), bpy.data.objects["Body"]
    for number, bone in enumerate(armature.data.bones):
        bone.name = f"Node {number}"
    select(obj)
    bpy.ops.supple.pattern_add(preset="FOLDS_BELLY", bone="Node 3")
    center, _, top, normal = center_of(obj, obj.supple.patterns[0])
    assert normal @ (1, 0, 0) > 0.7  # it looks to +X
    assert top @ (0, 0, 1) > 0.8
    assert 0.5 * obj.dimensions[2] < center[2] < 1.1


def test_upright_is_as_the_body_has_it_also_where_the_object_lies(asset):
    open_character(asset("human"), lying)
    obj = bpy.data.objects["Body"]
    select(obj)
    bpy.ops.supple.pattern_add(preset="FOLDS_BELLY", bone="spine_02")
    pattern = obj.supple.patterns[0]
    assert (pattern.first_bone, pattern.bone) == ("spine_01", "spine_03")
    point = locate_point(charts_of(obj).mesh, np.array(pattern.location))
    assert surface_frame(point).shape == (2, 3)
    assert center_of(obj, pattern)[2] @ (0, 0, 1) > 0.8
