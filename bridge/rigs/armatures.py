"""Armatures as arrays: the skeleton at rest, and its pose in one frame."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import bpy
import numpy as np

from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from ...deformers.rig.rest import Joints, Pose
from ...deformers.rig.rolls import Rolls
from ...deformers.rig.skeleton import find_frame, find_joint_parents
from ..arrays import read_array
from .segments import Roll, has_segments, is_rolled, read_rolls
from .twists import read_roll_hints

# Determinant of a bone's axes, or of those of a segment, from which they can be inverted
SMALLEST_VOLUME = 1e-30


@dataclass(frozen=True)
class Envelopes:
    """Envelopes of the deforming bones, armature space: capsules around them, which fade over a distance.

    Attributes
    ----------
    heads, tails : float64 arrays, shape (D, 3)
    head_radii, tail_radii, distances : float arrays, shape (D,)
    factors : float array, shape (D,)
        Factor of the bone's envelope weight.
    multiplies : bool array, shape (D,)
        Whether the bone's vertex group is multiplied by its envelope.
    """

    heads: np.ndarray
    tails: np.ndarray
    head_radii: np.ndarray
    tail_radii: np.ndarray
    distances: np.ndarray
    factors: np.ndarray
    multiplies: np.ndarray


@dataclass(frozen=True)
class Skeleton:
    """The deforming bones of an armature.

    A bone is one joint; a B-Bone of n segments is n + 1 joints, the ends of its segments, in a chain. A bone with
    Supple's own segments is a plain bone, whose joint has a roll.

    Attributes
    ----------
    names : tuple of str, length D
        Deforming bones.
    first_joints, segment_counts : int arrays, shape (D,)
        Each bone's first joint; its segments, 1 for a plain bone.
    to_bones : float64 array, shape (D, 4, 4)
        Armature space to each bone's own at rest.
    lengths : float64 array, shape (D,)
    curved : bool array, shape (D,)
        B-Bones that divide their vertices along the curve instead of the straight axis.
    rest_inverses : float64 array, shape (B, 4, 4)
        Armature space to each joint's own at rest.
    pose_names : tuple of str
        All of `pose.bones`.
    pose_indices : int array, shape (B,)
        Index of each joint's bone among them.
    bendy : tuple of (str, int)
        Names and segment counts of the B-Bones.
    bendy_joints : int array
        Joints that are ends of their segments, in the same order.
    spreads : tuple of str, length D
        The users' choice for each bone: whether the bones above it take up its twist.
    handles : bool array, shape (D,)
        Bones that follow points and cages.
    source : tuple
        Everything that was read of the armature.
    plain : Skeleton or None
        The skeleton without rolls; None if it has none itself.
    known : dict
        Remembers the skeleton with rolls.
    """

    names: tuple[str, ...]
    first_joints: np.ndarray
    segment_counts: np.ndarray
    to_bones: np.ndarray
    lengths: np.ndarray
    curved: np.ndarray
    envelopes: Envelopes
    joints: Joints
    rest_inverses: np.ndarray
    pose_names: tuple[str, ...]
    pose_indices: np.ndarray
    bendy: tuple[tuple[str, int], ...]
    bendy_joints: np.ndarray
    spreads: tuple[str, ...]
    handles: np.ndarray
    source: tuple
    plain: Skeleton | None = None
    known: dict = field(default_factory=dict, repr=False, compare=False)

    def with_rolls(self, rolls: tuple[Roll, ...]) -> Skeleton:
        """A plain skeleton with the rolls of its bones, which it then knows as `rolled`; itself if there are none."""
        if not rolls:
            return self
        joints = replace(self.joints, rolls=_place_rolls(self, rolls))
        self.known[ROLLED] = replace(self, joints=joints, source=(*self.source, *rolls), plain=self, known={})
        return self.known[ROLLED]

    @property
    def rolled(self) -> Skeleton:
        """The skeleton with the rolls of its bones, as its armature poses it."""
        return self.unrolled.known.get(ROLLED, self)

    @property
    def unrolled(self) -> Skeleton:
        """The same without rolls."""
        return self.plain or self

    @property
    def joint_counts(self) -> np.ndarray:
        """Joints of each bone, int array, shape (D,)."""
        return _count_joints(self.segment_counts)

    @cached_property
    def frame(self) -> np.ndarray:
        """How the character is turned, as `find_frame` says, shape (3, 3)."""
        return find_frame(np.linalg.inv(self.rest_inverses)[:, :3, :3], self.joints.chains)

    def name_joint(self, joint: int) -> str:
        """The bone that a joint is of, "" for none (-1)."""
        return "" if joint < 0 else self.names[int(np.searchsorted(self.first_joints, joint, side="right")) - 1]

    @property
    def fingerprint(self) -> str:
        """Short text that differs where other bones, or bones at other positions, were read; rolls do not count."""
        source = self.unrolled.source
        parts = (part if isinstance(part, bytes) else repr(part).encode() for part in source)
        return hashlib.sha256(b"\n".join(parts)).hexdigest()[:16]


REST_PROPERTIES = (
    ("matrix_local", 16), ("head_local", 3), ("tail_local", 3), ("length", 1),
    ("head_radius", 1), ("tail_radius", 1), ("envelope_distance", 1), ("envelope_weight", 1),
)  # fmt: skip
REST_CHOICES = ("use_deform", "use_envelope_multiply", "bbone_segments", "bbone_mapping_mode")
BENDY_PROPERTIES = (
    ("bbone_curveinx", 1), ("bbone_curveinz", 1), ("bbone_curveoutx", 1), ("bbone_curveoutz", 1),
    ("bbone_rollin", 1), ("bbone_rollout", 1), ("bbone_easein", 1), ("bbone_easeout", 1),
    ("bbone_scalein", 3), ("bbone_scaleout", 3),
)  # fmt: skip
BENDY_CHOICES = (
    "bbone_handle_type_start", "bbone_handle_type_end", "bbone_handle_use_ease_start", "bbone_handle_use_ease_end",
    "use_connect",
)  # fmt: skip
# What Supple sets of bones with segments of its own
STRAIGHTENED = ("bbone_handle_type_start", "bbone_handle_type_end", "bbone_easein", "bbone_easeout")

HANDLES = ("bbone_custom_handle_start", "bbone_custom_handle_end")
# In `Skeleton.known`, the key of the skeleton with the rolls of its bones
ROLLED = "rolled"

# In `Skeleton.spreads`, of a bone for which nothing was chosen
NO_CHOICE = "AUTO"


def read_skeleton(armature: bpy.types.Object, known: Skeleton | None = None) -> Skeleton:
    """The deforming bones and the joints they make, from the armature's data (not its pose).

    Raises SkinningError if a bone has no length, or is too far away to compute with.

    Parameters
    ----------
    known : Skeleton, optional
        Returned as `rolled`, at little cost, if nothing has changed since it was read.
    """
    values, source, rolls = _read_bones(armature)
    if known is not None and known.rolled.source == (*source, *rolls):
        return known.rolled
    pose_names, all_names, parent_names, *_ = source
    deforming = np.flatnonzero(values["use_deform"])
    names = tuple(all_names[bone] for bone in deforming)
    sharpness, spreads, is_handle = _read_choices(armature, all_names)
    handles = is_handle[deforming]
    matrices = values["matrix_local"].reshape(-1, 4, 4).transpose(0, 2, 1)[deforming].astype(np.float64)
    segment_counts = values["bbone_segments"][deforming, 0].astype(np.intp)
    joint_counts = _count_joints(segment_counts)
    first_joints = (np.cumsum(joint_counts) - joint_counts).astype(np.intp)

    rest = np.repeat(matrices, joint_counts, axis=0)
    bendy = _bendy_bones(names, segment_counts)
    bendy_joints = np.flatnonzero(np.repeat(segment_counts > 1, joint_counts))
    _check_rest(armature, names, matrices, *(values[name][deforming] for name in ("head_local", "tail_local")))
    try:
        rest[bendy_joints] = rest[bendy_joints] @ _read_segments(armature.pose.bones, bendy, rest=True)
    except RuntimeError as error:  # Blender has not evaluated them, as in another scene
        raise SkinningError(
            f"The B-Bones of '{armature.name}' have not been evaluated yet: show the armature in the viewport, "
            "and try again"
        ) from error
    _check_rest(armature, np.repeat(names, joint_counts).tolist(), rest)
    pose_index = {name: index for index, name in enumerate(pose_names)}
    envelopes = _make_envelopes(values, deforming)
    plain = Skeleton(
        names=names,
        first_joints=first_joints,
        segment_counts=segment_counts,
        to_bones=np.linalg.inv(matrices),
        lengths=values["length"][deforming, 0].astype(np.float64),
        curved=values["bbone_mapping_mode"][deforming, 0] > 0,
        envelopes=envelopes,
        joints=Joints(
            centers=rest[:, :3, 3].copy(),
            parents=_find_joint_parents(values, all_names, parent_names, first_joints, joint_counts, is_handle),
            tails=_find_joint_tails(rest[:, :3, 3], envelopes, joint_counts, handles),
            sharpness=_place_sharpness(sharpness[deforming], first_joints, int(joint_counts.sum())),
            orientations=np.repeat(matrices[:, :3, :3], joint_counts, axis=0),
        ),
        rest_inverses=np.linalg.inv(rest),
        pose_names=pose_names,
        pose_indices=np.repeat(np.array([pose_index[name] for name in names], np.intp), joint_counts),
        bendy=bendy,
        bendy_joints=bendy_joints,
        spreads=tuple(spreads[bone] for bone in deforming),
        handles=handles,
        source=source,
    )
    return plain.with_rolls(tuple(roll for roll in rolls if {roll.bone, roll.source} <= set(names)))


def _place_rolls(skeleton: Skeleton, rolls: tuple[Roll, ...]) -> Rolls:
    """Rolls by the joints of a skeleton, which has a joint for each of their bones."""
    first = dict(zip(skeleton.names, skeleton.first_joints.tolist(), strict=True))
    joints, sources = np.array([(first[roll.bone], first[roll.source]) for roll in rolls], np.intp).T
    orientations = skeleton.joints.orientations
    assert orientations is not None
    axes = np.einsum("rij,rj->ri", orientations[sources], np.array([roll.axis for roll in rolls]))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    shares = np.array([(roll.head, roll.tail) for roll in rolls])
    return Rolls(joints, sources, axes, shares, np.array([roll.segments for roll in rolls], np.intp))


def _check_rest(armature: bpy.types.Object, names: Sequence[str], matrices: np.ndarray, *positions: np.ndarray) -> None:
    """Raise SkinningError if a bone or segment is not a rotation, or is too far away."""
    numbers = np.concatenate([matrices.reshape(len(names), 16), *positions], axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        is_fine = ~find_unusable(numbers).any(axis=1) & (np.linalg.det(matrices[:, :3, :3]) > SMALLEST_VOLUME)
    if not is_fine.all():
        name = names[int(np.argmin(is_fine))]
        raise SkinningError(
            f"Bone '{name}' of '{armature.name}' has zero length, or is too far away: move it in Edit Mode"
        )


def _read_bones(armature: bpy.types.Object) -> tuple[dict[str, np.ndarray], tuple, tuple[Roll, ...]]:
    """The properties of all bones at rest, each of shape (bones, n); all that was read, to compare; and the rolls.

    That is the names of the pose's bones, of the bones, their parents and handles, and the properties as bytes. What
    bends B-Bones is read only if there are any; bones with Supple's own segments are none.
    """
    bones = armature.data.bones
    values = {name: read_array(bones, name, size) for name, size in REST_PROPERTIES}
    values |= {name: read_array(bones, name, 1, np.int32) for name in REST_CHOICES}
    has_rolls = np.array([has_segments(bone) for bone in bones], bool)
    values["bbone_segments"][has_rolls] = 1
    handles = ()
    if (values["bbone_segments"] > 1).any():
        handles = tuple(other.name if (other := getattr(bone, name)) else "" for bone in bones for name in HANDLES)
        values |= {name: read_array(bones, name, size) for name, size in BENDY_PROPERTIES}
        values |= {name: read_array(bones, name, 1, np.int32) for name in BENDY_CHOICES}
        for name in STRAIGHTENED:
            values[name][has_rolls] = 0
    parent_names = tuple(parent.name if (parent := bone.parent) else "" for bone in bones)
    arrays = [array.tobytes() for array in values.values()]
    sharpness, spreads, is_handle = _read_choices(armature, bones.keys())
    if not np.isnan(sharpness).all():
        arrays.append(sharpness.tobytes())
    if is_handle.any():
        arrays.append(is_handle.tobytes())
    inherits = read_array(bones, "use_inherit_rotation", 1, np.int32)
    if not inherits.all():
        arrays.append(inherits.tobytes())
    chosen = tuple(spreads) if any(choice != NO_CHOICE for choice in spreads) else ()
    source = (read_pose_names(armature), tuple(bones.keys()), parent_names, handles, *arrays, *chosen)
    return values, source, read_rolls(armature) if has_rolls.any() and is_rolled(armature) else ()


def _read_choices(armature: bpy.types.Object, names: Sequence[str]) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Settings of bones: sharpness, shape (bones,), NaN for none; spreads; which are handles, bool array."""
    chosen = [armature.data.bones[name].supple for name in names]
    sharpness = [settings.sharpness if settings.has_sharpness else np.nan for settings in chosen]
    spreads = [settings.spread_twist for settings in chosen]
    is_handle = np.array([settings.is_handle for settings in chosen], bool)
    return np.array(sharpness, np.float64), spreads, is_handle


def _place_sharpness(sharpness: np.ndarray, first_joints: np.ndarray, joint_count: int) -> np.ndarray | None:
    """That of each bone at its first joint, shape (B,), NaN elsewhere; None if no bone has one."""
    if np.isnan(sharpness).all():
        return None
    of_joints = np.full(joint_count, np.nan)
    of_joints[first_joints] = sharpness
    return of_joints


def _make_envelopes(values: dict[str, np.ndarray], deforming: np.ndarray) -> Envelopes:
    return Envelopes(
        heads=values["head_local"].astype(np.float64)[deforming],
        tails=values["tail_local"].astype(np.float64)[deforming],
        head_radii=values["head_radius"][deforming, 0],
        tail_radii=values["tail_radius"][deforming, 0],
        distances=values["envelope_distance"][deforming, 0],
        factors=values["envelope_weight"][deforming, 0],
        multiplies=values["use_envelope_multiply"][deforming, 0] > 0,
    )


def _find_joint_parents(
    values: dict[str, np.ndarray],
    names: tuple[str, ...],
    parent_names: tuple[str, ...],
    first_joints: np.ndarray,
    joint_counts: np.ndarray,
    is_handle: np.ndarray,
) -> np.ndarray:
    """The joint that each joint is joined to, shape (B,): the one before in its B-Bone, else the last of another bone.

    Parameters
    ----------
    values : dict
        As `_read_bones` gives them.
    names, parent_names : tuples of str
        Of all bones.
    first_joints, joint_counts : int arrays, shape (D,)
        Of the deforming bones.
    is_handle : bool array
        Of all bones.
    """
    index = {name: bone for bone, name in enumerate(names)}
    bone_parents = np.array([index.get(name, -1) for name in parent_names], np.intp)
    is_deforming = values["use_deform"][:, 0] > 0
    heads, tails = values["head_local"].astype(np.float64), values["tail_local"].astype(np.float64)
    parents = find_joint_parents(heads, tails, bone_parents, is_deforming, is_handle)[is_deforming]
    last_joints = np.full(len(names), -1)
    last_joints[is_deforming] = first_joints + joint_counts - 1
    joint_parents = np.arange(joint_counts.sum()) - 1
    joint_parents[first_joints] = np.where(parents >= 0, last_joints[parents], -1)
    return joint_parents


def _count_joints(segment_counts: np.ndarray) -> np.ndarray:
    return np.where(segment_counts > 1, segment_counts + 1, 1)


def _find_joint_tails(
    centers: np.ndarray, envelopes: Envelopes, joint_counts: np.ndarray, handles: np.ndarray
) -> np.ndarray:
    """The other end of each joint, (B, 3): the next end of its B-Bone's segments, a handle's head, or a bone's tail."""
    tails = np.where(handles[:, None], envelopes.heads, envelopes.tails)
    ends = np.repeat(tails, joint_counts, axis=0)
    goes_on = np.ones(len(centers), bool)
    goes_on[np.cumsum(joint_counts) - 1] = False
    ends[goes_on] = centers[1:][goes_on[:-1]]
    return ends


def read_pose_names(armature: bpy.types.Object) -> tuple[str, ...]:
    """Names of the pose's bones in their order: another tuple once a bone was added, deleted or renamed."""
    return tuple(armature.pose.bones.keys())


def _bendy_bones(names: tuple[str, ...], segment_counts: np.ndarray) -> tuple[tuple[str, int], ...]:
    return tuple((name, int(count)) for name, count in zip(names, segment_counts, strict=True) if count > 1)


def read_pose(armature: bpy.types.Object, skeleton: Skeleton) -> Pose:
    """The pose of an evaluated armature, for meshes whose space is the armature's.

    Raises SkinningError if the pose holds values that are not numbers.

    Parameters
    ----------
    armature : Object
        As `evaluated_get` gives it, with the depsgraph of the viewport or of the render.
    """
    bones = armature.pose.bones
    matrices = read_array(bones, "matrix", 16).reshape(-1, 4, 4).transpose(0, 2, 1)  # columns first
    posed = matrices.astype(np.float64)[skeleton.pose_indices]
    if skeleton.bendy_joints.size:
        posed[skeleton.bendy_joints] = posed[skeleton.bendy_joints] @ _read_segments(bones, skeleton.bendy, rest=False)
    with np.errstate(invalid="ignore", over="ignore"):  # Pose reports what is wrong with such values
        rest_to_pose = posed @ skeleton.rest_inverses
    return Pose(rest_to_pose, hints=_read_hints(armature, skeleton))


def _read_hints(armature: bpy.types.Object, skeleton: Skeleton) -> np.ndarray | None:
    """Twists that are asked of the sources of rolls, as drivers count them, radians, shape (B,); None without rolls."""
    joints, rolls, orientations = skeleton.joints, skeleton.joints.rolls, skeleton.joints.orientations
    if rolls is None or orientations is None:
        return None
    along = np.einsum("ri,ri->r", rolls.axes, orientations[rolls.sources, :, 1])
    names = [skeleton.name_joint(joint) for joint in rolls.sources.tolist()]
    hints = np.zeros(len(joints.parents))
    hints[rolls.sources] = read_roll_hints(armature, names, along)
    return hints


def read_segment_indices(pose_bone: bpy.types.PoseBone, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which segment of a curved B-Bone each point, shape (N, 3), armature space, is in, and its share of the next."""
    pairs = [pose_bone.bbone_segment_index(point) for point in points.tolist()]
    indices, blends = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(indices, np.intp), np.array(blends, np.float64)


def _read_segments(pose_bones, bendy: tuple[tuple[str, int], ...], rest: bool) -> np.ndarray:
    """Ends of the segments of B-Bones, each in its bone's space, float64, shape (sum of segments + 1, 4, 4)."""
    matrices = [
        pose_bones[name].bbone_segment_matrix(end, rest=rest) for name, segments in bendy for end in range(segments + 1)
    ]
    if bpy.app.version >= (5, 1):
        return np.array(matrices, np.float64).reshape(-1, 4, 4)
    # Entry by entry: before, NumPy takes ten times as long over a Matrix.
    entries = chain.from_iterable(chain.from_iterable(matrices))
    return np.fromiter(entries, np.float64, len(matrices) * 16).reshape(-1, 4, 4)
