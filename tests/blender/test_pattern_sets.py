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
from scenes_patterns import amounts, full_snapshot

from benchmarks.generated import open_rigify
from scenes import select
from supple.deformers import SkinningError
from supple.deformers.patterns.surface_points import locate_point, surface_frame
from supple.settings.objects import settings_of
from supple.tasks.patterns.layout import charts_of, find_center, find_sides
from supple.tasks.patterns.maps import bind_points, read_amounts
from supple.tasks.patterns.sets import add_set, find_set_meshes

pytestmark = pytest.mark.python_only("patterns lie alike, whatever evaluates the skin under them")

NEAR = 0.03 / 1.7
"""Of the stature: 3 cm on a body of 1.7 m."""

JOINTS = {
    "mh_human": {
        "hip": "upperleg01.{}", "shoulder": "upperarm01.{}", "elbow": "lowerarm01.{}", "wrist": "wrist.{}",
        "sides": "LR", "spine": [f"spine0{n}" for n in (5, 4, 3, 2, 1)], "body": "mh_human_body",
    },
    "mh_human_game": {
        "hip": "thigh_{}", "shoulder": "upperarm_{}", "elbow": "lowerarm_{}", "wrist": "hand_{}", "sides": "lr",
        "spine": [f"spine_0{n}" for n in (1, 2, 3)], "body": "mh_human_game_body",
    },
    "human_male": {
        "hip": "thigh_{}", "shoulder": "upperarm_{}", "elbow": "lowerarm_{}", "wrist": "hand_{}", "sides": "lr",
        "spine": [f"spine_0{n}" for n in (1, 2, 3)], "body": "Mannequin",
    },
}  # fmt: skip


def as_it_is(armature, meshes) -> None:
    """The character as it is in the file."""


def turned(armature, meshes) -> None:
    """All objects rotated by 90 degrees, and that applied to meshes and bones: it looks to +X."""
    rotation = Matrix.Rotation(math.pi / 2, 4, "Z")
    armature.data.transform(rotation)
    for obj in meshes:
        obj.data.transform(rotation)


def lying(armature, meshes) -> None:
    """Bones and meshes lie on their back, as those of many imported files; the objects stand them up."""
    rotation = Matrix.Rotation(-math.pi / 2, 4, "X")
    for obj in (armature, *meshes):
        obj.data.transform(rotation)
    armature.matrix_world = rotation.inverted() @ armature.matrix_world
    for obj in meshes:
        if obj.parent != armature:
            obj.matrix_world = rotation.inverted() @ obj.matrix_world


def in_centimeters(armature, meshes) -> None:
    """Bones and meshes are a hundred times as large, the objects as much smaller."""
    grow = Matrix.Scale(100.0, 4)
    for obj in (armature, *meshes):
        obj.data.transform(grow)
    armature.matrix_world = armature.matrix_world @ grow.inverted()
    for obj in meshes:
        if obj.parent != armature:
            obj.matrix_world = obj.matrix_world @ grow.inverted()


def mirrored(armature, meshes) -> None:
    """Left is right: bones that are named after the left are on the right."""
    flip = Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0))
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    for bone in armature.data.edit_bones:
        head, tail, axis = flip @ bone.head, flip @ bone.tail, flip.to_3x3() @ bone.z_axis
        bone.head, bone.tail = head, tail
        bone.align_roll(axis)
    bpy.ops.object.mode_set(mode="OBJECT")
    for obj in meshes:
        obj.data.transform(flip)
        obj.data.flip_normals()


def scaled_by_minus_one(armature, meshes) -> None:
    """The armature object is mirrored, and its meshes with it."""
    armature.matrix_world = Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0)) @ armature.matrix_world
    for obj in meshes:
        if obj.parent != armature:
            obj.matrix_world = Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0)) @ obj.matrix_world


VARIANTS = (as_it_is, turned, lying, in_centimeters, mirrored, scaled_by_minus_one)


def open_character(path, vary=as_it_is):
    """The armature of a file, at rest, and its body."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
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
    report = add_set(armature, find_set_meshes(armature, (), armature, bpy.context.view_layer), region)
    return report, {name: (obj, obj.supple.patterns[name]) for obj, names in report.added.items() for name in names}


def near(patterns: dict, start: str, point: np.ndarray):
    """Of both sides' patterns, the one nearest to a point: names swap sides where a body is mirrored."""
    found = [pair for name, pair in patterns.items() if name.startswith(start)]
    return min(found, key=lambda pair: float(np.linalg.norm(center_of(*pair)[0] - point)))


@pytest.mark.parametrize("vary", VARIANTS)
@pytest.mark.parametrize("name", JOINTS)
def test_patterns_lie_where_an_anatomist_puts_them(asset, name, vary):
    armature = open_character(asset(name), vary)
    reference = Reference(armature, name)
    report, patterns = add_to(armature)
    assert report.skipped == []
    assert [obj.name for obj in report.added] == [JOINTS[name]["body"]]
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


@pytest.mark.parametrize("vary", (as_it_is, mirrored))
def test_maps_of_left_and_right_are_on_their_side(asset, vary):
    armature = open_character(asset("mh_human"), vary)
    reference = Reference(armature, "mh_human")
    _, patterns = add_to(armature, "TORSO")
    for name in ("Shoulder blade", "Collar bone", "Ribs"):
        for side, sign in (("left", 1.0), ("right", -1.0)):
            obj, pattern = patterns[f"{name} {side}"]
            assert sign * (center_of(obj, pattern)[0] - reference.middle("hip")) @ reference.left > 0.03
            assert pattern.image["supple_preset"].endswith(f"_{side[0].upper()}")


def bend(armature, names, rotation: Vector, angle: float) -> None:
    """Rotate bones by equal shares of an angle about an axis in armature space, whatever their roll."""
    for name in names:
        bone = armature.pose.bones[name]
        own = bone.bone.matrix_local.to_3x3().inverted() @ rotation
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = Quaternion(own, angle / len(names))
    bpy.context.view_layer.update()


@pytest.mark.parametrize("vary", (as_it_is, turned, mirrored))
@pytest.mark.parametrize("name", JOINTS)
def test_the_spine_as_a_whole_brings_the_folds_out_and_only_forward(asset, name, vary):
    armature = open_character(asset(name), vary)
    reference = Reference(armature, name)
    obj, _ = add_to(armature, "TORSO")[1]["Belly"]
    settings = settings_of(obj)
    for other in settings.patterns:
        other.show = other.name == "Belly"
    forward = Vector(np.cross(reference.up, reference.front))
    for angle, expected in ((0.0, (0.0, 0.0)), (25.0, (0.1, 0.6)), (60.0, (0.99, 1.0)), (-60.0, (0.0, 0.0))):
        bend(armature, JOINTS[name]["spine"], forward, math.radians(angle))
        assert expected[0] <= amounts(obj)[0] <= expected[1], angle
    bend(armature, JOINTS[name]["spine"], Vector(reference.up), 1.0)
    assert amounts(obj)[0] < 0.2  # twisted


@pytest.mark.parametrize("vary", (as_it_is, mirrored))
@pytest.mark.parametrize("name", JOINTS)
def test_elbows_and_arms_bring_their_patterns_out(asset, name, vary):
    armature = open_character(asset(name), vary)
    reference = Reference(armature, name)
    _, patterns = add_to(armature)
    names = JOINTS[name]
    for side in range(2):
        shoulder, elbow = (reference.joints[key][side] for key in ("shoulder", "elbow"))
        for start, bone, axis in (
            ("Biceps", "elbow", np.cross(elbow - shoulder, reference.biceps(side) - 0.5 * (shoulder + elbow))),
            ("Shoulder blade", "shoulder", np.cross(shoulder - reference.middle("shoulder"), reference.up)),
        ):
            obj, pattern = near(patterns, start, shoulder)
            for other in obj.supple.patterns:
                other.show = other.name == pattern.name
            rotated = names[bone].format(names["sides"][side])
            for angle, expected in ((1.55, 1.0), (-1.0, 0.0), (0.0, 0.0)):
                bend(armature, [rotated], Vector(axis).normalized(), angle)
                assert amounts(obj)[0] == pytest.approx(expected, abs=0.01), (start, side, angle)
            for other in obj.supple.patterns:
                other.show = True


def test_a_set_is_one_step_and_comes_once(asset):
    armature = open_character(asset("mh_human_game"))
    bpy.context.view_layer.objects.active = armature
    body, tights = bpy.data.objects["mh_human_game_body"], bpy.data.objects["mh_human_game_tights"]
    assert bpy.ops.supple.pattern_set_add() == {"FINISHED"}
    assert (len(body.supple.patterns), len(tights.supple.patterns)) == (16, 0)
    with pytest.raises(RuntimeError, match="is there already"):
        bpy.ops.supple.pattern_set_add(region="ARMS")
    assert len(body.supple.patterns) == 16


@pytest.mark.parametrize("name", JOINTS)
def test_folds_of_a_set_come_where_the_skin_is_pushed_together(asset, name):
    armature, body = open_character(asset(name)), bpy.data.objects[JOINTS[name]["body"]]
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.supple.pattern_set_add(region="TORSO", folds="COMPRESSION") == {"FINISHED"}
    found = [pattern for pattern in body.supple.patterns if pattern.driver == "COMPRESSION"]
    assert found == [pattern for pattern in body.supple.patterns if pattern.kind == "WRINKLE"] != []
    belly = next(number for number, pattern in enumerate(body.supple.patterns) if pattern.name.startswith("Belly"))
    seen = []
    for angle in (0.0, 1.0, -0.6):
        bend(armature, JOINTS[name]["spine"], Vector((1.0, 0.0, 0.0)), angle)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        seen.append(float(np.max(read_amounts(body, bind_points(body), depsgraph)[belly])))
    assert seen[0] == 0.0
    assert seen[1] > 0.5
    assert seen[2] < 0.1


def test_a_chosen_garment_has_the_set_instead(asset):
    open_character(asset("mh_human_game"))
    tights = bpy.data.objects["mh_human_game_tights"]
    select(tights)
    bpy.ops.supple.pattern_set_add(region="LEGS")
    assert sorted(pattern.name for pattern in tights.supple.patterns) == [
        "Calf left", "Calf right", "Thigh left", "Thigh right",
    ]  # fmt: skip


def test_a_body_in_parts_has_each_pattern_on_its_part(asset):
    armature = open_character(asset("kaykit_knight"))
    report, patterns = add_to(armature)
    assert report.skipped == []
    assert patterns["Biceps left"][0].name == "Knight_ArmLeft"
    assert patterns["Calf right"][0].name == "Knight_LegRight"
    assert patterns["Belly"][0].name == "Knight_Body"


def add_tubes(armature) -> bpy.types.Object:
    """A skin of tubes: around the torso, the neck, arms and legs."""
    heads = {bone.name: bone.head_local for bone in armature.data.bones}
    tubes = [
        (heads["DEF-spine"], heads["DEF-spine.004"], 0.2, 0.13),
        (heads["DEF-spine.003"], heads["DEF-spine.006"], 0.06, 0.06),
    ]
    for side in "LR":
        for names in (("upper_arm", "forearm", "hand"), ("thigh", "shin", "foot")):
            ends = [heads[f"DEF-{name}.{side}"] for name in names]
            tubes += [(start, end, 0.06, 0.06) for start, end in itertools.pairwise(ends)]
    shape = bmesh.new()
    for start, end, width, depth in tubes:
        matrix = (end - start).to_track_quat("Z", "Y").to_matrix().to_4x4()
        matrix = Matrix.Translation(0.5 * (start + end)) @ matrix
        if width != depth:
            matrix = Matrix.Translation(0.5 * (start + end)) @ Matrix.Diagonal((width, depth, 1.0, 1.0))
            width = 1.0
        bmesh.ops.create_cone(
            shape, segments=32, radius1=width, radius2=width, depth=(end - start).length, matrix=matrix
        )
    bmesh.ops.subdivide_edges(shape, edges=shape.edges, cuts=3, use_grid_fill=True)
    mesh = bpy.data.meshes.new("Body")
    shape.to_mesh(mesh)
    shape.free()
    obj = bpy.data.objects.new("Body", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    return obj


def test_rigify_has_the_set_by_its_deforming_bones(tmp_path):
    armature = open_rigify(tmp_path / "human.blend")
    obj = add_tubes(armature)
    report, patterns = add_to(armature)
    assert report.rig == "Rigify"
    assert report.skipped == []
    assert len(patterns) == 16
    assert all(pattern.bone.startswith("DEF-") for _, pattern in patterns.values())
    assert center_of(*patterns["Belly"])[3] @ (0, -1, 0) > 0.7
    for name in ("upper_arm_parent.L", "upper_arm_parent.R"):
        armature.pose.bones[name]["IK_FK"] = 1.0
    for other in obj.supple.patterns:
        other.show = other.name == "Biceps left"
    armature.pose.bones["forearm_fk.L"].rotation_mode = "XYZ"
    armature.pose.bones["forearm_fk.L"].rotation_euler = (1.6, 0.0, 0.0)
    armature.update_tag()
    bpy.context.view_layer.update()
    assert amounts(obj)[0] == pytest.approx(1.0, abs=0.02)


def test_an_unknown_rig_is_refused_and_nothing_changed(asset):
    armature = open_character(asset("fox"))
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH"]
    before = full_snapshot(*meshes)
    with pytest.raises(SkinningError, match="No rig preset knows"):
        add_set(armature, meshes)
    assert full_snapshot(*meshes) == before


def test_without_a_preset_the_shape_of_the_body_says_where_the_belly_is(asset):
    open_character(asset("cesium_man"))
    obj = bpy.data.objects["Cesium_Man"]
    select(obj)
    bpy.ops.supple.pattern_add(preset="FOLDS_BELLY", bone="Node_11")
    center, _, top, normal = center_of(obj, obj.supple.patterns[0])
    assert normal @ (1, 0, 0) > 0.7  # it looks to +X
    assert top @ (0, 0, 1) > 0.8
    assert 0.5 * obj.dimensions[2] < center[2] < 1.1


def test_upright_is_as_the_body_has_it_also_where_the_object_lies(asset):
    open_character(asset("human_male"), lying)
    obj = bpy.data.objects["Mannequin"]
    select(obj)
    bpy.ops.supple.pattern_add(preset="FOLDS_BELLY", bone="spine_02")
    pattern = obj.supple.patterns[0]
    assert (pattern.first_bone, pattern.bone) == ("spine_01", "spine_03")
    point = locate_point(charts_of(obj).mesh, np.array(pattern.location))
    assert surface_frame(point).shape == (2, 3)
    assert center_of(obj, pattern)[2] @ (0, 0, 1) > 0.8
