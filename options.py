"""Options of tasks: frozen dataclasses whose fields are rows. Nothing here needs Blender.

A row is declared here, and used by the task that reads it. `settings/properties.py` turns it into properties of
settings and operators, `cli/options.py` into an argument of the command line.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from .deformers import COMPARED, DEFAULT_METHOD, PUBLISHED_METHOD
from .deformers.automatic_weights import METHODS
from .deformers.option import Option
from .deformers.swing.parts import SWING_PARTS
from .deformers.weight_editing.edits import Mode


def read_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of bones: use 0 or more")
    return int(text)


def read_length(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(mm|cm|m)?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a length: write it as 3mm, 0.3cm or 0.003m")
    return float(match[1]) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0, None: 1.0}[match[2]]


def read_seconds(text: str) -> float:
    match = re.fullmatch(r"\d{1,3}(\.\d*)?|\.\d+", text)
    if match is None or float(text) > 10.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds: use 0 to 10")
    return float(text)


def row(default: Any, label: str = "", tooltip: str = "", **facts: Any) -> Any:
    """A field that a user sets; `facts` are other attributes of `Option`."""
    return field(default=default, metadata={"option": Option("", label, tooltip, default=default, **facts)})


@dataclass(frozen=True)
class Look:
    """How a character deforms: a method with its defaults, with or without flesh; without a method, it is muted."""

    key: str
    label: str
    tooltip: str
    method: str = ""
    has_flesh: bool = False


# In the order of menus; the command line has the keys in small letters.
LOOKS = {
    look.key: look
    for look in (
        Look(
            "FLESH", "Flesh", "Skin that bends like flesh: the fast method, and shape keys for joints that need more",
            DEFAULT_METHOD, has_flesh=True,
        ),
        Look("FAST", "Fast", "The fast method alone: at once, and with nothing added to the mesh", DEFAULT_METHOD),
        Look(
            "PUBLISHED", "As Published", "DLBNT as the paper has it, by two hidden armatures: for scaled bones, and to "
                                         "compare with other programs",
            PUBLISHED_METHOD,
        ),
        Look("BLENDER", "As Blender", "As Blender's own Armature modifier deforms the character, without Supple"),
    )
}  # fmt: skip


# Shapes that skin may take at a joint, by their keys, with the words for them
SHAPES, BEST = {"BASE": "as it is", "SMOOTH": "smoothed", "SOLID": "solid", "SMOOTH_SOLID": "smoothed solid"}, "BEST"


@dataclass(frozen=True)
class TaskOptions:
    """Options of a task; raises SkinningError for a value that is not allowed."""

    def __post_init__(self) -> None:
        for option in rows_of(type(self)):
            option.check(getattr(self, option.name))


Chosen = TypeVar("Chosen", bound=TaskOptions)


def rows_of(kind: type[TaskOptions]) -> list[Option]:
    """The rows of a task's options, in order, without fields that only scripts set."""
    return [replace(each.metadata["option"], name=each.name) for each in fields(kind) if each.metadata]


def make_options(kind: type[Chosen], **given: Any) -> Chosen:
    """A task's options from plain values; words of the command line, in capital or small letters, count as keys.

    Raises
    ------
    SkinningError
        If a value is not allowed.
    TypeError
        If there is no such option.
    """
    words = {option.name: option.words for option in rows_of(kind)}
    return kind(
        **{
            name: words.get(name, {}).get(value.lower(), value) if isinstance(value, str) else value
            for name, value in given.items()
        }
    )


@dataclass(frozen=True)
class RangeOfMotion(TaskOptions):
    """Whether, and how far, each joint is bent and twisted to each side, radians."""

    use_bends: bool = row(True, "Range of Motion", "Also bend and twist each joint from the rest pose")
    angle: float = row(
        math.radians(60.0), "Bend", "How far each joint bends and twists, to each side",
        unit="ANGLE", highest=math.radians(150.0),
    )  # fmt: skip

    @property
    def bend(self) -> float:
        """How far, radians; 0 for no range of motion."""
        return self.angle if self.use_bends else 0.0


@dataclass(frozen=True)
class CheckOptions(RangeOfMotion):
    """Options of a check.

    Attributes
    ----------
    methods : tuple of str
        Keys of `METHODS` to measure, besides the method of each mesh.
    frames : sequence of int, or None
        Frames of the scene, as played, instead of actions.
    """

    use_actions: bool = row(True, "Actions", "Also check a varied selection of frames from all actions of the armature")
    methods: tuple[str, ...] = COMPARED
    frames: Sequence[int] | None = None


@dataclass(frozen=True)
class FleshOptions(TaskOptions):
    """Options of flesh.

    Attributes
    ----------
    picked : mapping of str to str, or to sequence of str
        By bones: the shape of the skin there, a key of `SHAPES`, or "BEST" for what measures best; one for all ways in
        which the joint bends, or one for each. What was picked before stays otherwise.
    """

    quality: str = row(
        "FULL", "Quality", "How closely flesh is computed",
        items=(
            ("QUICK", "Quick", "Few poses, in coarse flesh: a first look"),
            ("FULL", "Full", "More poses, in fine flesh: takes some minutes"),
        ),
        help="how closely flesh is computed, quick or full; full by default", metavar="QUALITY",
    )  # fmt: skip
    picked: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class CopyOptions(RangeOfMotion):
    """Options of a copy for game engines.

    Attributes
    ----------
    tolerance : float
        Meters.
    actions : tuple of str, or None
        Names of the actions to copy; if None, all that move the armature's bones.
    """

    target: str = row(
        "gltf", "Target", "Target format of the copy",
        items=(
            ("gltf", "glTF", "For Godot, Unity, three.js and other programs that read glTF"),
            ("fbx", "FBX", "For Unreal, Unity and other programs that read FBX"),
            ("vrm", "VRM", "For VRM 1.0 avatars, by the VRM add-on"),
            ("usd", "USD", "For programs that read USD"),
        ),
        help="target format; gltf by default",
    )  # fmt: skip
    tolerance: float = row(
        0.003, "Tolerance",
        "Maximum distance between the copy's skin and the character's: keys are added where it is exceeded",
        unit="DISTANCE", lowest=1e-6, slider=(0.0005, 0.02), fine=(4, 0.1),
        help="maximum error, such as 3mm or 0.3cm; 3mm by default", metavar="LENGTH", read=read_length,
    )  # fmt: skip
    influences: int = row(
        4, "Bones per Vertex", "Maximum number of bones that influence a vertex", lowest=1, highest=8,
        items=(
            (4, "4", "Four bones per vertex: supported by every engine"),
            (8, "8", "Eight bones per vertex: more accurate, for engines that support it"),
        ),
        help="bones per vertex, 4 or 8; 4 by default", metavar="N",
    )  # fmt: skip
    helpers: int = row(
        -1, "Added Bones", "Maximum number of bones to add at a joint; -1 for as many as the tolerance needs",
        word=(-1, "Automatic"), lowest=-1, highest=8,
        help="maximum number of bones to add at a joint; -1 for as needed", metavar="N",
    )  # fmt: skip
    keys: int = row(
        -1, "Shape Keys", "Maximum number of corrective shape keys; -1 for as many as the tolerance needs",
        word=(-1, "Automatic"), lowest=-1, highest=256, slider=(None, 64),
        help="maximum number of corrective shape keys; -1 for as needed",
        metavar="N",
    )  # fmt: skip
    actions: tuple[str, ...] | None = None


@dataclass(frozen=True)
class MotionOptions(TaskOptions):
    """How motions are joined, or closed to loops."""

    blend: float = row(
        0.0, "Blend Seconds", "Length of the blend around the seam; 0 for as long as the motions need",
        word=(0.0, "Automatic"), highest=10.0, slider=(None, 2.0), fine=(2, 5),
        help="length of the blend; by default as long as the motions need",
        metavar="SECONDS", read=read_seconds,
    )  # fmt: skip
    holds_feet: bool = row(
        True, "Hold Feet", "Keep feet in place that are planted at the seam",
        help="do not keep planted feet in place at the seam", flag="--no-hold",
    )  # fmt: skip


def read_degrees(text: str) -> float:
    match = re.fullmatch(r"\d{1,2}(\.\d*)?|\.\d+", text)
    if match is None or not 0.0 < float(text) <= 60.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an angle: use degrees up to 60")
    return math.radians(float(text))


def read_factor(text: str) -> float:
    match = re.fullmatch(r"\d{1,2}(\.\d*)?|\.\d+", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number: use 0 or more, such as 0.5")
    return float(text)


@dataclass(frozen=True)
class SwingOptions(TaskOptions):
    """How parts of a character swing.

    Attributes
    ----------
    angle : float
        Radians; 0 for that of the part, as for frequency and damping.
    """

    preset: str = row(
        "AUTO", "Part", "The part, which decides how it swings",
        items=(
            ("AUTO", "By Name", "Tails, ears, hair, cloaks, antennae and flesh, by the names of the bones"),
            *((key, part.label, part.tooltip) for key, part in SWING_PARTS.items()),
        ),
        help="part, which decides how it swings; by the names of the bones if not given", metavar="PART",
    )  # fmt: skip
    actions: str = row(
        "ALL", "Actions", "Actions in which the parts swing",
        items=(
            ("ALL", "All", "All actions of the armature"),
            ("ACTIVE", "Active", "Only the active action of the armature"),
        ),
        help="actions in which the parts swing, all or active; all by default", metavar="WHICH",
    )  # fmt: skip
    angle: float = row(
        0.0, "Angle", "How far bones swing in lively frames of the actions; 0 for the angle of the part",
        word=(0.0, "Automatic"), highest=math.radians(60.0), unit="ANGLE",
        help="how far bones swing in lively frames; by default the angle of the part", metavar="DEGREES",
        read=read_degrees,
    )  # fmt: skip
    frequency: float = row(
        0.0, "Frequency", "Swings per second; 0 for the frequency of the part",
        word=(0.0, "Automatic"), highest=12.0, fine=(1, 10),
        help="swings per second; by default the frequency of the part", metavar="HERTZ", read=read_factor,
    )  # fmt: skip
    damping: float = row(
        0.0, "Damping", "How fast swings settle, from 0 to 1; 0 for the damping of the part",
        word=(0.0, "Automatic"), highest=0.95, fine=(2, 5),
        help="how fast swings settle, up to 0.95; by default the damping of the part", metavar="RATIO",
        read=read_factor,
    )  # fmt: skip
    gravity: float = row(
        0.0, "Gravity", "How much the parts hang down when the body tilts: 0 not at all, 1 as springs would",
        highest=1.0, unit="FACTOR",
        help="how much the parts hang down when the body tilts, 0 to 1; 0 by default", metavar="FACTOR",
        read=read_factor,
    )  # fmt: skip
    fade: bool = row(
        False, "Less Where Animated", "In actions that already move a part by themselves, it swings less: half as far "
                                      "if they move it by 10 degrees",
        help="have parts swing less in actions that already move them by themselves",
    )  # fmt: skip
    copies: bool = row(
        False, "Copy Linked Actions", "Actions that are linked from other files get no swing. Copy them into this "
                                      "file: the copies swing, and play in their place",
        help="copy actions that are linked from other files into this file, where they swing",
    )  # fmt: skip


@dataclass(frozen=True)
class WeightOptions(TaskOptions):
    """Options of automatic weights.

    Attributes
    ----------
    method : str
        "" for the default; with points and cages, for the method that they need.
    mirror : bool
        Make the weights the same on both sides of the armature's X axis.
    choices : mapping of str to int
        Values of the methods' choices, by name; 0 or missing for a method's default.
    """

    method: str = row(
        "", "Method", "How weights are computed",
        items=tuple((method.key, method.label, method.tooltip) for method in METHODS.values()),
    )  # fmt: skip
    mode: Mode = row(  # noqa: RUF009 - a field
        "REPLACE", "Mode", "How new weights combine with existing ones",
        items=(
            ("REPLACE", "Replace", "Replace existing weights"),
            ("ADD", "Add", "Add new weights to the existing ones, and normalize the sum"),
            ("UNWEIGHTED", "Fill", "Compute weights only for vertices that have none"),
        ),
        help="how to combine new weights with existing weights; replace by default",
    )  # fmt: skip
    only_selected_bones: bool = row(
        False, "Selected Bones", "Compute weights only for the selected bones: other bones keep their weights"
    )
    mirror: bool = row(False, help="give both sides of the armature the same weights")
    limit: int = row(
        0, "Bone Limit", "Maximum number of bones that influence a vertex; 0 for no limit. "
                               "Most game engines support 4",
        slider=(None, 8), word=(0, "Unlimited"),
        help="maximum number of bones per vertex; no limit by default", metavar="N", read=read_number,
    )  # fmt: skip
    prune: float = row(
        0.001, "Remove Below", "Remove smaller weights, and scale the others so that they sum to 1",
        highest=0.5, unit="FACTOR", fine=(3, 1),
    )  # fmt: skip
    choices: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class DragOptions(TaskOptions):
    """How bones follow a dragged point of the skin, and whether pins hold rotation."""

    solver: str = row(
        "ENERGY", "Bones That Follow", "Which bones follow the dragged point, and how",
        items=(
            ("ENERGY", "Whole Body",
             "Rotate all joints between the dragged point, the pins and the root, with the least deformation of skin"),
            ("CHAIN", "Chain",
             "Rotate the joints of a chain one by one, from the last joint up: for tails, tentacles and ropes"),
        ),
    )  # fmt: skip
    iterations: int = row(
        5, "Steps per Move",
        "How many steps the pose takes for each mouse movement: with more it keeps up with a fast mouse, but is slower",
        lowest=1, highest=100, slider=(None, 20),
    )  # fmt: skip
    chain_length: int = row(
        0,
        "Bones in Chain",
        "Number of bones in the chain, from the dragged bone up; 0 for all bones up to the root",
        slider=(None, 20),
    )
    move_root: str = row(
        "AUTO", "Move Whole Character", "Whether the whole character may move, by its root bone",
        items=(
            ("AUTO", "Auto", "Move it if there are pins, or if no other bone can follow"),
            ("ON", "On", "Move it"),
            ("OFF", "Off", "Keep it in place"),
        ),
    )  # fmt: skip
    hold_rotation: bool = row(
        True, "Pins Keep Direction",
        "New pins also keep the skin's direction: a pinned foot stays flat on the ground",
    )  # fmt: skip


@dataclass(frozen=True)
class FitOptions(TaskOptions):
    """Whose bones a fitted skeleton has."""

    rig: str = row(
        "HUMAN", "Rig", "Whose bones the skeleton has: names, where the spine bends, and axes",
        items=(
            ("HUMAN", "Rigify", "The bones of Rigify's human metarig, ready for Generate Rig if Rigify is enabled"),
            ("MAKEHUMAN", "MakeHuman", "The bones of the body of MakeHuman's default rig"),
            ("MIXAMO", "Mixamo", "The bones of the body of Mixamo's rig"),
            ("UNREAL", "Unreal", "The bones of the body of Unreal Engine's mannequin"),
            ("ANIMAL", "Four Legs", "An animal that stands on four legs"),
        ),
        help="whose bones the skeleton has; human by default", metavar="RIG",
    )  # fmt: skip
